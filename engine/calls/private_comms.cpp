// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/private_comms.hpp"

#include "engine/base/owned_handle.hpp"

#include <bit>
#include <mutex>

namespace stoker::engine {
namespace {
std::atomic<int> made{0};
std::mutex mutex; // guards what a lease and the application's communicator both have to do with

void duplicate(MPI_Comm comm, PrivateComm& own) {
  own.comm = OwnedComm::like(comm).release();
  made.fetch_add(1, std::memory_order_relaxed);
}

// The request is gone, and what the ranks were agreeing on is over.
bool is_unused(PrivateComm& own) {
  return !own.in_use.load(std::memory_order_acquire) && // released in ~CommLease()
         (!own.agreement.asked() || own.agreement.answer());
}

void free_comm(PrivateComm& own) {
  PMPI_Comm_free(&own.comm);
  made.fetch_sub(1, std::memory_order_relaxed);
}
} // namespace

CommLease::~CommLease() {
  if (leased_ == nullptr || leased_->spoiled) {
    return;
  }
  const std::lock_guard lock(mutex);
  leased_->in_use.store(false, std::memory_order_release); // acquired in is_unused()
  if (leased_->orphaned && is_unused(*leased_)) {
    free_comm(*leased_);
  }
}

CommLease make_private_comm(MPI_Comm comm) {
  auto own = std::make_shared<PrivateComm>();
  duplicate(comm, *own);
  return CommLease(std::move(own));
}

int private_comms_made() { return made.load(std::memory_order_relaxed); }

std::optional<std::size_t> first_unused(const PrivateComms::Bits& in_use) {
  for (std::size_t word = 0; word < in_use.size(); ++word) {
    if (~in_use[word] != 0) {
      return 64 * word + static_cast<std::size_t>(std::countr_one(in_use[word]));
    }
  }
  return std::nullopt;
}

PrivateComms::Bits PrivateComms::in_use() {
  Bits bits{};
  for (std::size_t i = 0; i < most_kept; ++i) {
    const bool needed = i >= kept_.size() || !is_unused(*kept_[i]);
    bits[i / 64] |= std::uint64_t{needed} << i % 64;
  }
  return bits;
}

CommLease PrivateComms::take(MPI_Comm parent, const Bits& in_use) {
  if (const auto unused = first_unused(in_use)) {
    kept_[*unused]->in_use.store(true, std::memory_order_relaxed);
    return CommLease(kept_[*unused]);
  }
  if (kept_.size() == most_kept) {
    return make_private_comm(parent);
  }
  const auto& own = kept_.emplace_back(std::make_shared<PrivateComm>());
  duplicate(parent, *own); // if that fails here only, its place stays taken on all ranks
  return CommLease(own);
}

void PrivateComms::free_unused() {
  const std::lock_guard lock(mutex);
  for (const auto& own : kept_) {
    own->orphaned = true;
    if (is_unused(*own)) {
      free_comm(*own);
    }
  }
  kept_.clear();
}

} // namespace stoker::engine
