// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/private_comms.hpp"

#include <bit>
#include <mutex>

namespace stoker::engine {
namespace {
std::mutex mutex; // guards what a lease and the application's communicator both have to do with

// The request is gone, and what the ranks were agreeing on is over.
bool is_unused(PrivateComm& own) {
  return !own.in_use.load(std::memory_order_acquire) && // released in ~CommLease()
         (!own.agreement.asked() || own.agreement.answer());
}
} // namespace

CommLease::~CommLease() {
  if (leased_ == nullptr || leased_->spoiled) {
    return;
  }
  const std::lock_guard lock(mutex);
  leased_->in_use.store(false, std::memory_order_release); // acquired in is_unused()
  if (leased_->orphaned && is_unused(*leased_)) {
    leased_->comm = OwnedComm();
  }
}

CommLease make_private_comm(OwnedComm comm) {
  auto own = std::make_shared<PrivateComm>();
  own->comm = std::move(comm);
  return CommLease(std::move(own));
}

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

CommLease PrivateComms::take(MPI_Comm parent, MPI_Comm engine_comm, const Bits& in_use) {
  if (const auto unused = first_unused(in_use)) {
    kept_[*unused]->in_use.store(true, std::memory_order_relaxed);
    return CommLease(kept_[*unused]);
  }
  if (kept_.size() == most_kept) {
    return make_private_comm(OwnedComm::like(parent, engine_comm));
  }
  const auto& own = kept_.emplace_back(std::make_shared<PrivateComm>());
  try {
    own->comm = OwnedComm::like(parent, engine_comm);
  } catch (...) { // on all ranks
    kept_.pop_back();
    throw;
  }
  return CommLease(own);
}

void PrivateComms::free_unused() {
  const std::lock_guard lock(mutex);
  for (const auto& own : kept_) {
    own->orphaned = true;
    if (is_unused(*own)) {
      own->comm = OwnedComm();
    }
  }
  kept_.clear();
}

} // namespace stoker::engine
