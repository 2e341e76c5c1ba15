// SPDX-License-Identifier: BSD-3-Clause
// One rank of a job that need not exist: what the engine keeps in it, and in its helper, for a request. It is made by
// the functions that init uses. What the other ranks would tell is worked out from what this one expects, so only the
// time that MPI takes is missing.
#pragma once

#include "algos/select/choice.hpp"
#include "engine/execute/lower.hpp"
#include "engine/shared/node_memory.hpp"
#include "topology/layout.hpp"

#include <cstdint>
#include <functional>

namespace stoker::bench {

// Bytes, and what else a request takes of what is limited.
struct Footprint {
  std::uint64_t shared = 0;   // in the rank's arena: steps, channels, scratch
  std::uint64_t data = 0;     // of it: blocks on their way through this rank
  std::uint64_t heap = 0;     // of the rank's process
  std::uint64_t helper = 0;   // of the process of its helper
  std::uint64_t messages = 0; // between nodes, posted at Start
  std::uint64_t tags = 0;
  double compile_seconds = 0; // of processor time, of the program alone
  double seconds = 0;         // of init
};

// What a request is made for.
struct Case {
  algos::Choice choice;
  std::uint64_t bytes = 0; // of a block, or of the vector
  bool any_sizes = false;  // one message to and from every rank, whose sizes each call brings
};

// Bytes that this process has from malloc().
[[nodiscard]] std::uint64_t heap_in_use();

// What a process takes from the system to share memory with the others of its node.
struct NodeResources {
  std::int64_t mappings = 0;
  std::int64_t descriptors = 0;
};
// Throws Error(resource) where this process cannot stand in for so many.
[[nodiscard]] NodeResources resources_of_node_memory(int ranks_of_node);

class OneRank {
public:
  OneRank(const topology::Layout& layout, int rank);
  // Throws Error(resource) where its memory is not enough.
  [[nodiscard]] Footprint footprint(const Case& what);

private:
  [[nodiscard]] algos::Program compile(const Case& what) const;
  [[nodiscard]] std::uint64_t eager_bytes(const Case& what) const; // as requests have it, and
  [[nodiscard]] std::uint64_t piece_bytes(const Case& what) const;

  const topology::Layout& layout_;
  int rank_;
  engine::NodeMemory memory_;
  engine::TagSpace tags_;
};

} // namespace stoker::bench
