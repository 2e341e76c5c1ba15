// SPDX-License-Identifier: BSD-3-Clause
// The frames of the programs for distributed vectors, one for each kind of collective: which buffers there are, how the
// vector is cut, where a rank's blocks are at first, and where they have to be in the end. What happens in between is
// the algorithm's.
#pragma once

#include "algos/collectives/registry.hpp"
#include "algos/collectives/vector_steps.hpp"

#include <utility>

namespace stoker::algos {

// How the parameters have the vector cut.
[[nodiscard]] Partition partition(const Tuning& tuning);
// The end of the blocks in the buffer that holds them all.
[[nodiscard]] std::uint64_t reach(const DistributedVector& vector);

// Reduces the whole vector, cut into parts.
class Reduction {
public:
  Reduction(const DistributedVector& vector, const Tuning& tuning, std::size_t parts, bool receives);
  [[nodiscard]] Program finish() && { return std::move(builder_).finish(); }

private:
  std::uint64_t bytes_;
  Builder builder_;

public:
  VectorSteps steps;
  Home result; // in the receive buffer, or in scratch on a rank that has none
};
[[nodiscard]] Reduction allreduction(const DistributedVector& vector, const Tuning& tuning, std::size_t parts);
[[nodiscard]] Reduction reduction_to_root(const DistributedVector& vector, const Tuning& tuning, std::size_t parts);

// Ends with one block of the vector at each rank.
class BlockReduction {
public:
  explicit BlockReduction(const DistributedVector& vector);
  // Where the last sum goes: in place there may be operands in the way until all is over.
  [[nodiscard]] const Home& last_home() { return in_place_ ? steps.aside() : result; }
  [[nodiscard]] Program finish() &&;

private:
  std::size_t rank_;
  std::vector<std::uint64_t> cuts_;
  Builder builder_;
  bool in_place_;

public:
  VectorSteps steps;
  Home result;
};

class Broadcast {
public:
  Broadcast(const DistributedVector& vector, const Tuning& tuning, std::size_t parts);
  [[nodiscard]] Program finish() && { return std::move(builder_).finish(); }

private:
  std::uint64_t bytes_;
  Builder builder_;

public:
  VectorSteps steps;
  Home home; // of this rank's one buffer
};

// A program that moves the ranks' blocks.
class Movement {
public:
  Movement(const DistributedVector& vector, std::uint64_t send_bytes, std::uint64_t recv_bytes);
  [[nodiscard]] Program finish() && { return std::move(builder_).finish(); }

private:
  Builder builder_;

public:
  VectorSteps steps;
};

// allgather and gather. Ranks that receive all blocks have theirs at its place in the end; the others in the send
// buffer.
class Gathering {
public:
  Gathering(const DistributedVector& vector, bool receives);
  [[nodiscard]] Program finish() &&;

private:
  [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(call_.rank); }

  const DistributedVector& call_;
  Movement movement_;

public:
  VectorSteps& steps;
  Home home; // where blocks arrive

private:
  bool receives_;
};

class Scattering {
public:
  explicit Scattering(const DistributedVector& vector);
  [[nodiscard]] Program finish() &&;

private:
  [[nodiscard]] bool is_root() const { return call_.rank == call_.root; }
  [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(call_.rank); }

  const DistributedVector& call_;
  Movement movement_;

public:
  VectorSteps& steps;
  Home own_home;
};

} // namespace stoker::algos
