// SPDX-License-Identifier: BSD-3-Clause
// A team: units of a global memory that allocate together. A unit's number in the team is its rank in the team's
// communicator.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/global/global_memory.hpp"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace stoker::engine {

class Team {
public:
  // Collective over comm. Throws Error on every rank of it.
  Team(std::shared_ptr<GlobalMemory> global, MPI_Comm comm);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  // Collective over the team. Completes the caller's transfers and gives the allocations back.
  void free();
  // Collective; the caller has seen to it that nobody's transfers are under way.
  void close();
  [[nodiscard]] bool closed() const { return closed_; }

  [[nodiscard]] int size() const { return static_cast<int>(units_.size()); }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int unit(int rank) const; // throws Error(argument)

  // Both collective over the team.
  [[nodiscard]] GlobalPointer allocate(std::uint64_t bytes);
  void deallocate(GlobalPointer pointer);

private:
  void meet(const std::optional<Error>& failure); // after the caller's transfers; everybody's are complete then

  std::shared_ptr<GlobalMemory> global_;
  OwnedComm comm_;
  std::vector<int> units_; // by rank
  int rank_ = 0;
  std::vector<GlobalMemory::Allocation> allocations_;
  bool closed_ = false;
};

} // namespace stoker::engine
