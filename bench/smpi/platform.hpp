// SPDX-License-Identifier: BSD-3-Clause
// A machine as SimGrid's platform. Each rank has a host of its own, so that the cost of a message within a node can
// depend on how far apart the two ranks are.
#pragma once

#include "algos/select/machine.hpp"
#include "algos/simulate/places.hpp"

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::bench {

inline constexpr std::string_view host_prefix = "rank-"; // and its number

// XML. Throws std::invalid_argument for a machine that a platform cannot express.
void write_platform(std::ostream& out, const algos::Machine& machine, const algos::Places& places);

// What smpirun has to be told, so that nothing but the platform and the costs of messages counts.
[[nodiscard]] std::vector<std::string> smpirun_options(const algos::Machine& machine);

} // namespace stoker::bench
