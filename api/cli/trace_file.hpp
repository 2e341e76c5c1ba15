// SPDX-License-Identifier: BSD-3-Clause
// Reader of traces: the Chrome trace JSON that the engine (engine/helper/trace.hpp) and `stoker simulate` write.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stoker::cli {

// Times are in ns. Names belong to the TraceFile.
struct TraceArgument {
  std::string_view name; // nested ones: "outer.inner"
  std::variant<std::int64_t, double, std::string> value;
};

struct TraceEvent {
  std::string_view name;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool counts = false; // an instant, whose arguments are numbers
  std::vector<TraceArgument> arguments;
};

struct TraceThread {
  std::string name;
  std::vector<TraceEvent> events; // in the order of their begin, an outer one before those within it
};

struct TraceProcess {
  std::string name;
  std::string host; // empty: unknown
  std::optional<int> node;
  std::optional<int> domain; // numbered over all nodes
  std::map<int, TraceThread> threads;
};

struct TraceFile {
  std::string path;
  std::map<int, TraceProcess> processes;
  std::set<std::string> names;

  TraceFile() = default;
  TraceFile(TraceFile&&) = default; // but not copied: events point to its names
};

// Every thread's events nest. Throws std::runtime_error that names the file, and what was expected in it.
[[nodiscard]] TraceFile read_trace(const std::string& path);

} // namespace stoker::cli
