// SPDX-License-Identifier: BSD-3-Clause
// What `stoker tune` may try: every algorithm of a collective with every value of its parameters, as points to begin
// with, and the steps from one point to the next. Left out are algorithms that write into other ranks' buffers, since
// what that costs is the MPI library's affair, and those for alltoallv that need to know the sizes of all blocks.
#pragma once

#include "algos/select/choice.hpp"
#include "topology/layout.hpp"

#include <cstdint>
#include <vector>

namespace stoker::algos {

// What a search is for. `bytes`: as tuned_bytes() has it.
struct SearchProblem {
  Collective collective = Collective::alltoall;
  const topology::Layout& layout;
  std::uint64_t bytes = 0;
};

// All results are resolved for the layout, and different.

// First every algorithm with its default parameters, then the members of its family (family.hpp). Families take turns,
// so that the first so many points are a good beginning, too.
[[nodiscard]] std::vector<Choice> starting_points(const SearchProblem& problem);

// The choices that differ from `choice` in one parameter by one step: a number to the next power of two
// (of four, where it is one of bytes) or divisor of what it divides on either side, half of the way there, and by 1; a
// nested exchange to any other; of a list two factors joined, one split, or two exchanged.
[[nodiscard]] std::vector<Choice> neighbors_of(const Choice& choice, const SearchProblem& problem);

} // namespace stoker::algos
