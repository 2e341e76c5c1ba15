// SPDX-License-Identifier: BSD-3-Clause
// The tuning table: which entry covers which call, and entries that would cover the same one. What init costs, and when
// it pays.
#include "algos/schedule/builder.hpp"
#include "algos/select/init_cost.hpp"
#include "algos/select/tuning_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace stoker::algos {
namespace {

using topology::Layout;

TuningEntry entry(Collective collective, const std::string& algorithm, Interval nodes, Interval ranks_per_node,
                  Interval bytes, int line = 0) {
  return {parse_choice(collective, algorithm), nodes, ranks_per_node, bytes, line};
}

std::string refusal(TuningTable& table, const TuningEntry& added) {
  try {
    table.add(added);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(TuningTable, AnEntryCoversItsRangesAndNothingElse) {
  TuningTable table;
  table.add(entry(Collective::alltoall, "radix:r=4", {2, 4}, {8, 8}, {16, 64}));
  const auto found = [&](int nodes, int ranks_per_node, std::uint64_t bytes) {
    return table.find(Collective::alltoall, Layout::uniform(nodes * ranks_per_node, ranks_per_node), bytes) != nullptr;
  };
  EXPECT_TRUE(found(2, 8, 16));
  EXPECT_TRUE(found(3, 8, 40));
  EXPECT_TRUE(found(4, 8, 64));
  EXPECT_FALSE(found(1, 8, 16));
  EXPECT_FALSE(found(5, 8, 16));
  EXPECT_FALSE(found(2, 7, 16));
  EXPECT_FALSE(found(2, 8, 15));
  EXPECT_FALSE(found(2, 8, 65));
  EXPECT_EQ(table.find(Collective::alltoallv, Layout::uniform(16, 8), 16), nullptr);
}

TEST(TuningTable, EveryNodeMustBeCovered) {
  TuningTable table;
  table.add(entry(Collective::bcast, "tree", {2, 2}, {3, 4}, {8, 8}));
  EXPECT_NE(table.find(Collective::bcast, Layout::uniform(7, 4), 8), nullptr); // 4 and 3
  EXPECT_EQ(table.find(Collective::bcast, Layout::uniform(6, 4), 8), nullptr); // 4 and 2
}

TEST(TuningTable, TheEntryOfTheSizeIsFound) {
  TuningTable table;
  table.add(entry(Collective::allreduce, "recursive-exchange", {1, 8}, {1, 64}, {0, 4095}, 3));
  table.add(entry(Collective::allreduce, "cyclic-shift", {1, 8}, {1, 64}, {4096, 1 << 20}, 9));
  const Layout layout = Layout::uniform(8, 4);
  EXPECT_EQ(table.find(Collective::allreduce, layout, 4095)->line, 3);
  EXPECT_EQ(table.find(Collective::allreduce, layout, 4096)->line, 9);
}

TEST(TuningTable, OverlapsAreRefused) {
  TuningTable table;
  table.add(entry(Collective::allreduce, "tree", {2, 4}, {4, 8}, {64, 128}, 12));
  const std::string text = refusal(table, entry(Collective::allreduce, "cyclic-shift", {4, 9}, {8, 8}, {128, 128}));
  for (const char* part : {"allreduce", "line 12", "tree"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(table.entries().size(), 1U);
  for (const auto& apart : {entry(Collective::allreduce, "cyclic-shift", {5, 9}, {8, 8}, {128, 128}),
                            entry(Collective::allreduce, "cyclic-shift", {4, 4}, {9, 9}, {128, 128}),
                            entry(Collective::allreduce, "cyclic-shift", {4, 4}, {8, 8}, {129, 200}),
                            entry(Collective::reduce, "cyclic-shift", {4, 4}, {8, 8}, {128, 128})}) {
    EXPECT_EQ(refusal(table, apart), "");
  }
}

TEST(TuningTable, NeighborhoodsAreRefused) {
  TuningTable table;
  EXPECT_NE(
      refusal(table, entry(Collective::neighbor_alltoall, "nonblocking", {1, 1}, {1, 1}, {1, 1})).find("neighbor"),
      std::string::npos);
}

TEST(TuningTable, TheSizeIsTheMeanOfTheBlocks) {
  EXPECT_EQ(tuned_bytes({}), 0U);
  EXPECT_EQ(tuned_bytes(std::array<std::uint64_t, 1>{100}), 100U);
  EXPECT_EQ(tuned_bytes(std::array<std::uint64_t, 4>{8, 8, 8, 8}), 8U);
  EXPECT_EQ(tuned_bytes(std::array<std::uint64_t, 3>{0, 1, 9}), 4U); // rounded up
}

TEST(TuningTable, SeriesCoverAllSizesBetweenTheirEnds) {
  const Choice radix = parse_choice(Collective::alltoall, "radix:r=4");
  const Choice bruck = parse_choice(Collective::alltoall, "bruck");
  const Choice pairwise = parse_choice(Collective::alltoall, "pairwise");
  TuningTable table;
  const std::vector<TuningTable::Fastest> series{{4, bruck}, {64, bruck}, {1024, radix}, {1025, pairwise}};
  table.add_series({2, 2}, {8, 8}, series);
  ASSERT_EQ(table.entries().size(), 3U);
  EXPECT_EQ(table.entries()[0].bytes, (Interval{4, 256})); // the middle between 64 and 1024
  EXPECT_EQ(table.entries()[1].bytes, (Interval{257, 1024}));
  EXPECT_EQ(table.entries()[2].bytes, (Interval{1025, 1025}));
  const Layout layout = Layout::uniform(16, 8);
  for (const auto& [bytes, choice] : series) {
    EXPECT_EQ(table.find(Collective::alltoall, layout, bytes)->choice, choice);
  }
  EXPECT_EQ(table.find(Collective::alltoall, layout, 3), nullptr);
  EXPECT_EQ(table.find(Collective::alltoall, layout, 1026), nullptr);

  const std::vector<TuningTable::Fastest> from_nothing{{0, parse_choice(Collective::alltoallv, "pairwise")},
                                                       {8, parse_choice(Collective::alltoallv, "nonblocking")}};
  table.add_series({2, 2}, {8, 8}, from_nothing);
  EXPECT_EQ(table.entries()[3].bytes, (Interval{0, 0}));
  EXPECT_EQ(table.entries()[4].bytes, (Interval{1, 8}));
}

Program program_of_steps(int count) {
  Builder builder(0, 2, 0, 8);
  for (int i = 0; i < count; ++i) {
    builder.recv(1, Slice{Buffer::recv, 0, 8}, {});
    builder.wait_all();
  }
  return std::move(builder).finish();
}

TEST(InitCost, GrowsWithTheSteps) {
  EXPECT_EQ(init_seconds(program_of_steps(0)), 0);
  EXPECT_GT(init_seconds(program_of_steps(1)), 0);
  EXPECT_DOUBLE_EQ(init_seconds(program_of_steps(10)), 10 * init_seconds(program_of_steps(1)));
}

TEST(InitCost, NothingIsWeighedThatCannotBeWonBack) {
  EXPECT_FALSE(pays_to_weigh(11, 1.0, 1.0, 1));
  EXPECT_FALSE(pays_to_weigh(11, 1.0, 1.0, 10)); // ten others take ten seconds to compile
  EXPECT_TRUE(pays_to_weigh(11, 1.0, 1.0, 11));
  EXPECT_TRUE(pays_to_weigh(11, 1.0, 100.0, 1));
}

TEST(InitCost, TheBetterOneIsTakenFromItsBreakEvenOn) {
  const std::array init{1.0, 10.0};
  const std::array seconds{2.0, 1.0}; // won back after 9 starts; 10 % closer is taken for equal
  EXPECT_EQ(preferred(init, seconds, 1), 0U);
  EXPECT_EQ(preferred(init, seconds, 9), 0U);
  EXPECT_EQ(preferred(init, seconds, 20), 1U);
  EXPECT_EQ(preferred(init, seconds, 1'000'000), 1U);
}

} // namespace
} // namespace stoker::algos
