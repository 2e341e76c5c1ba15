// SPDX-License-Identifier: BSD-3-Clause
#include "engine/global/team.hpp"

#include "engine/base/agreement.hpp"
#include "engine/helper/waiting.hpp"

#include <algorithm>

namespace stoker::engine {

Team::Team(std::shared_ptr<GlobalMemory> global, MPI_Comm comm) : global_(std::move(global)) {
  global_->check_open();
  units_ = global_->engine().ranks_of(comm);
  Plea plea; // ranks that are not here yet may wait for transfers of this domain's helper
  global_->engine().plead(plea);
  comm_ = OwnedComm::like(comm, global_->engine().control());
  PMPI_Comm_rank(comm_, &rank_);
  global_->enlist(*this);
}

Team::~Team() { global_->delist(*this); }

int Team::unit(int rank) const {
  if (rank < 0 || rank >= size()) {
    throw Error(Code::argument, "rank is {}; expected 0 to {}", rank, size() - 1);
  }
  return units_[static_cast<std::size_t>(rank)];
}

GlobalPointer Team::allocate(std::uint64_t bytes) {
  allocations_.push_back(global_->add_segment(comm_, units_, bytes, "bytes"));
  return {.unit = units_[0], .segment = allocations_.back().segment, .offset = 0};
}

void Team::meet(const std::optional<Error>& failure) {
  // Until all are here the transfers of others need this domain's helper, even if it is paused.
  Plea plea;
  global_->engine().plead(plea);
  agree(comm_, with_rank(rank_, failure));
}

void Team::deallocate(GlobalPointer pointer) {
  const auto found = std::ranges::find(allocations_, pointer.segment, &GlobalMemory::Allocation::segment);
  meet(attempt([&] {
    if (found == allocations_.end() || pointer.offset != 0) {
      throw Error(Code::argument,
                  "pointer is {}; expected the beginning of one of the team's allocations that is not freed",
                  text_of(pointer));
    }
    global_->complete_all();
  }));
  // Everybody gave a valid pointer: to the same segment?
  const std::int64_t number = found->segment;
  std::int64_t extremes[2] = {number, -number};
  check_mpi(PMPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_INT64_T, MPI_MAX, comm_), "MPI_Allreduce");
  if (extremes[0] != -extremes[1]) {
    throw Error(Code::mismatch, "rank {}: pointer is to segment {}; expected the same segment on all ranks of the team",
                rank_, number);
  }
  global_->remove_segment(*found);
  allocations_.erase(found);
}

void Team::free() {
  if (closed_) {
    return;
  }
  const auto failure = attempt([&] { global_->complete_all(); });
  std::optional<Error> agreed = attempt([&] { meet(failure); });
  close();
  if (agreed) {
    throw *agreed;
  }
}

void Team::close() {
  if (closed_) {
    return;
  }
  closed_ = true;
  for (const GlobalMemory::Allocation& allocation : allocations_) {
    global_->remove_segment(allocation);
  }
  allocations_.clear();
  comm_ = OwnedComm();
}

} // namespace stoker::engine
