// SPDX-License-Identifier: BSD-3-Clause
#include "engine/settings/tuning_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace stoker::engine {
namespace {

using algos::Interval;

// The keys of the file, and of each entry. All of an entry's must be there.
constexpr std::array<std::string_view, 3> file_keys{"version", "machine", "entry"};
constexpr std::array<std::string_view, 5> entry_keys{"collective", "nodes", "ranks_per_node", "bytes", "algorithm"};

class TuningReader {
public:
  explicit TuningReader(const std::string& path) : path_(path) {}

  algos::TuningTable table(const toml::table& file) const {
    check_keys(file, file_keys);
    check_version(file);
    if (const toml::node* const machine = file.get("machine"); machine != nullptr && !machine->is_string()) {
      refuse(*machine, "machine: expected a text");
    }
    algos::TuningTable table;
    const toml::node* const entries = file.get("entry");
    if (entries == nullptr) {
      return table;
    }
    if (entries->as_array() == nullptr) {
      refuse(*entries, "entry: expected entries that begin with [[entry]]");
    }
    for (const toml::node& node : *entries->as_array()) {
      const toml::table* const fields = node.as_table();
      if (fields == nullptr) {
        refuse(node, "entry: expected entries that begin with [[entry]]");
      }
      try {
        table.add(entry(*fields));
      } catch (const std::invalid_argument& error) { // covers what another one does
        refuse(node, error.what());
      }
    }
    return table;
  }

private:
  [[noreturn]] void refuse(const toml::source_region& where, std::string_view what) const {
    throw std::runtime_error(fmt::format("{}:{}: {}", path_, where.begin.line, what));
  }
  [[noreturn]] void refuse(const toml::node& node, std::string_view what) const { refuse(node.source(), what); }

  template <std::size_t n>
  void check_keys(const toml::table& table, const std::array<std::string_view, n>& known) const {
    for (const auto& [key, node] : table) {
      if (std::ranges::find(known, key.str()) == known.end()) {
        refuse(key.source(), fmt::format("unknown key \"{}\"; expected {}", key.str(), fmt::join(known, ", ")));
      }
    }
  }

  void check_version(const toml::table& file) const {
    const toml::node* const version = file.get("version");
    if (version == nullptr) {
      throw std::runtime_error(
          fmt::format("{}:1: it has no version; expected version = {} in the first place", path_, tuning_version));
    }
    if (version->value_exact<std::int64_t>() != tuning_version) {
      refuse(*version, fmt::format("version: this stoker does not know it; expected {}", tuning_version));
    }
  }

  const toml::node& field(const toml::table& entry, std::string_view key) const {
    const toml::node* const node = entry.get(key);
    if (node == nullptr) {
      refuse(entry, fmt::format("the entry has no {}; expected {}", key, fmt::join(entry_keys, ", ")));
    }
    return *node;
  }

  std::string text(const toml::table& entry, std::string_view key) const {
    const toml::node& node = field(entry, key);
    if (!node.is_string()) {
      refuse(node, fmt::format("{}: expected a text", key));
    }
    return *node.value<std::string>();
  }

  // A number, or the first and the last one of a range.
  Interval interval(const toml::table& entry, std::string_view key, std::int64_t least) const {
    const toml::node& node = field(entry, key);
    std::vector<std::optional<std::int64_t>> numbers;
    if (const toml::array* const range = node.as_array()) {
      for (const toml::node& number : *range) {
        numbers.push_back(number.value_exact<std::int64_t>());
      }
    } else {
      numbers.assign(2, node.value_exact<std::int64_t>());
    }
    if (numbers.size() != 2 || !numbers[0] || !numbers[1] || *numbers[0] < least || *numbers[1] < *numbers[0]) {
      refuse(node, fmt::format("{0}: expected a whole number from {1}, or the first and the last of several, as in "
                               "{0} = [{2}, {3}]",
                               key, least, least + 1, least + 8));
    }
    return {static_cast<std::uint64_t>(*numbers[0]), static_cast<std::uint64_t>(*numbers[1])};
  }

  algos::TuningEntry entry(const toml::table& fields) const {
    check_keys(fields, entry_keys);
    const std::string name = text(fields, "collective");
    const auto collective = algos::find_collective(name);
    if (!collective || !algos::is_tunable(*collective)) {
      std::vector<std::string_view> names;
      for (std::size_t c = 0; c < algos::collectives_with_algorithms; ++c) {
        if (algos::is_tunable(static_cast<algos::Collective>(c))) {
          names.push_back(algos::name_of(static_cast<algos::Collective>(c)));
        }
      }
      refuse(*fields.get("collective"),
             fmt::format("collective \"{}\": expected one of {}", name, fmt::join(names, ", ")));
    }
    algos::TuningEntry entry{.choice = {},
                             .nodes = interval(fields, "nodes", 1),
                             .ranks_per_node = interval(fields, "ranks_per_node", 1),
                             .bytes = interval(fields, "bytes", 0),
                             .line = static_cast<int>(fields.source().begin.line)};
    try {
      entry.choice = algos::parse_choice(*collective, text(fields, "algorithm"));
    } catch (const std::invalid_argument& error) {
      refuse(*fields.get("algorithm"), error.what());
    }
    return entry;
  }

  const std::string& path_;
};

std::string interval_text(const Interval& interval) {
  return interval.first == interval.last ? fmt::format("{}", interval.first)
                                         : fmt::format("[{}, {}]", interval.first, interval.last);
}

} // namespace

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    throw std::runtime_error(fmt::format(
        "{}: {}", path, file ? "there is nothing in it" : std::strerror(errno))); // NOLINT(concurrency-mt-unsafe)
  }
  return text.str();
}

algos::TuningTable parse_tuning(std::string_view text, const std::string& path) {
  try {
    return TuningReader(path).table(toml::parse(text));
  } catch (const toml::parse_error& error) {
    throw std::runtime_error(
        fmt::format("{}:{}: not valid TOML: {}", path, error.source().begin.line, error.description()));
  }
}

std::string tuning_text(const algos::TuningTable& table, std::string_view machine) {
  std::ostringstream text;
  text << "# Which algorithm is the fastest where, by stoker tune; for the setting tuning.\n"
       << "version = " << tuning_version << "\nmachine = " << toml::value<std::string>(std::string(machine)) << "\n";
  for (const algos::TuningEntry& entry : table.entries()) {
    text << fmt::format("\n[[entry]]\ncollective = \"{}\"\nnodes = {}\nranks_per_node = {}\nbytes = {}\n"
                        "algorithm = \"{}\"\n",
                        algos::name_of(entry.collective()), interval_text(entry.nodes),
                        interval_text(entry.ranks_per_node), interval_text(entry.bytes), to_text(entry.choice));
  }
  return text.str();
}

} // namespace stoker::engine
