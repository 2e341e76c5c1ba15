// SPDX-License-Identifier: BSD-3-Clause
// The steps of all ranks as one graph: what has to be done before what, over ranks.
#pragma once

#include "algos/schedule/matching.hpp"
#include "algos/schedule/schedule.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stoker::engine::device {

using NodeId = std::uint32_t;

// A step; or what a step is besides: a fence is left when all ranks have come to theirs. Or the end of a rank's epoch.
struct Node {
  enum class Kind : std::uint8_t { step, leave_fence, end };
  Kind kind = Kind::step;
  std::uint32_t rank = 0;
  algos::StepId step = 0;
  std::vector<NodeId> after = {}; // without repetition
  std::uint32_t level = 0;        // more than that of each node in `after`
};

// Whether the step's rank moves or combines bytes at it: not at sends, nor where a put brings them.
[[nodiscard]] bool has_work(std::span<const algos::Program> programs, const algos::Matching& matching,
                            const Node& node);

// Throws Error(argument) where steps wait for each other in a circle. `programs` match. Nodes that are done
// together with another one of their rank, or from the beginning, are in nobody's `after`.
[[nodiscard]] std::vector<Node> step_graph(std::span<const algos::Program> programs, const algos::Matching& matching);

} // namespace stoker::engine::device
