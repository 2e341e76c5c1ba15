// SPDX-License-Identifier: BSD-3-Clause
// A run of the driver: see session.hpp.
#include "bench/lib/session.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace stoker::bench {

namespace {

void bind_to_core(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    throw std::runtime_error(fmt::format("--bind: core {}: {}", core, std::strerror(errno)));
  }
}

std::string cores_of_this_rank() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    return "?";
  }
  std::vector<std::size_t> cores;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) {
      cores.push_back(core);
    }
  }
  return fmt::format("{}", fmt::join(cores, ","));
}

std::string host_name() {
  std::array<char, 256> name{};
  (void)gethostname(name.data(), name.size() - 1);
  return name.data();
}

// One text of every rank, in rank order, on rank 0.
std::vector<std::string> gather(MPI_Comm comm, const std::string& text) {
  std::array<char, 128> own{};
  text.copy(own.data(), own.size() - 1);
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  std::vector<std::array<char, 128>> all(static_cast<std::size_t>(ranks));
  MPI_Gather(own.data(), static_cast<int>(own.size()), MPI_CHAR, all.data(), static_cast<int>(own.size()), MPI_CHAR, 0,
             comm);
  std::vector<std::string> texts;
  for (const auto& entry : all) {
    texts.emplace_back(entry.data());
  }
  return texts;
}

// "mpich" or "openmpi", and the first line of what the library says of itself.
std::pair<std::string, std::string> mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string version(text.data(), static_cast<std::size_t>(length));
  version = version.substr(0, version.find_first_of("\n,"));
  std::replace(version.begin(), version.end(), '\t', ' ');
#ifdef OPEN_MPI
  return {"openmpi", version};
#else
  return {"mpich", version};
#endif
}

std::string thread_level_name() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  switch (level) {
  case MPI_THREAD_MULTIPLE:
    return "multiple";
  case MPI_THREAD_SERIALIZED:
    return "serialized";
  case MPI_THREAD_FUNNELED:
    return "funneled";
  default:
    return "single";
  }
}

// Environment variables that change what is measured, without those by which scripts find things.
std::vector<std::string> telling_environment() {
  constexpr std::array<std::string_view, 4> telling = {"STOKER_", "UCX_", "MPIR_CVAR_",
                                                       "OMPI_MCA_mpi_yield_when_idle="};
  constexpr std::array<std::string_view, 2> marks = {"STOKER_BUILD=", "STOKER_CLUSTER_"};
  std::vector<std::string> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto begins = [&](std::string_view prefix) { return text.starts_with(prefix); };
    if (std::any_of(telling.begin(), telling.end(), begins) && std::none_of(marks.begin(), marks.end(), begins)) {
      found.emplace_back(text);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

} // namespace

Session::Session(MPI_Comm comm, const Options& options, Report& report)
    : comm_(comm), options_(options), report_(report) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks_);
  if (!options.bind.empty()) {
    bind_to_core(options.bind[static_cast<std::size_t>(rank_) % options.bind.size()]);
  }
  describe_machine();
}

void Session::describe_machine() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank_on_node_);
  MPI_Comm_size(node, &ppn_);
  MPI_Comm_free(&node);
  nodes_ = rank_on_node_ == 0 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &nodes_, 1, MPI_INT, MPI_SUM, comm_);
  MPI_Allreduce(MPI_IN_PLACE, &ppn_, 1, MPI_INT, MPI_MAX, comm_);

  const auto [mpi, version] = mpi_library();
  const auto bindings = gather(comm_, host_name() + ":" + cores_of_this_rank());
  const auto environment = telling_environment();
  const double overhead = clock_overhead_us();
  report_.constant("mpi", mpi);
  report_.constant("nodes", nodes_);
  report_.constant("ppn", ppn_);
  report_.constant("mpi_version", version);
  report_.constant("thread_level", thread_level_name());
  report_.constant("cores_online", sysconf(_SC_NPROCESSORS_ONLN));
  report_.constant("bindings", bindings);
  report_.constant("settings", options_.settings);
  report_.constant("environment", environment);
  report_.constant("clock_overhead_us", overhead);

  report_.note(fmt::format("{}; thread level {}; {} nodes, at most {} ranks on one; {} cores here", version,
                           thread_level_name(), nodes_, ppn_, sysconf(_SC_NPROCESSORS_ONLN)));
  report_.note(fmt::format("ranks on host:cores {}", fmt::join(bindings, " ")));
  report_.note(fmt::format("settings given: {}; environment: {}",
                           options_.settings.empty() ? "none" : fmt::format("{}", fmt::join(options_.settings, " ")),
                           environment.empty() ? "none" : fmt::format("{}", fmt::join(environment, " "))));
  report_.note(fmt::format("reading the clock twice takes {:.0f} ns; times are of the slowest rank, median of the "
                           "iterations, in microseconds",
                           overhead * 1000));
}

std::shared_ptr<Device> Session::device() {
  if (device_ == nullptr) {
    device_ = Device::find(rank_on_node_);
    if (device_ != nullptr) {
      report_.constant("device", device_->name());
      report_.note("device of rank 0: " + device_->name());
    }
  }
  return device_;
}

Engine Session::make_engine(const std::string& executor, std::vector<Setting> settings) const {
  settings.emplace_back("executor", executor);
  for (const std::string& text : options_.settings) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) {
      throw std::invalid_argument("--set: expected key=value, got " + text);
    }
    settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return Engine(comm_, settings);
}

void Session::describe(const Engine& engine) {
  const stoker_engine_facts facts = engine.facts();
  std::string own;
  if (facts.helpers > 0 && facts.carrier == rank_) {
    own = facts.helper_core < 0 ? std::string("unbound") : fmt::format("core {}", facts.helper_core);
    own += facts.helper_reserved != 0 ? " (reserved)" : " (shared with ranks)";
    own = fmt::format("domain {} in rank {}: {}", facts.domain, rank_, own);
  }
  auto helpers = gather(comm_, own);
  helpers.erase(std::remove(helpers.begin(), helpers.end(), std::string()), helpers.end());
  int shared = facts.helpers > 0 && facts.helper_reserved == 0 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &shared, 1, MPI_INT, MPI_MAX, comm_);
  report_.constant("helper_core", facts.helpers > 0 ? nlohmann::ordered_json(facts.helper_core) : nullptr);
  report_.constant("helper_shared", shared != 0);
  report_.constant("helpers", helpers);
  report_.note(fmt::format("helpers: {}", helpers.empty() ? "none" : fmt::format("{}", fmt::join(helpers, "; "))));
}

} // namespace stoker::bench
