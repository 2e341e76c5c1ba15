// SPDX-License-Identifier: BSD-3-Clause
// `stoker info`: gathers everything into one JSON document, and prints that as it is or as text.
#include "api/cli/commands.hpp"
#include "api/cli/job_facts.hpp"
#include "api/cli/mpi_libraries_page.hpp"
#include "api/cli/mpi_session.hpp"

#include "algos/collectives/registry.hpp"
#include "algos/select/selection.hpp"
#include "engine/base/error.hpp"
#include "engine/base/mpi_defects.hpp"
#include "engine/base/mpi_identity.hpp"
#include "engine/settings/setting_table.hpp"
#include "engine/settings/tuning_file.hpp"
#include "topology/machine.hpp"
#include <stoker/stoker.h>

#include <fmt/format.h>
#include <hwloc.h>
#include <nlohmann/json.hpp>

#include <array>
#include <string>
#include <vector>

namespace stoker::cli {
namespace {

using nlohmann::ordered_json;

std::string markdown_cell(const std::string& text) { return text.empty() ? "(empty)" : "`" + text + "`"; }

constexpr std::string_view settings_page_head =
    R"(<!-- Written by `stoker info --settings-markdown` from engine/settings/setting_table.cpp; a test compares the two. -->
# Settings

A setting has one name, and means the same whichever way it is given. The strongest of these counts:

1. the call that creates the engine: `struct stoker_setting` in C, a list of pairs in C++;
2. the environment: `STOKER_` and the key in capitals;
3. the TOML file that `STOKER_SETTINGS_FILE` names, with flat lines such as `executor = "inline"` or `batch = 16`;
4. the default.

An unknown key in a call or in the file, and a value that is not accepted, are errors that name the key, where it came
from and what would be accepted. An unknown `STOKER_` variable is a warning. All ranks of an engine must have the same
settings. `stoker info` prints the values in effect and where each came from; `stoker info --set KEY=VALUE` tries one.
)";

constexpr std::string_view algorithms_section = R"(
## The list of algorithms

```
STOKER_ALGORITHMS="alltoall=multileader:leaders=2,between=pairwise,allreduce=recursive-exchange:factors=-4 -2 2 4"
```

Items are COLLECTIVE=ALGORITHM; `stoker info` lists both, with the parameters of each algorithm. A new item begins where
the name of a collective follows a comma. All other commas separate parameters. No collective may be named twice.

A list changes only the collectives that it names. What a weaker origin says of the others stays; `auto` in the place of
a list undoes all.

An item is for communicators of all sizes. Where a number is too large for one, the largest that fits is taken, and a
warning says so the first time. A list of factors is for one number of ranks: where it does not fit, init is refused,
with a list that fits. In the info of a request both are errors. Under the drop-in library neither is: the default list
takes the place of one that does not fit, with a warning the first time.
)";

struct SettingsSection {
  engine::SettingKind kind;
  std::string_view title;
  std::string_view explanation;
};
constexpr std::array<SettingsSection, 3> sections{
    {{engine::SettingKind::engine, "Settings of an engine", ""},
     {engine::SettingKind::drop_in, "Settings of the drop-in library",
      "They are read from environment and file. Those of rank 0 hold for all ranks. [drop-in.md](drop-in.md) says "
      "more.\n\n"},
     {engine::SettingKind::tuning, "Settings that only tune, and may change with any version",
      "They change how long calls take, and nothing else.\n\n"}}};

void print_settings_markdown() {
  fmt::print("{}", settings_page_head);
  for (const SettingsSection& section : sections) {
    fmt::print("\n## {}\n\n{}| key | environment | default | accepted | meaning |\n|---|---|---|---|---|\n",
               section.title, section.explanation);
    for (const engine::SettingRow& row : engine::setting_table()) {
      if (row.kind == section.kind) {
        fmt::print("| `{}` | `{}` | {} | {} | {} |\n", row.key, engine::environment_name(row.key),
                   markdown_cell(row.get({})), row.accepted, row.help);
      }
    }
  }
  fmt::print("{}", algorithms_section);
}

ordered_json algorithms() {
  ordered_json list = ordered_json::array();
  for (const algos::Algorithm& algorithm : algos::registry()) {
    ordered_json parameters = ordered_json::array();
    for (const algos::Parameter& parameter : algorithm.parameters) {
      parameters.push_back({{"name", parameter.name}, {"summary", parameter.summary}});
    }
    list.push_back({{"collective", algos::name_of(algorithm.collective)},
                    {"name", algorithm.name},
                    {"parameters", parameters},
                    {"summary", algorithm.summary},
                    {"source", algorithm.source}});
  }
  return list;
}

ordered_json settings_in_effect(std::span<const engine::SettingText> call_settings) {
  ordered_json list = ordered_json::array();
  for (const engine::EffectiveSetting& setting : engine::effective_settings(call_settings)) {
    const auto& section = sections[static_cast<std::size_t>(setting.row->kind)];
    list.push_back({{"key", setting.row->key},
                    {"value", setting.value},
                    {"origin", engine::name_of(setting.origin)},
                    {"section", section.title},
                    {"help", setting.row->help}});
  }
  return list;
}

// What the file of the setting `tuning` says, or why nobody follows it; null where none is named.
ordered_json tuning_in_force(const engine::Settings& settings) {
  if (settings.tuning.empty()) {
    return nullptr;
  }
  ordered_json tuning{{"file", settings.tuning}};
  try {
    const algos::TuningTable table = engine::parse_tuning(engine::text_of_file(settings.tuning), settings.tuning);
    tuning["entries"] = ordered_json::array();
    for (const algos::TuningEntry& entry : table.entries()) {
      const auto range = [](const algos::Interval& interval) { return ordered_json{interval.first, interval.last}; };
      tuning["entries"].push_back({{"collective", algos::name_of(entry.collective())},
                                   {"nodes", range(entry.nodes)},
                                   {"ranks_per_node", range(entry.ranks_per_node)},
                                   {"bytes", range(entry.bytes)},
                                   {"algorithm", to_text(entry.choice)},
                                   {"line", entry.line}});
    }
  } catch (const std::exception& error) {
    tuning["error"] = error.what();
  }
  return tuning;
}

std::string hwloc_version() {
  const unsigned version = hwloc_get_api_version();
  return fmt::format("{}.{}.{}", version >> 16U, (version >> 8U) & 0xffU, version & 0xffU);
}

void print_topology(const ordered_json& info) {
  fmt::print("\ntopology: {} rank{}, {} node{}\n", info.at("ranks").get<int>(), info.at("ranks") == 1 ? "" : "s",
             info.at("nodes").size(), info.at("nodes").size() == 1 ? "" : "s");
  for (const ordered_json& node : info.at("nodes")) {
    fmt::print("  node {} (host {})\n", node.at("node").get<int>(), node.at("host").get<std::string>());
    for (const ordered_json& domain : node.at("domains")) {
      const ordered_json& helper = domain.at("helper");
      std::string place = "no helper: requests run inline";
      if (!helper.is_null()) {
        place = fmt::format("helper runs on CPUs {} (read back); asked for: {}", helper.at("cpus").get<std::string>(),
                            helper.at("placement").get<std::string>());
      }
      fmt::print("    domain {} on NUMA {}: carrier rank {}; {}\n", domain.at("domain").get<int>(),
                 domain.at("numa").get<int>(), domain.at("carrier").get<int>(), place);
      for (const ordered_json& rank : domain.at("ranks")) {
        fmt::print("      rank {} on CPUs {}; cross-memory attach to its node: {}; XPMEM: {}\n",
                   rank.at("rank").get<int>(), rank.at("cpus").get<std::string>(),
                   rank.at("cross_memory_attach").get<std::string>(), rank.at("xpmem").get<std::string>());
      }
    }
  }
}

void print_puts(const ordered_json& puts) {
  std::vector<std::string> ways;
  for (const auto& [executor, way] : puts.items()) {
    ways.push_back((executor == "engine" ? "helpers: " : "inline: ") + way.get<std::string>());
  }
  fmt::print("  puts of one-sided algorithms: {}\n", fmt::join(ways, ", "));
}

void print_tuning(const ordered_json& tuning) {
  if (tuning.is_null()) {
    fmt::print("\ntuning: none\n");
  } else if (tuning.contains("error")) {
    fmt::print("\ntuning: not followed: {}\n", tuning.at("error").get<std::string>());
  } else {
    fmt::print("\ntuning of {}\n", tuning.at("file").get<std::string>());
    for (const ordered_json& entry : tuning.at("entries")) {
      const auto range = [&](const char* key) {
        const auto first = entry.at(key).at(0).get<std::uint64_t>();
        const auto last = entry.at(key).at(1).get<std::uint64_t>();
        return first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
      };
      fmt::print("  {:<18} {:<24} {} nodes of {} ranks, {} bytes\n", entry.at("collective").get<std::string>(),
                 entry.at("algorithm").get<std::string>(), range("nodes"), range("ranks_per_node"), range("bytes"));
    }
  }
}

void print_text(const ordered_json& info) {
  fmt::print("stoker {}, {} ({}), hwloc {}\n{}\n", info.at("stoker").get<std::string>(),
             info.at("mpi").at("library").get<std::string>(), info.at("mpi").at("thread_level").get<std::string>(),
             info.at("hwloc").get<std::string>(), info.at("machine").get<std::string>());
  if (const std::string untested = info.at("mpi").at("untested"); !untested.empty()) {
    fmt::print("{}\n", untested);
  }
  if (info.contains("error")) {
    fmt::print("\nno engine here: {}\n", info.at("error").get<std::string>());
  } else {
    print_topology(info);
    print_puts(info.at("puts"));
  }
  fmt::print("\nalgorithms\n");
  for (const ordered_json& algorithm : info.at("algorithms")) {
    fmt::print("  {:<18} {:<24} {} [{}]\n", algorithm.at("collective").get<std::string>(),
               algorithm.at("name").get<std::string>(), algorithm.at("summary").get<std::string>(),
               algorithm.at("source").get<std::string>());
    for (const ordered_json& parameter : algorithm.at("parameters")) {
      fmt::print("  {:<18} {:<24}   {}: {}\n", "", "", parameter.at("name").get<std::string>(),
                 parameter.at("summary").get<std::string>());
    }
  }
  fmt::print("selection (algorithm auto)\n  {}\n", info.at("selection").get<std::string>());
  print_tuning(info.at("tuning"));
  std::string section;
  for (const ordered_json& setting : info.at("settings")) {
    const std::string value = setting.at("value");
    if (setting.at("section") != section) {
      section = setting.at("section");
      fmt::print("\n{}\n", section);
    }
    fmt::print("  {:<28} {:<14} {:<12} {}\n", setting.at("key").get<std::string>(), value.empty() ? "-" : value,
               setting.at("origin").get<std::string>(), setting.at("help").get<std::string>());
  }
}

// Collective. The exit code.
int show(const MpiSession& session, std::span<const engine::SettingText> call_settings, bool as_json) {
  const engine::Settings settings = engine::load_settings(call_settings);
  const topology::Machine machine(settings.machine);
  ordered_json info;
  info["stoker"] = version();
  info["mpi"] = {{"library", engine::mpi_identity().text},
                 {"thread_level", thread_level_name(session.thread_level())},
                 {"untested", engine::untested(engine::mpi_identity())}};
  info["hwloc"] = hwloc_version();
  info["machine"] = machine.description();
  info["ranks"] = session.size();
  try {
    info.update(gather_job(session, call_settings));
  } catch (const std::exception& error) { // the same on all ranks; the rest is worth seeing all the same
    info["error"] = error.what();
  }
  info["algorithms"] = algorithms();
  info["selection"] = algos::selection_text;
  info["tuning"] = tuning_in_force(settings);
  info["settings"] = settings_in_effect(call_settings);
  if (session.rank() == 0) {
    if (as_json) {
      fmt::print("{}\n", info.dump(2));
    } else {
      print_text(info);
    }
  }
  return info.contains("error") ? 1 : 0;
}

} // namespace

std::string version() {
  return fmt::format("{}.{}.{}", STOKER_VERSION_MAJOR, STOKER_VERSION_MINOR, STOKER_VERSION_PATCH);
}

int info(const InfoOptions& options) {
  if (options.settings_markdown) {
    print_settings_markdown();
    return 0;
  }
  if (options.mpi_libraries_markdown) {
    print_mpi_libraries_page();
    return 0;
  }
  const std::vector<engine::SettingText> call_settings(options.settings.begin(), options.settings.end());
  (void)engine::load_settings(call_settings); // an error shows before MPI is started
  return with_mpi([&](const MpiSession& session) { return show(session, call_settings, options.json); });
}

} // namespace stoker::cli
