// SPDX-License-Identifier: BSD-3-Clause
// Tuning files: what is written is read, and whatever is wrong is named with file, line and reason.
#include "engine/settings/tuning_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <unistd.h>

namespace stoker::engine {
namespace {

using algos::Collective;

std::string refusal(const std::string& text) {
  try {
    (void)parse_tuning(text, "t.toml");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

void expect_refusal(const std::string& text, std::initializer_list<std::string> parts) {
  const std::string reason = refusal(text);
  for (const std::string& part : parts) {
    EXPECT_NE(reason.find(part), std::string::npos) << "\"" << part << "\" is missing in: " << reason;
  }
}

// A good entry, of which one line is replaced. Its header is line 3 of the file, and the lines follow.
std::string with_line(int line, const std::string& text) {
  std::string file = "version = 1\n\n[[entry]]\n";
  int number = 3;
  for (const char* field : {"collective = \"alltoall\"", "nodes = [2, 4]", "ranks_per_node = 8", "bytes = [1, 64]",
                            "algorithm = \"radix:r=4\""}) {
    file += (++number == line ? text : field) + std::string("\n");
  }
  return file;
}

TEST(TuningFile, EntriesAreRead) {
  const algos::TuningTable table = parse_tuning(with_line(0, ""), "t.toml");
  ASSERT_EQ(table.entries().size(), 1U);
  const algos::TuningEntry& entry = table.entries().front();
  EXPECT_EQ(entry.collective(), Collective::alltoall);
  EXPECT_EQ(entry.nodes, (algos::Interval{2, 4}));
  EXPECT_EQ(entry.ranks_per_node, (algos::Interval{8, 8}));
  EXPECT_EQ(entry.bytes, (algos::Interval{1, 64}));
  EXPECT_EQ(to_text(entry.choice), "radix:r=4");
  EXPECT_EQ(entry.line, 3);
}

TEST(TuningFile, AFileWithoutEntriesIsGood) {
  EXPECT_TRUE(parse_tuning("version = 1\nmachine = \"here\"\n", "t.toml").entries().empty());
}

TEST(TuningFile, WhatIsWrittenIsRead) {
  algos::TuningTable table;
  const auto add = [&](Collective collective, const char* algorithm, algos::Interval bytes) {
    table.add({algos::parse_choice(collective, algorithm), {2, 2}, {4, 8}, bytes, 0});
  };
  add(Collective::alltoall, "locality-aware:groups=domains,between=batched-4,within=bruck", {1, 512});
  add(Collective::allreduce, "recursive-exchange:factors=-4 -2 2 4,part=128", {8, 8});
  add(Collective::barrier, "cyclic-shift", {0, 0});
  const algos::TuningTable read = parse_tuning(tuning_text(table, "a \"machine\"\nof two lines"), "t.toml");
  ASSERT_EQ(read.entries().size(), table.entries().size());
  for (std::size_t i = 0; i < read.entries().size(); ++i) {
    algos::TuningEntry entry = read.entries()[i];
    EXPECT_GT(entry.line, 0);
    entry.line = 0;
    EXPECT_EQ(entry, table.entries()[i]);
  }
}

TEST(TuningFile, VersionsAreChecked) {
  expect_refusal("", {"t.toml:1:", "no version", "version = 1"});
  expect_refusal("\nversion = 2\n", {"t.toml:2:", "version", "expected 1"});
  expect_refusal("version = \"1\"\n", {"t.toml:1:", "version"});
}

TEST(TuningFile, UnknownKeysAreNamed) {
  expect_refusal("version = 1\n\nmachin = \"here\"\n", {"t.toml:3:", "\"machin\"", "version, machine, entry"});
  expect_refusal(with_line(0, "") + "\nradix = 4\n", {"t.toml:10:", "\"radix\"", "ranks_per_node"});
  expect_refusal("version = 1\nmachine = 3\n", {"t.toml:2:", "machine", "text"});
}

TEST(TuningFile, WhatIsMissingIsNamed) {
  const char* const keys[] = {"collective", "nodes", "ranks_per_node", "bytes", "algorithm"};
  for (int line = 4; line <= 8; ++line) {
    expect_refusal(with_line(line, ""), {"t.toml:3:", std::string("no ") + keys[line - 4]});
  }
  expect_refusal("version = 1\nentry = 1\n", {"t.toml:2:", "[[entry]]"});
  expect_refusal("version = 1\nentry = [1]\n", {"t.toml:2:", "[[entry]]"});
}

TEST(TuningFile, UnknownNamesAreNamed) {
  expect_refusal(with_line(4, "collective = \"alltoal\""), {"t.toml:4:", "\"alltoal\"", "allreduce"});
  expect_refusal(with_line(4, "collective = \"neighbor_alltoall\""), {"t.toml:4:", "\"neighbor_alltoall\""});
  expect_refusal(with_line(4, "collective = 1"), {"t.toml:4:", "collective", "text"});
  expect_refusal(with_line(8, "algorithm = \"radx:r=4\""), {"t.toml:8:", "radx", "did you mean radix?"});
  expect_refusal(with_line(8, "algorithm = \"radix:q=4\""), {"t.toml:8:", "no parameter q", "did you mean r?"});
  expect_refusal(with_line(8, "algorithm = \"radix:r=1\""), {"t.toml:8:", "r=1", "from 2"});
  expect_refusal(with_line(8, "algorithm = \"radix:r=many\""), {"t.toml:8:", "r=many"});
}

TEST(TuningFile, BadNumbersAreNamed) {
  for (const char* value : {"0", "-1", "1.5", "\"2\"", "[]", "[1]", "[1, 2, 3]", "[4, 2]", "[1, true]", "[0, 3]"}) {
    expect_refusal(with_line(5, std::string("nodes = ") + value), {"t.toml:5:", "nodes", "from 1", "[2, 9]"});
    expect_refusal(with_line(6, std::string("ranks_per_node = ") + value), {"t.toml:6:", "ranks_per_node"});
  }
  expect_refusal(with_line(7, "bytes = [-1, 4]"), {"t.toml:7:", "bytes", "from 0"});
  EXPECT_EQ(refusal(with_line(7, "bytes = 0")), "");
}

TEST(TuningFile, OverlapsAreNamedWithBothLines) {
  expect_refusal(with_line(0, "") + "\n[[entry]]\ncollective = \"alltoall\"\nnodes = 4\nranks_per_node = 8\n"
                                    "bytes = 64\nalgorithm = \"bruck\"\n",
                 {"t.toml:10:", "line 3", "radix:r=4"});
}

TEST(TuningFile, DamageIsNamed) {
  expect_refusal("version = 1\n[[entry]\n", {"t.toml:2:", "not valid TOML"});
  expect_refusal("version = 1\nversion = 1\n", {"t.toml:2:", "not valid TOML"});
  expect_refusal(with_line(5, "nodes = [2, "), {"not valid TOML"});
  const std::string whole = with_line(0, "");
  // A file that was cut off is either refused or one of fewer entries, but never another one.
  for (std::size_t length = 0; length < whole.size(); ++length) {
    try {
      const auto table = parse_tuning(whole.substr(0, length), "t.toml");
      EXPECT_TRUE(table.entries().empty() || table == parse_tuning(whole, "t.toml")) << whole.substr(0, length);
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()).rfind("t.toml:", 0), 0U) << error.what();
    }
  }
}

TEST(TuningFile, AFileThatCannotBeReadIsNamed) {
  try {
    (void)text_of_file("/nonexistent/t.toml");
    FAIL() << "it was read";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "/nonexistent/t.toml: No such file or directory");
  }
  const auto path = std::filesystem::temp_directory_path() / ("stoker_tuning_" + std::to_string(getpid()) + ".toml");
  std::ofstream(path) << "version = 1\n";
  EXPECT_EQ(text_of_file(path), "version = 1\n");
  std::filesystem::remove(path);
}

} // namespace
} // namespace stoker::engine
