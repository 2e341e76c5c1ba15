// SPDX-License-Identifier: BSD-3-Clause
// `stoker simulate`: how long collectives take on a machine that need not be here. Needs no MPI.
#include "api/cli/commands.hpp"
#include "api/cli/curves.hpp"
#include "api/cli/output_file.hpp"
#include "api/cli/study.hpp"
#include "api/cli/study_output.hpp"
#include "api/cli/time_lines.hpp"
#include "api/cli/units.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace stoker::cli {
namespace {

void plot(const Study& study, const std::string& path) {
  std::vector<Curve> curves;
  for (const Study::Row& row : study.rows) {
    Curve curve{row.name, {}, {}};
    for (std::size_t b = 0; b < study.bytes.size(); ++b) {
      curve.seconds.push_back(row.outcomes[b].seconds);
      curve.ringed.push_back(study.is_default(row, b));
    }
    curves.push_back(std::move(curve));
  }
  draw_curves(study.title(), study.bytes, curves, study.defaults.empty() ? "" : "the default", path);
}

} // namespace

int simulate(const SimulateOptions& options) {
  check_writable("--plot", options.plot);
  check_writable("--svg", options.svg);
  check_writable("--trace", options.trace);
  check_writable("--send-counts", options.send_counts);
  Study study = study_of(options);
  if (!options.plot.empty()) {
    check_drawable(study.bytes);
  }
  check_memory(study, options.jobs);
  run(study, options.jobs);
  if (study.rows.size() > 1 && !options.no_default) {
    find_defaults(study);
  }
  if (options.json) {
    fmt::print("{}\n", to_json(study).dump(2));
  } else {
    print(study, options.phases);
  }
  if (!options.plot.empty()) {
    plot(study, options.plot);
  }
  if (!options.send_counts.empty()) {
    write_send_counts(study, options.send_counts);
  }
  const Study::Row& first = study.rows.front();
  const TimeLines lines{fmt::format("{}: {}, {}", study.title(), first.name, bytes_text(study.bytes.front())),
                        study.call.layout, first.scenario, first.outcomes.front()};
  if (!options.svg.empty()) {
    draw_time_lines(lines, options.svg);
  }
  if (!options.trace.empty()) {
    write_trace(lines, options.trace);
  }
  return 0;
}

} // namespace stoker::cli
