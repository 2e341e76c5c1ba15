// SPDX-License-Identifier: BSD-3-Clause
// Used by launch_lines: prints a planned launch line, and, launched by it, where ranks and helpers really are.
//   placement_probe plan LAUNCHER RANKS PROGRAM   the line for "Hydra" or "Open MPI 4", and what its ranks are to print
//   placement_probe                               under the launcher: one line per rank
#include "topology/binding.hpp"
#include "topology/discover.hpp"
#include "topology/launch_plan.hpp"
#include "topology/reservation.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

namespace {

using namespace stoker::topology;

void print_place(int rank, const CpuSet& cpus, const CpuSet& helper, bool reserved) {
  std::printf("rank %d on CPU %s, helper on CPU %s, %s\n", rank, cpus.to_string().c_str(), helper.to_string().c_str(),
              reserved ? "reserved" : "shared");
}

// The launch line, and then what the ranks that it starts are to print. Exit status 77: not on this machine.
int print_plan(const std::string& launcher, int ranks, const std::string& program) {
  const Machine machine;
  if (machine.cores().size() < 2 || machine.numa_domains().size() > 1) {
    return 77;
  }
  const LaunchPlan plan = plan_launch(machine, {.ranks_per_node = ranks, .oversubscribe = true, .program = program});
  for (const LaunchCommand& line : plan.commands) {
    if (line.launcher.starts_with(launcher) || launcher.starts_with(line.launcher)) { // one for all versions
      std::puts(line.command.c_str());
    }
  }
  for (int r = 0; r < ranks; ++r) {
    print_place(r, plan.rank_cpus[static_cast<std::size_t>(r)], CpuSet(plan.helpers.front().cpu), true);
  }
  return 0;
}

void print_placement() {
  const char* request = std::getenv("STOKER_RESERVE");
  const Machine machine;
  const Discovery found = discover(MPI_COMM_WORLD, machine, {});
  const auto places =
      reserve(machine, found.node_ranks, found.node_domains(), Reservation::parse(request ? request : "auto"));
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ThreadBinding helper;
  std::thread([&] { helper = bind_helper_thread(machine, places.front().cpus); }).join();
  print_place(rank, process_binding(machine), helper.obtained, places.front().reserved);
}

} // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 5) {
      return print_plan(argv[2], std::atoi(argv[3]), argv[4]);
    }
    MPI_Init(&argc, &argv);
    print_placement();
    MPI_Finalize();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
