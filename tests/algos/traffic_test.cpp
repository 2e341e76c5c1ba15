// SPDX-License-Identifier: BSD-3-Clause
// What the algorithms send how far: the literature's message counts, taken from the schedules themselves.
#include "cases.hpp"
#include "radix_counts.hpp"

#include "algos/schedule/traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using topology::Layout;

std::vector<Program> compile(std::string_view name, const WholeExchange& exchange) {
  return exchange.compile(parse_choice(Collective::alltoallv, name));
}

TEST(Traffic, LevelsAreTheDistancesOfTheLayout) {
  const Layout layout = Layout::uniform(8, 4, 2);
  EXPECT_EQ(level_between(layout, 5, 5), Level::self);
  EXPECT_EQ(level_between(layout, 4, 5), Level::domain);
  EXPECT_EQ(level_between(layout, 5, 6), Level::node);
  EXPECT_EQ(level_between(layout, 0, 4), Level::network);
}

TEST(Traffic, NonblockingSendsEveryBlockOnce) {
  const auto exchange = WholeExchange::uniform(Layout::uniform(8, 4, 2), 10);
  for (const Program& program : compile("nonblocking", exchange)) {
    Traffic expected;
    expected.sent = {Volume{1, 10}, {1, 10}, {2, 20}, {4, 40}};
    expected.received = {Volume{}, {1, 10}, {2, 20}, {4, 40}};
    EXPECT_EQ(traffic_of(program, exchange.layout), expected) << "rank " << program.rank;
  }
}

TEST(Traffic, EveryByteThatIsSentIsReceived) {
  for (const Choice& choice : choices()) {
    const auto exchange = WholeExchange::uniform(Layout::uniform(11, 4, 2), 3);
    Traffic sum;
    for (const Traffic& node : traffic_by_node(exchange.compile(choice), exchange.layout)) {
      sum += node;
    }
    for (const Level level : {Level::domain, Level::node, Level::network}) {
      EXPECT_EQ(sum.sent_at(level), sum.received_at(level)) << test_name(choice) << ", " << name_of(level);
    }
  }
}

// One message from each node to each other one, whatever the layout, and no byte over the network twice.
TEST(Traffic, HierarchicalSendsOneMessageBetweenTwoNodes) {
  for (int ranks = 1; ranks <= 33; ++ranks) {
    for (const auto& [name, layout] : layouts_of(ranks)) {
      for (const bool in_place : {false, true}) {
        const auto exchange = WholeExchange::uniform(layout, 8, in_place);
        const auto nodes = traffic_by_node(compile("hierarchical", exchange), layout);
        for (int node = 0; node < layout.nodes(); ++node) {
          const std::uint64_t here = layout.node_ranks(node).size();
          const std::uint64_t elsewhere = static_cast<std::uint64_t>(ranks) - here;
          const Volume expected{static_cast<std::uint64_t>(layout.nodes() - 1), here * elsewhere * 8};
          EXPECT_EQ(nodes[node].sent_at(Level::network), expected) << ranks << " ranks, " << name;
          EXPECT_EQ(nodes[node].received_at(Level::network), expected) << ranks << " ranks, " << name;
        }
      }
    }
  }
}

// Messages and blocks that leave a node, by the literature's count for N nodes of Q ranks.
TEST(Traffic, BetweenNodesIsWhatTheLiteratureCounts) {
  for (const int nodes : {2, 3, 5}) {
    for (const int per_node : {2, 4, 6}) {
      const auto exchange = WholeExchange::uniform(Layout::uniform(nodes * per_node, per_node, 2), 1);
      const auto n = static_cast<std::uint64_t>(nodes);
      const auto q = static_cast<std::uint64_t>(per_node);
      const RadixCounts between = radix_counts(n, 2);
      const std::pair<const char*, Volume> expected[] = {
          {"nonblocking", {q * q * (n - 1), q * q * (n - 1)}},
          {"pairwise", {q * q * (n - 1), q * q * (n - 1)}},
          {"batched:batch=2", {q * q * (n - 1), q * q * (n - 1)}},
          {"hierarchical", {n - 1, q * q * (n - 1)}},
          {"multileader:leaders=2", {2 * 2 * (n - 1), q * q * (n - 1)}},
          {"multileader:leaders=domains", {2 * 2 * (n - 1), q * q * (n - 1)}},
          {"node-aware", {q * (n - 1), q * q * (n - 1)}},
          {"locality-aware:groups=2", {q * 2 * (n - 1), q * q * (n - 1)}},
          {"locality-aware:groups=domains", {q * 2 * (n - 1), q * q * (n - 1)}},
          {"multileader-node-aware:leaders=2", {2 * (n - 1), q * q * (n - 1)}},
          {"radix2:r1=2,r2=2", {q * between.messages, q * q * between.blocks}},
          {"node-aware:between=bruck", {q * between.messages, q * q * between.blocks}},
          {"hierarchical:between=bruck", {between.messages, q * q * between.blocks}},
      };
      for (const auto& [name, volume] : expected) {
        for (const Traffic& node : traffic_by_node(compile(name, exchange), exchange.layout)) {
          EXPECT_EQ(node.sent_at(Level::network), volume) << name << ", " << nodes << " nodes of " << per_node;
          EXPECT_EQ(node.received_at(Level::network), volume) << name << ", " << nodes << " nodes of " << per_node;
        }
      }
    }
  }
}

TEST(Traffic, HierarchicalLeavesOutEmptyMessages) {
  // Only ranks of node 0 and node 2 have anything for each other.
  const Layout layout = Layout::uniform(9, 3);
  WholeExchange::Table sizes(9, std::vector<std::uint64_t>(9));
  sizes[1][7] = 5;
  sizes[2][6] = 6;
  sizes[8][0] = 7;
  const auto exchange = WholeExchange::ragged(layout, sizes);
  const auto nodes = traffic_by_node(compile("hierarchical", exchange), layout);
  EXPECT_EQ(nodes[0].sent_at(Level::network), (Volume{1, 11}));
  EXPECT_EQ(nodes[1], Traffic{});
  EXPECT_EQ(nodes[2].sent_at(Level::network), (Volume{1, 7}));
  // Ranks 1 and 2 give theirs to leader 0, rank 8 its to leader 6; 6 hands on what 7 is due. What leaders themselves
  // are due stays with them.
  EXPECT_EQ(nodes[0].sent_at(Level::domain), (Volume{2, 11}));
  EXPECT_EQ(nodes[2].sent_at(Level::domain), (Volume{2, 12}));
}

TEST(Traffic, HierarchicalGoesThroughLeadersInOnePiece) {
  const auto exchange = WholeExchange::uniform(Layout::uniform(12, 4), 8);
  for (const Program& program : compile("hierarchical", exchange)) {
    const bool leader = program.rank % 4 == 0;
    for (const Step& step : program.steps) {
      if (step.kind == StepKind::copy || exchange.layout.same_node(program.rank, step.peer)) {
        continue;
      }
      EXPECT_TRUE(leader) << "rank " << program.rank;
      EXPECT_EQ(step.peer % 4, 0);
      const auto slices = step.kind == StepKind::send ? program.sources(step) : program.targets(step);
      ASSERT_EQ(slices.size(), 1U);
      EXPECT_EQ(slices[0].buffer, Buffer::scratch);
      EXPECT_EQ(slices[0].count, 1U);
    }
    // A member's part is one slice a message: its blocks are neighbours in its buffers.
    for (const Step& step : program.steps) {
      EXPECT_LE(step.source.count, 1U);
      EXPECT_LE(step.target.count, 1U);
    }
  }
}

TEST(Traffic, HierarchicalTakesNoDetourOnNodesOfOneRank) {
  const auto exchange = WholeExchange::uniform(Layout::uniform(5, 1), 8);
  for (const Program& program : compile("hierarchical", exchange)) {
    EXPECT_EQ(program.scratch_bytes, 0U);
    EXPECT_EQ(program.steps.size(), 9U);
  }
}

// The message to a node starts as soon as that node's blocks are there: it waits for no more than one step of each
// rank.
TEST(Traffic, HierarchicalMessagesWaitForTheirOwnBlocksOnly) {
  const auto exchange = WholeExchange::uniform(Layout::uniform(20, 4), 8);
  const auto programs = compile("hierarchical", exchange);
  for (const Step& step : programs[0].steps) {
    if (step.kind == StepKind::send && step.peer >= 4) {
      EXPECT_EQ(step.predecessors, 4U);
    }
    if (step.kind == StepKind::recv) {
      EXPECT_EQ(step.predecessors, 0U);
    }
  }
}

} // namespace
} // namespace stoker::tests
