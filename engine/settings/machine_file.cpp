// SPDX-License-Identifier: BSD-3-Clause
// One table of keys, from which files are read, checked and written.
#include "engine/settings/machine_file.hpp"

#include "algos/select/edit_distance.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <variant>
#include <vector>

namespace stoker::engine {
namespace {

using algos::Distance;
using algos::Machine;
using algos::Network;

// What a number in the file stands for.
struct Microseconds {
  double& seconds;
};
struct Bandwidth { // GB/s
  double& seconds_per_byte;
};
struct Ratio {
  double& value;
};
struct Count { // 1 or more
  int& value;
};
struct Bytes {
  std::uint64_t& value;
};
using Target = std::variant<Microseconds, Bandwidth, Ratio, Count, Bytes, bool*, std::string*, Network::Kind*>;

struct Key {
  std::string table; // empty: before the first
  std::string_view name;
  Target target;
  bool required = true; // wherever its table is; else the machine's value stays as it is
};

constexpr std::array<std::string_view, 3> kind_names = {"crossbar", "fat_tree", "dragonfly"};
constexpr double microsecond = 1e-6;
constexpr double second_per_gigabyte = 1e-9; // of each byte

std::string message_table(Distance distance) { return fmt::format("message.{}", algos::name_of(distance)); }

constexpr std::array distances = {Distance::domain, Distance::socket, Distance::node, Distance::switched,
                                  Distance::network};

// A distance that a file leaves out costs what the next nearer one does, on the same side of the network's ports.
std::optional<Distance> nearer(Distance distance) {
  switch (distance) {
  case Distance::socket:
    return Distance::domain;
  case Distance::node:
    return Distance::socket;
  case Distance::network:
    return Distance::switched;
  default:
    return std::nullopt;
  }
}

bool may_be_left_out(std::string_view table) {
  return table == "noise" || std::ranges::any_of(distances, [&](Distance distance) {
           return nearer(distance) && table == message_table(distance);
         });
}

// A machine's keys, in the order of a file. A crossbar has no switches to describe.
std::vector<Key> keys_of(Machine& machine) {
  algos::HelperCost& helper = machine.helper;
  std::vector<Key> keys = {
      {"", "name", &machine.name},
      {"", "source", &machine.source},
      {"node", "ranks", Count{machine.ranks_per_node}},
      {"node", "domains", Count{machine.domains_per_node}},
      {"node", "sockets", Count{machine.sockets_per_node}},
      {"message", "eager_bytes", Bytes{machine.eager_bytes}},
      {"message", "remote_reads", &machine.remote_reads},
      {"message", "match_us", Microseconds{machine.match_per_posted}},
      {"message", "post_us", Microseconds{machine.post}},
      {"message", "unexpected_GB_per_s", Bandwidth{machine.unexpected_per_byte}},
  };
  for (const Distance distance : distances) {
    algos::MessageCost& cost = machine.at(distance);
    const std::string table = message_table(distance);
    keys.push_back({table, "latency_us", Microseconds{cost.latency}});
    keys.push_back({table, "send_overhead_us", Microseconds{cost.send_overhead}});
    keys.push_back({table, "receive_overhead_us", Microseconds{cost.receive_overhead}});
    keys.push_back({table, "gap_us", Microseconds{cost.gap}});
    keys.push_back({table, "bandwidth_GB_per_s", Bandwidth{cost.gap_per_byte}});
    keys.push_back({table, "processor_GB_per_s", Bandwidth{cost.overhead_per_byte}, false});
  }
  const std::array<Key, 12> rest = {{
      {"memory", "copy_us", Microseconds{machine.copy}},
      {"memory", "copy_GB_per_s", Bandwidth{machine.copy_per_byte}},
      {"memory", "combine_GB_per_s", Bandwidth{machine.combine_per_byte}},
      {"memory", "piece_us", Microseconds{machine.piece}},
      {"memory", "domain_GB_per_s", Bandwidth{machine.memory_per_byte}},
      {"helper", "submit_us", Microseconds{helper.submit}},
      {"helper", "notice_us", Microseconds{helper.notice}},
      {"helper", "poll_us", Microseconds{helper.poll}},
      {"helper", "wake_up_us", Microseconds{helper.wake_up}},
      {"helper", "nap_us", Microseconds{helper.nap}},
      {"noise", "period_us", Microseconds{machine.noise.period}},
      {"noise", "duration_us", Microseconds{machine.noise.duration}},
  }};
  std::ranges::copy(rest, std::back_inserter(keys));
  keys.push_back({"network", "kind", &machine.network.kind});
  keys.push_back({"network", "ports", Count{machine.ports}});
  keys.push_back({"network", "port_us", Microseconds{machine.port.seconds}});
  keys.push_back({"network", "port_GB_per_s", Bandwidth{machine.port.seconds_per_byte}});
  if (machine.network.kind != Network::Kind::crossbar) {
    keys.push_back({"network", "nodes_per_switch", Count{machine.network.nodes_per_switch}});
    keys.push_back({"network", "taper", Ratio{machine.network.taper}});
  }
  return keys;
}

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

std::string to_text(const Target& target) {
  return std::visit(
      Overloaded{
          // 12 digits: what the units' factors leave of a decimal number is the number again.
          [](const Microseconds& us) { return fmt::format("{:.12g}", us.seconds / microsecond); },
          [](const Bandwidth& gb) { return fmt::format("{:.12g}", second_per_gigabyte / gb.seconds_per_byte); },
          [](const Ratio& ratio) { return fmt::format("{:.12g}", ratio.value); },
          [](const Count& count) { return fmt::format("{}", count.value); },
          [](const Bytes& bytes) { return fmt::format("{}", bytes.value); },
          [](const bool* flag) { return std::string(*flag ? "true" : "false"); },
          [](const std::string* text) {
            std::ostringstream quoted;
            quoted << toml::value<std::string>(*text);
            return quoted.str();
          },
          [](const Network::Kind* kind) { return fmt::format("\"{}\"", kind_names[static_cast<std::size_t>(*kind)]); },
      },
      target);
}

std::string expected(const Target& target) {
  return std::visit(Overloaded{
                        [](const Microseconds&) { return "a number of microseconds, 0 or more"; },
                        [](const Bandwidth&) { return "a number of GB/s above 0, or inf where bytes cost nothing"; },
                        [](const Ratio&) { return "a number above 0"; },
                        [](const Count&) { return "a whole number, 1 or more"; },
                        [](const Bytes&) { return "a whole number of bytes, 0 or more"; },
                        [](const bool*) { return "true or false"; },
                        [](const std::string*) { return "a string"; },
                        [](const Network::Kind*) { return R"("crossbar", "fat_tree" or "dragonfly")"; },
                    },
                    target);
}

// False for a value that is not as expected.
bool assign(const Target& target, const toml::node& node) {
  const std::optional<double> number = node.is_number() ? node.value<double>() : std::nullopt;
  const std::optional<std::int64_t> whole = node.value_exact<std::int64_t>();
  const std::optional<std::string> text = node.value_exact<std::string>();
  const auto take = [](auto& place, const auto& value, bool accepted) {
    if (accepted) {
      place = value;
    }
    return accepted;
  };
  return std::visit(
      Overloaded{
          [&](const Microseconds& us) {
            return number && take(us.seconds, *number * microsecond, *number >= 0 && std::isfinite(*number));
          },
          [&](const Bandwidth& gb) {
            return number && take(gb.seconds_per_byte, second_per_gigabyte / *number,
                                  *number > 0 && std::isfinite(second_per_gigabyte / *number));
          },
          [&](const Ratio& ratio) {
            return number && take(ratio.value, *number, *number > 0 && std::isfinite(*number));
          },
          [&](const Count& count) {
            return whole && take(count.value, static_cast<int>(*whole),
                                 *whole >= 1 && *whole <= std::numeric_limits<int>::max());
          },
          [&](const Bytes& bytes) {
            return whole && take(bytes.value, static_cast<std::uint64_t>(*whole), *whole >= 0);
          },
          [&](bool* flag) {
            const auto value = node.value_exact<bool>();
            return value && take(*flag, *value, true);
          },
          [&](std::string* string) { return text && take(*string, *text, true); },
          [&](Network::Kind* kind) {
            const auto* const found = text ? std::ranges::find(kind_names, *text) : kind_names.end();
            return take(*kind, static_cast<Network::Kind>(found - kind_names.begin()), found != kind_names.end());
          },
      },
      target);
}

std::string path_of(std::string_view table, std::string_view key) {
  return table.empty() ? std::string(key) : fmt::format("{}.{}", table, key);
}

class MachineReader {
public:
  MachineReader(const std::string& text, const std::string& path) : path_(path), file_(toml::parse(text, path)) {}

  Machine read() {
    look_up_kind();
    const std::vector<Key> keys = keys_of(machine_);
    take(file_, "", keys);
    for (const Key& key : keys) {
      const std::string path = path_of(key.table, key.name);
      if (key.required && !lines_.contains(path) && (table_at(key.table) != nullptr || !may_be_left_out(key.table))) {
        refuse_at(line_of_table(key.table), path, fmt::format("is missing: expected {}", expected(key.target)));
      }
    }
    for (const Distance distance : distances) {
      if (nearer(distance) && table_at(message_table(distance)) == nullptr) {
        machine_.at(distance) = machine_.at(*nearer(distance));
      }
    }
    check_shape();
    return machine_;
  }

private:
  using Line = toml::source_index;

  [[noreturn]] void refuse_at(Line line, std::string_view key, std::string_view reason) const {
    throw std::runtime_error(fmt::format("{}:{}: {} {}", path_, line, key, reason));
  }
  // For a key that is in the file.
  [[noreturn]] void refuse(const std::string& key, std::string_view reason) const {
    refuse_at(lines_.at(key), key, reason);
  }

  [[nodiscard]] const toml::table* table_at(const std::string& name) const {
    return name.empty() ? &file_ : file_.at_path(name).as_table();
  }
  [[nodiscard]] Line line_of_table(const std::string& name) const {
    const toml::table* const table = table_at(name);
    return table == nullptr ? Line{1} : table->source().begin.line;
  }

  // It decides on which keys there are; a wrong one is refused with all others.
  void look_up_kind() {
    if (const auto node = file_.at_path("network.kind")) {
      (void)assign(&machine_.network.kind, *node.node());
    }
  }

  void take(const toml::table& table, const std::string& name, const std::vector<Key>& keys) {
    for (const auto& [toml_key, node] : table) {
      const std::string_view word = toml_key.str();
      const std::string path = path_of(name, word);
      const Line line = toml_key.source().begin.line;
      const auto key =
          std::ranges::find_if(keys, [&](const Key& known) { return known.table == name && known.name == word; });
      const bool is_prefix = std::ranges::any_of(
          keys, [&](const Key& known) { return known.table == path || known.table.starts_with(path + "."); });
      if (key != keys.end()) {
        if (!assign(key->target, node)) {
          refuse_at(line, path, fmt::format("= {}: expected {}", as_written(node), expected(key->target)));
        }
        lines_[path] = line;
      } else if (is_prefix && node.is_table()) {
        take(*node.as_table(), path, keys);
      } else if (is_prefix) {
        refuse_at(line, path, fmt::format("= {}: expected a table, [{}]", as_written(node), path));
      } else {
        refuse_at(line, path, "is unknown" + suggestion(path, keys));
      }
    }
  }

  static std::string as_written(const toml::node& node) {
    std::ostringstream text;
    node.visit([&](const auto& value) { text << value; });
    return text.str();
  }

  std::string suggestion(const std::string& path, const std::vector<Key>& keys) const {
    if (path == "network.nodes_per_switch" || path == "network.taper") {
      return " with network.kind = \"crossbar\"; expected \"fat_tree\" or \"dragonfly\" beside it";
    }
    std::vector<std::string> known;
    std::ranges::transform(keys, std::back_inserter(known),
                           [](const Key& key) { return path_of(key.table, key.name); });
    for (const Key& key : keys) {
      known.push_back(key.table);
    }
    const std::vector<std::string_view> names(known.begin(), known.end());
    const auto nearest = algos::nearest_name(path, names);
    return nearest ? fmt::format("; did you mean {}?", *nearest) : "; docs/simulation.md lists the known keys";
  }

  void check_shape() const {
    const int ranks = machine_.ranks_per_node;
    const int domains = machine_.domains_per_node;
    const int sockets = machine_.sockets_per_node;
    if (domains % sockets != 0) {
      refuse("node.domains", fmt::format("= {}: expected a multiple of node.sockets, which is {}", domains, sockets));
    }
    if (domains > ranks) {
      refuse("node.domains", fmt::format("= {}: expected {} at most, as many as node.ranks", domains, ranks));
    }
    if (machine_.noise.duration >= machine_.noise.period) {
      refuse("noise.duration_us",
             fmt::format("= {:g}: expected less than noise.period_us, which is {:g}",
                         machine_.noise.duration / microsecond, machine_.noise.period / microsecond));
    }
  }

  const std::string& path_;
  toml::table file_;
  Machine machine_;
  std::map<std::string, Line> lines_; // of the keys that are in the file
};

} // namespace

Machine read_machine(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno))); // NOLINT(concurrency-mt-unsafe)
  }
  return parse_machine(text.str(), path);
}

Machine parse_machine(const std::string& text, const std::string& path) {
  try {
    return MachineReader(text, path).read();
  } catch (const toml::parse_error& error) {
    throw std::runtime_error(
        fmt::format("{}:{}: not valid TOML: {}", path, error.source().begin.line, error.description()));
  }
}

std::string machine_text(const Machine& machine) {
  Machine copy = machine;
  std::string text;
  std::string table;
  for (const Key& key : keys_of(copy)) {
    if (key.table != table) {
      text += fmt::format("\n[{}]\n", key.table);
      table = key.table;
    }
    text += fmt::format("{} = {}\n", key.name, to_text(key.target));
  }
  return text;
}

} // namespace stoker::engine
