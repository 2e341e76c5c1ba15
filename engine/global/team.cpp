// SPDX-License-Identifier: BSD-3-Clause
#include "engine/global/team.hpp"

#include "engine/base/agreement.hpp"
#include "engine/helper/waiting.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include <unistd.h>

namespace stoker::engine {

Team::Team(std::shared_ptr<GlobalMemory> global, MPI_Comm comm) : global_(std::move(global)) {
  global_->check_open();
  units_ = global_->engine().ranks_of(comm);
  comm_ = OwnedComm::duplicate_of(comm);
  MPI_Comm_rank(comm_, &rank_);
  global_->enlist(*this);
}

Team::~Team() { global_->delist(*this); }

Error Team::by_rank(const Error& error) const {
  return Error(error.code(), "rank " + std::to_string(rank_) + ": " + error.what());
}

int Team::unit(int rank) const {
  if (rank < 0 || rank >= size()) {
    throw Error(Code::argument, "rank is " + std::to_string(rank) + "; expected 0 to " + std::to_string(size() - 1));
  }
  return units_[static_cast<std::size_t>(rank)];
}

GlobalPointer Team::allocate(std::uint64_t bytes) {
  struct Part {
    std::uint64_t place = 0;
    std::uint64_t bytes = 0;
    std::uint64_t number = 0; // the first unit's counts
    std::uint64_t displacement = 0;
  };
  Arena& arena = global_->memory().arena();
  Part mine{.bytes = bytes};
  const auto failure = attempt([&] {
    mine.place = arena.allocate(bytes, static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
    std::memset(arena.base() + mine.place, 0, bytes);
    mine.displacement = global_->expose(mine.place, bytes);
    if (rank_ == 0) {
      mine.number = global_->next_segment();
      if (mine.number > std::numeric_limits<std::uint32_t>::max()) {
        throw Error(Code::resource, "the numbers of segments are used up");
      }
    }
  });
  std::vector<Part> parts(units_.size());
  try {
    agree(comm_, failure ? std::optional(by_rank(*failure)) : std::nullopt);
    check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, parts.data(), sizeof mine, MPI_BYTE, comm_), "MPI_Allgather");
    for (std::size_t r = 1; r < parts.size(); ++r) {
      if (parts[r].bytes != parts[0].bytes) {
        throw Error(Code::mismatch, "rank " + std::to_string(r) + ": bytes is " + std::to_string(parts[r].bytes) +
                                        " and " + std::to_string(parts[0].bytes) +
                                        " on rank 0; expected the same on all ranks of the team");
      }
    }
  } catch (const Error&) {
    if (mine.displacement != 0) {
      global_->conceal(mine.place, bytes);
    }
    if (mine.place != 0) {
      arena.deallocate(mine.place);
    }
    throw;
  }
  const auto number = static_cast<std::uint32_t>(parts[0].number);
  std::vector<SegmentPart> segment;
  for (const Part& part : parts) {
    segment.push_back({.address = nullptr, .place = part.place, .displacement = part.displacement});
  }
  global_->insert_segment(number, bytes, units_, segment);
  allocations_.push_back({number, mine.place, bytes});
  return {.unit = units_[0], .segment = number, .offset = 0};
}

void Team::meet(const std::optional<Error>& failure) {
  // Until all are here the transfers of others need this domain's helper, even if it is paused.
  Plea plea;
  if (RankRoot* carrier = global_->carrier_root()) {
    plea.make(*carrier);
  }
  agree(comm_, failure ? std::optional(by_rank(*failure)) : std::nullopt);
}

void Team::deallocate(GlobalPointer pointer) {
  const auto found = std::ranges::find(allocations_, pointer.segment, &Allocation::segment);
  meet(attempt([&] {
    if (found == allocations_.end() || pointer.offset != 0) {
      throw Error(Code::argument, "pointer is " + text_of(pointer) +
                                      "; expected the beginning of one of the team's allocations that is not freed");
    }
    global_->complete_all();
  }));
  // Everybody gave a valid pointer: to the same segment?
  const std::int64_t number = found->segment;
  std::int64_t extremes[2] = {number, -number};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_INT64_T, MPI_MAX, comm_), "MPI_Allreduce");
  if (extremes[0] != -extremes[1]) {
    throw Error(Code::mismatch, "rank " + std::to_string(rank_) + ": pointer is to segment " + std::to_string(number) +
                                    "; expected the same segment on all ranks of the team");
  }
  global_->erase_segment(found->segment);
  global_->conceal(found->place, found->bytes);
  global_->memory().arena().deallocate(found->place);
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
  for (const Allocation& allocation : allocations_) {
    global_->erase_segment(allocation.segment);
    global_->conceal(allocation.place, allocation.bytes);
    global_->memory().arena().deallocate(allocation.place);
  }
  allocations_.clear();
  comm_ = OwnedComm();
}

} // namespace stoker::engine
