// SPDX-License-Identifier: BSD-3-Clause
// What init takes for a call if nobody names an algorithm.
#pragma once

#include "algos/select/machine.hpp"
#include "algos/select/selection.hpp"
#include "api/cli/call.hpp"

namespace stoker::cli {

// With the figures of that machine, for a call of so many bytes as programs_of takes them.
[[nodiscard]] algos::Choice default_choice(const Call& call, const algos::Machine& machine, algos::Driver driver,
                                           std::uint64_t bytes);

} // namespace stoker::cli
