// SPDX-License-Identifier: BSD-3-Clause
// Tools may call before this library's constructors have run, and after its destructors: tables are made when they are
// first looked at, and never destroyed.
#include "api/pmpi/tool_variables.hpp"

#include "api/pmpi/handles.hpp"
#include "api/pmpi/statistics.hpp"
#include "api/reports/totals.hpp"
#include "engine/base/agreement.hpp"
#include "engine/settings/setting_table.hpp"

#include <fmt/format.h>

#include <mutex>

namespace stoker::pmpi {
namespace {

constexpr auto named = "stoker_{}"; // all of them

int class_of(reports::Quantity quantity) {
  switch (quantity) {
  case reports::Quantity::bytes:
    return MPI_T_PVAR_CLASS_AGGREGATE;
  case reports::Quantity::seconds:
    return MPI_T_PVAR_CLASS_TIMER;
  default:
    return MPI_T_PVAR_CLASS_COUNTER;
  }
}

PerformanceVariable variable_of(const reports::TotalRow& row) {
  return {.name = fmt::format(named, row.name),
          .help = std::string(row.help),
          .var_class = class_of(row.quantity),
          .datatype = row.quantity == reports::Quantity::seconds ? MPI_DOUBLE : MPI_UNSIGNED_LONG_LONG,
          .read = [member = row.member] {
            const reports::Totals totals = own_totals();
            return std::visit([&](auto which) { return ToolNumber(totals.*which); }, member);
          }};
}

PerformanceVariable level(const char* name, const char* help, std::function<ToolNumber()> read) {
  return {.name = fmt::format(named, name),
          .help = help,
          .var_class = MPI_T_PVAR_CLASS_LEVEL,
          .datatype = MPI_UNSIGNED_LONG_LONG,
          .read = std::move(read)};
}

struct ShownSettings {
  std::mutex mutex;                              // guards what follows
  const engine::Settings* initialised = nullptr; // never destroyed; null before MPI is initialised
};
constinit ShownSettings shown_settings;

} // namespace

const std::vector<PerformanceVariable>& performance_variables() {
  static const auto& variables = *new auto([] {
    std::vector<PerformanceVariable> all;
    for (const reports::TotalRow& row : reports::total_rows()) {
      all.push_back(variable_of(row));
    }
    all.push_back(level("requests", "requests of the application's that are this library's, active or not",
                        [] { return ToolNumber(static_cast<std::uint64_t>(requests_in_use())); }));
    all.push_back(level("shared_bytes",
                        "bytes of this process's shared memory in use: requests, staging, and what was allocated",
                        [] { return ToolNumber(shared_bytes_in_use()); }));
    return all;
  }());
  return variables;
}

const std::vector<ControlVariable>& control_variables() {
  static const auto& variables = *new auto([] {
    std::vector<ControlVariable> all;
    for (const engine::SettingRow& row : engine::setting_table()) {
      all.push_back({.name = fmt::format(named, row.key),
                     .help = std::string(row.help),
                     .verbosity = row.kind == engine::SettingKind::tuning ? MPI_T_VERBOSITY_TUNER_DETAIL
                                                                          : MPI_T_VERBOSITY_USER_BASIC,
                     .get = row.get});
    }
    return all;
  }());
  return variables;
}

std::string text_of(const ControlVariable& variable) {
  const std::lock_guard lock(shown_settings.mutex);
  if (shown_settings.initialised != nullptr) {
    return variable.get(*shown_settings.initialised);
  }
  engine::Settings settings;
  (void)engine::attempt([&] { settings = engine::load_settings(); }); // else the defaults, as in MPI_Init
  return variable.get(settings);
}

void show_settings(const engine::Settings& settings) {
  const std::lock_guard lock(shown_settings.mutex);
  shown_settings.initialised = new engine::Settings(settings);
}

} // namespace stoker::pmpi
