// SPDX-License-Identifier: BSD-3-Clause
// What stoker would do with a call that the MPI library has just carried out, as far as the call itself tells.
#pragma once

#include "api/pmpi/state.hpp"
#include "api/reports/advice.hpp"
#include "engine/data/collective_call.hpp"

#include <compare>
#include <cstdint>
#include <string_view>

namespace stoker::pmpi {

struct AdvisedPlan {
  reports::Plan plan = reports::Plan::left;
  std::string_view reason{}; // why it is left
  auto operator<=>(const AdvisedPlan&) const = default;
};

// Local. The MPI library must have accepted the arguments.
[[nodiscard]] AdvisedPlan plan_for(Form form, const engine::CollectiveCall& call);
[[nodiscard]] AdvisedPlan plan_for_message(std::uint64_t bytes);

// What this rank sends, or receives if it sends nothing or in place.
[[nodiscard]] std::uint64_t bytes_of(const engine::CollectiveCall& call);

} // namespace stoker::pmpi
