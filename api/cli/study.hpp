// SPDX-License-Identifier: BSD-3-Clause
// What `stoker simulate` simulates: a collective on a machine, algorithms down, sizes across.
#pragma once

#include "algos/select/choice.hpp"
#include "algos/select/machine.hpp"
#include "algos/simulate/simulate.hpp"
#include "api/cli/call.hpp"
#include "api/cli/commands.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace stoker::cli {

struct Study {
  struct Row {
    std::string name;                        // of an algorithm with its parameters, or of a library
    std::vector<algos::Choice> choices = {}; // for each size, as all that follows
    std::vector<std::string> notes = {};     // of a library: what it calls its choice, and what ours does otherwise
    algos::Scenario scenario = {};
    std::vector<algos::Outcome> outcomes = {};
    [[nodiscard]] bool is_library() const { return !notes.empty(); }
  };
  Call call;
  algos::Machine machine; // as far as the job uses it
  std::vector<std::uint64_t> bytes;
  std::vector<Row> rows;
  std::vector<algos::Choice> defaults = {}; // for each size what init takes; empty: not asked for

  // Whether init takes the row's algorithm for that size.
  [[nodiscard]] bool is_default(const Row& row, std::size_t size) const {
    return !defaults.empty() && !row.is_library() && row.choices[size] == defaults[size];
  }
  [[nodiscard]] std::string title() const; // "alltoall on Dane, 3584 ranks on 32 nodes"
};

// Without outcomes. Throws std::invalid_argument, or std::runtime_error for a machine's file, which name what does not
// fit, and what would.
[[nodiscard]] Study study_of(const SimulateOptions& options);
// Throws std::invalid_argument for simulations that need more memory than there is, `jobs` at a time.
void check_memory(const Study& study, int jobs);
// Fills in the outcomes.
void run(Study& study, int jobs);
// Fills in the defaults.
void find_defaults(Study& study);

} // namespace stoker::cli
