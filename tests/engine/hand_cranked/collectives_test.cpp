// SPDX-License-Identifier: BSD-3-Clause
// Algorithms of the registry from lowering to the last byte, on two nodes of two ranks in one process: in any order of
// polls, assists and arrivals, by every path.
#include "algos/schedule/builder.hpp"
#include "algos/select/choice.hpp"
#include "algos/verify/whole_distributed_vector.hpp"
#include "algos/verify/whole_exchange.hpp"
#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/execute/eager_bytes.hpp"
#include "engine/execute/piece_messages.hpp"
#include "fake_clock.hpp"
#include "rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

namespace stoker::engine {
namespace {

using algos::Buffer;
using algos::Choice;
using algos::Slice;
using topology::Layout;

constexpr std::uint64_t epochs = 3;
constexpr unsigned seeds = 6; // of each algorithm

WholeCollective whole(const Choice& choice, const Layout& layout, std::uint64_t bytes, std::mt19937& random) {
  const auto collective = choice.algorithm->collective;
  const auto n = static_cast<std::size_t>(layout.ranks());
  if (collective == algos::Collective::alltoall) {
    const auto exchange = algos::WholeExchange::uniform(layout, bytes);
    return {exchange.compile(choice), exchange.contents(), algos::Terms()};
  }
  if (collective == algos::Collective::alltoallv) {
    algos::WholeExchange::Table sizes(n, std::vector<std::uint64_t>(n));
    for (auto& row : sizes) {
      std::ranges::generate(row, [&] { return random() % 3 == 0 ? 0 : random() % (2 * bytes); });
    }
    const auto exchange = algos::WholeExchange::ragged(layout, std::move(sizes), random() % 2 * 7);
    return {exchange.compile(choice), exchange.contents(), algos::Terms()};
  }
  constexpr std::uint64_t element_bytes = 8;
  auto call = algos::WholeDistributedVector::uniform(collective, layout, bytes / element_bytes, element_bytes);
  call.root = algos::has_root(collective) ? static_cast<int>(random() % n) : 0;
  WholeCollective result;
  result.programs = call.compile(algos::resolve(choice, layout));
  result.contents = call.contents(result.terms);
  return result;
}

auto one_of(std::mt19937& random, auto... values) {
  const std::array all{values...};
  return all[random() % all.size()];
}

class EveryAlgorithm : public testing::TestWithParam<const algos::Algorithm*> {};

TEST_P(EveryAlgorithm, BringsEveryByteToItsPlaceInAnyOrder) {
  const Choice choice{GetParam(), {}};
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    std::mt19937 random(seed);
    const RigOptions options{
        .layout = seed % 3 == 0 ? Layout::uniform(5, 2) : Layout::uniform(4, 2),
        .path = one_of(random, Path::mapped, Path::attached, Path::staged),
        .eager_bytes = one_of(random, 0UL, 64UL, 4096UL),
        .node_piece_bytes = one_of(random, 0UL, 8UL, 24UL),
        .piece_bytes = one_of(random, 0UL, 48UL, 1000UL),
        .buffered_bytes = one_of(random, 0UL, 100UL, 100'000UL),
        .inlined = random() % 4 == 0,
    };
    SCOPED_TRACE("seed " + std::to_string(seed));
    const WholeCollective collective = whole(choice, options.layout, one_of(random, 8UL, 64UL, 200UL, 1000UL), random);
    Rig rig(options, collective);
    ASSERT_NO_FATAL_FAILURE(rig.run(random, epochs));
    rig.expect_at_rest();
  }
}

// Something that one rank receives or sends fails, and what it should have received is not there.
TEST_P(EveryAlgorithm, GivesNoRankAWrongResultWithoutAnError) {
  const Choice choice{GetParam(), {}};
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    std::mt19937 random(seed);
    const RigOptions options{
        .layout = one_of(random, Layout::uniform(4, 2), Layout::uniform(6, 3), Layout::uniform(4, 1)),
        .eager_bytes = one_of(random, 0UL, 64UL, 4096UL),
        .node_piece_bytes = one_of(random, 0UL, 8UL, 24UL),
        .piece_bytes = one_of(random, 0UL, 48UL, 1000UL),
        .buffered_bytes = one_of(random, 0UL, 100UL, 100'000UL),
        .inlined = random() % 4 == 0,
    };
    SCOPED_TRACE("seed " + std::to_string(seed));
    const WholeCollective collective = whole(choice, options.layout, one_of(random, 8UL, 64UL, 1000UL), random);
    Rig rig(options, collective);
    ASSERT_NO_FATAL_FAILURE(rig.run(random, 1));
    const bool sending = random() % 4 == 0;
    std::uint64_t before = random() % 8;
    bool failed = false;
    rig.network.fail = [&](const InProcessNetwork::Post& post) {
      if (failed || post.channel != Transport::Channel::data || post.sending != sending || before-- > 0) {
        return MPI_SUCCESS;
      }
      failed = true;
      return InProcessNetwork::a_fault;
    };
    for (int rank = 0; rank < rig.ranks(); ++rank) {
      rig.start(rank);
    }
    rig.run_dry();
    int errors = 0;
    for (int rank = 0; rank < rig.ranks(); ++rank) {
      EXPECT_TRUE(rig.done(rank)) << "rank " << rank << " hangs";
      const bool error = rig.block(rank).error.load() != 0;
      EXPECT_TRUE(error || rig.right(rank)) << "rank " << rank << " takes what is wrong for a result";
      EXPECT_FALSE(rig.block(rank).out_of_step);
      errors += error ? 1 : 0;
    }
    EXPECT_EQ(errors > 0, failed);
    rig.network.fail = nullptr;
    rig.give_up();
    ASSERT_NO_FATAL_FAILURE(rig.run(random, 4)) << "the next epochs are none the worse for it";
    rig.expect_at_rest();
  }
}

std::vector<const algos::Algorithm*> algorithms() {
  std::vector<const algos::Algorithm*> result;
  for (const algos::Algorithm& algorithm : algos::registry()) {
    if (algorithm.collective != algos::Collective::neighbor_alltoall &&
        algorithm.collective != algos::Collective::neighbor_alltoallv) { // of a graph; their steps are these, too
      result.push_back(&algorithm);
    }
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(OfTheRegistry, EveryAlgorithm, testing::ValuesIn(algorithms()), [](const auto& instance) {
  std::string name = std::string(name_of(instance.param->collective)) + "_" + std::string(instance.param->name);
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

// Rank 0 sends rank 1 a message, nothing else.
WholeCollective one_message(std::uint64_t bytes) {
  algos::Builder sender(0, 2, bytes, 0);
  sender.send(1, Slice{Buffer::send, 0, bytes});
  algos::Builder receiver(1, 2, 0, bytes);
  receiver.recv(0, Slice{Buffer::recv, 0, bytes});
  WholeCollective result;
  result.programs.push_back(std::move(sender).finish());
  result.programs.push_back(std::move(receiver).finish());
  std::vector<algos::Token> tokens(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    tokens[i] = static_cast<algos::Token>(i + 1);
  }
  result.contents = {{.send = tokens, .recv = {}, .result = {}},
                     {.send = {}, .recv = std::vector<algos::Token>(bytes, algos::undefined), .result = tokens}};
  return result;
}

TEST(OneMessage, AShortOneWaitsInTheChannelForItsReceiver) {
  for (const Path path : {Path::mapped, Path::attached, Path::staged}) {
    const WholeCollective collective = one_message(64);
    Rig rig({.layout = Layout::uniform(2, 2), .path = path, .eager_bytes = 64}, collective);
    // Two epochs ahead of the receiver, but not three: there are two slots.
    for (int epoch = 1; epoch <= 2; ++epoch) {
      rig.start(0);
      EXPECT_TRUE(rig.poll(0));
      ASSERT_TRUE(rig.done(0));
      rig.finish(0);
    }
    rig.start(0);
    (void)rig.poll(0);
    EXPECT_FALSE(rig.done(0));
    EXPECT_FALSE(reclaimable(rig.memory(0), rig.block(0), 2, false)) << "the receiver has yet to take the messages";
    for (int epoch = 1; epoch <= 3; ++epoch) {
      rig.start(1);
      EXPECT_TRUE(rig.poll(0));
      ASSERT_TRUE(rig.done(1));
      rig.finish(1); // of this epoch, not of the one that came last
    }
    rig.run_dry();
    ASSERT_TRUE(rig.done(0));
    rig.finish(0);
    rig.expect_at_rest();
  }
}

// The sender's helper announces the message, which has so many pieces; the receiver is done after so many attempts.
void expect_fetched(Rig& rig, std::uint64_t pieces, std::uint64_t attempts) {
  for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    rig.start(0);
    (void)rig.poll(0);
    EXPECT_FALSE(rig.done(0)) << "its buffer has not been read";
    EXPECT_EQ(rig.taken(0).claimed, pieces * (epoch - 1));
    rig.start(1);
    for (std::uint64_t i = 0; i < attempts && !rig.done(1); ++i) {
      EXPECT_TRUE(rig.assist(1)); // fetches by itself: in its view the sender's memory lies elsewhere
    }
    EXPECT_TRUE(rig.done(1));
    EXPECT_FALSE(rig.done(0));
    EXPECT_TRUE(rig.poll(0));
    ASSERT_TRUE(rig.done(0));
    rig.finish(0);
    rig.finish(1);
  }
  rig.run_dry();
  rig.expect_at_rest();
}

TEST(OneMessage, ALongOneIsFetchedFromItsSender) {
  for (const Path path : {Path::mapped, Path::attached, Path::staged}) {
    const WholeCollective collective = one_message(10'000);
    Rig rig({.layout = Layout::uniform(2, 2), .path = path, .eager_bytes = 64}, collective);
    ASSERT_NO_FATAL_FAILURE(expect_fetched(rig, 0, 1));
  }
}

// Pieces of a message, 400 bytes each.
constexpr std::uint64_t pieces = 25;
const RigOptions with_pieces{
    .layout = Layout::uniform(2, 2), .path = Path::attached, .eager_bytes = 64, .node_piece_bytes = 400};

// A sender helps only if it can save its receiver a system call.
class OneMessageInPieces : public testing::Test {
protected:
  void SetUp() override {
    if (!rig.attaches()) {
      GTEST_SKIP() << "no cross-memory attach";
    }
  }
  const WholeCollective collective = one_message(pieces * 400 - 7);
  Rig rig{with_pieces, collective};
};

TEST_F(OneMessageInPieces, ASenderThatWaitsPutsPiecesIntoTheRing) {
  for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    rig.start(0);
    for (std::uint64_t filled = 0; filled < PieceRing::slots; ++filled) {
      EXPECT_EQ(rig.taken(0).claimed, (pieces * (epoch - 1)) + filled);
      EXPECT_TRUE(rig.assist(0));
    }
    EXPECT_FALSE(rig.assist(0)) << "the ring is full";
    rig.start(1);
    while (!rig.done(1)) {
      ASSERT_TRUE(rig.assist(1));
      (void)rig.assist(0);
    }
    EXPECT_EQ(rig.taken(0).filled, pieces * epoch) << "the receiver had no reason to fetch any";
    ASSERT_TRUE(rig.done(0));
    rig.finish(0);
    rig.finish(1);
  }
  rig.run_dry();
  rig.expect_at_rest();
}

TEST(OneMessage, WithoutAHelpfulSenderTheReceiverFetchesAllPieces) {
  const WholeCollective collective = one_message(pieces * 400);
  Rig rig(with_pieces, collective);
  ASSERT_NO_FATAL_FAILURE(expect_fetched(rig, pieces, pieces));
}

TEST_F(OneMessageInPieces, AReceiverWaitsAMomentForASenderThatHasBegun) {
  rig.start(0);
  EXPECT_TRUE(rig.assist(0));
  rig.start(1);
  EXPECT_TRUE(rig.assist(1)); // from the ring
  EXPECT_TRUE(rig.assist(1)) << "it expects the next one at any moment";
  EXPECT_EQ(rig.taken(0).claimed, 1U);
  fake_clock::set(now_ns() + 5'000);
  EXPECT_TRUE(rig.assist(1));
  EXPECT_EQ(rig.taken(0).claimed, 1 + (pieces / 2)) << "it fetches half of the rest";
  EXPECT_TRUE(rig.assist(0)); // comes back
  EXPECT_EQ(rig.taken(0).claimed, 2 + (pieces / 2));
  while (!rig.done(1)) {
    ASSERT_TRUE(rig.assist(1));
    fake_clock::set(now_ns() + 1'000);
  }
  EXPECT_FALSE(rig.done(0)) << "it did not do all by itself";
  rig.run_dry();
  ASSERT_TRUE(rig.done(0));
  rig.finish(0);
  rig.finish(1);
  rig.expect_at_rest();
}

TEST_F(OneMessageInPieces, ASenderThatHasPutAllPiecesIntoTheRingIsOneEpochAhead) {
  rig.start(0);
  rig.start(1);
  for (std::uint64_t i = 0; !rig.done(0); ++i) {
    ASSERT_LT(i, 4 * pieces);
    (void)rig.assist(0);
    if (rig.taken(0).claimed >= PieceRing::slots && rig.taken(0).claimed < pieces) {
      (void)rig.assist(1);
    }
  }
  EXPECT_FALSE(rig.done(1));
  rig.finish(0);
  rig.start(0);
  for (std::uint64_t i = 0; i < pieces; ++i) {
    (void)rig.assist(0);
  }
  EXPECT_FALSE(rig.done(0)) << "there is no room in the ring";
  for (std::uint64_t i = 0; !rig.done(1); ++i) {
    ASSERT_LT(i, 4 * pieces);
    (void)rig.assist(1);
  }
  rig.finish(1); // with the data of its own epoch
  rig.start(1);
  for (std::uint64_t i = 0; !rig.done(0) || !rig.done(1); ++i) {
    ASSERT_LT(i, 4 * pieces);
    (void)rig.assist(0);
    (void)rig.assist(1);
  }
  rig.finish(0);
  rig.finish(1);
  rig.run_dry();
  rig.expect_at_rest();
}

// Rank 0 sends rank 1 three long messages.
TEST(OneMessage, IsInPiecesIfItIsAmongTheFirstTwoToItsReceiver) {
  constexpr std::uint64_t bytes = pieces * 400;
  WholeCollective collective = one_message(3 * bytes);
  algos::Builder sender(0, 2, 3 * bytes, 0);
  algos::Builder receiver(1, 2, 0, 3 * bytes);
  for (std::uint64_t i = 0; i < 3; ++i) {
    sender.send(1, Slice{Buffer::send, i * bytes, bytes});
    receiver.recv(0, Slice{Buffer::recv, i * bytes, bytes});
  }
  collective.programs = {std::move(sender).finish(), std::move(receiver).finish()};
  Rig rig(with_pieces, collective);
  for (const int rank : {0, 1}) {
    const Block& block = rig.block(rank);
    const auto* channels = in_block<Channel>(&block, block.channels_at);
    ASSERT_EQ(block.channels, 3U);
    EXPECT_EQ(std::count_if(channels, channels + 3, [](const Channel& each) { return each.piece_bytes == 400; }), 2);
    EXPECT_EQ(channels[2].piece_bytes, 0U);
  }
  std::mt19937 random(1);
  ASSERT_NO_FATAL_FAILURE(rig.run(random, epochs));
  rig.expect_at_rest();
}

// For the thread sanitizer: each rank has a thread, and leaves its message alone now and then. The clock may go back,
// which looks like a long time to whoever waits.
TEST(OneMessage, BothRanksMoveItsPiecesAtTheSameTime) {
  constexpr std::uint64_t many = 300;
  const WholeCollective collective = one_message(pieces * 400 - 7);
  Rig rig(with_pieces, collective);
  const auto work = [&](int rank) {
    std::mt19937 random(static_cast<unsigned>(rank));
    for (std::uint64_t epoch = 1; epoch <= many; ++epoch) {
      rig.start(rank);
      while (!rig.done(rank)) {
        (void)rig.assist(rank);
        fake_clock::set(now_ns() + (random() % 500));
        if (random() % 8 == 0) {
          std::this_thread::yield();
        }
      }
      rig.finish(rank);
    }
  };
  std::thread sender(work, 0);
  work(1);
  sender.join();
  rig.run_dry();
  rig.expect_at_rest();
}

TEST(OneMessage, IsInPiecesOnlyIfThereAreMoreOfThemThanSlots) {
  constexpr std::uint64_t most = PieceRing::slots * 400;
  EXPECT_EQ(piece_bytes_of(most, 1, 400), 0U);
  EXPECT_EQ(piece_bytes_of(most + 1, 1, 400), 400U);
  EXPECT_EQ(piece_bytes_of(most, 24, 400), 384U) << "whole elements";
  EXPECT_EQ(piece_bytes_of(most, 401, 400), 0U);
  EXPECT_EQ(piece_bytes_of(most, 1, 0), 0U);
}

TEST(OneMessage, BetweenNodesItIsThereWhenItHasArrived) {
  for (const std::uint64_t piece_bytes : {0U, 100U}) {
    const WholeCollective collective = one_message(10'000);
    Rig rig({.layout = Layout::uniform(2, 1), .piece_bytes = piece_bytes}, collective);
    for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
      rig.start(0);
      EXPECT_FALSE(rig.assist(0)) << "that is its carrier's";
      EXPECT_TRUE(rig.poll(0)); // posts it
      rig.network.arrive_all();
      EXPECT_FALSE(rig.poll(0));
      EXPECT_FALSE(rig.done(0)) << "nobody has received it";
      rig.start(1);
      rig.run_dry();
      ASSERT_TRUE(rig.done(0) && rig.done(1));
      rig.finish(0);
      rig.finish(1);
    }
    rig.expect_at_rest();
  }
}

// Rank 1 combines rank 0's message with what its own receive buffer holds, where that is.
TEST(OneMessage, AnOperandMeetsTheOtherOneInItsPlace) {
  constexpr std::uint64_t bytes = 1000;
  for (const int ranks_per_node : {1, 2}) {
    for (const std::uint64_t eager_bytes : {0U, 1000U}) {
      WholeCollective collective = one_message(bytes);
      algos::Builder receiver(1, 2, 0, bytes);
      receiver.reduces(8);
      const Slice own{Buffer::recv, 0, bytes};
      receiver.recv_operand(0, algos::Operand::left, {&own, 1}, {&own, 1});
      collective.programs[1] = std::move(receiver).finish();
      for (std::uint64_t i = 0; i < bytes; ++i) {
        const auto other = static_cast<algos::Token>(bytes + 1 + i);
        collective.contents[1].recv[i] = other;
        collective.contents[1].result[i] = collective.terms.combine(collective.contents[0].send[i], other);
      }
      for (const std::uint64_t node_piece_bytes : {0U, 48U}) {
        Rig rig({.layout = Layout::uniform(2, ranks_per_node),
                 .path = Path::attached,
                 .eager_bytes = eager_bytes,
                 .node_piece_bytes = node_piece_bytes},
                collective);
        std::mt19937 random(1);
        ASSERT_NO_FATAL_FAILURE(rig.run(random, epochs));
        rig.expect_at_rest();
      }
    }
  }
}

// The messages of a rank that are under way.
std::uint32_t under_way(const Rig& rig, int rank) {
  Block& block = rig.block(rank);
  const auto* posted = in_block<std::uint8_t>(&block, block.posted_at);
  return static_cast<std::uint32_t>(std::count(posted, posted + block.steps, 1));
}

TEST(AnExchangeOfManyMessages, HasFewUnderWayAndNobodyWaitsInACircle) {
  const Layout layouts[] = {Layout::uniform(13, 1), Layout::uniform(12, 2),
                            Layout({{0}, {0}, {0}, {1}, {2}, {2}, {1}, {3}, {3}, {0}, {4}})};
  for (const Layout& layout : layouts) {
    for (const auto collective : {algos::Collective::alltoall, algos::Collective::alltoallv}) {
      for (const std::uint32_t most : {2U, 3U, 8U}) {
        for (const std::uint64_t buffered_bytes : {0U, 1000U}) {
          SCOPED_TRACE(std::to_string(layout.ranks()) + " ranks, " + std::to_string(most));
          std::mt19937 random(most);
          const WholeCollective call = whole(algos::parse_choice(collective, "nonblocking"), layout, 40, random);
          Rig rig({.layout = layout, .buffered_bytes = buffered_bytes, .most_messages = most}, call);
          std::uint32_t seen = 0;
          rig.network.refuse = [&](const InProcessNetwork::Post&) {
            for (int rank = 0; rank < rig.ranks(); ++rank) {
              seen = std::max(seen, under_way(rig, rank));
            }
            return MPI_SUCCESS;
          };
          ASSERT_NO_FATAL_FAILURE(rig.run(random, epochs));
          rig.expect_at_rest();
          EXPECT_EQ(seen, most);
        }
      }
    }
  }
}

TEST(AnExchangeOfManyMessages, InAnotherOrderHasAllOfThemUnderWay) {
  std::mt19937 random(1);
  const Layout layout = Layout::uniform(9, 1);
  WholeCollective call = whole(algos::parse_choice(algos::Collective::alltoall, "nonblocking"), layout, 40, random);
  std::ranges::reverse(call.programs[3].steps);
  Rig rig({.layout = layout, .most_messages = 2}, call);
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    EXPECT_EQ(rig.block(rank).most_posted, rank == 3 ? rig.block(3).steps : 2);
  }
  ASSERT_NO_FATAL_FAILURE(rig.run(random, epochs));
  rig.expect_at_rest();
}

// The first message between nodes that the rank sends, or receives.
const WireMessage* wire_message(const Rig& rig, int rank, bool outgoing) {
  const Block& block = rig.block(rank);
  const auto* messages = in_block<WireMessage>(&block, block.messages_at);
  const auto* end = messages + block.messages;
  const auto* found =
      std::find_if(messages, end, [&](const WireMessage& message) { return message.outgoing == outgoing; });
  return found != end ? found : nullptr;
}

TEST(AFault, IsFoundInTheBlockOfItsRankAlone) {
  std::mt19937 random(1);
  const Layout layout = Layout::uniform(4, 2);
  const WholeCollective collective =
      whole(algos::parse_choice(algos::Collective::alltoall, "nonblocking"), layout, 1000, random);
  for (const std::uint64_t piece_bytes : {0U, 100U}) {
    for (const bool outgoing : {true, false}) {
      for (int faulty = 0; faulty < layout.ranks(); ++faulty) {
        SCOPED_TRACE("rank " + std::to_string(faulty) + (outgoing ? ", send" : ", recv"));
        Rig rig({.layout = layout, .piece_bytes = piece_bytes}, collective);
        const WireMessage* message = wire_message(rig, faulty, outgoing);
        ASSERT_NE(message, nullptr);
        rig.network.fail = [&](const InProcessNetwork::Post& post) {
          return post.process == rig.carrier(faulty) && post.sending == outgoing &&
                         post.channel == Transport::Channel::data && post.peer == message->endpoint &&
                         post.tag == message->tag
                     ? InProcessNetwork::a_fault
                     : MPI_SUCCESS;
        };
        for (int rank = 0; rank < layout.ranks(); ++rank) {
          rig.start(rank);
        }
        rig.run_dry();
        for (int rank = 0; rank < layout.ranks(); ++rank) {
          EXPECT_TRUE(rig.done(rank)) << "nobody hangs";
          EXPECT_EQ(rig.block(rank).error.load(), rank == faulty ? static_cast<int>(Code::mpi) : 0);
        }
        const std::string expected = "rank " + std::to_string(faulty) + ": the message " + (outgoing ? "to" : "from") +
                                     " rank " + std::to_string(message->peer) + " failed: fault 77";
        EXPECT_STREQ(rig.block(faulty).error_text, expected.c_str());
        // The next epoch is none the worse for it.
        rig.network.fail = nullptr;
        rig.give_up();
        ASSERT_NO_FATAL_FAILURE(rig.run(random, 2));
        rig.expect_at_rest();
      }
    }
  }
}

TEST(AFault, WhatIsRefusedIsNotWaitedFor) {
  std::mt19937 random(1);
  const Layout layout = Layout::uniform(4, 2);
  const WholeCollective collective =
      whole(algos::parse_choice(algos::Collective::alltoall, "nonblocking"), layout, 1000, random);
  for (const bool sending : {false, true}) {
    for (int faulty = 0; faulty < layout.ranks(); ++faulty) {
      SCOPED_TRACE("rank " + std::to_string(faulty) + (sending ? ", send" : ", recv"));
      Rig rig({.layout = layout, .buffered_bytes = 4096}, collective);
      const WireMessage* message = wire_message(rig, faulty, sending);
      rig.network.refuse = [&](const InProcessNetwork::Post& post) {
        return post.process == rig.carrier(faulty) && post.sending == sending && post.peer == message->endpoint &&
                       post.tag == message->tag
                   ? InProcessNetwork::a_fault
                   : MPI_SUCCESS;
      };
      for (int rank = 0; rank < layout.ranks(); ++rank) {
        rig.start(rank);
      }
      rig.run_dry();
      for (int rank = 0; rank < layout.ranks(); ++rank) {
        // Who was to receive what was not sent waits for it, as for a rank that does not start.
        EXPECT_EQ(rig.done(rank), !sending || rank != message->peer) << rank;
        EXPECT_EQ(rig.block(rank).error.load(), rank == faulty ? static_cast<int>(Code::mpi) : 0) << rank;
        EXPECT_EQ(rig.block(rank).out_of_step, rank == faulty) << rank;
      }
    }
  }
}

// The address sanitizer tells whether anybody touches it afterwards.
TEST(ARequest, ThatIsBrokenAndFreedIsForgotten) {
  std::mt19937 random(1);
  const Layout layout = Layout::uniform(4, 2);
  const WholeCollective collective =
      whole(algos::parse_choice(algos::Collective::alltoall, "nonblocking"), layout, 1000, random);
  for (int rounds = 0; rounds < 4; ++rounds) {
    constexpr int broken = 3;
    Rig rig({.layout = layout, .buffered_bytes = 4096, .inlined = true}, collective);
    for (int rank = 0; rank < layout.ranks(); ++rank) {
      rig.start(rank);
    }
    for (int round = 0; round < rounds; ++round) {
      (void)rig.poll(broken);
    }
    rig.forget(broken);
    rig.run_dry();
    for (const int other : {0, 1}) { // on the other node: they have what it sent, if it had begun to
      EXPECT_EQ(rig.done(other), rounds > 0) << other << ", after " << rounds << " rounds";
    }
    EXPECT_FALSE(rig.done(2)) << "its neighbor never gets what it would have fetched";
  }
}

// Tags tell apart what comes from one node: two are enough for two messages from each of many nodes.
TEST(Tags, AreGivenBackWithTheBlock) {
  const Layout layout = Layout::uniform(8, 2);
  const auto exchange = algos::WholeExchange::uniform(layout, 1000);
  const WholeCollective collective = {exchange.compile(algos::parse_choice(algos::Collective::alltoall, "nonblocking")),
                                      exchange.contents(), algos::Terms()};
  Rig rig({.layout = layout, .tags = 2}, collective);
  for (int rank = 0; rank < rig.ranks(); ++rank) {
    EXPECT_EQ(rig.tags(rank).take(1), std::nullopt) << "all are in use";
  }
  std::mt19937 random(1);
  ASSERT_NO_FATAL_FAILURE(rig.run(random, epochs));
  rig.free_blocks();
  for (int rank = 0; rank < rig.ranks(); ++rank) {
    EXPECT_NE(rig.tags(rank).take(2), std::nullopt);
  }
  try {
    const Rig too_few({.layout = layout, .tags = 1}, collective);
    FAIL() << "there are not enough";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::resource);
    EXPECT_NE(std::string(error.what()).find("1 message tags no 2 in a row"), std::string::npos) << error.what();
  }
}

TEST(TagSpace, IsDividedAmongRanksAndNeverGivesMoreThanThereAre) {
  TagSpace first(10, 3, 0);
  TagSpace last(10, 3, 2);
  EXPECT_EQ(first.take(4), std::nullopt);
  EXPECT_EQ(first.take(std::uint64_t{1} << 40U), std::nullopt);
  EXPECT_EQ(first.take(3), 1);
  EXPECT_EQ(first.take(1), std::nullopt);
  first.give(1);
  EXPECT_EQ(first.take(3), 1);
  EXPECT_EQ(last.take(3), 7); // to 9
}

TEST(Channels, OfAnExchangeAreNotMoreThanARankHasRoomFor) {
  for (const std::size_t ranks : {1, 2, 16}) {
    EXPECT_EQ(eager_bytes_of_exchange(8192, ranks), 8192U) << ranks;
  }
  for (const std::size_t ranks : {17, 48, 112, 384}) {
    const std::uint64_t longest = eager_bytes_of_exchange(8192, ranks);
    EXPECT_LT(longest, 8192U) << ranks;
    EXPECT_LE(2 * (ranks - 1) * (longest + sizeof(ChannelSlot)), 256U << 10U) << ranks;
  }
  EXPECT_GT(eager_bytes_of_exchange(1U << 20U, 2), 32U << 10U);
  EXPECT_EQ(eager_bytes_of_exchange(1U << 20U, 2, true), 32U << 10U);
  EXPECT_LT(eager_bytes_of_exchange(1U << 20U, 16, true), 32U << 10U);
  EXPECT_EQ(eager_bytes_of_exchange(64, 112), 64U);
  EXPECT_EQ(eager_bytes_of_exchange(0, 4), 0U);
}

TEST(Channels, HaveRingsOfPiecesOnlyWhereTheseAreNotTooShort) {
  for (const std::size_t ranks : {1, 2, 5}) {
    EXPECT_EQ(longest_piece(256U << 10U, ranks), 16U << 10U) << ranks;
  }
  for (std::size_t ranks = 2; ranks < 9; ++ranks) {
    Channel channel;
    channel.piece_bytes = longest_piece(256U << 10U, ranks);
    EXPECT_GE(channel.piece_bytes, 8U << 10U) << ranks;
    EXPECT_LE((ranks - 1) * bytes_of_slots(channel), (1U << 20U) + (ranks << 11U)) << ranks;
  }
  EXPECT_EQ(longest_piece(256U << 10U, 10), 0U);
  EXPECT_EQ(longest_piece(16U << 10U, 2), 16U << 10U);
  EXPECT_EQ(longest_piece((16U << 10U) - 1, 2), 0U);
  EXPECT_EQ(longest_piece(0, 2), 0U);
}

TEST(Channels, OfAVectorAreLongIfItIsShort) {
  constexpr std::uint64_t most = 1U << 20U;
  constexpr std::uint64_t always = 8192;
  for (const std::size_t ranks : {2, 3, 16, 48, 65}) {
    const std::uint64_t longest = eager_bytes_of_vector(most, ranks, most);
    EXPECT_LE(2 * (ranks - 1) * (longest + sizeof(ChannelSlot)), most + (2 * ranks * sizeof(ChannelSlot))) << ranks;
    EXPECT_GE(longest, always) << ranks;
    EXPECT_EQ(eager_bytes_of_vector(most, ranks, most + 1), always) << ranks;
  }
  EXPECT_EQ(eager_bytes_of_vector(most, 384, most), always);
  EXPECT_EQ(eager_bytes_of_vector(64, 112, most), 64U);
  EXPECT_EQ(eager_bytes_of_vector(0, 2, 1), 0U);
}

TEST(ABlock, IsRefusedWhenItIsNone) {
  const WholeCollective collective = one_message(64);
  Rig rig({.layout = Layout::uniform(2, 2)}, collective);
  EXPECT_NO_THROW((void)rig.memory(0).header({1, 0, rig.block_offset(1)}));
  rig.block(1).magic ^= 1;
  try {
    (void)rig.memory(0).header({1, 0, rig.block_offset(1)});
    FAIL() << "it is taken for one";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::peer_lost);
    EXPECT_NE(std::string(error.what()).find("of local rank 1"), std::string::npos) << error.what();
  }
}

} // namespace
} // namespace stoker::engine
