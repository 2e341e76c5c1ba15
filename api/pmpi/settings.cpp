// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/settings.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/never_destroyed.hpp"
#include "engine/settings/setting_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace stoker::pmpi {
namespace {

// Never destroyed: MPI_Finalize may come late.
engine::NeverDestroyed<engine::Settings> current_storage;
engine::Settings& current = current_storage.object;

} // namespace

bool read_settings() {
  return !engine::attempt([] { current = engine::load_settings(); });
}

void complain_of_settings(bool of_unknown_ones) {
  std::vector<std::string> lines;
  // What is wrong with the others the engine says, which is not created then.
  (void)engine::attempt([&] { lines = engine::refused_drop_in_settings(); });
  if (of_unknown_ones) {
    std::ranges::copy(engine::environment_warnings(), std::back_inserter(lines));
  }
  for (const std::string& line : lines) {
    fmt::print(stderr, "stoker: {}\n", line);
  }
}

void take_settings_of_rank_0(MPI_Comm comm) {
  std::string mine;
  for (const engine::SettingRow& row : engine::setting_table()) {
    mine += row.get(current) + '\n';
  }
  std::istringstream lines(engine::text_of_rank_0(comm, mine));
  for (const engine::SettingRow& row : engine::setting_table()) {
    std::string value;
    std::getline(lines, value);
    if (row.kind == engine::SettingKind::drop_in) {
      row.set(current, value);
    }
  }
  if (current.pmpi_advise && current.pmpi_summary.empty()) {
    current.pmpi_summary = std::string("1");
  }
}

engine::Settings& settings() { return current; }

bool reports_are_wanted() { return !current.pmpi_summary.empty() || !current.pmpi_job_line.empty(); }

} // namespace stoker::pmpi
