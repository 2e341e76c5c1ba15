// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/statistics.hpp"

#include "api/pmpi/background_progress.hpp"
#include "api/pmpi/host_name.hpp"
#include "api/pmpi/settings.hpp"
#include "api/pmpi/state.hpp"
#include "api/pmpi/watched_messages.hpp"
#include "engine/core/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace stoker::pmpi {
namespace {

struct Statistics {
  std::mutex mutex;
  std::map<CallSite, reports::CallSums> calls;
  std::map<std::uint64_t, std::string> names; // of communicators that have had calls
};
// Never destroyed: MPI_Finalize may be called by a destructor.
Statistics& statistics = *new Statistics;

std::map<reports::CallGroup, reports::CallSums> sums_of_calls() {
  std::map<reports::CallGroup, reports::CallSums> groups;
  for (const auto& [site, sums] : statistics.calls) {
    const auto name = statistics.names.find(site.communicator);
    groups[{.called_from = names_of(site.path),
            .collective = std::string(name_of(site.collective)),
            .form = std::string(name_of(site.form)),
            .communicator = name != statistics.names.end() ? name->second : "?"}]
        .add(sums);
  }
  return groups;
}

std::map<reports::LeftCalls, std::uint64_t> sums_of_left() {
  std::map<reports::LeftCalls, std::uint64_t> groups;
  for (std::size_t form = 0; form < fallbacks.size(); ++form) {
    for (std::size_t collective = 0; collective < fallbacks[form].size(); ++collective) {
      for (std::size_t reason = 0; reason < fallbacks[form][collective].size(); ++reason) {
        const std::uint64_t count = fallbacks[form][collective][reason].load(std::memory_order_relaxed);
        if (count != 0) {
          groups[{.collective = std::string(name_of(static_cast<Collective>(collective))),
                  .form = std::string(name_of(static_cast<Form>(form))),
                  .reason = std::string(text_of(static_cast<Reason>(reason)))}] = count;
        }
      }
    }
  }
  return groups;
}

// At a rank that hosts one, since MPI was initialised.
std::vector<reports::Helper> own_helper(int rank) {
  const auto& engine = the_engine();
  if (engine == nullptr || engine->helper() == nullptr) {
    return {};
  }
  const engine::HelperStatistics sums = engine->helper_statistics();
  const engine::HelperStatistics::Rounds& rounds = sums.rounds[static_cast<std::size_t>(engine::Submitted::epoch)];
  return {{.rank = rank,
           .busy_seconds = sums.busy_seconds,
           .idle_seconds = sums.idle_seconds,
           .sleeping_seconds = sums.sleeping_seconds,
           .busy_rounds = rounds.busy,
           .idle_rounds = rounds.idle}};
}

// Windows and messages that made progress in the background.
reports::Background own_background() {
  const WatchedSums watched = watched_sums();
  const BackgroundPolls polls = background_polls();
  reports::Background background{.messages = watched.messages,
                                 .unfinished = watched.unfinished,
                                 .given_up = watched.given_up,
                                 .polls = polls.polls,
                                 .poll_seconds = 1e-9 * static_cast<double>(polls.nanoseconds),
                                 .help = {}};
  const auto if_known = [](double seconds) {
    return seconds == 0 ? std::vector<double>() : std::vector<double>{seconds};
  };
  for (const LearnedHelp& learned : learned_help()) {
    background.help[learned.bytes] = {.ranks = 1,
                                      .helped_ranks = learned.helps ? 1U : 0U,
                                      .intervals = learned.intervals,
                                      .helped_intervals = learned.helped,
                                      .helped_seconds = if_known(learned.helped_seconds),
                                      .alone_seconds = if_known(learned.alone_seconds)};
  }
  return background;
}

} // namespace

void record(const CallSite& site, const engine::CallUnderWay& call) {
  if (!reports_are_wanted()) {
    return;
  }
  const engine::CallUnderWay::Report report = call.report();
  const std::lock_guard lock(statistics.mutex);
  reports::CallSums& sums = statistics.calls[site];
  ++sums.calls;
  sums.bytes += report.bytes;
  sums.calls_by_mpi += report.by_mpi ? 1 : 0;
  sums.exchange_seconds += report.exchange_seconds;
  sums.hidden_seconds += std::max(0.0, report.exchange_seconds - report.exposed_seconds);
  sums.exposed_seconds += report.exposed_seconds;
  if (!report.by_mpi && sums.algorithm != report.algorithm) {
    sums.algorithm = report.algorithm;
  }
}

void name_communicator(std::uint64_t id, MPI_Comm comm) {
  if (!reports_are_wanted()) {
    return;
  }
  std::array<char, MPI_MAX_OBJECT_NAME + 1> name{};
  int length = 0;
  PMPI_Comm_get_name(comm, name.data(), &length);
  std::string text(name.data());
  if (text.empty()) {
    int size = 0;
    PMPI_Comm_size(comm, &size);
    text = fmt::format("(of {} ranks)", size);
  }
  const std::lock_guard lock(statistics.mutex);
  statistics.names[id] = std::move(text);
}

void reset_statistics() {
  const std::lock_guard lock(statistics.mutex);
  statistics.calls.clear();
  reset_watched_sums();
  for (auto& families : fallbacks) {
    for (auto& reasons : families) {
      for (Counter& counter : reasons) {
        counter.store(0, std::memory_order_relaxed);
      }
    }
  }
}

reports::Summary own_summary() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool in_background = settings().pmpi_p2p || settings().pmpi_rma;
  const std::lock_guard lock(statistics.mutex);
  return {.ranks = 1,
          .hosts = {host_name()},
          .calls = sums_of_calls(),
          .left = sums_of_left(),
          .helpers = own_helper(rank),
          .in_background = in_background,
          .background = in_background ? own_background() : reports::Background{}};
}

} // namespace stoker::pmpi
