// SPDX-License-Identifier: BSD-3-Clause
// A call of any collective as all its ranks together see it, with blocks one behind the other: what `stoker schedule`
// is about. It has a text, which stands before the programs of the ranks where these are written down:
//
//   call allreduce of 64 B in elements of 8 B
//   call reduce of 64 B in elements of 8 B, root 2, in place
//   call allgatherv of 8 16 0 24 B
//   call neighbor_alltoall of 8 B, grid 4x2
#pragma once

#include "algos/select/choice.hpp"
#include "algos/verify/verifier.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::algos {

struct WholeCall {
  Collective collective = Collective::alltoall;
  // The length of the vector, or of each block; one for every rank where their blocks differ. Empty for a barrier.
  std::vector<std::uint64_t> bytes;
  std::uint64_t element_bytes = 1; // nothing is cut within one
  int root = 0;
  bool in_place = false;
  std::vector<int> grid; // of neighbor_alltoall

  // Both throw std::invalid_argument where the call is none for so many ranks.
  [[nodiscard]] std::vector<Program> compile(const Choice& choice, const topology::Layout& layout) const;
  [[nodiscard]] std::vector<Contents> contents(int ranks, Terms& terms) const;

  bool operator==(const WholeCall&) const = default;
};

[[nodiscard]] std::string to_text(const WholeCall& call);

// A call, and a program for each of its ranks.
struct WrittenCall {
  WholeCall call;
  std::vector<Program> programs;
};
[[nodiscard]] std::string to_text(const WholeCall& call, std::span<const Program> programs);
// Throws std::invalid_argument: line, what stands there, what was expected.
[[nodiscard]] WrittenCall parse_call(std::string_view text);

} // namespace stoker::algos
