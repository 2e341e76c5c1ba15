// SPDX-License-Identifier: BSD-3-Clause
// Every neighborhood algorithm of the registry against generated graphs, and what it sends against what can be counted
// by hand.
#include "cases.hpp"

#include "algos/schedule/print.hpp"
#include "algos/schedule/traffic.hpp"
#include "algos/verify/whole_neighbor_exchange.hpp"

#include <gtest/gtest.h>

#include <random>

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using Edge = WholeNeighborExchange::Edge;
using topology::Layout;

struct Graph {
  std::string name;
  std::vector<Edge> edges;
};

// No edge; rings with the same block for both neighbors, with a rank as its own neighbor and with the same neighbor
// twice; all from and to one rank; everybody's whole buffer to everybody (an allgather); random lists with repetitions,
// in no order, of blocks that are empty, apart, overlap, or are one behind the other.
std::vector<Graph> graphs_of(int ranks, std::uint64_t bytes) {
  std::vector<Graph> graphs = {{"nothing", {}}};
  const auto add = [&](const std::string& name, auto fill) {
    graphs.push_back({name, {}});
    fill(graphs.back().edges);
  };
  add("ring, one block", [&](auto& edges) {
    for (int r = 0; r < ranks; ++r) {
      edges.push_back({r, (r + 1) % ranks, bytes, 0});
      edges.push_back({r, (r + ranks - 1) % ranks, bytes, 0});
    }
  });
  add("oneself and the next one twice", [&](auto& edges) {
    for (int r = 0; r < ranks; ++r) {
      edges.push_back({r, (r + 1) % ranks, bytes, 3});
      edges.push_back({r, r, bytes, bytes + 3});
      edges.push_back({r, (r + 1) % ranks, bytes + 1, bytes});
    }
  });
  add("one to all and back", [&](auto& edges) {
    for (int r = 0; r < ranks; ++r) {
      edges.push_back({ranks / 2, r, bytes, 0});
      edges.push_back({r, ranks / 2, bytes, 7});
    }
  });
  add("allgather", [&](auto& edges) {
    for (int a = 0; a < ranks; ++a) {
      for (int b = 0; b < ranks; ++b) {
        edges.push_back({a, b, bytes, 0});
      }
    }
  });
  for (const std::uint64_t reach : {1U, 4U, 40U}) {
    add("random within " + std::to_string(reach) + " blocks", [&](auto& edges) {
      std::mt19937_64 random(static_cast<std::uint64_t>(ranks) * 100 + reach + bytes);
      const auto any = [&](std::uint64_t n) { return random() % n; };
      const auto n = static_cast<std::uint64_t>(ranks);
      for (std::uint64_t i = 0; i < 4 * n; ++i) {
        const std::uint64_t size = any(4) == 0 ? 0 : 1 + any(2 * bytes);
        edges.push_back({static_cast<int>(any(n)), static_cast<int>(any(n)), size, any(reach * bytes)});
      }
    });
  }
  return graphs;
}

class Neighbor : public testing::TestWithParam<Choice> {};

TEST_P(Neighbor, EveryCase) {
  const std::vector<Execution> runs = all_executions();
  std::size_t cases = 0;
  for (int ranks = 1; ranks <= 33; ranks += ranks < 12 ? 1 : 3) {
    for (const auto& [layout_name, layout] : layouts_of(ranks)) {
      for (const auto& [graph_name, edges] : graphs_of(ranks, cases % 2 == 0 ? 8 : 13)) {
        if (ranks > 16 && graph_name == "allgather") {
          continue; // takes long and is like the smaller ones
        }
        const WholeNeighborExchange exchange(layout, edges, cases % 3 == 0 ? 5 : 0);
        const auto programs = exchange.compile(GetParam());
        const std::array turn = {runs[cases % runs.size()], runs[(cases * 5 + 3) % runs.size()]};
        ++cases;
        ASSERT_EQ(verify(programs, exchange.contents(), turn, 3), "")
            << ranks << " ranks, " << layout_name << ", " << graph_name;
      }
    }
  }
  EXPECT_GT(cases, 500U);
}

TEST_P(Neighbor, EveryOrder) {
  for (const int ranks : {2, 5, 9}) {
    for (const auto& [layout_name, layout] : layouts_of(ranks)) {
      for (const auto& [graph_name, edges] : graphs_of(ranks, 13)) {
        const WholeNeighborExchange exchange(layout, edges);
        ASSERT_EQ(verify(exchange.compile(GetParam()), exchange.contents()), "")
            << ranks << " ranks, " << layout_name << ", " << graph_name;
      }
    }
  }
}

TEST_P(Neighbor, Grids) {
  const Layout layout = Layout::uniform(24, 4);
  for (const std::vector<int>& dimensions :
       {std::vector{24}, std::vector{6, 4}, std::vector{2, 3, 4}, std::vector{1, 24}, std::vector{2, 12, 1}}) {
    const auto exchange = WholeNeighborExchange::grid(layout, dimensions, 16);
    EXPECT_EQ(exchange.ranks[5].outgoing.size(), 2 * dimensions.size());
    ASSERT_EQ(verify(exchange.compile(GetParam()), exchange.contents()), "") << dimensions.size() << " dimensions";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Registry, Neighbor, testing::ValuesIn([] {
      std::vector<Choice> choices;
      for (const auto collective : {Collective::neighbor_alltoall, Collective::neighbor_alltoallv}) {
        for (const Algorithm& algorithm : algorithms_of(collective)) {
          choices.push_back({&algorithm, {}});
        }
      }
      return choices;
    }()),
    [](const auto& choice) { return test_name(choice.param); });

Volume between_nodes(const WholeNeighborExchange& exchange, const char* algorithm) {
  Volume volume;
  const Choice choice = parse_choice(Collective::neighbor_alltoallv, algorithm);
  for (const Traffic& node : traffic_by_node(exchange.compile(choice), exchange.layout)) {
    volume += node.sent_at(Level::network);
  }
  return volume;
}

TEST(NeighborTraffic, DuplicatesCrossOnce) {
  // Everybody's 100 bytes to everybody: 4 nodes of 3 ranks.
  std::vector<Edge> edges;
  for (int a = 0; a < 12; ++a) {
    for (int b = 0; b < 12; ++b) {
      edges.push_back({a, b, 100, 0});
    }
  }
  const WholeNeighborExchange exchange(Layout::uniform(12, 3), edges);
  EXPECT_EQ(between_nodes(exchange, "nonblocking"), (Volume{12 * 9, 12 * 9 * 100}));
  EXPECT_EQ(between_nodes(exchange, "locality-aware"), (Volume{4 * 3, 12 * 3 * 100}));
}

TEST(NeighborTraffic, OverlappingBlocksAreSentAsTheirUnion) {
  // To ranks 2 and 3 of the other node: [0, 60) and [40, 100); to rank 2 again: [200, 210).
  const std::vector<Edge> edges = {{0, 2, 60, 0}, {0, 3, 60, 40}, {0, 2, 10, 200}};
  const WholeNeighborExchange exchange(Layout::uniform(4, 2), edges);
  EXPECT_EQ(between_nodes(exchange, "nonblocking"), (Volume{3, 130}));
  EXPECT_EQ(between_nodes(exchange, "locality-aware"), (Volume{1, 110}));
}

TEST(NeighborTraffic, AnEdgeThatIsAloneBetweenItsNodesIsOneMessage) {
  const std::vector<Edge> edges = {{1, 7, 50, 0}};
  const WholeNeighborExchange exchange(Layout::uniform(8, 4), edges);
  const auto programs = exchange.compile(parse_choice(Collective::neighbor_alltoall, "locality-aware"));
  for (const Program& program : programs) {
    EXPECT_EQ(program.steps.size(), program.rank == 1 || program.rank == 7 ? 1U : 0U);
    EXPECT_EQ(program.scratch_bytes, 0U);
  }
}

} // namespace
} // namespace stoker::tests
