// SPDX-License-Identifier: BSD-3-Clause
#include "engine/settings/setting_table.hpp"

#include "algos/select/choice.hpp"
#include "topology/reservation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace stoker::engine {
namespace {

// Text forms: one parser per kind of value, nothing for what is not accepted, and one printer per type.

template <class E>
using Names = std::vector<std::pair<std::string_view, E>>;

template <class E>
const Names<E>& names_of();
template <>
const Names<ExecutorChoice>& names_of() {
  static const Names<ExecutorChoice> names{
      {"auto", ExecutorChoice::automatic}, {"engine", ExecutorChoice::engine}, {"inline", ExecutorChoice::inline_}};
  return names;
}
template <>
const Names<AccessChoice>& names_of() {
  static const Names<AccessChoice> names{{"auto", AccessChoice::automatic},
                                         {"own", AccessChoice::own},
                                         {"mapped", AccessChoice::mapped},
                                         {"cma", AccessChoice::cma},
                                         {"staged", AccessChoice::staged}};
  return names;
}
template <>
const Names<DomainChoice>& names_of() {
  static const Names<DomainChoice> names{{"numa", DomainChoice::numa}, {"node", DomainChoice::node}};
  return names;
}
template <>
const Names<WakeChoice>& names_of() {
  static const Names<WakeChoice> names{{"auto", WakeChoice::automatic}, {"always", WakeChoice::always}};
  return names;
}
template <>
const Names<RmaChoice>& names_of() {
  static const Names<RmaChoice> names{
      {"auto", RmaChoice::automatic}, {"window", RmaChoice::window}, {"messages", RmaChoice::messages}};
  return names;
}
template <>
const Names<LogLevel>& names_of() {
  static const Names<LogLevel> names{
      {"error", LogLevel::error}, {"warn", LogLevel::warn}, {"info", LogLevel::info}, {"debug", LogLevel::debug}};
  return names;
}

template <class E>
std::optional<E> parse_name(std::string_view text) {
  for (const auto& [name, value] : names_of<E>()) {
    if (name == text) {
      return value;
    }
  }
  return std::nullopt;
}
template <class E>
std::string accepted_names() {
  std::vector<std::string_view> names;
  for (const auto& entry : names_of<E>()) {
    names.push_back(entry.first);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

template <class N>
std::optional<N> parse_number(std::string_view text) {
  N value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

template <int minimum>
std::optional<int> parse_at_least(std::string_view text) {
  const auto value = parse_number<int>(text);
  return value && *value >= minimum ? value : std::nullopt;
}

std::optional<bool> parse_switch(std::string_view text) {
  if (text == "1" || text == "true") {
    return true;
  }
  if (text == "0" || text == "false") {
    return false;
  }
  return std::nullopt;
}

constexpr std::array<std::pair<char, int>, 3> byte_units{{{'G', 30}, {'M', 20}, {'K', 10}}};

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const bool spelled_out = text.ends_with("iB");
  if (spelled_out) {
    text.remove_suffix(2);
  }
  int shift = 0;
  if (!text.empty()) {
    const char last = static_cast<char>(std::toupper(static_cast<unsigned char>(text.back())));
    for (const auto& [letter, bits] : byte_units) {
      if (last == letter) {
        shift = bits;
        text.remove_suffix(1);
        break;
      }
    }
  }
  const auto value = parse_number<std::uint64_t>(text);
  if (!value || (spelled_out && shift == 0) || *value > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
    return std::nullopt;
  }
  return *value << shift;
}

std::optional<AutoBytes> parse_piece(std::string_view text) {
  constexpr std::uint64_t least = 512; // below, messages would be all headers
  if (text == "auto") {
    return AutoBytes{};
  }
  const auto bytes = parse_bytes(text);
  return bytes && (*bytes == 0 || *bytes >= least) ? std::optional(AutoBytes(*bytes)) : std::nullopt;
}

std::optional<std::string> parse_any(std::string_view text) { return std::string(text); }

std::optional<std::string> parse_reserve(std::string_view text) {
  try {
    (void)topology::Reservation::parse(text);
    return std::string(text);
  } catch (const topology::TopologyError&) {
    return std::nullopt;
  }
}

std::string print(const std::string& value) { return value; }
std::string print(bool value) { return value ? "1" : "0"; }
std::string print(int value) { return std::to_string(value); }
std::string print(std::uint64_t value) {
  for (const auto& [letter, bits] : byte_units) {
    if (value != 0 && (value & ((std::uint64_t{1} << bits) - 1)) == 0) {
      return std::to_string(value >> bits) + letter;
    }
  }
  return std::to_string(value);
}
std::string print(const AutoBytes& value) { return value ? print(*value) : "auto"; }
template <class E>
requires std::is_enum_v<E> std::string print(E value) {
  for (const auto& [name, candidate] : names_of<E>()) {
    if (candidate == value) {
      return std::string(name);
    }
  }
  return {};
}

template <auto member, auto parse>
SettingRow row(std::string_view key, std::string accepted, std::string_view help) {
  return {key,
          [](Settings& settings, std::string_view text) {
            auto value = parse(text);
            if (value) {
              settings.*member = std::move(*value);
            }
            return value.has_value();
          },
          [](const Settings& settings) { return print(settings.*member); }, std::move(accepted), help};
}

// One row for each collective: the algorithm of its requests.
template <std::size_t collective>
SettingRow algorithm_row() {
  static constexpr auto value = static_cast<algos::Collective>(collective);
  static const std::string name(algos::name_of(value));
  static const std::string key = name + "_algorithm";
  static const std::string help =
      "algorithm of " + name + " requests whose info names none; auto takes what cost_model expects to be fastest";
  return {key,
          [](Settings& settings, std::string_view text) {
            if (text != "auto") {
              (void)algos::parse_choice(value, text); // says best what is wrong
            }
            settings.algorithms[collective] = text;
            return true;
          },
          [](const Settings& settings) { return settings.algorithms[collective]; },
          "auto, " + algos::known_algorithms(value), help};
}

template <std::size_t... collectives>
std::vector<SettingRow> algorithm_rows(std::index_sequence<collectives...>) {
  return {algorithm_row<collectives>()...};
}

std::vector<SettingRow> all_rows() {
  using S = Settings;
  static const std::string bytes = "bytes, a whole number; K, M and G stand for KiB, MiB and GiB";
  static const std::string microseconds = "microseconds, a whole number, 0 or more";
  std::vector<SettingRow> rows{
      row<&S::executor, parse_name<ExecutorChoice>>(
          "executor", accepted_names<ExecutorChoice>(),
          "who executes started requests: helper threads (engine) or each rank inside start, test and wait (inline); "
          "auto "
          "takes helpers where MPI provides MPI_THREAD_MULTIPLE, engine insists on them"),
      row<&S::access, parse_name<AccessChoice>>("access", accepted_names<AccessChoice>(),
                                                "how other processes reach a rank's buffers; auto takes the best that "
                                                "works for each buffer, any other is demanded, "
                                                "and an error where it cannot be had"),
      row<&S::domains, parse_name<DomainChoice>>("domains", accepted_names<DomainChoice>(),
                                                 "what shares a helper: the ranks of a NUMA domain or of a whole node"),
      row<&S::threads_per_domain, parse_at_least<1>>("threads_per_domain", "a whole number, 1 or more",
                                                     "helper threads per domain; its ranks are split among them"),
      row<&S::reserve, parse_reserve>(
          "reserve", "auto, none, smt, list:CPUS (list:2,3 or list:2-5), per-numa:N",
          "cores for the helpers: auto (cores of the allocation that no rank is bound to, nearest first), none (share "
          "the "
          "ranks' cores), smt (SMT siblings of the ranks' cores), CPUs by OS number, or so many cores per NUMA domain"),
      row<&S::best_effort, parse_switch>(
          "best_effort", "0, 1",
          "1: a reservation that cannot be had is reported and done without, instead of an error"),
      row<&S::machine, parse_any>(
          "machine", "empty, an hwloc synthetic description, or the path of an hwloc XML file",
          "the machine to assume instead of the real one (empty), to try a layout; binding is then left alone"),
      row<&S::ranks_per_node, parse_at_least<0>>(
          "ranks_per_node", "a whole number, 0 or more",
          "pretend that every so many consecutive ranks form a node; 0: the real nodes"),
      row<&S::deterministic, parse_switch>("deterministic", "0, 1",
                                           "1: reductions use only algorithms whose order of combining depends on "
                                           "nothing but the number of ranks, so that "
                                           "the same operands give the same bits in every run"),
      row<&S::cost_model, parse_any>("cost_model", "empty, or a path",
                                     "file from stoker calibrate with what messages cost on this machine, by which "
                                     "algorithms are chosen; read by rank "
                                     "0; empty: typical figures of a cluster"),
      row<&S::wisdom, parse_any>("wisdom", "empty, or a path",
                                 "folder in which compiled programs and choices of algorithms are kept for later "
                                 "jobs, and looked for; whoever may write there is trusted; empty: none"),
      row<&S::arena_bytes, parse_bytes>(
          "arena_bytes", bytes,
          "address space of each rank's shared segment, whose pages cost nothing until used; 0: as large as the node's "
          "memory"),
      row<&S::eager_bytes, parse_bytes>("eager_bytes", bytes,
                                        "messages within a node up to this size go through a slot in shared memory"),
      row<&S::staged_bytes, parse_bytes>("staged_bytes", bytes,
                                         "buffers up to this size that a helper in another process needs are copied "
                                         "into shared memory by their rank rather "
                                         "than reached by cross-memory attach"),
      row<&S::wire_piece_bytes, parse_piece>("wire_piece_bytes", "auto, 0, or at least 512 " + bytes,
                                             "messages between nodes longer than this go in pieces of this length, "
                                             "sent when their receiver says that it is "
                                             "ready; 0: as one message each; auto: where messages travel over TCP "
                                             "alone, what the MPI library sends without asking "
                                             "the receiver, else 0"),
      row<&S::rma, parse_name<RmaChoice>>(
          "rma", accepted_names<RmaChoice>(),
          "how the puts of rma-* algorithms, and the puts and gets of global memory between nodes, are carried out: by "
          "the MPI "
          "library through windows, or by messages that are received in place; auto takes windows for inline requests "
          "where the "
          "MPI library has them, and messages for helpers; window insists on windows, for networks with RDMA"),
      row<&S::batch, parse_at_least<1>>("batch", "a whole number, 1 or more",
                                        "submissions that a helper takes from one rank's ring before it looks "
                                        "at the next"),
      row<&S::spin_us, parse_at_least<0>>(
          "spin_us", microseconds, "how long a helper with work but nothing to do polls before it yields and naps"),
      row<&S::nap_us, parse_at_least<0>>(
          "nap_us", microseconds, "longest nap of a helper between two polls while a request is active; 0: never nap"),
      row<&S::wait_spin_us, parse_at_least<0>>(
          "wait_spin_us", microseconds,
          "how long a rank polls in wait before it sleeps; ten times as long where "
          "others want its core, which it gives away between polls"),
      row<&S::wake, parse_name<WakeChoice>>("wake", accepted_names<WakeChoice>(),
                                            "whether start wakes a sleeping helper; auto leaves a request's work to "
                                            "wait where wait follows at once, or where "
                                            "short exchanges were measured to be faster that way"),
      row<&S::inline_times, parse_switch>(
          "inline_times", "0, 1",
          "1: statistics of inline requests hold times, too, which cost some looks at the clock in every epoch"),
      row<&S::baseline_calls, parse_at_least<0>>(
          "baseline_calls", "a whole number, 0 or more",
          "so many calls of the MPI library's own collective are timed by each init, so that statistics can say after "
          "how "
          "many starts a request has paid for its init; implies inline_times; 0: none"),
      row<&S::stall_seconds, parse_at_least<0>>(
          "stall_seconds", "seconds, a whole number, 0 or more",
          "after waiting this long for a request a rank names those that it waits for in a warning; 0: never"),
      row<&S::trace, parse_any>("trace", "empty, or a path",
                                "file for a Chrome trace (JSON) of all ranks and helpers; empty: none"),
      row<&S::log, parse_name<LogLevel>>("log", accepted_names<LogLevel>(),
                                         "least severe messages to print on standard error"),
  };
  const auto algorithms = algorithm_rows(std::make_index_sequence<algos::collective_count>());
  rows.insert(std::ranges::find(rows, "deterministic", &SettingRow::key), algorithms.begin(), algorithms.end());
  return rows;
}

} // namespace

const std::vector<SettingRow>& setting_table() {
  static const std::vector<SettingRow> rows = all_rows();
  return rows;
}

} // namespace stoker::engine
