// SPDX-License-Identifier: BSD-3-Clause
// Machine files: what is read comes back, the project's own files are right, and what is wrong is named with its line.
#include "engine/settings/machine_file.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace stoker::engine {
namespace {

using algos::Distance;
using algos::Machine;
using algos::Network;

constexpr const char* whole_file = R"(name = "example"
source = "invented"

[node]
ranks = 8
domains = 4
sockets = 2

[message]
eager_bytes = 8192
remote_reads = true
match_us = 0.005
post_us = 0.05
unexpected_GB_per_s = 8

[message.domain]
latency_us = 0.2
send_overhead_us = 0.1
receive_overhead_us = 0.15
gap_us = 0
bandwidth_GB_per_s = 5
processor_GB_per_s = 20

[message.switch]
latency_us = 1
send_overhead_us = 0.3
receive_overhead_us = 0.4
gap_us = 0.2
bandwidth_GB_per_s = 12.5

[memory]
copy_us = 0.03
copy_GB_per_s = 10
combine_GB_per_s = 5
piece_us = 0.01
domain_GB_per_s = inf

[helper]
submit_us = 0.06
notice_us = 0.15
poll_us = 0.05
wake_up_us = 4
nap_us = 50

[network]
kind = "fat_tree"
ports = 2
port_us = 0.01
port_GB_per_s = 25
nodes_per_switch = 24
taper = 2
)";

class MachineFileTest : public ::testing::Test {
protected:
  void TearDown() override { std::filesystem::remove(path_); }

  Machine read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_machine(path_);
  }

  // `text` in place of `part` of the whole file; the message must begin with the file and the line, and have all parts.
  void expect_refused(const std::string& part, const std::string& text, int line,
                      std::initializer_list<std::string> parts) {
    std::string file = whole_file;
    const auto at = file.find(part);
    ASSERT_NE(at, std::string::npos) << part;
    file.replace(at, part.size(), text);
    try {
      (void)read(file);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const std::runtime_error& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with(path_ + ":" + std::to_string(line) + ": ")) << message;
      for (const std::string& expected : parts) {
        EXPECT_NE(message.find(expected), std::string::npos) << "\"" << expected << "\" is missing in: " << message;
      }
    }
  }

  std::string path_ =
      (std::filesystem::temp_directory_path() / ("stoker_machine_" + std::to_string(getpid()) + ".toml")).string();
};

TEST_F(MachineFileTest, UnitsAreThoseOfTheKeys) {
  const Machine machine = read(whole_file);
  EXPECT_EQ(machine.name, "example");
  EXPECT_EQ(machine.source, "invented");
  EXPECT_EQ(machine.ranks_per_node, 8);
  EXPECT_EQ(machine.domains_per_node, 4);
  EXPECT_EQ(machine.sockets_per_node, 2);
  EXPECT_EQ(machine.eager_bytes, 8192U);
  EXPECT_TRUE(machine.remote_reads);
  EXPECT_DOUBLE_EQ(machine.match_per_posted, 5e-9);
  EXPECT_DOUBLE_EQ(machine.unexpected_per_byte, 1.0 / 8e9);
  EXPECT_DOUBLE_EQ(machine.at(Distance::domain).latency, 2e-7);
  EXPECT_DOUBLE_EQ(machine.at(Distance::domain).overhead_per_byte, 1.0 / 20e9);
  EXPECT_DOUBLE_EQ(machine.at(Distance::switched).gap_per_byte, 1.0 / 12.5e9);
  EXPECT_EQ(machine.at(Distance::switched).overhead_per_byte, 0);
  EXPECT_EQ(machine.memory_per_byte, 0);
  EXPECT_DOUBLE_EQ(machine.helper.nap, 50e-6);
  EXPECT_EQ(machine.ports, 2);
  EXPECT_EQ(machine.network.kind, Network::Kind::fat_tree);
  EXPECT_EQ(machine.network.nodes_per_switch, 24);
  EXPECT_EQ(machine.network.taper, 2);
  EXPECT_EQ(machine.noise.duration, 0);
}

TEST_F(MachineFileTest, ADistanceThatIsLeftOutCostsWhatTheNextNearerOneDoes) {
  const Machine machine = read(whole_file);
  EXPECT_EQ(machine.at(Distance::socket).latency, machine.at(Distance::domain).latency);
  EXPECT_EQ(machine.at(Distance::node).gap_per_byte, machine.at(Distance::domain).gap_per_byte);
  EXPECT_EQ(machine.at(Distance::network).gap, machine.at(Distance::switched).gap);
}

TEST_F(MachineFileTest, WhatIsWrittenIsReadAsTheSame) {
  Machine machine = read(whole_file);
  machine.name = "quotes \" and \\";
  machine.noise = {.period = 1e-3, .duration = 1e-6};
  machine.at(Distance::network).latency = 1.23456789e-6;
  for (const auto kind : {Network::Kind::crossbar, Network::Kind::fat_tree, Network::Kind::dragonfly}) {
    machine.network = {kind};
    if (kind != Network::Kind::crossbar) {
      machine.network.nodes_per_switch = 32;
      machine.network.taper = 1.5;
    }
    const std::string text = machine_text(machine);
    const Machine again = read(text);
    EXPECT_EQ(machine_text(again), text);
    EXPECT_EQ(again.name, machine.name);
    EXPECT_EQ(again.network.nodes_per_switch, machine.network.nodes_per_switch);
    EXPECT_DOUBLE_EQ(again.network.taper, machine.network.taper);
    EXPECT_DOUBLE_EQ(again.noise.period, machine.noise.period);
    EXPECT_NEAR(again.at(Distance::network).latency, machine.at(Distance::network).latency, 1e-17);
    EXPECT_NEAR(again.combine_per_byte, machine.combine_per_byte, 1e-20);
  }
}

TEST_F(MachineFileTest, TheProjectsOwnFilesAreRight) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(STOKER_MACHINES)) {
    if (entry.path().extension() == ".toml") {
      const Machine machine = read_machine(entry.path().string());
      EXPECT_FALSE(machine.name.empty()) << entry.path();
      EXPECT_FALSE(machine.source.empty()) << entry.path();
      EXPECT_GT(machine.helper.submit, 0) << entry.path();
      ++files;
    }
  }
  EXPECT_GE(files, 7);
}

TEST_F(MachineFileTest, UnknownAndMissingKeysAreNamed) {
  expect_refused("ranks = 8", "rank = 8", 5, {"node.rank is unknown", "did you mean node.ranks?"});
  expect_refused("[memory]", "[memori]", 31, {"memori is unknown", "did you mean memory?"});
  expect_refused("name =", "colour = 1\nname =", 1, {"colour is unknown"});
  expect_refused("[message.switch]", "[message.switched]", 24, {"message.switched is unknown", "message.switch?"});
  expect_refused("gap_us = 0\n", "", 16, {"message.domain.gap_us is missing", "0 or more"});
  expect_refused("taper = 2\n", "", 45, {"network.taper is missing"});
  expect_refused("\"fat_tree\"", "\"crossbar\"", 50, {"network.nodes_per_switch", "crossbar"});
  expect_refused("[helper]", "[noise]\nperiod_us = 5\n[helper]", 38, {"noise.duration_us is missing"});
  expect_refused("source = \"invented\"", "", 1, {"source is missing: expected a string"});
}

TEST_F(MachineFileTest, WrongTypesAndImpossibleNumbersAreNamed) {
  expect_refused("latency_us = 0.2", "latency_us = \"0.2\"", 17, {"message.domain.latency_us = ", "microseconds"});
  expect_refused("latency_us = 0.2", "latency_us = -1", 17, {"-1", "0 or more"});
  expect_refused("latency_us = 0.2", "latency_us = nan", 17, {"nan", "0 or more"});
  expect_refused("latency_us = 0.2", "latency_us = inf", 17, {"inf", "0 or more"});
  expect_refused("copy_GB_per_s = 10", "copy_GB_per_s = 0", 33, {"memory.copy_GB_per_s = 0", "above 0", "inf"});
  expect_refused("copy_GB_per_s = 10", "copy_GB_per_s = nan", 33, {"above 0"});
  expect_refused("ranks = 8", "ranks = 0", 5, {"node.ranks = 0", "1 or more"});
  expect_refused("ranks = 8", "ranks = 8.5", 5, {"8.5", "whole number"});
  expect_refused("ranks = 8", "ranks = 8000000000", 5, {"node.ranks"});
  expect_refused("eager_bytes = 8192", "eager_bytes = -1", 10, {"message.eager_bytes = -1", "0 or more"});
  expect_refused("remote_reads = true", "remote_reads = 1", 11, {"true or false"});
  expect_refused("\"fat_tree\"", "\"torus\"", 46, {"network.kind", "torus", "dragonfly"});
  expect_refused("taper = 2", "taper = 0", 51, {"network.taper = 0", "above 0"});
  expect_refused("[node]", "noise = 3\n[node]", 4, {"noise = 3", "[noise]"});
}

TEST_F(MachineFileTest, ImpossibleShapesAreNamed) {
  expect_refused("domains = 4", "domains = 3", 6, {"node.domains = 3", "multiple of node.sockets, which is 2"});
  expect_refused("domains = 4", "domains = 16", 6, {"node.domains = 16", "8 at most"});
  expect_refused("[helper]", "[noise]\nperiod_us = 5\nduration_us = 5\n[helper]", 40,
                 {"noise.duration_us", "less than"});
}

TEST_F(MachineFileTest, WhatIsNoFileOrNoTomlIsNamed) {
  expect_refused("[node]", "[node", 4, {"not valid TOML"});
  expect_refused("ranks = 8", "ranks = 8\nranks = 9", 6, {"not valid TOML"});
  try {
    (void)read_machine("/nonexistent/machine.toml");
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "/nonexistent/machine.toml: No such file or directory");
  }
  EXPECT_THROW((void)read_machine(std::filesystem::temp_directory_path().string()), std::runtime_error);
}

} // namespace
} // namespace stoker::engine
