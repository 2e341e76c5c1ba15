// SPDX-License-Identifier: BSD-3-Clause
// Which send or put meets which recv, over the programs of all ranks.
#pragma once

#include "algos/schedule/schedule.hpp"

#include <span>
#include <string>
#include <vector>

namespace stoker::algos {

struct Matching {
  // partners[rank][step]: the step of the peer's program that a send, put or recv meets; of a fence, which one of its
  // rank's fences it is, from 0; 0 for a copy, which meets none.
  std::vector<std::vector<StepId>> partners;
  // In words, empty if there is none: the first send, put or recv without a partner; pair of unequal size; put to
  // another place than that of its recv, announced on one side only, or with a step that is no fence waiting for the
  // recv; rank with more or fewer fences than rank 0, or with two in no order.
  std::string defect;
};

// `programs` holds one for each rank, in rank order, each free of defects.
[[nodiscard]] Matching match(std::span<const Program> programs);

} // namespace stoker::algos
