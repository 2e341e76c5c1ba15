// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/private_comms.hpp"

#include "engine/agreement.hpp"

#include <bit>

namespace stoker::pmpi {
namespace {
std::atomic<int> made{0};
} // namespace

std::shared_ptr<PrivateComm> make_private_comm(MPI_Comm comm) {
  auto own = std::make_shared<PrivateComm>();
  engine::check_mpi(MPI_Comm_dup(comm, &own->comm), "MPI_Comm_dup");
  made.fetch_add(1, std::memory_order_relaxed);
  MPI_Comm_set_errhandler(own->comm, MPI_ERRORS_RETURN);
  return own;
}

int private_comms_made() { return made.load(std::memory_order_relaxed); }

std::uint64_t PrivateComms::unused() const {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    PrivateComm& own = *kept_[i];
    const bool needed = own.in_use.load(std::memory_order_acquire) || // released in ~CommLease()
                        (own.agreement.asked() && !own.agreement.answer());
    bits |= needed ? 0 : std::uint64_t{1} << i;
  }
  return bits;
}

CommLease PrivateComms::take(MPI_Comm parent, std::uint64_t unused) {
  if (unused != 0) {
    const auto& own = kept_[static_cast<std::size_t>(std::countr_zero(unused))];
    own->in_use.store(true, std::memory_order_relaxed);
    return CommLease(own);
  }
  auto own = make_private_comm(parent);
  if (kept_.size() < most_kept) {
    kept_.push_back(own);
  }
  return CommLease(std::move(own));
}

void PrivateComms::free_unused() {
  if (kept_.empty()) {
    return;
  }
  std::uint64_t bits = unused();
  if (MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_UINT64_T, MPI_BAND, kept_.front()->comm) != MPI_SUCCESS) {
    return;
  }
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if ((bits >> i & 1) != 0) {
      MPI_Comm_free(&kept_[i]->comm);
      made.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  kept_.clear();
}

} // namespace stoker::pmpi
