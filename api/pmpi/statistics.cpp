// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/statistics.hpp"

#include "api/pmpi/background_progress.hpp"
#include "api/pmpi/settings.hpp"
#include "api/pmpi/state.hpp"
#include "api/pmpi/watched_messages.hpp"
#include "engine/core/engine.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace stoker::pmpi {
namespace {

struct Sums {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t by_mpi = 0; // calls
  double exchange_seconds = 0;
  double hidden_seconds = 0;
  double exposed_seconds = 0;
  std::string algorithm; // of the engine's latest call

  void add(const Sums& other) {
    calls += other.calls;
    bytes += other.bytes;
    by_mpi += other.by_mpi;
    exchange_seconds += other.exchange_seconds;
    hidden_seconds += other.hidden_seconds;
    exposed_seconds += other.exposed_seconds;
    if (!other.algorithm.empty()) {
      algorithm = other.algorithm;
    }
  }
};

struct Statistics {
  std::mutex mutex;
  std::map<CallSite, Sums> calls;
  std::map<std::uint64_t, std::string> names; // of communicators that have had calls
};
// Never destroyed: MPI_Finalize may be called by a destructor.
Statistics& statistics = *new Statistics;

// Where a call comes from, in words that are the same in every process of a program.
std::string place_of(const void* site) {
  Dl_info info{};
  if (dladdr(site, &info) == 0 || info.dli_fname == nullptr) {
    return "?";
  }
  const std::string_view path(info.dli_fname);
  const auto offset = [site](const void* base) {
    return static_cast<const std::byte*>(site) - static_cast<const std::byte*>(base);
  };
  const std::string in_file = fmt::format("{}+{:#x}", path.substr(path.find_last_of('/') + 1), offset(info.dli_fbase));
  return info.dli_sname == nullptr ? in_file
                                   : fmt::format("{}+{:#x} ({})", info.dli_sname, offset(info.dli_saddr), in_file);
}

// A table's row as ranks tell each other: the first columns say what is counted, the others how much.
constexpr char column_end = '\t';
constexpr char row_end = '\n';

std::string rows_of_calls() {
  std::string rows;
  for (const auto& [key, sums] : statistics.calls) {
    const auto& [site, communicator, collective, form] = key;
    const auto name = statistics.names.find(communicator);
    rows += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", place_of(site), name_of(collective),
                        name_of(form), name != statistics.names.end() ? name->second : "?", sums.calls, sums.bytes,
                        sums.by_mpi, sums.exchange_seconds, sums.hidden_seconds, sums.exposed_seconds, sums.algorithm);
  }
  return rows;
}

std::string rows_of_fallbacks() {
  std::string rows;
  for (std::size_t form = 0; form < fallbacks.size(); ++form) {
    for (std::size_t collective = 0; collective < fallbacks[form].size(); ++collective) {
      for (std::size_t reason = 0; reason < fallbacks[form][collective].size(); ++reason) {
        const std::uint64_t count = fallbacks[form][collective][reason].load(std::memory_order_relaxed);
        if (count != 0) {
          rows += fmt::format("{}\t{}\t{}\t{}\n", name_of(static_cast<Collective>(collective)),
                              name_of(static_cast<Form>(form)), text_of(static_cast<Reason>(reason)), count);
        }
      }
    }
  }
  return rows;
}

// One line from a rank that hosts a helper, since MPI was initialised; empty from others.
std::string row_of_helper(int rank) {
  const auto& engine = the_engine();
  if (engine == nullptr || engine->helper() == nullptr) {
    return {};
  }
  const engine::HelperStatistics sums = engine->helper_statistics();
  const engine::HelperStatistics::Rounds& rounds = sums.rounds[static_cast<std::size_t>(engine::Submitted::epoch)];
  return fmt::format("helper at rank {}: busy {:.3f} s, idle {:.3f} s, sleeping {:.3f} s; {} busy rounds, {} idle\n",
                     rank, sums.busy_seconds, sums.idle_seconds, sums.sleeping_seconds, rounds.busy, rounds.idle);
}

// What was learned of messages, a row for each of their lengths.
std::string rows_of_help() {
  std::string rows;
  for (const LearnedHelp& learned : learned_help()) {
    rows += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", learned.bytes, learned.intervals, learned.helped,
                        learned.helps ? 1 : 0, learned.helped_seconds, learned.alone_seconds);
  }
  return rows;
}

// Sums over all ranks: windows and messages that made progress in the background.
std::array<std::uint64_t, 5> background_sums(MPI_Comm comm) {
  const WatchedSums watched = watched_sums();
  const BackgroundPolls polls = background_polls();
  std::array<std::uint64_t, 5> sums{watched.messages, watched.unfinished, watched.given_up, polls.polls,
                                    polls.nanoseconds};
  PMPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_UINT64_T, MPI_SUM, comm);
  return sums;
}

// The texts of all ranks, one behind the other, at rank 0.
std::string gather(const std::string& mine, MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(static_cast<std::size_t>(size));
  PMPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, comm);
  std::vector<int> places;
  int total = 0;
  for (const int each : lengths) {
    places.push_back(total);
    total += each;
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  PMPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), places.data(), MPI_CHAR, 0, comm);
  return all;
}

std::vector<std::string> split(std::string_view text, char end) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find(end), text.size());
    parts.emplace_back(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return parts;
}

template <class Number>
Number number(const std::string& text) {
  Number value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

const char* verdict(const Sums& sums, bool blocking) {
  if (2 * sums.by_mpi > sums.calls) {
    return "left to MPI";
  }
  if (sums.hidden_seconds > sums.exchange_seconds / 4) {
    return "worth it";
  }
  if (sums.by_mpi == 0) {
    return "not compared";
  }
  // A blocking call cannot hide anything: the engine has kept it because it was faster on trial.
  return blocking ? "worth it" : "not worth it";
}

void print_calls(std::FILE* out, const std::string& rows) {
  std::map<std::vector<std::string>, Sums> table;
  for (const std::string& row : split(rows, row_end)) {
    std::vector<std::string> columns = split(row, column_end);
    columns.resize(11);
    const Sums sums{.calls = number<std::uint64_t>(columns[4]),
                    .bytes = number<std::uint64_t>(columns[5]),
                    .by_mpi = number<std::uint64_t>(columns[6]),
                    .exchange_seconds = number<double>(columns[7]),
                    .hidden_seconds = number<double>(columns[8]),
                    .exposed_seconds = number<double>(columns[9]),
                    .algorithm = columns[10]};
    columns.resize(4);
    table[columns].add(sums);
  }
  if (table.empty()) {
    fmt::print(out, "no call was carried out by the engine\n");
    return;
  }
  fmt::print(out, "{:<20} {:<12} {:<18} {:>9} {:>11} {:>10} {:>10} {:>10} {:>6}  {:<12} {:<24} {}\n", "collective",
             "form", "communicator", "calls", "bytes", "time (us)", "hidden", "exposed", "MPI's", "verdict",
             "called from", "algorithm");
  for (const auto& [key, sums] : table) {
    const auto calls = static_cast<double>(sums.calls);
    const double microseconds = 1e6 / calls;
    fmt::print(out, "{:<20} {:<12} {:<18} {:>9} {:>11.0f} {:>10.1f} {:>10.1f} {:>10.1f} {:>5.0f}%  {:<12} {:<24} {}\n",
               key[1], key[2], key[3], sums.calls, static_cast<double>(sums.bytes) / calls,
               sums.exchange_seconds * microseconds, sums.hidden_seconds * microseconds,
               sums.exposed_seconds * microseconds, 100 * static_cast<double>(sums.by_mpi) / calls,
               verdict(sums, key[2] == name_of(Form::blocking)), key[0], sums.algorithm);
  }
}

void print_fallbacks(std::FILE* out, const std::string& rows) {
  std::map<std::vector<std::string>, std::uint64_t> table;
  for (const std::string& row : split(rows, row_end)) {
    std::vector<std::string> columns = split(row, column_end);
    columns.resize(4);
    const auto count = number<std::uint64_t>(columns[3]);
    columns.resize(3);
    table[columns] += count;
  }
  if (!table.empty()) {
    fmt::print(out, "calls that were the MPI library's from the beginning:\n");
  }
  for (const auto& [key, count] : table) {
    fmt::print(out, "{:<20} {:<12} {:>9}  {}\n", key[0], key[1], count, key[2]);
  }
}

void print_background(std::FILE* out, const std::array<std::uint64_t, 5>& sums, const std::string& rows) {
  fmt::print(out,
             "progress in the background: {} messages watched, {} unfinished, {} given up; {} polls took {:.3f} s\n",
             sums[0], sums[1], sums[2], sums[3], 1e-9 * static_cast<double>(sums[4]));
  struct Learned {
    std::uint64_t ranks = 0, helps = 0, intervals = 0, helped = 0;
    std::vector<double> with, without; // medians of ranks, in seconds
  };
  std::map<std::uint64_t, Learned> table; // by the length of messages
  for (const std::string& row : split(rows, row_end)) {
    std::vector<std::string> columns = split(row, column_end);
    columns.resize(6);
    Learned& learned = table[number<std::uint64_t>(columns[0])];
    ++learned.ranks;
    learned.intervals += number<std::uint64_t>(columns[1]);
    learned.helped += number<std::uint64_t>(columns[2]);
    learned.helps += number<std::uint64_t>(columns[3]);
    learned.with.push_back(number<double>(columns[4]));
    learned.without.push_back(number<double>(columns[5]));
  }
  const auto text = [](std::vector<double>& times) {
    std::erase(times, 0);
    return times.empty() ? std::string("not tried")
                         : fmt::format("{:.1f} us", 1e6 * std::accumulate(times.begin(), times.end(), 0.0) /
                                                        static_cast<double>(times.size()));
  };
  for (auto& [bytes, learned] : table) {
    fmt::print(out,
               "messages from {} bytes on: {} intervals, {} with help; with help {}, without {}; help pays at {} of {} "
               "ranks\n",
               bytes, learned.intervals, learned.helped, text(learned.with), text(learned.without), learned.helps,
               learned.ranks);
  }
}

} // namespace

void record(const CallSite& site, const engine::CallUnderWay& call) {
  if (settings().pmpi_summary.empty()) {
    return;
  }
  const engine::CallUnderWay::Report report = call.report();
  const std::lock_guard lock(statistics.mutex);
  Sums& sums = statistics.calls[site];
  ++sums.calls;
  sums.bytes += report.bytes;
  sums.by_mpi += report.by_mpi ? 1 : 0;
  sums.exchange_seconds += report.exchange_seconds;
  sums.hidden_seconds += std::max(0.0, report.exchange_seconds - report.exposed_seconds);
  sums.exposed_seconds += report.exposed_seconds;
  if (!report.by_mpi && sums.algorithm != report.algorithm) {
    sums.algorithm = report.algorithm;
  }
}

void name_communicator(std::uint64_t id, MPI_Comm comm) {
  if (settings().pmpi_summary.empty()) {
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
  std::ranges::replace(text, column_end, ' ');
  std::ranges::replace(text, row_end, ' ');
  const std::lock_guard lock(statistics.mutex);
  statistics.names[id] = text;
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

void write_summary(MPI_Comm comm, const char* file) {
  const std::lock_guard lock(statistics.mutex);
  const std::string calls = gather(rows_of_calls(), comm);
  const std::string left = gather(rows_of_fallbacks(), comm);
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  const std::string helpers = gather(row_of_helper(rank), comm);
  const bool in_background = settings().pmpi_p2p || settings().pmpi_rma; // equal on all ranks
  const std::string help = in_background ? gather(rows_of_help(), comm) : "";
  const auto background = in_background ? background_sums(comm) : std::array<std::uint64_t, 5>{};
  if (rank != 0) {
    return;
  }
  const bool to_stderr = std::string_view(file) == "1";
  std::FILE* const out = to_stderr ? stderr : std::fopen(file, "w");
  if (out == nullptr) {
    fmt::print(stderr, "stoker: STOKER_PMPI_SUMMARY={}: cannot be written\n", file);
    return;
  }
  fmt::print(out, "stoker: summary of {} ranks; calls of all, bytes and times of one on average\n", size);
  print_calls(out, calls);
  print_fallbacks(out, left);
  fmt::print(out, "{}", helpers);
  if (in_background) {
    print_background(out, background, help);
  }
  if (!to_stderr) {
    std::fclose(out);
  }
}

} // namespace stoker::pmpi
