// SPDX-License-Identifier: BSD-3-Clause
// The classic algorithms of MPI libraries by the registry's names: rounds, partners, messages and bytes of each are
// those of the literature.
#include "cases.hpp"

#include "algos/schedule/rounds.hpp"
#include "algos/schedule/traffic.hpp"
#include "algos/verify/whole_distributed_vector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using topology::Layout;
using enum Collective;

constexpr std::uint64_t element = 8;

std::vector<RoundMessage> messages_of(Collective collective, const char* text, const Layout& layout,
                                      std::uint64_t elements) {
  const Choice choice = resolve(parse_choice(collective, text), layout);
  if (pattern_of(collective) == Pattern::exchange) {
    return messages_by_round(WholeExchange::uniform(layout, elements * element).compile(choice));
  }
  return messages_by_round(WholeDistributedVector::uniform(collective, layout, elements, element).compile(choice));
}
// The same with a node for each rank.
std::vector<RoundMessage> messages_of(Collective collective, const char* text, int ranks, std::uint64_t elements) {
  return messages_of(collective, text, Layout::uniform(ranks, 1), elements);
}

// The distances that messages go in a round, round the ring, and their sizes.
struct Round {
  std::multiset<std::uint64_t> bytes;
  std::set<int> distances;
};
std::map<int, Round> rounds_of(const std::vector<RoundMessage>& messages, int ranks) {
  std::map<int, Round> rounds;
  for (const RoundMessage& message : messages) {
    rounds[message.round].bytes.insert(message.bytes);
    rounds[message.round].distances.insert((message.target - message.source + ranks) % ranks);
  }
  return rounds;
}
std::multiset<std::uint64_t> times(std::size_t count, std::uint64_t bytes) {
  std::multiset<std::uint64_t> result;
  for (std::size_t i = 0; i < count; ++i) {
    result.insert(bytes);
  }
  return result;
}

// In round k with the rank whose number differs in bit k, the whole vector.
TEST(Classics, RecursiveDoubling) {
  for (const char* text : {"recursive-exchange:factors=2 2 2", "building-blocks:factors=2 2 2"}) {
    const auto messages = messages_of(allreduce, text, 8, 100);
    EXPECT_EQ(messages.size(), 3U * 8) << text;
    for (const RoundMessage& message : messages) {
      EXPECT_EQ(message.source ^ message.target, 1 << (message.round - 1)) << text;
      EXPECT_EQ(message.bytes, 100 * element) << text;
    }
  }
}

// Halves first, then quarters and eighths, and back: 2 n (P - 1) / P from each rank.
TEST(Classics, Rabenseifner) {
  for (const char* text : {"recursive-exchange:factors=-2 -2 -2 2 2 2", "building-blocks"}) {
    const auto rounds = rounds_of(messages_of(allreduce, text, 8, 64), 8);
    ASSERT_EQ(rounds.size(), 6U) << text;
    const std::vector<std::uint64_t> parts = {2, 4, 8, 8, 4, 2};
    for (int round = 1; round <= 6; ++round) {
      EXPECT_EQ(rounds.at(round).bytes, times(8, 64 * element / parts[static_cast<std::size_t>(round) - 1])) << text;
    }
  }
}

// Beyond a power of two: a rank of each of the first pairs sends its vector to the other one, and gets the result.
TEST(Classics, FoldedExchanges) {
  std::size_t folds = 0;
  for (const RoundMessage& message : messages_of(allreduce, "building-blocks:factors=2 2,part=1", 6, 8)) {
    EXPECT_EQ(message.bytes, 64U);
    const int standing_back = message.source % 2 == 1 ? message.source : message.target;
    folds += standing_back < 4 && standing_back % 2 == 1 && (message.source ^ message.target) == 1 ? 1 : 0;
  }
  EXPECT_EQ(folds, 2U * 2);
  EXPECT_EQ(messages_of(allreduce, "building-blocks:factors=2 2,part=1", 6, 8).size(), (2U * 2) + (4 * 2));
  std::size_t exchanged = 0;
  for (const RoundMessage& message : messages_of(allreduce, "building-blocks:part=1", 6, 8)) {
    exchanged += message.bytes < 64 ? message.bytes : 0;
  }
  EXPECT_EQ(exchanged, 4U * 2 * 64 * 3 / 4);
}

// Each rank sends to one neighbour only, one part after the other.
TEST(Classics, Rings) {
  constexpr int ranks = 7;
  const auto neighbours = [&](const std::map<int, Round>& rounds, int count, std::uint64_t bytes) {
    ASSERT_EQ(rounds.size(), static_cast<std::size_t>(count));
    for (const auto& [number, round] : rounds) {
      EXPECT_EQ(round.bytes, times(ranks, bytes)) << number;
      EXPECT_EQ(round.distances.size(), 1U) << number;
      EXPECT_TRUE(round.distances.contains(1) || round.distances.contains(ranks - 1)) << number;
    }
  };
  neighbours(rounds_of(messages_of(allgather, "ring", ranks, 3), ranks), ranks - 1, 3 * element);
  neighbours(rounds_of(messages_of(reduce_scatter_block, "ring", ranks, 3), ranks), ranks - 1, 3 * element);
  neighbours(rounds_of(messages_of(allreduce, "ring:part=1", ranks, 7 * 5), ranks), 2 * (ranks - 1), 5 * element);
}

// With the right and the left neighbour in turn: one block, then two at a time.
TEST(Classics, NeighborExchange) {
  const auto messages = messages_of(allgather, "neighbor-exchange", 8, 1);
  EXPECT_EQ(messages.size(), 4U * 8);
  for (const RoundMessage& message : messages) {
    EXPECT_EQ(message.bytes, message.round == 1 ? element : 2 * element);
    const int lower = std::min(message.source, message.target);
    const bool within_a_pair = lower % 2 == 0 && message.source / 2 == message.target / 2;
    EXPECT_EQ(within_a_pair, message.round % 2 == 1) << message.source << " to " << message.target;
  }
  EXPECT_EQ(rounds_of(messages, 8).size(), 4U);
  EXPECT_EQ(rounds_of(messages_of(allgather, "neighbor-exchange", 7, 1), 7).size(), 6U);
}

// Bruck's: all ranks at the same distance, which doubles, as do the blocks.
TEST(Classics, Bruck) {
  const auto gathered = rounds_of(messages_of(allgather, "cyclic-shift:factors=2 2 2", 7, 1), 7);
  ASSERT_EQ(gathered.size(), 3U);
  EXPECT_EQ(gathered.at(1).bytes, times(7, element));
  EXPECT_EQ(gathered.at(2).bytes, times(7, 2 * element));
  EXPECT_EQ(gathered.at(3).bytes, times(7, 3 * element));
  const auto exchanged = rounds_of(messages_of(alltoall, "bruck", 8, 1), 8);
  ASSERT_EQ(exchanged.size(), 3U);
  for (const auto& [number, round] : exchanged) {
    EXPECT_EQ(round.bytes, times(8, 4 * element));
    EXPECT_EQ(round.distances, std::set<int>{1 << (number - 1)});
  }
  const auto barred = rounds_of(messages_of(barrier, "cyclic-shift:factors=2 2 2", 7, 0), 7);
  EXPECT_EQ(barred.size(), 3U);
}

TEST(Classics, BinomialAndLinearTrees) {
  const auto binomial = messages_of(bcast, "tree:factors=2 2 2", 8, 10);
  EXPECT_EQ(binomial.size(), 7U);
  for (const RoundMessage& message : binomial) { // from the rank without the last bit of the number
    EXPECT_EQ(message.source, message.target & (message.target - 1));
    EXPECT_EQ(message.bytes, 10 * element);
  }
  EXPECT_EQ(messages_of(reduce, "tree:factors=-2 -2 -2", 8, 10).size(), 7U);
  const auto gathered = rounds_of(messages_of(gather, "tree:factors=-2 -2 -2", 8, 1), 8);
  ASSERT_EQ(gathered.size(), 3U);
  EXPECT_EQ(gathered.at(1).bytes, times(4, element));
  EXPECT_EQ(gathered.at(2).bytes, times(2, 2 * element));
  EXPECT_EQ(gathered.at(3).bytes, times(1, 4 * element));
  for (const auto& [collective, text] :
       {std::pair{scatterv, "tree:factors=9"}, std::pair{gatherv, "tree:factors=-9"}}) {
    const auto linear = messages_of(collective, text, 9, 4);
    EXPECT_EQ(linear.size(), 8U);
    EXPECT_TRUE(std::ranges::all_of(linear, [](const RoundMessage& message) {
      return (message.source == 0 || message.target == 0) && message.bytes == 4 * element;
    }));
  }
}

TEST(Classics, PairwiseAndThrottledExchanges) {
  EXPECT_EQ(rounds_of(messages_of(alltoall, "nonblocking", 40, 1), 40).size(), 1U);
  EXPECT_EQ(rounds_of(messages_of(alltoall, "pairwise", 40, 1), 40).size(), 39U);
  const auto throttled = rounds_of(messages_of(alltoall, "batched:batch=32", 40, 1), 40);
  ASSERT_EQ(throttled.size(), 2U);
  EXPECT_EQ(throttled.at(1).bytes, times(std::size_t{40} * 32, element));
  EXPECT_EQ(throttled.at(2).bytes, times(std::size_t{40} * 7, element));
}

// The root's vector leaves it once in a scatter, and once more where it is a member of the ring.
TEST(Classics, ScatterAndAllgather) {
  constexpr std::uint64_t bytes = 56 * element;
  const auto sent_by_root = [](const std::vector<RoundMessage>& messages) {
    std::uint64_t sent = 0;
    for (const RoundMessage& message : messages) {
      sent += message.source == 0 ? message.bytes : 0;
    }
    return sent;
  };
  const auto doubling = messages_of(bcast, "scatter-allgather:factors=-2 -2 -2 2 2 2,part=1", 8, 56);
  EXPECT_EQ(sent_by_root(doubling), bytes);
  EXPECT_EQ(rounds_of(doubling, 8).size(), 6U);
  const auto ring = messages_of(bcast, "scatter-ring:factors=2 2 2,part=1", 8, 56);
  EXPECT_EQ(sent_by_root(ring), 2 * bytes * 7 / 8);
  std::uint64_t all = 0;
  for (const RoundMessage& message : ring) {
    all += message.bytes;
  }
  EXPECT_EQ(all, (bytes * 12 / 8) + (bytes * 7 * 7 / 8)); // a half, quarters, eighths; then blocks, none to the root
}

// A vector leaves a node as in an exchange among its leaders, and no more than once from each other rank.
TEST(Classics, Hierarchical) {
  const Layout layout = Layout::uniform(32, 8);
  constexpr std::uint64_t bytes = 64 * element;
  const auto traffic = [&](Collective collective, const char* text) {
    const auto whole = WholeDistributedVector::uniform(collective, layout, 64, element);
    return traffic_by_node(whole.compile(resolve(parse_choice(collective, text), layout)), layout);
  };
  for (const Traffic& node : traffic(allreduce, "hierarchical:within=-2 -2 -2 2 2 2,between=2 2")) {
    EXPECT_EQ(node.sent_at(Level::network), (Volume{2, 2 * bytes}));
    EXPECT_EQ(node.sent_at(Level::domain), (Volume{14, 14 * bytes}));
  }
  for (const Traffic& node : traffic(allreduce, "hierarchical:between=-2 -2 2 2,part=1")) {
    EXPECT_EQ(node.sent_at(Level::network), (Volume{4, 2 * bytes * 3 / 4}));
  }
  std::uint64_t messages = 0;
  for (const Traffic& node : traffic(reduce, "hierarchical:between=-2 -2")) {
    messages += node.sent_at(Level::network).messages;
  }
  EXPECT_EQ(messages, 3U);
  EXPECT_EQ(traffic(bcast, "hierarchical:between=2 2").front().sent_at(Level::network), (Volume{2, 2 * bytes}));
  EXPECT_EQ(traffic(bcast, "hierarchical:between=-2 -2 2 2,part=1").front().sent_at(Level::network).bytes, bytes);
}

} // namespace
} // namespace stoker::tests
