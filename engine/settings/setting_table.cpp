// SPDX-License-Identifier: BSD-3-Clause
#include "engine/settings/setting_table.hpp"

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
#include <type_traits>
#include <utility>

namespace stoker::engine {
namespace {

// Text forms: one parser per kind of value, nothing for what is not accepted, and one printer per type.

// In the order of the enumerators.
template <class E>
constexpr std::array<std::string_view, 0> names{};
template <>
constexpr std::array<std::string_view, 3> names<ExecutorChoice>{"auto", "engine", "inline"};
template <>
constexpr std::array<std::string_view, 6> names<AccessChoice>{"auto", "own", "mapped", "cma", "staged", "device"};
template <>
constexpr std::array<std::string_view, 2> names<XpmemChoice>{"auto", "never"};
template <>
constexpr std::array<std::string_view, 2> names<DomainChoice>{"numa", "node"};
template <>
constexpr std::array<std::string_view, 2> names<WakeChoice>{"auto", "always"};
template <>
constexpr std::array<std::string_view, 3> names<RmaChoice>{"auto", "window", "messages"};
template <>
constexpr std::array<std::string_view, 4> names<LogLevel>{"error", "warn", "info", "debug"};

template <class E>
std::optional<E> parse_name(std::string_view text) {
  const auto found = std::ranges::find(names<E>, text);
  return found != names<E>.end() ? std::optional(static_cast<E>(found - names<E>.begin())) : std::nullopt;
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

std::optional<int> parse_depth(std::string_view text) {
  const auto value = parse_at_least<1>(text);
  return value && *value <= Settings::most_pmpi_depth ? value : std::nullopt;
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

std::optional<std::uint64_t> parse_none_or_at_least(std::uint64_t least, std::string_view text) {
  const auto bytes = parse_bytes(text);
  return bytes && (*bytes == 0 || *bytes >= least) ? bytes : std::nullopt;
}

std::optional<AutoBytes> parse_piece(std::string_view text) {
  constexpr std::uint64_t least = 512; // below, messages would be all headers
  if (text == "auto") {
    return AutoBytes{};
  }
  const auto bytes = parse_none_or_at_least(least, text);
  return bytes ? std::optional(AutoBytes(*bytes)) : std::nullopt;
}

// Shorter blocks gain nothing, and the engine itself allocates some while it takes blocks from its arena.
std::optional<std::uint64_t> parse_heap(std::string_view text) {
  constexpr std::uint64_t least = 65536;
  return parse_none_or_at_least(least, text);
}

std::optional<std::string> parse_any(std::string_view text) { return std::string(text); }

std::optional<std::string> parse_kernel(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(std::string(text));
}

std::optional<std::string> parse_summary(std::string_view text) { return std::string(text == "0" ? "" : text); }

std::optional<std::string> parse_reserve(std::string_view text) {
  try {
    (void)topology::Reservation::parse(text);
    return std::string(text);
  } catch (const topology::TopologyError&) {
    return std::nullopt;
  }
}

std::string print(const std::string& value) { return value; }
std::string print(const algos::Choices& value) { return to_text(value); }
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
requires std::is_enum_v<E> std::string print(E value) { return std::string(names<E>[static_cast<std::size_t>(value)]); }

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

// The row of a setting that has one of some named values, or is on or off.
template <auto member>
SettingRow row(std::string_view key, std::string_view help) {
  using Value = std::remove_cvref_t<decltype(std::declval<Settings>().*member)>;
  if constexpr (std::is_enum_v<Value>) {
    return row<member, parse_name<Value>>(key, fmt::format("{}", fmt::join(names<Value>, ", ")), help);
  } else {
    return row<member, parse_switch>(key, "0, 1", help);
  }
}

// A list changes only the choices of the collectives that it names.
SettingRow algorithms_row() {
  return {
      "algorithms",
      [](Settings& settings, std::string_view text) {
        parse_choices(text, settings.algorithms); // says best what is wrong
        return true;
      },
      [](const Settings& settings) { return print(settings.algorithms); },
      "auto, or a list as in alltoall=radix:r=4,allreduce=auto (see below)",
      "algorithms of requests whose info names none, by collective; auto takes what cost_model expects to be fastest"};
}

using S = Settings;
constexpr auto bytes = "bytes, a whole number; K, M and G stand for KiB, MiB and GiB";
constexpr auto microseconds = "microseconds, a whole number, 0 or more";
constexpr auto seconds = "seconds, a whole number, 0 or more";
constexpr auto from_0 = "a whole number, 0 or more";
constexpr auto from_1 = "a whole number, 1 or more";
constexpr auto path = "empty, or a path";

std::vector<SettingRow> engine_rows() {
  return {
      row<&S::executor>(
          "executor",
          "who executes started requests: helper threads (engine) or each rank inside start, test and wait (inline); "
          "auto takes helpers where MPI provides MPI_THREAD_MULTIPLE and the system gives them threads, engine insists "
          "on "
          "them"),
      row<&S::access>("access",
                      "how other processes reach a rank's buffers; auto takes the best that works for each buffer, "
                      "any other is demanded, and an error where it cannot be had"),
      row<&S::xpmem>("xpmem",
                     "whether ranks of a node address each other's ordinary memory by the kernel module XPMEM; auto: "
                     "where it, libxpmem.so.0 and cross-memory attach work between all ranks of the node and access is "
                     "auto or device; never: cross-memory attach is used as without the module; no machine with it "
                     "has been at hand, so it has to be asked for"),
      row<&S::rma>("rma",
                   "how the puts of rma-* algorithms, and the puts and gets of global memory between nodes, are "
                   "carried out: by the MPI library through windows, or by messages that are received in place; auto "
                   "takes windows for requests where a trial at their initialisation finds them faster, and messages "
                   "for global memory; window insists on windows, for networks with RDMA"),
      row<&S::device_kernel, parse_kernel>(
          "device_kernel", "auto, never, or a path",
          "file with the kernel that carries requests out where all their buffers are on devices of one node; auto: "
          "the one beside the library; never: such buffers are copied by way of the host"),
      row<&S::domains>("domains", "what shares a helper: the ranks of a NUMA domain or of a whole node"),
      row<&S::threads_per_domain, parse_at_least<1>>("threads_per_domain", from_1,
                                                     "helper threads per domain; its ranks are split among them"),
      row<&S::reserve, parse_reserve>(
          "reserve", "auto, none, smt, list:CPUS (list:2,3 or list:2-5), per-numa:N",
          "cores for the helpers: auto (cores of the allocation that no rank is bound to, nearest first), none (share "
          "the ranks' cores), smt (SMT siblings of the ranks' cores), CPUs by OS number, or so many cores per NUMA "
          "domain"),
      row<&S::best_effort>("best_effort",
                           "1: a reservation that cannot be had is reported and done without, instead of an error"),
      row<&S::machine, parse_any>(
          "machine", "empty, an hwloc synthetic description, or the path of an hwloc XML file",
          "the machine to assume instead of the real one (empty), to try a layout; binding is then left alone"),
      row<&S::ranks_per_node, parse_at_least<0>>(
          "ranks_per_node", from_0, "pretend that every so many consecutive ranks form a node; 0: the real nodes"),
      algorithms_row(),
      row<&S::deterministic>("deterministic",
                             "1: reductions use only algorithms whose order of combining depends on nothing but the "
                             "number of ranks, so that the same operands give the same bits in every run"),
      row<&S::cost_model, parse_any>(
          "cost_model", path,
          "machine file, as from stoker calibrate, by which algorithms are chosen; read by rank 0; empty: a typical "
          "cluster"),
      row<&S::tuning, parse_any>(
          "tuning", path,
          "file from stoker tune with the algorithms that are the fastest on this machine, which are taken before "
          "cost_model is asked; read by rank 0; a file that is damaged is reported and done without; empty: none"),
      row<&S::wisdom, parse_any>("wisdom", path,
                                 "folder in which compiled programs and choices of algorithms are kept for later "
                                 "jobs, and looked for; whoever may write there is trusted; empty: none"),
      row<&S::arena_bytes, parse_bytes>("arena_bytes", bytes,
                                        "address space of each rank's shared segment, whose pages cost nothing until "
                                        "used; 0: as large as the node's memory, but of all ranks together at most "
                                        "a quarter of the address space"),
      row<&S::inline_times>(
          "inline_times",
          "1: statistics of inline requests hold times, too, which cost some looks at the clock in every epoch"),
      row<&S::baseline_calls, parse_at_least<0>>(
          "baseline_calls", from_0,
          "so many calls of the MPI library's own collective are timed by each init, so that statistics can say after "
          "how many starts a request has paid for its init; implies inline_times; 0: none"),
      row<&S::stall_seconds, parse_at_least<0>>(
          "stall_seconds", seconds,
          "after waiting this long for a request a rank names those that it waits for in a warning; 0: never"),
      row<&S::trace, parse_any>("trace", path, "file for a Chrome trace (JSON) of all ranks and helpers; empty: none"),
      row<&S::log>("log", "least severe messages to print on standard error"),
  };
}

std::vector<SettingRow> drop_in_rows() {
  return {
      row<&S::pmpi_nonblocking>("pmpi_nonblocking", "0: MPI_I* are the MPI library's"),
      row<&S::pmpi_persistent>(
          "pmpi_persistent",
          "0: MPI_*_init are the MPI library's, or, where it has none, made of its nonblocking ones"),
      row<&S::pmpi_blocking>("pmpi_blocking",
                             "1: blocking collectives are the engine's, executed by the calling threads"),
      row<&S::pmpi_least_bytes, parse_bytes>(
          "pmpi_least_bytes", bytes,
          "shorter blocking calls are the MPI library's, and nonblocking ones that are not found overlapped between "
          "nodes: bytes of the vector, or of all blocks together, where all ranks know that"),
      row<&S::pmpi_trials>("pmpi_trials",
                           "0: no calls are tried with the MPI library: all that are not left to it from the "
                           "beginning are the engine's"),
      row<&S::pmpi_summary, parse_summary>("pmpi_summary", "empty or 0, 1, or a path",
                                           "1: a summary at MPI_Finalize on standard error; else the file for it, as "
                                           "JSON if its name ends in .json"),
      row<&S::pmpi_job_line, parse_any>("pmpi_job_line", path,
                                        "file to which MPI_Finalize appends one line of JSON about the job; empty: "
                                        "none"),
      row<&S::pmpi_advise>("pmpi_advise",
                           "1: nothing is taken over; instead of the summary, MPI_Finalize says what calls cost and "
                           "could hide, and what stoker would do with them (stoker advise)"),
      row<&S::pmpi_depth, parse_depth>(
          "pmpi_depth", fmt::format("a whole number, 1 to {}", S::most_pmpi_depth),
          "frames of the application that tell the calls of the summary apart; 1: the place of the call alone"),
      row<&S::pmpi_communicators, parse_at_least<0>>(
          "pmpi_communicators", from_0,
          "communicators that the library takes from the MPI library in each process; calls that would need more are "
          "the MPI library's"),
      row<&S::pmpi_timeout, parse_at_least<0>>(
          "pmpi_timeout", seconds, "how long MPI_Init waits for all ranks to show that they have the library"),
      row<&S::pmpi_rma>("pmpi_rma",
                        "1: passive-target RMA of the application makes progress while the target computes: a thread "
                        "calls the MPI library now and then while there is a window"),
      row<&S::pmpi_p2p>("pmpi_p2p",
                        "1: long nonblocking and persistent point-to-point messages of the application make progress "
                        "while it computes: a thread calls the MPI library now and then while there are any"),
      row<&S::pmpi_p2p_least_bytes, parse_bytes>("pmpi_p2p_least_bytes", bytes,
                                                 "pmpi_p2p leaves shorter messages alone"),
      row<&S::pmpi_alloc_mem>("pmpi_alloc_mem",
                              "1: MPI_Alloc_mem gives memory that all ranks of the node reach without an intermediate "
                              "copy, from pmpi_least_bytes on"),
      row<&S::pmpi_heap, parse_heap>("pmpi_heap", fmt::format("0, or at least 64 KiB: {}", bytes),
                                     "allocations of the heap (malloc and its like) from so many bytes on are such "
                                     "memory, too, once there is an engine; needs libstoker-heap.so; 0: none"),
  };
}

std::vector<SettingRow> tuning_rows() {
  return {
      row<&S::eager_bytes, parse_bytes>(
          "eager_bytes", bytes,
          "messages within a node up to this size go through a slot in shared memory, of which each rank has two for "
          "every other rank: if these would take more than 256 KiB in an exchange, or more than 1 MiB in another "
          "collective, only shorter messages do; in these, beyond 1 MiB of all blocks together, only those of 8 KiB. "
          "Longer messages have pieces (access-paths.md) only if these, of 8 to 16 KiB, are not longer than this"),
      row<&S::staged_bytes, parse_bytes>("staged_bytes", bytes,
                                         "buffers up to this size that a helper in another process needs are copied "
                                         "into shared memory by their rank rather than reached by cross-memory attach"),
      row<&S::wire_piece_bytes, parse_piece>(
          "wire_piece_bytes", fmt::format("auto, 0, or at least 512 {}", bytes),
          "messages between nodes longer than this go in pieces of this length, sent when their receiver says that it "
          "is ready; 0: as one message each; auto: where messages travel over TCP alone, what the MPI library sends "
          "without asking the receiver, else 0"),
      row<&S::batch, parse_at_least<1>>(
          "batch", from_1, "submissions that a helper takes from one rank's ring before it looks at the next"),
      row<&S::spin_us, parse_at_least<0>>(
          "spin_us", microseconds,
          "how long a helper with work but nothing to do polls before it yields and naps; 200 times as long if it has "
          "a core of its own and short work is expected"),
      row<&S::nap_us, parse_at_least<0>>(
          "nap_us", microseconds, "longest nap of a helper between two polls while a request is active; 0: never nap"),
      row<&S::wait_spin_us, parse_at_least<0>>(
          "wait_spin_us", microseconds,
          "how long a rank polls in wait before it sleeps; ten times as long where others want its core, which it "
          "gives away between polls; and, unless this is 0, 50 us longer for each 192 KiB that it exchanges within its "
          "node, 2 ms at most, in requests without messages to other nodes"),
      row<&S::wake>("wake",
                    "whether start wakes a sleeping helper; auto leaves a request's work to wait where wait follows at "
                    "once, or where short exchanges were measured to be faster that way"),
  };
}

std::vector<SettingRow> all_rows() {
  std::vector<SettingRow> all;
  for (const auto& [kind, rows] :
       {std::pair(SettingKind::engine, engine_rows()), std::pair(SettingKind::drop_in, drop_in_rows()),
        std::pair(SettingKind::tuning, tuning_rows())}) {
    for (SettingRow each : rows) {
      each.kind = kind;
      all.push_back(std::move(each));
    }
  }
  return all;
}

} // namespace

const std::vector<SettingRow>& setting_table() {
  static const auto& rows = *new std::vector<SettingRow>(all_rows()); // never destroyed: destructors may ask
  return rows;
}

} // namespace stoker::engine
