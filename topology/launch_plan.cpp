// SPDX-License-Identifier: BSD-3-Clause
#include "topology/launch_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace stoker::topology {

namespace {

// One NUMA domain of a node, while cores are being dealt out.
struct DomainCores {
  LogicalIndex numa;
  std::vector<OsIndex> cpus; // one CPU of each core that the job may use: ranks from the front, helpers from the back
  int ranks = 0;

  [[nodiscard]] int cores() const { return static_cast<int>(cpus.size()); }
  // The largest number of ranks r for which there are r + min(helpers, r) cores: a domain has no more helpers than
  // ranks.
  [[nodiscard]] int capacity(int helpers) const { return std::max(cores() - helpers, cores() / 2); }
  // Whether this many helpers leave a core, which any number of ranks may share.
  [[nodiscard]] bool can_share(int helpers) const { return cores() > helpers; }
};

std::vector<DomainCores> usable_cores(const Machine& machine) {
  std::vector<DomainCores> domains;
  for (const NumaDomain& numa : machine.numa_domains()) {
    domains.push_back({numa.index, {}, 0});
  }
  for (const Core& core : machine.cores()) {
    const CpuSet usable = core.cpus & machine.allowed_cpus();
    if (!usable.empty()) {
      domains[static_cast<std::size_t>(core.numa.value)].cpus.push_back(usable.first());
    }
  }
  return domains;
}

// hwloc's numbers of these CPUs among those that the job may use: what Open MPI calls logical ids.
std::vector<int> logical_cpus(const Machine& machine, const std::vector<OsIndex>& cpus) {
  std::vector<OsIndex> order;
  for (const Core& core : machine.cores()) {
    const std::vector<OsIndex> members = (core.cpus & machine.allowed_cpus()).members();
    order.insert(order.end(), members.begin(), members.end());
  }
  std::vector<int> numbers;
  for (const OsIndex cpu : cpus) {
    numbers.push_back(static_cast<int>(std::find(order.begin(), order.end(), cpu) - order.begin()));
  }
  return numbers;
}

std::string plural(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void check(const LaunchRequest& request) {
  const auto positive = [](int value, std::string_view what) {
    if (value < 1) {
      throw TopologyError(fmt::format("plan: {} is {}, expected at least 1", what, value));
    }
  };
  positive(request.nodes, "the number of nodes");
  positive(request.ranks_per_node, "the number of ranks per node");
  positive(request.cores_per_domain, "the number of helper cores per NUMA domain");
}

[[noreturn]] void refuse(const Machine& machine, const LaunchRequest& request, int cores, int capacity,
                         bool can_share) {
  std::string advice = "What works: STOKER_RESERVE=none, where helpers share their cores with ranks";
  if (capacity > 0) {
    const int ranks = request.nodes * request.ranks_per_node;
    advice = fmt::format("What works: {} per node at most, so {} for {} in all", plural(capacity, "rank"),
                         plural((ranks + capacity - 1) / capacity, "node"), plural(ranks, "rank"));
  }
  if (can_share && !request.oversubscribe) {
    advice += "; or more ranks than cores, which share them (oversubscribe)";
  }
  if (machine.has_smt()) {
    advice += fmt::format(
        "; or STOKER_RESERVE=smt, where helpers use the second hardware thread of the ranks' cores, with up "
        "to {} per node",
        plural(cores, "rank"));
  }
  throw TopologyError(
      fmt::format("plan: no room for {} per node: a node has {} in {}, and {} in each of them for helpers "
                  "leaves room for {}. {}.",
                  plural(request.ranks_per_node, "rank"), plural(cores, "core"),
                  plural(static_cast<int>(machine.numa_domains().size()), "NUMA domain"), request.cores_per_domain,
                  plural(capacity, "rank"), advice));
}

// Deals the ranks out: every one to the domain with the fewest that still has a core for it.
void spread_ranks(std::vector<DomainCores>& domains, int ranks, int helpers) {
  for (int r = 0; r < ranks; ++r) {
    DomainCores* best = nullptr;
    for (DomainCores& domain : domains) {
      if (domain.ranks < domain.capacity(helpers) && (best == nullptr || domain.ranks < best->ranks)) {
        best = &domain;
      }
    }
    ++best->ranks;
  }
}

void take_helpers(LaunchPlan& plan, const DomainCores& domain, int count) {
  for (auto cpu = domain.cpus.end() - count; cpu != domain.cpus.end(); ++cpu) {
    plan.helpers.push_back({domain.numa, *cpu});
  }
}

// Every rank has a core of its own.
void place_bound(LaunchPlan& plan, std::vector<DomainCores> domains, const LaunchRequest& request) {
  spread_ranks(domains, request.ranks_per_node, request.cores_per_domain);
  for (const DomainCores& domain : domains) {
    for (int r = 0; r < domain.ranks; ++r) {
      plan.rank_cpus.emplace_back(domain.cpus[static_cast<std::size_t>(r)]);
    }
    take_helpers(plan, domain, std::min(request.cores_per_domain, domain.ranks));
  }
}

// All ranks share the cores that helpers leave.
void place_oversubscribed(LaunchPlan& plan, const std::vector<DomainCores>& domains, const LaunchRequest& request) {
  CpuSet shared;
  for (const DomainCores& domain : domains) {
    if (domain.can_share(request.cores_per_domain)) {
      for (int c = 0; c < domain.cores() - request.cores_per_domain; ++c) {
        shared |= CpuSet(domain.cpus[static_cast<std::size_t>(c)]);
      }
      take_helpers(plan, domain, request.cores_per_domain);
    }
  }
  plan.rank_cpus.assign(static_cast<std::size_t>(request.ranks_per_node), shared);
}

// `program`: with what binds it.
void add_slurm(std::vector<LaunchCommand>& lines, const LaunchRequest& request, const std::string& settings,
               const std::string& program) {
  const std::string layout = fmt::format("--nodes={} --ntasks={} --ntasks-per-node={}", request.nodes,
                                         request.nodes * request.ranks_per_node, request.ranks_per_node);
  lines.push_back({"Slurm (MPICH)", fmt::format("{} srun --mpi=pmi2 {} {}", settings, layout, program),
                   fmt::format("inside an allocation of whole nodes (salloc or sbatch --nodes={} --exclusive); without "
                               "--core-spec, which takes cores away from the job, and without --cpus-per-task and "
                               "--exact, which confine it to the ranks' cores; srun --mpi=list says what there is",
                               request.nodes)});
  lines.push_back(
      {"Slurm (Open MPI)", fmt::format("{} srun --mpi=pmix {} {}", settings, layout, program), "as for MPICH"});
}

std::vector<LaunchCommand> commands(const Machine& machine, const LaunchRequest& request, const LaunchPlan& plan,
                                    bool oversubscribed) {
  const int ranks = request.nodes * request.ranks_per_node;
  const int ppn = request.ranks_per_node;
  std::string settings = "STOKER_RESERVE=" + plan.reserve;
  std::string forwarded = "-x STOKER_RESERVE";
  if (request.cores_per_domain > 1) {
    settings += fmt::format(" STOKER_THREADS_PER_DOMAIN={}", request.cores_per_domain);
    forwarded += " -x STOKER_THREADS_PER_DOMAIN";
  }
  if (oversubscribed) {
    const std::string confined = fmt::format("taskset -c {} {}", plan.rank_cpus.front().to_string(), request.program);
    std::vector<LaunchCommand> lines{
        {"Hydra (MPICH)", fmt::format("{} mpiexec -n {} -ppn {} -bind-to none {}", settings, ranks, ppn, confined),
         "the ranks share CPUs and are not bound one by one"},
        {"Open MPI",
         fmt::format("{} mpirun {} -n {} --map-by ppr:{}:node --oversubscribe --bind-to none {}", settings, forwarded,
                     ranks, ppn, confined),
         "the ranks share CPUs and are not bound one by one; --mca mpi_yield_when_idle 1 makes them share well"},
    };
    add_slurm(lines, request, settings, "--overcommit --cpu-bind=none " + confined);
    return lines;
  }
  std::vector<OsIndex> cpus;
  std::vector<int> os;
  for (const CpuSet& cpu : plan.rank_cpus) {
    cpus.push_back(cpu.first());
    os.push_back(cpu.first().value);
  }
  std::vector<LaunchCommand> lines{
      {"Hydra (MPICH)",
       fmt::format("{} mpiexec -n {} -ppn {} -bind-to user:{} {}", settings, ranks, ppn, fmt::join(os, ","),
                   request.program),
       "the numbers are those of the operating system"},
      {"Open MPI 4",
       fmt::format(
           "{} mpirun {} -n {} --use-hwthread-cpus --map-by ppr:{}:node --bind-to cpu-list:ordered --cpu-list {} {}",
           settings, forwarded, ranks, ppn, fmt::join(logical_cpus(machine, cpus), ","), request.program),
       "with --use-hwthread-cpus the numbers are hwloc's logical ones"},
      {"Open MPI 5",
       fmt::format("{} mpirun {} -n {} --map-by pe-list={}:ordered:hwtcpus {}", settings, forwarded, ranks,
                   fmt::join(logical_cpus(machine, cpus), ","), request.program),
       "the numbers are the same; tried on one node"},
  };
  add_slurm(lines, request, settings, fmt::format("--cpu-bind=map_cpu:{} {}", fmt::join(os, ","), request.program));
  return lines;
}

} // namespace

LaunchPlan plan_launch(const Machine& machine, const LaunchRequest& request) {
  check(request);
  const std::vector<DomainCores> domains = usable_cores(machine);
  const auto sum = [&](auto value) {
    return std::accumulate(domains.begin(), domains.end(), 0,
                           [&](int total, const DomainCores& d) { return total + value(d); });
  };
  const int cores = sum([](const DomainCores& d) { return d.cores(); });
  const int capacity = sum([&](const DomainCores& d) { return d.capacity(request.cores_per_domain); });
  const bool oversubscribed = request.ranks_per_node > capacity;
  const bool can_share = std::any_of(domains.begin(), domains.end(),
                                     [&](const DomainCores& d) { return d.can_share(request.cores_per_domain); });
  if (oversubscribed && !(request.oversubscribe && can_share)) {
    refuse(machine, request, cores, capacity, can_share);
  }

  LaunchPlan plan;
  if (oversubscribed) {
    place_oversubscribed(plan, domains, request);
  } else {
    place_bound(plan, domains, request);
  }
  CpuSet reserved;
  for (const PlannedHelper& helper : plan.helpers) {
    reserved |= CpuSet(helper.cpu);
  }
  plan.reserve = "list:" + reserved.to_string();
  plan.commands = commands(machine, request, plan, oversubscribed);
  return plan;
}

std::string LaunchPlan::to_string() const {
  std::string text = fmt::format("each node: {} on CPU", plural(static_cast<int>(rank_cpus.size()), "rank"));
  if (std::adjacent_find(rank_cpus.begin(), rank_cpus.end()) != rank_cpus.end()) {
    text += fmt::format("s {}, shared", rank_cpus.front().to_string());
  } else {
    text += rank_cpus.size() == 1 ? " " : "s ";
    for (std::size_t r = 0; r < rank_cpus.size(); ++r) {
      text += (r == 0 ? "" : ",") + rank_cpus[r].to_string();
    }
  }
  text += "\n";
  for (const PlannedHelper& helper : helpers) {
    text += fmt::format("           1 helper on CPU {}, NUMA domain {}\n", helper.cpu.value, helper.numa.value);
  }
  text += fmt::format("setting:   STOKER_RESERVE={}\n", reserve);
  for (const LaunchCommand& line : commands) {
    text += fmt::format("\n{}:\n  {}\n  ({})\n", line.launcher, line.command, line.note);
  }
  return text;
}

} // namespace stoker::topology
