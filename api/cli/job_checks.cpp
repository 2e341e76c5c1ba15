// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/job_checks.hpp"

#include "engine/base/mpi_defects.hpp"
#include "engine/base/mpi_identity.hpp"
#include "engine/base/networks.hpp"
#include "topology/binding.hpp"
#include "topology/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stoker::cli {
namespace {

// Where one rank is. A machine may hold several nodes (containers, network namespaces), so both are reported.
struct Member {
  std::string machine; // boot id: equal in all namespaces of one kernel
  int node = 0;        // lowest rank that shares memory with it
  std::string cpus;    // where its threads may run
  std::string allowed; // where they could be bound to
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Member, machine, node, cpus, allowed)

int node_of(const MpiSession& session) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int lowest = session.rank();
  MPI_Bcast(&lowest, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  return lowest;
}

// Rank 0 gets all.
std::vector<Member> gather_members(const MpiSession& session) {
  Member mine;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), mine.machine);
  mine.node = node_of(session);
  const topology::Machine machine;
  mine.cpus = topology::process_binding(machine).to_string();
  mine.allowed = machine.allowed_cpus().to_string();
  std::vector<Member> members;
  for (const std::string& text : gather(nlohmann::json(mine).dump())) {
    members.push_back(nlohmann::json::parse(text).get<Member>());
  }
  return members;
}

// The job as rank 0 sees it.
struct Job {
  explicit Job(const std::vector<Member>& members) {
    for (const Member& member : members) {
      ++nodes[member.node];
      ++ranks[member.machine];
      used[member.machine] |= topology::CpuSet::parse(member.cpus);
      allowed[member.machine] |= topology::CpuSet::parse(member.allowed);
    }
  }
  [[nodiscard]] int most_ranks_of_a_node() const {
    return std::ranges::max_element(nodes, {}, [](const auto& entry) { return entry.second; })->second;
  }
  [[nodiscard]] bool oversubscribed() const {
    return std::ranges::any_of(ranks, [&](const auto& entry) { return entry.second > allowed.at(entry.first).size(); });
  }

  std::map<int, int> nodes; // lowest rank -> ranks
  std::map<std::string, int> ranks;
  std::map<std::string, topology::CpuSet> used, allowed;
};

// An integer control variable of the MPI library; nothing where it has none of that name.
std::optional<int> control_variable(const char* name) {
  int provided = 0;
  // Open MPI 4.1 makes this level the thread level of all of MPI from now on. Less than the highest would take it away
  // from the engine.
  if (MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) {
    return std::nullopt;
  }
  std::optional<int> result;
  int index = 0;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  int count = 0;
  if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS) {
    int value = 0;
    if (count == 1 && MPI_T_cvar_read(handle, &value) == MPI_SUCCESS) {
      result = value;
    }
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  return result;
}

Finding check_thread_level(const MpiSession& session) {
  const std::string found =
      fmt::format("{} provides {}", engine::mpi_identity().text, thread_level_name(session.thread_level()));
  if (session.thread_level() == MPI_THREAD_MULTIPLE) {
    return {"MPI thread level", Verdict::ok, found, ""};
  }
  return {"MPI thread level", Verdict::slow, found + ": requests run inline, without overlap",
          "use an MPI library built with MPI_THREAD_MULTIPLE, and ask for it in MPI_Init_thread"};
}

Finding check_tags() {
  int* upper = nullptr;
  int given = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upper, &given);
  const int limit = given != 0 ? *upper : 32767; // the least that the standard allows
  constexpr int plenty = 1 << 20;
  return {"MPI tags", limit >= plenty ? Verdict::ok : Verdict::slow, fmt::format("MPI_TAG_UB is {}", limit),
          limit >= plenty ? "" : "few requests between nodes can exist at once; free those that are no longer used"};
}

Finding check_cores(const Job& job, bool open_mpi) {
  std::vector<std::string> machines;
  for (const auto& [machine, ranks] : job.ranks) {
    machines.push_back(fmt::format("{} ranks on {} CPUs", ranks, job.allowed.at(machine).size()));
  }
  Finding finding{
      "ranks and cores", Verdict::ok,
      fmt::format("{} node{}; {}", job.nodes.size(), job.nodes.size() == 1 ? "" : "s", fmt::join(machines, ", ")), ""};
  if (!job.oversubscribed()) {
    return finding;
  }
  finding.verdict = Verdict::slow;
  if (!open_mpi) {
    finding.found += "; more ranks than CPUs, and a rank that waits inside the MPI library spins";
    finding.remedy = "launch fewer ranks (stoker plan); for a test with many, use Open MPI with "
                     "--mca mpi_yield_when_idle 1";
  } else if (control_variable("mpi_yield_when_idle").value_or(0) == 0) {
    finding.found +=
        "; more ranks than CPUs, and mpi_yield_when_idle is 0: a rank that waits inside MPI keeps its core";
    finding.remedy = "mpirun --mca mpi_yield_when_idle 1, or fewer ranks (stoker plan)";
  } else {
    finding.found += "; more ranks than CPUs (mpi_yield_when_idle is 1, so waiting ranks give way)";
    finding.remedy = "launch fewer ranks: stoker plan";
  }
  return finding;
}

Finding check_binding(const Job& job) {
  for (const auto& [machine, ranks] : job.ranks) {
    const topology::CpuSet& used = job.used.at(machine);
    const topology::CpuSet& allowed = job.allowed.at(machine);
    if (used.size() < std::min(ranks, allowed.size())) {
      return {"binding of ranks", Verdict::slow,
              fmt::format("{} ranks of one machine are bound to CPU {} only, of {}: they take turns, a message costs a "
                          "scheduler tick (4 ms)",
                          ranks, used.to_string(), allowed.to_string()),
              "Open MPI: --bind-to none, or --map-by core --bind-to core; Hydra: -bind-to core"};
    }
  }
  return {"binding of ranks", Verdict::ok, "no two ranks are crowded onto one core while others are free", ""};
}

// Whether UCX's function that hangs there is replaced by a preloaded library, as scripts/cluster does.
bool disconnect_is_replaced() {
  void* function = dlsym(RTLD_DEFAULT, "ucp_disconnect_nb");
  Dl_info info{};
  return function != nullptr && dladdr(function, &info) != 0 &&
         std::string(info.dli_fname).find("libucp") == std::string::npos;
}

// Known defects of certain builds over TCP.
Findings check_transport(const Job& job, const engine::MpiIdentity& library) {
  Findings findings;
  const bool mpich_over_ucx = library.name == "MPICH" && library.text.find("ucx") != std::string::npos;
  if (mpich_over_ucx && job.nodes.size() > 1 && job.most_ranks_of_a_node() > 1 && engine::has_only_tcp() &&
      !disconnect_is_replaced()) {
    findings.push_back(
        {"MPI_Finalize", Verdict::slow,
         fmt::format("{} over TCP is known to hang in MPI_Finalize with several ranks on each of several nodes",
                     library.text),
         "one rank per node, a newer MPICH, or Open MPI"});
  }
  const char* transports = std::getenv("UCX_TLS");
  if (mpich_over_ucx && job.nodes.size() > job.ranks.size() && transports == nullptr) {
    findings.push_back(
        {"UCX transports", Verdict::slow,
         "several nodes are one machine, and UCX sees through network namespaces: traffic may bypass the network",
         "UCX_TLS=tcp,self UCX_NET_DEVICES=eth0"});
  }
  return findings;
}

// Half the median round trip of 8 bytes between rank 0 and `peer`, in microseconds, on rank 0. The others sleep
// meanwhile.
double measure_latency(const MpiSession& session, int peer) {
  constexpr std::size_t rounds = 41;
  constexpr double enough_seconds = 0.5; // where a message takes a scheduler tick or more
  constexpr int tag = 1;
  std::vector<double> times;
  std::array<char, 8> message{}; // the first byte says that it is the last
  const auto length = static_cast<int>(message.size());
  const double start = MPI_Wtime();
  while ((session.rank() == 0 || session.rank() == peer) && message[0] == 0) {
    if (session.rank() == 0) {
      const double begin = MPI_Wtime();
      message[0] = times.size() + 1 == rounds || begin - start > enough_seconds ? 1 : 0;
      MPI_Send(message.data(), length, MPI_CHAR, peer, tag, MPI_COMM_WORLD);
      MPI_Recv(message.data(), length, MPI_CHAR, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      times.push_back((MPI_Wtime() - begin) / 2 * 1e6);
    } else {
      MPI_Recv(message.data(), length, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(message.data(), length, MPI_CHAR, 0, tag, MPI_COMM_WORLD);
    }
  }
  MPI_Request all = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all);
  for (int done = 0; done == 0;) {
    MPI_Test(&all, &done, MPI_STATUS_IGNORE);
    usleep(1000);
  }
  if (times.empty()) {
    return 0;
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

Finding check_latency(const MpiSession& session, int peer, const std::string& where) {
  const double latency = measure_latency(session, peer);
  const bool slow = latency > 500;
  return {"messages " + where, slow ? Verdict::slow : Verdict::ok,
          fmt::format("{:.1f} us for 8 bytes between rank 0 and rank {}", latency, peer),
          slow ? "ranks wait for each other's core: look at the binding, at ranks and cores, and at what else runs here"
               : ""};
}

} // namespace

Findings check_job(const MpiSession& session) {
  Findings findings{check_thread_level(session), check_tags()};
  if (std::string untested = engine::untested(engine::mpi_identity()); !untested.empty()) {
    findings.push_back({"MPI library", Verdict::ok, std::move(untested), ""});
  }
  if (session.size() == 1) {
    findings.push_back({"job", Verdict::ok,
                        "one process alone; under mpiexec the ranks, their binding and the network are looked at too",
                        ""});
    return findings;
  }
  const std::vector<Member> members = gather_members(session);
  int neighbour = 0;
  int remote = 0;
  if (session.rank() == 0) {
    const Job job(members);
    const engine::MpiIdentity& library = engine::mpi_identity();
    findings.push_back(check_cores(job, library.family == engine::MpiFamily::open_mpi));
    findings.push_back(check_binding(job));
    std::ranges::move(check_transport(job, library), std::back_inserter(findings));
    for (int rank = session.size() - 1; rank > 0; --rank) {
      (members[static_cast<std::size_t>(rank)].node == members[0].node ? neighbour : remote) = rank;
    }
  }
  neighbour = broadcast(neighbour);
  remote = broadcast(remote);
  if (neighbour != 0) {
    findings.push_back(check_latency(session, neighbour, "within a node"));
  }
  if (remote != 0) {
    findings.push_back(check_latency(session, remote, "between nodes"));
  }
  return findings;
}

} // namespace stoker::cli
