// SPDX-License-Identifier: BSD-3-Clause
// What tools can read through MPI's tool information interface (MPI_T). Performance variables are the totals of this
// process and what it has in use; control variables are the settings, which tools cannot change.
#pragma once

#include "engine/settings/settings.hpp"

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace stoker::pmpi {

using ToolNumber = std::variant<std::uint64_t, double>;

struct PerformanceVariable {
  std::string name;
  std::string help;
  int var_class;
  MPI_Datatype datatype; // MPI_UNSIGNED_LONG_LONG or MPI_DOUBLE, as what read() returns
  std::function<ToolNumber()> read;
  // What is in use at present: no tool can set that. All others count up for ever.
  [[nodiscard]] bool is_level() const { return var_class == MPI_T_PVAR_CLASS_LEVEL; }
};
[[nodiscard]] const std::vector<PerformanceVariable>& performance_variables();

struct ControlVariable {
  std::string name;
  std::string help;
  int verbosity;
  std::string (*get)(const engine::Settings&);
};
[[nodiscard]] const std::vector<ControlVariable>& control_variables();
// Its value: of the settings that the job goes by, or, before MPI is initialised, of those that it would go by.
[[nodiscard]] std::string text_of(const ControlVariable& variable);
// Once MPI is initialised.
void show_settings(const engine::Settings& settings);

} // namespace stoker::pmpi
