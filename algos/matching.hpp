// SPDX-License-Identifier: BSD-3-Clause
// Which send meets which recv, over the programs of all ranks.
#pragma once

#include "algos/schedule.hpp"

#include <span>
#include <string>
#include <vector>

namespace stoker::algos {

struct Matching {
  // partners[rank][step]: the step of the peer's program that a send or recv meets; 0 for a copy, which meets none.
  std::vector<std::vector<StepId>> partners;
  // The first send or recv without a partner, or pair of unequal size, in words; empty if there is none.
  std::string defect;
};

// `programs` holds one for each rank, in rank order, each free of defects.
[[nodiscard]] Matching match(std::span<const Program> programs);

} // namespace stoker::algos
