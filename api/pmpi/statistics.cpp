// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/statistics.hpp"

#include "api/pmpi/background_progress.hpp"
#include "api/pmpi/host_name.hpp"
#include "api/pmpi/settings.hpp"
#include "api/pmpi/state.hpp"
#include "api/pmpi/watched_messages.hpp"
#include "api/reports/json.hpp"
#include "engine/base/never_destroyed.hpp"
#include "engine/core/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stoker::pmpi {
namespace {

// Names of communicators beyond these are one.
constexpr std::size_t most_names = 1000;
constexpr const char* other_names = "(other communicators)";

struct Statistics {
  std::map<CallSite, reports::CallSums> calls;
  std::vector<std::string> names;                    // of communicators that have had calls, by number
  std::map<std::string, std::uint32_t> name_numbers; // the reverse
  std::vector<std::uint64_t> left_before;            // as left_counts() when statistics were last reset
};
// Never destroyed: MPI_Finalize may be called by a destructor.
engine::NeverDestroyed<Statistics> statistics_storage;
Statistics& statistics = statistics_storage.object;

// Tools may look before constructors have run, and after destructors.
struct ProcessCounts {
  std::mutex mutex;                       // guards what follows, and `statistics`
  reports::Totals totals;                 // of calls, of helpers that have ended, and of messages before a reset
  double most_sleep = 0;                  // helpers_sleeping_seconds that were last said
  bool begun = false;                     // MPI is initialised
  const engine::Engine* engine = nullptr; // whose helper still counts
};
constinit ProcessCounts counts_of_process;
constinit std::atomic<bool> tools_read{false};

std::map<reports::CallGroup, reports::CallSums> sums_of_calls() {
  std::map<reports::CallGroup, reports::CallSums> groups;
  for (const auto& [site, sums] : statistics.calls) {
    groups[{.called_from = names_of(site.path),
            .collective = std::string(name_of(site.collective)),
            .form = std::string(name_of(site.form)),
            .communicator = statistics.names[site.communicator]}]
        .add(sums);
  }
  return groups;
}

template <class Use>
void for_each_fallback(Use use) {
  for (std::size_t form = 0; form < fallbacks.size(); ++form) {
    for (std::size_t collective = 0; collective < fallbacks[form].size(); ++collective) {
      for (std::size_t reason = 0; reason < fallbacks[form][collective].size(); ++reason) {
        use(static_cast<Form>(form), static_cast<Collective>(collective), static_cast<Reason>(reason),
            fallbacks[form][collective][reason]);
      }
    }
  }
}

// What each counter says, in the order of for_each_fallback.
std::vector<std::uint64_t> left_counts() {
  std::vector<std::uint64_t> counts;
  for_each_fallback([&](Form /*form*/, Collective /*collective*/, Reason /*reason*/, const Counter& counter) {
    counts.push_back(counter.load(std::memory_order_relaxed));
  });
  return counts;
}

std::map<reports::LeftCalls, std::uint64_t> sums_of_left() {
  std::map<reports::LeftCalls, std::uint64_t> groups;
  const std::vector<std::uint64_t>& before = statistics.left_before;
  std::size_t i = 0;
  for_each_fallback([&](Form form, Collective collective, Reason reason, const Counter& counter) {
    const std::uint64_t all = counter.load(std::memory_order_relaxed);
    const std::uint64_t count = all - (before.empty() ? 0 : std::min(all, before[i]));
    ++i;
    if (count != 0) {
      groups[{.collective = std::string(name_of(collective)),
              .form = std::string(name_of(form)),
              .reason = std::string(text_of(reason))}] = count;
    }
  });
  return groups;
}

// At a rank that hosts one, since MPI was initialised.
std::optional<reports::Helper> own_helper() {
  const engine::Engine* const engine = counts_of_process.engine;
  if (engine == nullptr || engine->helper() == nullptr) {
    return std::nullopt;
  }
  const engine::HelperStatistics sums = engine->helper_statistics();
  const engine::HelperStatistics::Rounds& rounds = sums.rounds[static_cast<std::size_t>(engine::Submitted::epoch)];
  return reports::Helper{.rank = engine->rank(),
                         .busy_seconds = sums.busy_seconds,
                         .idle_seconds = sums.idle_seconds,
                         .sleeping_seconds = sums.sleeping_seconds,
                         .busy_rounds = rounds.busy,
                         .idle_rounds = rounds.idle};
}

reports::Background background_sums() {
  const WatchedSums watched = watched_sums();
  const BackgroundPolls polls = background_polls();
  return {.messages = watched.messages,
          .unfinished = watched.unfinished,
          .given_up = watched.given_up,
          .polls = polls.polls,
          .poll_seconds = 1e-9 * static_cast<double>(polls.nanoseconds),
          .help = {}};
}

// Windows and messages that made progress in the background.
reports::Background own_background() {
  reports::Background background = background_sums();
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

bool calls_are_recorded() { return reports_are_wanted() || tools_read.load(std::memory_order_relaxed); }

void record_for_tools() { tools_read.store(true, std::memory_order_relaxed); }

void record(const CallSite& site, const engine::CallUnderWay& call) {
  if (!calls_are_recorded()) {
    return;
  }
  const engine::CallUnderWay::Report report = call.report();
  const reports::CallSums sums{.calls = 1,
                               .calls_by_mpi = report.by_mpi ? 1U : 0U,
                               .bytes = report.bytes,
                               .exchange_seconds = report.exchange_seconds,
                               .hidden_seconds = std::max(0.0, report.exchange_seconds - report.exposed_seconds),
                               .exposed_seconds = report.exposed_seconds,
                               .algorithm = {}};
  const std::lock_guard lock(counts_of_process.mutex);
  counts_of_process.totals.add(sums);
  if (!reports_are_wanted()) {
    return;
  }
  reports::CallSums& of_site = statistics.calls[site];
  of_site.add(sums);
  if (!report.by_mpi && of_site.algorithm != report.algorithm) {
    of_site.algorithm = report.algorithm;
  }
}

std::uint32_t name_number(MPI_Comm comm) {
  if (!reports_are_wanted()) {
    return 0;
  }
  std::array<char, MPI_MAX_OBJECT_NAME + 1> name{};
  int length = 0;
  PMPI_Comm_get_name(comm, name.data(), &length);
  std::string text = reports::readable(name.data());
  if (text.empty()) {
    int size = 0;
    PMPI_Comm_size(comm, &size);
    text = fmt::format("(of {} ranks)", size);
  }
  const std::lock_guard lock(counts_of_process.mutex);
  std::vector<std::string>& names = statistics.names;
  if (names.size() >= most_names && !statistics.name_numbers.contains(text)) {
    text = other_names;
  }
  const auto [found, is_new] = statistics.name_numbers.try_emplace(text, static_cast<std::uint32_t>(names.size()));
  if (is_new) {
    names.push_back(std::move(text));
  }
  return found->second;
}

void reset_statistics() {
  const std::lock_guard lock(counts_of_process.mutex);
  statistics.calls.clear();
  const WatchedSums watched = reset_watched_sums();
  counts_of_process.totals.messages_watched += watched.messages;
  counts_of_process.totals.messages_given_up += watched.given_up;
  statistics.left_before = left_counts();
}

reports::Summary own_summary() {
  const bool in_background = settings().pmpi_p2p || settings().pmpi_rma;
  const std::lock_guard lock(counts_of_process.mutex);
  const std::optional<reports::Helper> helper = own_helper();
  return {.ranks = 1,
          .hosts = {host_name()},
          .calls = sums_of_calls(),
          .left = sums_of_left(),
          .helpers = helper ? std::vector{*helper} : std::vector<reports::Helper>{},
          .in_background = in_background,
          .background = in_background ? own_background() : reports::Background{}};
}

void count_engine(const engine::Engine* engine) {
  const std::lock_guard lock(counts_of_process.mutex);
  if (const auto helper = own_helper()) {
    counts_of_process.totals.add(*helper);
  }
  counts_of_process.begun = true;
  counts_of_process.engine = engine;
}

reports::Totals own_totals() {
  const std::lock_guard lock(counts_of_process.mutex);
  reports::Totals totals = counts_of_process.totals;
  for_each_fallback([&](Form /*form*/, Collective /*collective*/, Reason /*reason*/, const Counter& counter) {
    totals.calls_by_mpi += counter.load(std::memory_order_relaxed);
  });
  if (counts_of_process.begun) {
    totals.add(background_sums());
  }
  if (const auto helper = own_helper()) {
    totals.add(*helper);
  }
  // What a helper does at present counts as sleep until it has done it.
  counts_of_process.most_sleep = std::max(counts_of_process.most_sleep, totals.helpers_sleeping_seconds);
  totals.helpers_sleeping_seconds = counts_of_process.most_sleep;
  return totals;
}

std::uint64_t shared_bytes_in_use() {
  const std::lock_guard lock(counts_of_process.mutex);
  return counts_of_process.engine != nullptr ? counts_of_process.engine->memory()->arena().bytes_in_use() : 0;
}

} // namespace stoker::pmpi
