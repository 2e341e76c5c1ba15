// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/trace_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace stoker::cli {
namespace {

using nlohmann::json;

constexpr std::string_view expected_trace =
    "expected Chrome trace JSON as the setting trace or stoker simulate --trace writes it";

bool is_object(const json& value) { return value.is_object(); }

// How far apart two times can be that are one: files have microseconds as doubles, whose steps grow with the uptime of
// the machine, and an end is a sum of two.
std::uint64_t rounding_of(std::uint64_t ns) {
  const double microseconds = 1e-3 * static_cast<double>(ns);
  const double step = std::nextafter(microseconds, std::numeric_limits<double>::max()) - microseconds;
  return 1 + static_cast<std::uint64_t>(std::ceil(3e3 * step));
}

// Takes one event after the other from the parser, so that the text of a long trace is never in memory as a whole.
class TraceReader {
public:
  explicit TraceReader(const std::string& path) { file_.path = path; }

  // The parser's callback: false drops what was parsed.
  bool take(int depth, json::parse_event_t what, const json& parsed) {
    using What = json::parse_event_t;
    if (depth == 0 && what != What::array_start && what != What::array_end) {
      throw std::runtime_error(fmt::format("{}: no list of events; {}", file_.path, expected_trace));
    }
    if (depth > deepest) {
      ++number_;
      fail(fmt::format("at most {} levels", deepest), "more");
    }
    if (depth != 1) {
      return true;
    }
    if (what == What::value || what == What::array_start) {
      ++number_;
      fail("an object", "something else");
    }
    if (what != What::object_end) {
      return true;
    }
    ++number_;
    take_event(parsed);
    return false;
  }

  // After the last event.
  TraceFile finish() {
    if (file_.processes.empty()) {
      throw std::runtime_error(fmt::format("{}: nothing in it; {}", file_.path, expected_trace));
    }
    for (auto& [number, process] : file_.processes) {
      for (auto& [thread_number, thread] : process.threads) {
        nest(thread, fmt::format("thread {} of process {}", thread_number, number));
      }
    }
    return std::move(file_);
  }

private:
  [[noreturn]] void fail(const std::string& expected, const std::string& got) const {
    throw std::runtime_error(fmt::format("{}: event {}: expected {}, got {}", file_.path, number_, expected, got));
  }

  // What stands under the key, if it is of the kind that `is` says.
  [[nodiscard]] const json& field(const json& object, const char* key, const char* expected,
                                  bool (*is)(const json&)) const {
    const auto found = object.find(key);
    if (found == object.end() || !is(*found)) {
      fail(fmt::format("{} in \"{}\"", expected, key), found == object.end() ? "nothing" : found->dump());
    }
    return *found;
  }
  [[nodiscard]] std::string text(const json& object, const char* key) const {
    return field(object, key, "a text", [](const json& value) { return value.is_string(); }).get<std::string>();
  }
  [[nodiscard]] int whole_number(const json& object, const char* key) const {
    constexpr auto is = [](const json& value) {
      return value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<int>::max();
    };
    return field(object, key, "a whole number of 0 or more", is).get<int>();
  }
  // Microseconds in the file.
  [[nodiscard]] std::uint64_t nanoseconds(const json& object, const char* key) const {
    constexpr auto is = [](const json& value) {
      constexpr double most = 1e15; // 31 years
      return value.is_number() && value.get<double>() >= 0 && value.get<double>() <= most;
    };
    return static_cast<std::uint64_t>(
        std::llround(1e3 * field(object, key, "microseconds, 0 or more,", is).get<double>()));
  }

  void take_event(const json& event) {
    const std::string name = text(event, "name");
    const std::string phase = text(event, "ph");
    TraceProcess& process = file_.processes[whole_number(event, "pid")];
    if (phase == "M") {
      take_name(event, name, process);
    } else if (phase == "X" || phase == "i") {
      TraceEvent taken;
      taken.name = *file_.names.insert(name).first;
      taken.counts = phase == "i";
      taken.begin = nanoseconds(event, "ts");
      taken.end = taken.begin + (taken.counts ? 0 : nanoseconds(event, "dur"));
      if (event.contains("args")) {
        take_arguments(field(event, "args", "an object", is_object), "", taken);
      }
      if (taken.counts) {
        check_counts(taken);
      }
      process.threads[whole_number(event, "tid")].events.push_back(std::move(taken));
    } else {
      fail("X, i or M in \"ph\"", phase);
    }
  }

  void take_name(const json& event, const std::string& what, TraceProcess& process) {
    const json& arguments = field(event, "args", "an object", is_object);
    if (what == "process_name") {
      process.name = text(arguments, "name");
      process.host = arguments.contains("host") ? text(arguments, "host") : "";
      if (arguments.contains("node")) {
        process.node = whole_number(arguments, "node");
        process.domain = whole_number(arguments, "domain");
      }
    } else if (what == "thread_name") {
      process.threads[whole_number(event, "tid")].name = text(arguments, "name");
    } else {
      fail("process_name or thread_name in \"name\"", what);
    }
  }

  void take_arguments(const json& value, const std::string& name, TraceEvent& event) {
    if (value.is_object()) {
      for (const auto& [key, inner] : value.items()) {
        take_arguments(inner, name.empty() ? key : fmt::format("{}.{}", name, key), event);
      }
      return;
    }
    event.arguments.push_back({.name = *file_.names.insert(name).first, .value = {}});
    auto& taken = event.arguments.back().value;
    const bool fits =
        !value.is_number_unsigned() ||
        value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value.is_number_integer() && fits) {
      taken = value.get<std::int64_t>();
    } else if (value.is_number()) {
      taken = value.get<double>();
    } else {
      taken = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }

  void check_counts(const TraceEvent& event) const {
    constexpr std::size_t most = 255; // of a metric class in OTF2
    const bool numbers = std::ranges::none_of(event.arguments, [](const TraceArgument& argument) {
      return std::holds_alternative<std::string>(argument.value);
    });
    if (!numbers || event.arguments.empty() || event.arguments.size() > most) {
      fail(fmt::format("1 to {} numbers in \"args\" of an instant", most), "something else");
    }
  }

  // Sorts the events. Two that belong one behind the other, or one into the other, may overlap by what times are
  // rounded by; the later one gives way.
  void nest(TraceThread& thread, const std::string& where) const {
    std::ranges::reverse(thread.events); // of two that are equal the later one is the outer one
    std::ranges::stable_sort(thread.events, [](const TraceEvent& a, const TraceEvent& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<const TraceEvent*> open;
    std::uint64_t reached = 0;
    for (TraceEvent& event : thread.events) {
      for (; !open.empty() && open.back()->end <= event.begin + rounding_of(event.begin); open.pop_back()) {
        reached = std::max(reached, open.back()->end);
      }
      event.begin = std::max(event.begin, reached);
      event.end = std::max(event.end, event.begin);
      reached = event.begin;
      if (!open.empty() && event.end > open.back()->end) {
        if (event.end > open.back()->end + rounding_of(event.end)) {
          throw std::runtime_error(fmt::format(
              "{}: {}: {} begins at {} ns, within {}, and ends after it; expected events of a thread that nest",
              file_.path, where, event.name, event.begin, open.back()->name));
        }
        event.end = open.back()->end;
      }
      open.push_back(&event);
    }
  }

  static constexpr int deepest = 8; // of arguments within arguments

  TraceFile file_;
  std::size_t number_ = 0; // of the event that was taken last, from 1
};

} // namespace

TraceFile read_trace(const std::string& path) {
  std::ifstream in(path);
  if (!in) {
    throw std::runtime_error(fmt::format("{}: {}; {}", path, std::generic_category().message(errno), expected_trace));
  }
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) {
    throw std::runtime_error(fmt::format("{}: a folder; {}", path, expected_trace));
  }
  TraceReader reader(path);
  try {
    [[maybe_unused]] const json rest =
        json::parse(in, [&reader](int depth, json::parse_event_t what, const json& parsed) {
          return reader.take(depth, what, parsed);
        });
  } catch (const json::exception& error) {
    throw std::runtime_error(fmt::format("{}: damaged, or no trace: {}; {}", path, error.what(), expected_trace));
  }
  return reader.finish();
}

} // namespace stoker::cli
