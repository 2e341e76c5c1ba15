// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/default_choice.hpp"

#include "algos/simulate/expectation.hpp"

#include <algorithm>
#include <vector>

namespace stoker::cli {

algos::Choice default_choice(const Call& call, const algos::Machine& machine, algos::Driver driver,
                             std::uint64_t bytes) {
  std::vector<double> seconds;
  if (pattern_of(call.collective) == algos::Pattern::neighborhood) {
    // Only the ranks of a node know each other's blocks: each node estimates by itself, and the longest time counts.
    const std::vector<algos::Choice> all = candidates(call.collective, call.layout, 0);
    for (const algos::Choice& choice : all) {
      const algos::ProgramOf program_of = programs_of(choice, call, bytes);
      double& longest = seconds.emplace_back(0);
      for (int node = 0; node < call.layout.nodes(); ++node) {
        longest = std::max(longest, estimate(call.layout, machine, driver, program_of, node).seconds);
      }
    }
    return all[algos::preferred(seconds)];
  }
  const std::uint64_t mean = call.mean_bytes(bytes);
  const std::uint64_t element = pattern_of(call.collective) == algos::Pattern::exchange ? 1 : element_bytes(mean);
  const algos::TypicalCall typical{.collective = call.collective,
                                   .layout = call.layout,
                                   .bytes = algos::typical_bytes(mean, element),
                                   .element_bytes = element,
                                   .root = call.root};
  const std::vector<algos::Choice> all = candidates(call.collective, call.layout, typical.bytes);
  for (const algos::Choice& choice : all) {
    seconds.push_back(expectation(choice, typical, machine, driver).seconds);
  }
  return all[algos::preferred(seconds)];
}

} // namespace stoker::cli
