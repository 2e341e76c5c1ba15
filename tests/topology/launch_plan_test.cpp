// SPDX-License-Identifier: BSD-3-Clause
// Launch plans for described machines, compared with the whole text that a user sees, and checked against reserve():
// what is planned must be what the engine accepts.
#include "topology/launch_plan.hpp"

#include "topology/node.hpp"
#include "topology/reservation.hpp"

#include <gtest/gtest.h>

#include <string>

namespace stoker::topology {
namespace {

std::string error_of(const char* machine, const LaunchRequest& request) {
  try {
    return plan_launch(Machine(machine), request).to_string();
  } catch (const TopologyError& error) {
    return error.what();
  }
}

TEST(LaunchPlan, TwoCores) {
  EXPECT_EQ(plan_launch(Machine("core:2 pu:1"), {.nodes = 2, .ranks_per_node = 1}).to_string(),
            R"(each node: 1 rank on CPU 0
           1 helper on CPU 1, NUMA domain 0
setting:   STOKER_RESERVE=list:1

Hydra (MPICH):
  STOKER_RESERVE=list:1 mpiexec -n 2 -ppn 1 -bind-to user:0 ./application
  (the numbers are those of the operating system)

Open MPI 4:
  STOKER_RESERVE=list:1 mpirun -x STOKER_RESERVE -n 2 --use-hwthread-cpus --map-by ppr:1:node --bind-to cpu-list:ordered --cpu-list 0 ./application
  (with --use-hwthread-cpus the numbers are hwloc's logical ones)

Open MPI 5:
  STOKER_RESERVE=list:1 mpirun -x STOKER_RESERVE -n 2 --map-by pe-list=0:ordered:hwtcpus ./application
  (the numbers are the same; tried on one node)

Slurm (MPICH):
  STOKER_RESERVE=list:1 srun --mpi=pmi2 --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpu-bind=map_cpu:0 ./application
  (inside an allocation of whole nodes (salloc or sbatch --nodes=2 --exclusive); without --core-spec, which takes cores away from the job, and without --cpus-per-task and --exact, which confine it to the ranks' cores; srun --mpi=list says what there is)

Slurm (Open MPI):
  STOKER_RESERVE=list:1 srun --mpi=pmix --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpu-bind=map_cpu:0 ./application
  (as for MPICH)
)");
}

TEST(LaunchPlan, FourNumaDomainsWithSmtNumberedFarApart) {
  // Cores 0-7, siblings 8-15, two cores in each of four NUMA domains.
  const Machine machine("package:2 numa:2 core:2 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)");
  const LaunchPlan plan = plan_launch(machine, {.nodes = 8, .ranks_per_node = 4, .program = "./solver -n 10"});
  EXPECT_EQ(plan.reserve, "list:1,3,5,7");
  ASSERT_EQ(plan.helpers.size(), 4U);
  EXPECT_EQ(plan.helpers[2].cpu, OsIndex{5});
  EXPECT_EQ(plan.helpers[2].numa, LogicalIndex{2});
  EXPECT_EQ(plan.commands[0].command,
            "STOKER_RESERVE=list:1,3,5,7 mpiexec -n 32 -ppn 4 -bind-to user:0,2,4,6 ./solver -n 10");
  EXPECT_EQ(
      plan.commands[1].command,
      "STOKER_RESERVE=list:1,3,5,7 mpirun -x STOKER_RESERVE -n 32 --use-hwthread-cpus --map-by ppr:4:node --bind-to "
      "cpu-list:ordered --cpu-list 0,4,8,12 ./solver -n 10");
  EXPECT_EQ(plan.commands[3].command, "STOKER_RESERVE=list:1,3,5,7 srun --mpi=pmi2 --nodes=8 --ntasks=32 "
                                      "--ntasks-per-node=4 --cpu-bind=map_cpu:0,2,4,6 ./solver -n 10");
}

TEST(LaunchPlan, DomainsWithoutRanksNeedNoHelper) {
  const LaunchPlan plan = plan_launch(Machine("package:2 [numa] core:4 pu:1"), {.ranks_per_node = 1});
  EXPECT_EQ(plan.reserve, "list:3");
  EXPECT_EQ(plan.helpers.size(), 1U);
}

TEST(LaunchPlan, SeveralHelpersPerDomain) {
  const LaunchPlan plan =
      plan_launch(Machine("package:2 [numa] core:4 pu:1"), {.ranks_per_node = 3, .cores_per_domain = 2});
  EXPECT_EQ(plan.reserve, "list:2-3,7"); // the second domain has one rank and so one helper
  EXPECT_EQ(
      plan.commands[0].command,
      "STOKER_RESERVE=list:2-3,7 STOKER_THREADS_PER_DOMAIN=2 mpiexec -n 3 -ppn 3 -bind-to user:0,1,4 ./application");
  EXPECT_NE(plan.commands[1].command.find("-x STOKER_RESERVE -x STOKER_THREADS_PER_DOMAIN"), std::string::npos);
}

TEST(LaunchPlan, TooManyRanksAreRefusedWithWhatWorks) {
  EXPECT_EQ(
      error_of("core:2 pu:1", {.nodes = 3, .ranks_per_node = 2}),
      "plan: no room for 2 ranks per node: a node has 2 cores in 1 NUMA domain, and 1 in each of them for helpers "
      "leaves "
      "room for 1 rank. What works: 1 rank per node at most, so 6 nodes for 6 ranks in all; or more ranks than cores, "
      "which share them (oversubscribe).");
  EXPECT_EQ(
      error_of("core:1 pu:1", {.ranks_per_node = 1}),
      "plan: no room for 1 rank per node: a node has 1 core in 1 NUMA domain, and 1 in each of them for helpers leaves "
      "room for 0 ranks. What works: STOKER_RESERVE=none, where helpers share their cores with ranks.");
  EXPECT_NE(
      error_of("core:2 pu:2", {.ranks_per_node = 2})
          .find(
              "; or STOKER_RESERVE=smt, where helpers use the second hardware thread of the ranks' cores, with up to 2 "
              "ranks per node."),
      std::string::npos);
  EXPECT_NE(error_of("core:1 pu:1", {.ranks_per_node = 1, .oversubscribe = true}).find("no room for"),
            std::string::npos);
  EXPECT_EQ(error_of("core:2 pu:1", {.ranks_per_node = 2, .cores_per_domain = 2, .oversubscribe = true}),
            "plan: no room for 2 ranks per node: a node has 2 cores in 1 NUMA domain, and 2 in each of them for "
            "helpers leaves "
            "room for 1 rank. What works: 1 rank per node at most, so 2 nodes for 2 ranks in all.");
}

TEST(LaunchPlan, BadNumbersAreRefused) {
  EXPECT_EQ(error_of("core:2 pu:1", {.nodes = 0}), "plan: the number of nodes is 0, expected at least 1");
  EXPECT_EQ(error_of("core:2 pu:1", {.ranks_per_node = -1}),
            "plan: the number of ranks per node is -1, expected at least 1");
  EXPECT_EQ(error_of("core:2 pu:1", {.cores_per_domain = 0}),
            "plan: the number of helper cores per NUMA domain is 0, expected at least 1");
}

TEST(LaunchPlan, OversubscribedRanksShareWhatHelpersLeave) {
  const LaunchPlan plan =
      plan_launch(Machine("package:2 [numa] core:2 pu:1"), {.nodes = 2, .ranks_per_node = 8, .oversubscribe = true});
  EXPECT_EQ(plan.reserve, "list:1,3");
  EXPECT_EQ(plan.commands[0].command,
            "STOKER_RESERVE=list:1,3 mpiexec -n 16 -ppn 8 -bind-to none taskset -c 0,2 ./application");
  EXPECT_EQ(plan.commands[1].command, "STOKER_RESERVE=list:1,3 mpirun -x STOKER_RESERVE -n 16 --map-by ppr:8:node "
                                      "--oversubscribe --bind-to none taskset -c 0,2 ./application");
  EXPECT_EQ(plan.commands[2].command,
            "STOKER_RESERVE=list:1,3 srun --mpi=pmi2 --nodes=2 --ntasks=16 --ntasks-per-node=8 --overcommit "
            "--cpu-bind=none taskset -c 0,2 ./application");
  EXPECT_EQ(plan.to_string().substr(0, plan.to_string().find('\n')), "each node: 8 ranks on CPUs 0,2, shared");
  // Asking for it changes nothing where the ranks fit.
  EXPECT_NE(plan_launch(Machine("core:2 pu:1"), {.oversubscribe = true}).commands[0].command.find("user:0"),
            std::string::npos);
}

// Every layout that is planned is one in which every helper gets a core without ranks, in its own NUMA domain.
TEST(LaunchPlan, WhatIsPlannedCanBeReserved) {
  for (const char* description :
       {"core:2 pu:1", "core:3 pu:2", "package:2 [numa] core:4 pu:1", "package:2 numa:2 core:4 pu:2",
        "package:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)", "package:3 [numa] core:2 pu:1"}) {
    const Machine machine(description);
    int planned = 0;
    for (unsigned cores_per_domain = 1; cores_per_domain <= 3; ++cores_per_domain) {
      const int helpers = static_cast<int>(cores_per_domain);
      for (int ranks = 1; ranks <= 16; ++ranks) {
        for (const bool oversubscribe : {false, true}) {
          LaunchPlan plan;
          try {
            plan = plan_launch(machine,
                               {.ranks_per_node = ranks, .cores_per_domain = helpers, .oversubscribe = oversubscribe});
          } catch (const TopologyError&) {
            EXPECT_FALSE(oversubscribe && machine.cores().size() > machine.numa_domains().size() * cores_per_domain);
            continue;
          }
          ++planned;
          ASSERT_EQ(plan.rank_cpus.size(), static_cast<std::size_t>(ranks));
          std::vector<NodeRank> node;
          for (int r = 0; r < ranks; ++r) {
            node.push_back({r, plan.rank_cpus[static_cast<std::size_t>(r)], true, machine.allowed_cpus()});
          }
          const std::vector<NodeDomain> domains = assign_domains(machine, node, DomainKind::numa, helpers);
          const auto places = reserve(machine, node, domains, Reservation::parse(plan.reserve));
          for (std::size_t d = 0; d < domains.size(); ++d) {
            EXPECT_TRUE(places[d].reserved) << description << ' ' << ranks << ' ' << cores_per_domain;
            EXPECT_TRUE(machine.numa_domain(domains[d].numa).cpus.contains(places[d].cpus))
                << description << ' ' << ranks << ' ' << cores_per_domain;
          }
        }
      }
    }
    EXPECT_GT(planned, 0) << description;
  }
}

} // namespace
} // namespace stoker::topology
