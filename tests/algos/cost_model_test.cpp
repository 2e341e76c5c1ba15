// SPDX-License-Identifier: BSD-3-Clause
// The cost model: exact where the answer can be written down, and the literature's choices on machines like theirs.
#include "radix_counts.hpp"

#include "algos/select/cost_model.hpp"
#include "algos/select/selection.hpp"
#include "algos/verify/whole_exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using topology::Layout;

// One distance, free copies, and no port.
constexpr CostModel flat = {.message = {Cost{0, 0}, Cost{2, 3}, Cost{2, 3}, Cost{2, 3}}, .port = {}};

double time_of(const std::string& algorithm, const Layout& layout, std::uint64_t bytes, const CostModel& model) {
  const auto exchange = WholeExchange::uniform(layout, bytes);
  return predict(exchange.compile(parse_choice(Collective::alltoall, algorithm)), layout, model);
}

TEST(CostModel, OneMessageIsHockneys) {
  EXPECT_DOUBLE_EQ(time_of("nonblocking", Layout::uniform(2, 2), 10, flat), 2 + (10 * 3));
  EXPECT_DOUBLE_EQ(time_of("nonblocking", Layout::uniform(1, 1), 10, flat), 0);
  EXPECT_DOUBLE_EQ(time_of("pairwise", Layout::uniform(2, 2), 0, flat), 0);
}

TEST(CostModel, DirectExchangesTakeOneMessageAfterTheOther) {
  for (const int ranks : {3, 8, 13}) {
    for (const char* algorithm : {"nonblocking", "pairwise", "batched:batch=2"}) {
      EXPECT_DOUBLE_EQ(time_of(algorithm, Layout::uniform(ranks, 4), 10, flat), (ranks - 1) * 32.0) << algorithm;
    }
  }
}

// alpha K + beta D S: the paper's own model.
TEST(CostModel, TunableRadixIsWhatItsFormulasSay) {
  for (const int ranks : {8, 9, 11, 27, 64}) {
    for (const int radix : {2, 3, 5, 8}) {
      const RadixCounts counts = radix_counts(static_cast<std::uint64_t>(ranks), static_cast<std::uint64_t>(radix));
      const double expected =
          (static_cast<double>(counts.messages) * 2) + (static_cast<double>(counts.blocks) * 10 * 3);
      EXPECT_NEAR(time_of("radix:r=" + std::to_string(radix), Layout::uniform(ranks, 4), 10, flat), expected, 1e-9)
          << ranks << " ranks, radix " << radix;
    }
  }
}

TEST(CostModel, ANodesPortIsShared) {
  CostModel model = flat;
  model.port = {0, 3}; // as slow as one rank: four of them take four times as long
  const Layout layout = Layout::uniform(8, 4);
  EXPECT_GE(time_of("nonblocking", layout, 10, model), 16 * 30.0);
  EXPECT_LT(time_of("nonblocking", layout, 10, flat), 16 * 30.0);
}

// A machine like the papers': a network message costs far more than one within the node, and a node's ranks share its
// port.
constexpr CostModel cluster = typical_cluster;

// Never more than the schedule takes: it is a bound.
TEST(CostModel, LoadsAreLowerBounds) {
  for (const Layout& layout : {Layout::uniform(16, 4, 2), Layout::uniform(13, 5)}) {
    for (const char* algorithm : {"nonblocking", "pairwise", "radix", "radix2", "hierarchical", "multileader:leaders=2",
                                  "node-aware", "locality-aware:groups=2", "multileader-node-aware:leaders=2"}) {
      for (const std::uint64_t bytes : {8U, 8192U}) {
        const auto exchange = WholeExchange::uniform(layout, bytes);
        const auto programs = exchange.compile(parse_choice(Collective::alltoall, algorithm));
        double bound = 0;
        for (int node = 0; node < layout.nodes(); ++node) {
          NodeLoad load(Driver::rank, layout, node);
          for (const int rank : layout.node_ranks(node)) {
            load.add(rank, load_of(programs[static_cast<std::size_t>(rank)], layout, cluster));
          }
          EXPECT_GT(load.seconds(), 0);
          bound = std::max(bound, load.seconds());
        }
        EXPECT_LE(bound, predict(programs, layout, cluster) * 1.000001) << algorithm << ", " << bytes << " bytes";
      }
    }
  }
}

// The value for which a family is fastest.
int best_of(const std::string& prefix, const std::vector<int>& values, const Layout& layout, std::uint64_t bytes,
            const CostModel& model) {
  int best = 0;
  double least = INFINITY;
  for (const int value : values) {
    if (const double time = time_of(prefix + std::to_string(value), layout, bytes, model); time < least) {
      least = time;
      best = value;
    }
  }
  return best;
}

// Fan et al.: small radices for small blocks, the square root of the number of ranks for larger ones, and beyond. From
// which size on is a matter of latency against bandwidth: with alpha / beta = 20 kB between 1 and 2 KiB, on the paper's
// machines at 512 bytes.
TEST(CostModel, TheBestRadixGrowsWithTheBlocks) {
  const Layout layout = Layout::uniform(256, 1);
  const std::vector<int> radices = {2, 4, 8, 16, 32, 64, 128, 256};
  const int small = best_of("radix:r=", radices, layout, 8, cluster);
  const int medium = best_of("radix:r=", radices, layout, 2048, cluster);
  const int large = best_of("radix:r=", radices, layout, 1 << 16, cluster);
  EXPECT_LE(small, 8);
  EXPECT_EQ(medium, 16);
  EXPECT_EQ(large, 256);
}

// Kinkead et al.: several leaders for small blocks, node-aware for larger ones, and nothing in between for the largest.
TEST(CostModel, AggregationPaysWhereMessagesAreSmall) {
  const Layout layout = Layout::uniform(128, 16, 4);
  const auto time = [&](const char* algorithm, std::uint64_t bytes) {
    return time_of(algorithm, layout, bytes, cluster);
  };
  EXPECT_LT(time("multileader-node-aware:leaders=4", 4), time("nonblocking", 4));
  EXPECT_LT(time("multileader-node-aware:leaders=4", 4), time("hierarchical", 4));
  EXPECT_LT(time("node-aware", 4096), time("hierarchical", 4096));
  EXPECT_LT(time("nonblocking", 1 << 20), time("hierarchical", 1 << 20));
}

// A helper does one thing after the other for all its ranks, so fewer messages in all are worth more to it than
// messages that ranks send side by side.
TEST(CostModel, HelpersPreferFewerMessages) {
  const Layout layout = Layout::uniform(16, 8);
  const auto time = [&](const char* text, Driver driver) {
    return expected_seconds(resolve(parse_choice(Collective::alltoall, text), layout), layout, 8, typical_cluster,
                            driver);
  };
  EXPECT_LT(time("node-aware", Driver::rank), time("hierarchical", Driver::rank));
  EXPECT_LT(time("hierarchical", Driver::helper), time("node-aware", Driver::helper));
  // The sum of all eight ranks' one message with each of the others: 7 within the node and 8 to the other one, both
  // ways.
  EXPECT_NEAR(
      time("nonblocking", Driver::helper),
      8 * (2 * ((7 * typical_cluster.at(Level::domain).of(8)) + (8 * typical_cluster.at(Level::network).of(8))) +
           typical_cluster.at(Level::self).of(8)),
      1e-12);
}

// ---- what the model picks on the papers' machines: docs/algorithms.md has the tables ----

// The first within 10 % of the fastest is what the default choice takes; here the fastest.
int fastest(const std::string& prefix, const std::vector<int>& values, const std::string& suffix, const Layout& layout,
            std::uint64_t bytes) {
  const auto time = [&](int value) {
    const Choice choice = resolve(parse_choice(Collective::alltoall, prefix + std::to_string(value) + suffix), layout);
    return expected_seconds(choice, layout, bytes, typical_cluster);
  };
  return *std::ranges::min_element(values, {}, time);
}

// 32 nodes of 112 ranks: four leaders for small blocks and "many but not all", around 20, where leaders are node-aware
// among themselves; then node-aware.
TEST(CostModel, PicksTheLeadersOfKinkeadEtAl) {
  const Layout dane = Layout::uniform(3584, 112, 8);
  EXPECT_EQ(fastest("multileader:leaders=", {1, 4, 14, 28}, "", dane, 4), 4);
  EXPECT_EQ(fastest("multileader-node-aware:leaders=", {1, 4, 20, 56, 112}, "", dane, 4), 20);
  const auto time = [&](const char* text, std::uint64_t bytes) {
    return expected_seconds(resolve(parse_choice(Collective::alltoall, text), dane), dane, bytes, typical_cluster);
  };
  EXPECT_LT(time("multileader-node-aware", 4), 0.5 * time("node-aware", 4));
  EXPECT_LT(time("node-aware", 4096), 1.1 * time("multileader-node-aware", 4096));
  EXPECT_LT(time("node-aware", 4096), time("nonblocking", 4096));
}

// Tunable radix: small radices for small blocks, the square root from 128 bytes on, N between nodes in two layers.
TEST(CostModel, PicksTheRadicesOfFanEtAl) {
  const Layout theta = Layout::uniform(4096, 64);
  EXPECT_LE(fastest("radix:r=", {2, 16, 64, 512}, "", theta, 8), 16);
  EXPECT_EQ(fastest("radix:r=", {2, 16, 64, 512}, "", theta, 128), 64);
  EXPECT_EQ(fastest("radix:r=", {2, 16, 64, 512}, "", theta, 512), 64);
  EXPECT_EQ(fastest("radix2:r1=8,r2=", {2, 4, 8, 16, 64}, "", theta, 512), 64);
}

} // namespace
} // namespace stoker::tests
