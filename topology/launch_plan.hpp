// SPDX-License-Identifier: BSD-3-Clause
// Plans a job whose helpers have cores of their own: which cores of a node stay free of ranks, and how to say so to the
// launcher. Pure: the machine that is given stands for every node of the job.
#pragma once

#include "topology/machine.hpp"

#include <string>
#include <vector>

namespace stoker::topology {

struct LaunchRequest {
  int nodes = 1;
  int ranks_per_node = 1;
  int cores_per_domain = 1;   // for helpers, in every NUMA domain that gets ranks; setting threads_per_domain
  bool oversubscribe = false; // more ranks than remaining cores are accepted; they then share these unbound
  std::string program = "./application";
};

struct PlannedHelper {
  LogicalIndex numa;
  OsIndex cpu;
};

struct LaunchCommand {
  std::string launcher; // "Hydra (MPICH)", ...
  std::string command;  // one line, for a shell
  std::string note;     // what it relies on
};

struct LaunchPlan {
  std::vector<CpuSet> rank_cpus; // per local rank of a node
  std::vector<PlannedHelper> helpers;
  std::string reserve; // value of STOKER_RESERVE
  std::vector<LaunchCommand> commands;

  [[nodiscard]] std::string to_string() const; // for a terminal
};

// Throws TopologyError when the layout cannot work; the text has the reason and a layout that works.
[[nodiscard]] LaunchPlan plan_launch(const Machine& machine, const LaunchRequest& request);

} // namespace stoker::topology
