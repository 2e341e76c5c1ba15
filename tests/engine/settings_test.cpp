// SPDX-License-Identifier: BSD-3-Clause
// Settings: precedence of their origins, text forms, and messages that name what is wrong and where it came from.
#include "engine/base/error.hpp"
#include "engine/settings/setting_table.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace stoker::engine {
namespace {

using Call = std::vector<SettingText>;

class SettingsTest : public ::testing::Test {
protected:
  // Nothing from the surroundings of the test may leak in.
  void SetUp() override {
    for (const SettingRow& row : setting_table()) {
      unsetenv(environment_name(row.key).c_str());
    }
    unsetenv("STOKER_SETTINGS_FILE");
  }
  void TearDown() override {
    SetUp();
    unsetenv("STOKER_NAPPUS");
    std::filesystem::remove(path_);
  }

  void use_file(const std::string& text) {
    std::ofstream(path_) << text;
    setenv("STOKER_SETTINGS_FILE", path_.c_str(), 1);
  }

  std::string path_ =
      (std::filesystem::temp_directory_path() / ("stoker_settings_" + std::to_string(getpid()) + ".toml")).string();
};

// The message of the Error that load_settings must throw.
std::string error_of(const Call& call = {}) {
  try {
    (void)load_settings(call);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::setting);
    return error.what();
  }
  ADD_FAILURE() << "load_settings did not throw";
  return {};
}

void expect_contains(const std::string& text, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is missing in: " << text;
  }
}

TEST_F(SettingsTest, DefaultsAreThoseOfTheStruct) {
  EXPECT_EQ(load_settings(), Settings{});
  for (const EffectiveSetting& setting : effective_settings()) {
    EXPECT_EQ(setting.origin, Origin::default_) << setting.row->key;
    EXPECT_FALSE(setting.row->help.empty()) << setting.row->key;
  }
}

TEST_F(SettingsTest, EveryDefaultIsAcceptedAsText) {
  for (const SettingRow& row : setting_table()) {
    setenv(environment_name(row.key).c_str(), row.get(Settings{}).c_str(), 1);
  }
  EXPECT_EQ(load_settings(), Settings{});
  for (const EffectiveSetting& setting : effective_settings()) {
    EXPECT_EQ(setting.origin, Origin::environment) << setting.row->key;
  }
}

TEST_F(SettingsTest, CallBeatsEnvironmentBeatsFileBeatsDefault) {
  use_file("batch = 1\nspin_us = 1\nnap_us = 1\n");
  setenv("STOKER_BATCH", "2", 1);
  setenv("STOKER_SPIN_US", "2", 1);
  const Call call{{"batch", "3"}};

  const Settings settings = load_settings(call);
  EXPECT_EQ(settings.batch, 3);
  EXPECT_EQ(settings.spin_us, 2);
  EXPECT_EQ(settings.nap_us, 1);
  EXPECT_EQ(settings.wait_spin_us, Settings{}.wait_spin_us);

  std::map<std::string_view, EffectiveSetting> effective;
  for (const EffectiveSetting& setting : effective_settings(call)) {
    effective.emplace(setting.row->key, setting);
  }
  EXPECT_EQ(effective.at("batch").origin, Origin::call);
  EXPECT_EQ(effective.at("batch").value, "3");
  EXPECT_EQ(effective.at("spin_us").origin, Origin::environment);
  EXPECT_EQ(effective.at("nap_us").origin, Origin::file);
  EXPECT_EQ(effective.at("wait_spin_us").origin, Origin::default_);
}

TEST_F(SettingsTest, EveryKindOfValueIsRead) {
  const Call call{{"executor", "inline"},      {"access", "cma"},       {"domains", "node"},
                  {"threads_per_domain", "2"}, {"reserve", "list:2,3"}, {"best_effort", "true"},
                  {"machine", "node:2 pu:2"},  {"arena_bytes", "1G"},   {"stall_seconds", "0"},
                  {"trace", "t.json"},         {"log", "debug"}};
  const Settings settings = load_settings(call);
  EXPECT_EQ(settings.executor, ExecutorChoice::inline_);
  EXPECT_EQ(settings.access, AccessChoice::cma);
  EXPECT_EQ(settings.domains, DomainChoice::node);
  EXPECT_EQ(settings.threads_per_domain, 2);
  EXPECT_EQ(settings.reserve, "list:2,3");
  EXPECT_TRUE(settings.best_effort);
  EXPECT_EQ(settings.machine, "node:2 pu:2");
  EXPECT_EQ(settings.arena_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(settings.stall_seconds, 0);
  EXPECT_EQ(settings.trace, "t.json");
  EXPECT_EQ(settings.log, LogLevel::debug);
}

TEST_F(SettingsTest, OfEqualKeysInACallTheLastCounts) {
  EXPECT_EQ(load_settings(Call{{"batch", "3"}, {"batch", "4"}}).batch, 4);
}

TEST_F(SettingsTest, ByteSizesTakeUnits) {
  const std::pair<std::string_view, std::uint64_t> sizes[] = {
      {"0", 0},       {"1", 1},        {"4K", 4096},         {"4k", 4096},
      {"4KiB", 4096}, {"3M", 3 << 20}, {"2GiB", 2ULL << 30}, {"18446744073709551615", ~0ULL}};
  for (const auto& [text, bytes] : sizes) {
    EXPECT_EQ(load_settings(Call{{"eager_bytes", text}}).eager_bytes, bytes) << text;
  }
}

TEST_F(SettingsTest, ByteSizesArePrintedSoThatTheyReadBack) {
  for (const std::string_view text : {"0", "1000", "8K", "3M", "5G", "1025"}) {
    const Call call{{"eager_bytes", text}};
    for (const EffectiveSetting& setting : effective_settings(call)) {
      if (setting.row->key == "eager_bytes") {
        EXPECT_EQ(setting.value, text);
      }
    }
  }
}

TEST_F(SettingsTest, BadValuesAreNamedWithOriginAndWhatIsAccepted) {
  const SettingText bad[] = {{"executor", "threads"},  {"access", "xpmem"},
                             {"domains", "socket"},    {"threads_per_domain", "0"},
                             {"best_effort", "yes"},   {"ranks_per_node", "-1"},
                             {"eager_bytes", "8T"},    {"eager_bytes", "K"},
                             {"eager_bytes", "8iB"},   {"eager_bytes", "-1"},
                             {"eager_bytes", ""},      {"eager_bytes", "18446744073709551615K"},
                             {"batch", "0"},           {"batch", "3.5"},
                             {"batch", "99999999999"}, {"spin_us", "20us"},
                             {"nap_us", " 5"},         {"log", "loud"},
                             {"reserve", "list:"},     {"reserve", "some"}};
  for (const auto& [key, value] : bad) {
    expect_contains(error_of({{key, value}}),
                    {std::string(key), "\"" + std::string(value) + "\"", "the call", "expected"});
  }
  expect_contains(error_of({{"executor", "threads"}}), {"auto, engine, inline"});
  setenv("STOKER_BATCH", "many", 1);
  expect_contains(error_of(), {"batch", "\"many\"", "STOKER_BATCH", "1 or more"});
}

// What the settings say about the algorithms, as text.
std::string algorithms(const Call& call = {}) { return to_text(load_settings(call).algorithms); }

TEST_F(SettingsTest, ItemsOfTheListOfAlgorithmsMayHoldCommasAndEqualsSigns) {
  EXPECT_EQ(algorithms(), "auto");
  for (const std::string text :
       {"alltoall=radix:r=4,allreduce=node-aware",
        "alltoall=multileader:leaders=2,between=pairwise,allreduce=recursive-exchange:factors=-4 -2 2 4,part=128",
        "neighbor_alltoallv=locality-aware"}) {
    EXPECT_EQ(algorithms({{"algorithms", text}}), text);
  }
  EXPECT_EQ(algorithms({{"algorithms", " alltoall=radix:r=4 ,  alltoallv=bruck"}}),
            "alltoall=radix:r=4,alltoallv=bruck");
  EXPECT_EQ(algorithms({{"algorithms", "alltoall=auto,bcast=tree,barrier=auto"}}), "bcast=tree");
}

TEST_F(SettingsTest, NoParameterIsNamedLikeACollective) {
  for (const algos::Algorithm& algorithm : algos::registry()) {
    for (const algos::Parameter& parameter : algorithm.parameters) {
      EXPECT_EQ(algos::find_collective(parameter.name), std::nullopt) << algorithm.name;
    }
  }
}

TEST_F(SettingsTest, AListOfAlgorithmsChangesOnlyThoseItNames) {
  use_file("algorithms = 'alltoall=pairwise,allreduce=tree'\n");
  EXPECT_EQ(algorithms(), "alltoall=pairwise,allreduce=tree");
  setenv("STOKER_ALGORITHMS", "allreduce=auto,bcast=chain", 1);
  EXPECT_EQ(algorithms(), "alltoall=pairwise,bcast=chain");
  EXPECT_EQ(algorithms({{"algorithms", ""}}), "alltoall=pairwise,bcast=chain");
  EXPECT_EQ(algorithms({{"algorithms", "auto"}}), "auto");
  EXPECT_EQ(algorithms({{"algorithms", "auto"}, {"algorithms", "scan=cyclic-shift"}}), "scan=cyclic-shift");
}

TEST_F(SettingsTest, MalformedListsOfAlgorithmsAreRefused) {
  const std::pair<std::string, std::string> malformed[] = {
      {"none-such", "there is no collective \"none-such\""},
      {"alltoal=radix", "did you mean alltoall?"},
      {"alltoall", "alltoall needs an algorithm"},
      {"alltoall=radix,allreduce", "allreduce needs an algorithm"},
      {"alltoall=", "no algorithm"},
      {"alltoall=none-such", "expected one of nonblocking"},
      {"alltoall=radix:r=1", "expected a number from 2"},
      {"allreduce=recursive-exchange:factors=1 2", "factors=1 2; expected"},
      {"alltoall=radix,alltoall=bruck", "alltoall is given twice"},
      {"alltoall=radix:r=4,r=5", "r is given twice"},
      {",alltoall=radix", "there is no collective \"\""},
      {"alltoall=radix,,allreduce=tree", "no algorithm radix,"},
      {"alltoall=radix:r=4,", "no parameter"},
      {"alltoall=auto,auto", "no algorithm auto,auto"},
      {"alltoall=radix:r=4,allredce=tree", "did you mean the collective allreduce?"},
      {"alltoall=nonblocking, neighbour_alltoall=auto", "did you mean the collective neighbor_alltoall?"}};
  for (const auto& [text, reason] : malformed) {
    expect_contains(error_of({{"algorithms", text}}), {"setting algorithms", "\"" + text + "\"", "the call", reason});
  }
}

TEST_F(SettingsTest, WhoeverUsesASettingForOneCollectiveIsToldOfTheList) {
  expect_contains(error_of({{"alltoall_algorithm", "radix"}}), {"\"algorithms\" has replaced it", "alltoall=..."});
  setenv("STOKER_REDUCE_SCATTER_ALGORITHM", "node-aware", 1);
  const std::vector<std::string> warnings = environment_warnings();
  unsetenv("STOKER_REDUCE_SCATTER_ALGORITHM");
  EXPECT_TRUE(std::ranges::any_of(warnings, [](const std::string& line) {
    return line.find("STOKER_ALGORITHMS has replaced it: give that reduce_scatter=...") != std::string::npos;
  }));
}

TEST_F(SettingsTest, ThoseOfTheDropInLibraryComeFromEnvironmentAndFile) {
  use_file("pmpi_blocking = true\npmpi_least_bytes = '4K'\npmpi_summary = 1\npmpi_trials = 0\n");
  setenv("STOKER_PMPI_LEAST_BYTES", "1M", 1);
  setenv("STOKER_PMPI_TIMEOUT", "7", 1);
  setenv("STOKER_PMPI_COMMUNICATORS", "12", 1);
  Settings settings = load_settings();
  EXPECT_TRUE(settings.pmpi_blocking);
  EXPECT_EQ(settings.pmpi_least_bytes, 1U << 20);
  EXPECT_EQ(settings.pmpi_timeout, 7);
  EXPECT_EQ(settings.pmpi_communicators, 12);
  EXPECT_EQ(settings.pmpi_summary, "1");
  EXPECT_FALSE(settings.pmpi_trials);
  setenv("STOKER_PMPI_SUMMARY", "0", 1);
  EXPECT_EQ(load_settings().pmpi_summary, "");
  expect_contains(error_of({{"pmpi_blocking", "1"}}), {"pmpi_blocking", "the call", "drop-in"});
  EXPECT_EQ(settings.pmpi_depth, 1);
  EXPECT_EQ(settings.pmpi_job_line, "");
  setenv("STOKER_PMPI_DEPTH", "16", 1);
  setenv("STOKER_PMPI_JOB_LINE", "/var/jobs", 1);
  EXPECT_EQ(load_settings().pmpi_depth, Settings::most_pmpi_depth);
  EXPECT_EQ(load_settings().pmpi_job_line, "/var/jobs");
  for (const char* const depth : {"0", "17"}) {
    setenv("STOKER_PMPI_DEPTH", depth, 1);
    EXPECT_EQ(refused_drop_in_settings().size(), 1U) << depth;
    EXPECT_EQ(load_settings().pmpi_depth, 1) << depth;
  }
  unsetenv("STOKER_PMPI_DEPTH");
  setenv("STOKER_PMPI_TIMEOUT", "soon", 1);
  // No reason for an engine to fail, which may be another's: one line for the drop-in library, and the default.
  EXPECT_EQ(load_settings().pmpi_timeout, Settings().pmpi_timeout);
  const std::vector<std::string> refused = refused_drop_in_settings();
  ASSERT_EQ(refused.size(), 1U);
  expect_contains(refused.front(), {"pmpi_timeout", "\"soon\"", "STOKER_PMPI_TIMEOUT", "seconds", "is taken"});
}

TEST_F(SettingsTest, ABadValueIsReportedAlsoWhereItIsOverridden) {
  setenv("STOKER_BATCH", "many", 1);
  expect_contains(error_of({{"batch", "8"}}), {"STOKER_BATCH"});
}

TEST_F(SettingsTest, UnknownKeysSuggestTheNearest) {
  expect_contains(error_of({{"executr", "inline"}}), {"\"executr\"", "the call", "did you mean \"executor\"?"});
  expect_contains(error_of({{"NAP-US", "1"}}), {"did you mean \"nap_us\"?"});
  const std::string far = error_of({{"zzzzzzzzzzzz", "1"}});
  EXPECT_EQ(far.find("did you mean"), std::string::npos) << far;
  expect_contains(far, {"stoker info"});
}

TEST_F(SettingsTest, FileErrorsNameTheLine) {
  use_file("batch = 8\nexecutr = 'inline'\n");
  expect_contains(error_of(), {path_ + ":2", "\"executr\"", "did you mean \"executor\"?"});
  use_file("\n\nbatch = 0\n");
  expect_contains(error_of(), {path_ + ":3", "batch", "1 or more"});
  use_file("batch = 8\nspin_us = = 3\n");
  expect_contains(error_of(), {path_ + ":2", "TOML"});
  use_file("batch = [1, 2]\n");
  expect_contains(error_of(), {path_ + ":1", "batch", "string, a whole number or a boolean"});
  use_file("[stoker]\nbatch = 1\n");
  expect_contains(error_of(), {path_ + ":1", "unknown setting \"stoker\""});
}

TEST_F(SettingsTest, AMissingFileIsAnError) {
  setenv("STOKER_SETTINGS_FILE", "/nonexistent/stoker.toml", 1);
  expect_contains(error_of(), {"STOKER_SETTINGS_FILE", "/nonexistent/stoker.toml"});
}

TEST_F(SettingsTest, FileValuesMayHaveTheirTomlType) {
  use_file("executor = 'inline'\nbest_effort = true\neager_bytes = 4096\nstaged_bytes = '1M'\n");
  const Settings settings = load_settings();
  EXPECT_EQ(settings.executor, ExecutorChoice::inline_);
  EXPECT_TRUE(settings.best_effort);
  EXPECT_EQ(settings.eager_bytes, 4096u);
  EXPECT_EQ(settings.staged_bytes, 1u << 20);
}

TEST_F(SettingsTest, UnknownEnvironmentVariablesAreWarnedOfOnly) {
  setenv("STOKER_NAPPUS", "1", 1);
  EXPECT_NO_THROW((void)load_settings());
  bool warned = false;
  for (const std::string& warning : environment_warnings()) {
    if (warning.find("STOKER_NAPPUS ") != std::string::npos) {
      warned = true;
      expect_contains(warning, {"did you mean STOKER_NAP_US?"});
    }
    EXPECT_EQ(warning.find('\n'), std::string::npos);
  }
  EXPECT_TRUE(warned);
}

TEST_F(SettingsTest, KnownEnvironmentVariablesAreNotWarnedOf) {
  const std::size_t before = environment_warnings().size();
  setenv("STOKER_NAP_US", "1", 1);
  setenv("STOKER_SETTINGS_FILE", path_.c_str(), 1);
  setenv("STOKER_TEST_TIMEOUT", "1", 0); // a variable of the tests, not of the library
  EXPECT_EQ(environment_warnings().size(), before);
}

} // namespace
} // namespace stoker::engine
