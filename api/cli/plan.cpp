// SPDX-License-Identifier: BSD-3-Clause
// `stoker plan`: topology/launch_plan.hpp on the terminal or as JSON.
#include "api/cli/commands.hpp"
#include "topology/launch_plan.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>

namespace stoker::cli {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const topology::Machine& machine, const topology::LaunchPlan& plan) {
  ordered_json json;
  json["machine"] = machine.description();
  json["reserve"] = plan.reserve;
  json["rank_cpus"] = ordered_json::array();
  for (const topology::CpuSet& cpus : plan.rank_cpus) {
    json["rank_cpus"].push_back(cpus.to_string());
  }
  json["helpers"] = ordered_json::array();
  for (const topology::PlannedHelper& helper : plan.helpers) {
    json["helpers"].push_back({{"numa", helper.numa.value}, {"cpu", helper.cpu.value}});
  }
  json["commands"] = ordered_json::array();
  for (const topology::LaunchCommand& command : plan.commands) {
    json["commands"].push_back({{"launcher", command.launcher}, {"command", command.command}, {"note", command.note}});
  }
  return json;
}

} // namespace

int plan(const PlanOptions& options) {
  const topology::Machine machine(options.machine);
  topology::LaunchPlan plan = topology::plan_launch(machine, {.nodes = options.nodes,
                                                              .ranks_per_node = options.ranks_per_node,
                                                              .cores_per_domain = options.helpers_per_numa,
                                                              .oversubscribe = options.oversubscribe,
                                                              .program = options.program});
  if (!options.launcher.empty()) {
    static const std::map<std::string, std::string> names{
        {"hydra", "Hydra"}, {"openmpi", "Open MPI"}, {"slurm", "Slurm"}};
    std::erase_if(plan.commands, [&](const topology::LaunchCommand& command) {
      return !command.launcher.starts_with(names.at(options.launcher));
    });
  }
  if (options.json) {
    fmt::print("{}\n", to_json(machine, plan).dump(2));
  } else {
    fmt::print("{}\n", plan.to_string());
  }
  return 0;
}

} // namespace stoker::cli
