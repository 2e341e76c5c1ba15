// SPDX-License-Identifier: BSD-3-Clause
// The registry's rows, the default choice among them, and how both read.
#include "algos/print.hpp"
#include "algos/selection.hpp"
#include "algos/whole_exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using topology::Layout;

TEST(Registry, RowsAreCompleteAndFoundByTheirName) {
  std::set<std::pair<Collective, std::string_view>> names;
  for (const Algorithm& row : registry()) {
    EXPECT_TRUE(names.insert({row.collective, row.name}).second) << row.name << " is there twice";
    EXPECT_EQ(find(row.collective, row.name), &row);
    EXPECT_FALSE(row.name.empty() || row.summary.empty() || row.source.empty()) << row.name;
    EXPECT_NE(row.compile, nullptr) << row.name;
    EXPECT_NE(row.name, "auto") << "is what users write for the default";
  }
  EXPECT_EQ(find(Collective::alltoall, "no such"), nullptr);
}

TEST(Selection, SmallBlocksOnSharedNodesAreAggregated) {
  const auto choice = [](const Layout& layout, std::uint64_t bytes) {
    return to_text(select(Collective::alltoallv, layout, bytes));
  };
  EXPECT_EQ(choice(Layout::uniform(8, 4), 8), "hierarchical");
  EXPECT_EQ(choice(Layout::uniform(8, 4), 1 << 20), "nonblocking");
  EXPECT_EQ(choice(Layout::uniform(8, 8), 8), "nonblocking");
  EXPECT_EQ(choice(Layout::uniform(8, 1), 8), "nonblocking");
  EXPECT_EQ(choice(Layout::uniform(1, 1), 0), "nonblocking");
}

TEST(Selection, EveryRuleNamesAnAlgorithmAndTheLastAlwaysApplies) {
  for (const SelectionRule& rule : selection_rules()) {
    for (const Collective collective : {Collective::alltoall, Collective::alltoallv}) {
      EXPECT_NE(find(collective, rule.algorithm), nullptr) << rule.algorithm;
    }
  }
  const std::string text = selection_text();
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), selection_rules().size());
  EXPECT_TRUE(text.ends_with(": otherwise\n")) << text;
}

TEST(Print, AProgramReadsAsText) {
  const auto exchange = WholeExchange::uniform(Layout::uniform(4, 2), 8);
  const auto programs = exchange.compile(parse_choice(Collective::alltoall, "hierarchical"));
  EXPECT_EQ(to_text(programs[2]), "rank 2 of 4: send 32 B, recv 32 B, scratch 96 B, 9 steps\n"
                                  "  0: copy, 16 B: scratch[0..16) = send[0..16)\n"
                                  "  1: recv from 3, 16 B: scratch[16..32)\n"
                                  "  2: recv from 0, 32 B: scratch[64..96)\n"
                                  "  3: send to 0, 32 B: scratch[0..32), after 0 1\n"
                                  "  4: copy, 16 B: recv[0..16) = scratch[64..72) x2 every 16, after 2\n"
                                  "  5: send to 3, 16 B: scratch[72..80) x2 every 16, after 2\n"
                                  "  6: recv from 3, 8 B: recv[24..32)\n"
                                  "  7: send to 3, 8 B: send[24..32)\n"
                                  "  8: copy, 8 B: recv[16..24) = send[16..24)\n");
}

} // namespace
} // namespace stoker::tests
