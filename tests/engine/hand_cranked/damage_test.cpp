// SPDX-License-Identifier: BSD-3-Clause
// A rank's shared memory is overwritten, one word at a time: its request ends with an error, and no other rank's memory
// is touched. Rank 1 is the one; rank 0 is the carrier, whose helper executes the steps of all.
#include "engine/base/error.hpp"
#include "engine/execute/lowered_program.hpp"
#include "engine/execute/piece_messages.hpp"
#include "rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace stoker::engine {
namespace {

using topology::Layout;

constexpr std::uint64_t wild = 0x5a17c3d29b84e06f;
constexpr int victim = 1;
constexpr std::byte canary{0xca};
constexpr std::size_t words_of_line = cache_line / sizeof(std::uint64_t); // where a member of the ring begins

// Memory of the other ranks that nobody has a reason to write to.
class Canaries {
public:
  explicit Canaries(Rig& rig) : rig_(rig) {
    for (const int rank : {0, 2}) {
      places_.push_back(rig.memory(rank).arena().allocate(bytes));
      std::fill_n(at(rank), bytes, canary);
    }
  }
  Canaries(const Canaries&) = delete;
  Canaries& operator=(const Canaries&) = delete;
  ~Canaries() {
    for (const int rank : {0, 2}) {
      EXPECT_TRUE(std::all_of(at(rank), at(rank) + bytes, [](std::byte b) { return b == canary; }))
          << "of rank " << rank;
      rig_.memory(rank).arena().deallocate(place(rank));
    }
  }
  [[nodiscard]] std::uint64_t place(int rank) const { return places_[rank == 0 ? 0 : 1]; }

private:
  static constexpr std::size_t bytes = 4096;
  [[nodiscard]] std::byte* at(int rank) const { return rig_.memory(rank).arena().at<std::byte>(place(rank)); }
  Rig& rig_;
  std::vector<std::uint64_t> places_;
};

struct Case {
  const char* name;
  std::function<void(Rig&, const Canaries&)> damage;
};

LoweredStep& step(Rig& rig, Op op, int peer) {
  Block& block = rig.block(victim);
  auto* steps = in_block<LoweredStep>(&block, block.steps_at);
  return *std::find_if(steps, steps + block.steps - block.messages,
                       [&](const LoweredStep& each) { return each.op == op && each.peer == peer; });
}

Channel& channel(Rig& rig, Op op, int peer) {
  Block& block = rig.block(victim);
  return in_block<Channel>(&block, block.channels_at)[step(rig, op, peer).channel];
}

// The first message to another node.
WireMessage& sent_message(Rig& rig) {
  Block& block = rig.block(victim);
  auto* messages = in_block<WireMessage>(&block, block.messages_at);
  return *std::find_if(messages, messages + block.messages, [](const WireMessage& each) { return each.outgoing; });
}

SubmissionRing& ring(Rig& rig) { return rig.memory(victim).root(victim).ring; }

// Words that a helper copies when it first hears of a request, and of messages when it sends them.
const Case found_at_adoption[] = {
    {"a place in another rank's arena",
     [](Rig& rig, const Canaries& canaries) { channel(rig, Op::send_node, 2).ready.offset = canaries.place(2); }},
    {"another arena", [](Rig& rig, const Canaries&) { channel(rig, Op::send_node, 2).ready.arena = 0; }},
    {"no arena", [](Rig& rig, const Canaries&) { channel(rig, Op::send_node, 2).ready.arena = 1'000'000; }},
    {"the word of a sender",
     [](Rig& rig, const Canaries& canaries) { channel(rig, Op::recv_node, 0).taken.offset = canaries.place(0); }},
    {"the number of a channel", [](Rig& rig, const Canaries&) { step(rig, Op::send_node, 2).channel = 1U << 30U; }},
    {"the place of the channels", [](Rig& rig, const Canaries&) { rig.block(victim).channels_at = wild; }},
    {"the length of a message", [](Rig& rig, const Canaries&) { step(rig, Op::send_node, 2).bytes = 1U << 20U; }},
    {"the length of a slot", [](Rig& rig, const Canaries&) { channel(rig, Op::send_node, 2).slot_bytes = wild; }},
    {"the slices of a message",
     [](Rig& rig, const Canaries&) { step(rig, Op::send_node, 2).source.begin = 1U << 30U; }},
    {"a slice",
     [](Rig& rig, const Canaries&) {
       in_block<algos::Slice>(&rig.block(victim), rig.block(victim).slices_at)[0].length = wild;
     }},
    {"the number of messages", [](Rig& rig, const Canaries&) { rig.block(victim).messages += 1; }},
    {"the place of the messages", [](Rig& rig, const Canaries&) { rig.block(victim).messages_at += 8; }},
    {"the number of steps", [](Rig& rig, const Canaries&) { rig.block(victim).steps += 1'000'000; }},
    {"the place of the steps", [](Rig& rig, const Canaries&) { rig.block(victim).steps_at = wild; }},
    {"the place of a work list", [](Rig& rig, const Canaries&) { rig.block(victim).ready_at = wild; }},
    {"the arena of the rank", [](Rig& rig, const Canaries&) { rig.block(victim).arena = 2; }},
    {"the magic word", [](Rig& rig, const Canaries&) { rig.block(victim).magic = wild; }},
    {"a checksum", [](Rig& rig, const Canaries&) { rig.block(victim).program_seal ^= 1; }},
    {"the path of a buffer", [](Rig& rig, const Canaries&) { rig.block(victim).buffers[0].path = Path::own; }},
    {"the place of a buffer", [](Rig& rig, const Canaries&) { rig.block(victim).buffers[1].offset = wild; }},
    {"the address of a buffer", [](Rig& rig, const Canaries&) { rig.block(victim).buffers[1].address = wild; }},
    {"the epoch of the entry", [](Rig& rig, const Canaries&) { rig.block(victim).submitted.store(wild); }},
    {"the epoch that has started", [](Rig& rig, const Canaries&) { rig.block(victim).started.store(wild); }},
    {"a step on the work list",
     [](Rig& rig, const Canaries&) {
       in_block<std::uint32_t>(&rig.block(victim), rig.block(victim).ready_at)[0] = 1'000'000;
     }},
    {"the length of a work list", [](Rig& rig, const Canaries&) { rig.block(victim).state.ready_count = 1'000'000; }},
    {"the length of the list of what waits",
     [](Rig& rig, const Canaries&) { rig.block(victim).state.waiting_count = 1'000'000; }},
    {"the length of the list of what goes to other nodes",
     [](Rig& rig, const Canaries&) { rig.block(victim).state.wire_count = 1'000'000; }},
    {"the write index of the ring",
     [](Rig& rig, const Canaries&) { reinterpret_cast<std::uint64_t*>(&ring(rig))[0] = wild; }},
    {"the read index of the ring",
     [](Rig& rig, const Canaries&) { reinterpret_cast<std::uint64_t*>(&ring(rig))[words_of_line] = wild; }},
    {"the entry of the ring",
     [](Rig& rig, const Canaries&) { reinterpret_cast<std::uint64_t*>(&ring(rig))[3 * words_of_line] = wild; }},
};

// It is read in every second epoch at least.
TEST(Damage, OfTheWordThatSaysThatAMessageWasTakenIsFoundWhenItIsRead) {
  for (const std::uint64_t bytes : {40, 1000}) {
    const WholeCollective collective = whole_alltoall(Layout::uniform(3, 3), bytes);
    Rig rig({.layout = Layout::uniform(3, 3)}, collective);
    std::mt19937 random(1);
    ASSERT_NO_FATAL_FAILURE(rig.run(random, 3));
    for (int epoch = 0; epoch < 2 && !rig.memory(0).damaged(victim); ++epoch) { // the receiver may have mended it
      rig.memory(victim).at<TakenWord>(channel(rig, Op::send_node, 2).taken)->epoch.store(wild);
      for (int rank = 0; rank < rig.ranks(); ++rank) {
        rig.start(rank);
      }
      for (int round = 0; round < 20; ++round) {
        (void)rig.poll(0);
      }
    }
    EXPECT_TRUE(rig.memory(0).damaged(victim)) << bytes;
    EXPECT_FALSE(rig.memory(0).damaged(0));
    EXPECT_FALSE(rig.memory(0).damaged(2));
    rig.give_up();
  }
}

class PieceDamage : public ::testing::Test {
protected:
  // All ranks have begun an epoch, of which no step has been executed.
  void SetUp() override {
    std::mt19937 random(1);
    ASSERT_NO_FATAL_FAILURE(rig.run(random, 3));
    if (!rig.attaches()) {
      GTEST_SKIP() << "no cross-memory attach";
    }
    for (int rank = 0; rank < rig.ranks(); ++rank) {
      rig.start(rank);
    }
  }
  void TearDown() override { rig.give_up(); }
  TakenWord& word() { return *rig.memory(victim).at<TakenWord>(channel(rig, Op::send_node, 2).taken); }
  PieceRing& ring_from(int rank) { return *rig.memory(victim).at<PieceRing>(channel(rig, Op::recv_node, rank).ready); }
  PieceSlot& next_slot(int from) {
    PieceRing& ring = ring_from(from);
    return slot_in(reinterpret_cast<std::byte*>(&ring), channel(rig, Op::recv_node, from), ring.emptied);
  }

  const WholeCollective collective = whole_alltoall(Layout::uniform(3, 3), 1000);
  Rig rig{{.layout = Layout::uniform(3, 3), .path = Path::attached, .node_piece_bytes = 40}, collective};
};

TEST_F(PieceDamage, OfASendersWordsStopsTheSender) {
  const std::function<void(TakenWord&)> words[] = {
      [](TakenWord& word) { word.claimed.store(wild); },
      [](TakenWord& word) { word.emptied.store(wild); },
      [](TakenWord& word) { word.filled = wild; },
      [](TakenWord& word) { word.filled_before = wild; },
  };
  ASSERT_TRUE(rig.assist(victim));
  for (const auto& damage : words) {
    const std::uint64_t claimed = word().claimed;
    const std::uint64_t emptied = word().emptied;
    const std::uint64_t filled = word().filled;
    const std::uint64_t filled_before = word().filled_before;
    damage(word());
    EXPECT_THROW((void)rig.assist(victim), Error);
    rig.block(victim).ownership.release();
    word().claimed = claimed;
    word().emptied = emptied;
    word().filled = filled;
    word().filled_before = filled_before;
  }
  EXPECT_TRUE(rig.memory(0).damaged(victim));
  EXPECT_FALSE(rig.memory(0).damaged(0) || rig.memory(0).damaged(2));
}

TEST_F(PieceDamage, OfASendersWordsIsAnErrorOfTheReceiver) {
  word().claimed.store(wild);
  for (int i = 0; i < 200; ++i) {
    (void)rig.poll(0);
    (void)rig.assist(2);
  }
  EXPECT_TRUE(rig.memory(2).damaged(victim));
  EXPECT_FALSE(rig.memory(2).damaged(2));
  EXPECT_EQ(rig.block(2).error.load(), static_cast<int>(Code::peer_lost)) << rig.block(2).error_text;
}

TEST_F(PieceDamage, OfAReceiversWordsStopsTheReceiver) {
  ASSERT_TRUE(rig.assist(victim)); // waits
  while (next_slot(0).filled != ring_from(0).emptied + 1) {
    ASSERT_TRUE(rig.assist(0)); // until it has nothing else to do
  }
  const std::function<void()> words[] = {
      [&] { ring_from(0).received = wild; },   [&] { ring_from(0).emptied = wild; },
      [&] { ring_from(0).ready.store(wild); }, [&] { next_slot(0).filled.store(wild); },
      [&] { next_slot(0).piece = wild; },
  };
  for (const auto& damage : words) {
    std::byte before[sizeof(PieceRing)];
    std::memcpy(before, &ring_from(0), sizeof before);
    PieceSlot& slot = next_slot(0);
    const std::uint64_t filled = slot.filled;
    const std::uint64_t piece = slot.piece;
    ASSERT_EQ(filled, ring_from(0).emptied + 1);
    damage();
    EXPECT_THROW((void)rig.assist(victim), Error);
    rig.block(victim).ownership.release();
    std::memcpy(reinterpret_cast<std::byte*>(&ring_from(0)), before, sizeof before);
    slot.filled = filled;
    slot.piece = piece;
  }
  EXPECT_TRUE(rig.memory(0).damaged(victim));
  EXPECT_FALSE(rig.memory(0).damaged(0) || rig.memory(0).damaged(2));
}

TEST(Damage, OfOneWordIsFoundBeforeItLeadsAnywhere) {
  for (const std::uint64_t bytes : {40, 1000}) { // in the slot, and fetched
    for (const Path path : {Path::mapped, Path::attached}) {
      for (const Case& each : found_at_adoption) {
        SCOPED_TRACE(std::string(each.name) + ", " + std::to_string(bytes) + " bytes");
        const WholeCollective collective = whole_alltoall(Layout::uniform(3, 3), bytes);
        Rig rig({.layout = Layout::uniform(3, 3), .path = path}, collective);
        const Canaries canaries(rig);
        for (int rank = 0; rank < rig.ranks(); ++rank) {
          rig.start(rank);
        }
        each.damage(rig, canaries);
        for (int round = 0; round < 20; ++round) {
          (void)rig.poll(0);
        }
        EXPECT_TRUE(rig.memory(0).damaged(victim));
        EXPECT_FALSE(rig.memory(0).damaged(0));
        EXPECT_FALSE(rig.memory(0).damaged(2));
        EXPECT_NO_THROW((void)read_program({2, 0, rig.block_offset(2)}, rig.memory(0)));
        EXPECT_NO_THROW((void)read_program({0, 0, rig.block_offset(0)}, rig.memory(0)));
        rig.give_up();
      }
    }
  }
}

// A message is looked up in every epoch, when it is posted and when it is done.
TEST(Damage, OfAMessageToAnotherNodeIsFoundWheneverItIsUsed) {
  const std::pair<const char*, std::function<void(WireMessage&)>> words[] = {
      {"tag", [](WireMessage& message) { message.tag += 1; }},
      {"endpoint", [](WireMessage& message) { message.endpoint = 1'000'000; }},
      {"place", [](WireMessage& message) { message.offset = wild; }},
      {"length", [](WireMessage& message) { message.bytes = 1U << 20U; }},
      {"buffer", [](WireMessage& message) { message.buffer = static_cast<algos::Buffer>(200); }},
      {"bounce", [](WireMessage& message) { message.bounce = wild; }},
      {"direction", [](WireMessage& message) { message.outgoing = false; }},
      {"successors",
       [](WireMessage& message) {
         message.successors = {1U << 30U, 1};
       }},
      {"another message", [](WireMessage& message) { message = *(&message + 1); }}};
  for (const auto& [name, damage] : words) {
    for (const bool posted : {false, true}) {
      SCOPED_TRACE(std::string(name) + (posted ? ", posted" : ", to be posted"));
      const Layout layout = Layout::uniform(6, 3);
      const WholeCollective collective = whole_alltoall(layout, 40);
      Rig rig({.layout = layout}, collective);
      std::mt19937 random(1);
      ASSERT_NO_FATAL_FAILURE(rig.run(random, 2)); // the helper has a copy of the rest
      for (int rank = 0; rank < rig.ranks(); ++rank) {
        rig.start(rank);
      }
      if (posted) {
        (void)rig.poll(0);
        ASSERT_FALSE(rig.done(victim));
      }
      damage(sent_message(rig));
      rig.run_dry();
      EXPECT_TRUE(rig.memory(0).damaged(victim));
      EXPECT_FALSE(rig.memory(0).damaged(0));
      EXPECT_FALSE(rig.memory(0).damaged(2));
      EXPECT_FALSE(rig.done(victim));
      rig.give_up();
    }
  }
}

// After an epoch that went well: what was copied is not read again.
TEST(Damage, OfWhatTheHelperHasCopiedIsNoticedByNobody) {
  const WholeCollective collective = whole_alltoall(Layout::uniform(3, 3), 40);
  Rig rig({.layout = Layout::uniform(3, 3)}, collective);
  const Canaries canaries(rig);
  for (int epoch = 1; epoch <= 3; ++epoch) {
    for (int rank = 0; rank < rig.ranks(); ++rank) {
      rig.start(rank);
    }
    if (epoch == 2) {
      channel(rig, Op::send_node, 2).ready.offset = canaries.place(2);
      channel(rig, Op::send_node, 2).slot_bytes = wild;
    }
    rig.run_dry();
    for (int rank = 0; rank < rig.ranks(); ++rank) {
      ASSERT_TRUE(rig.done(rank));
      ASSERT_NO_FATAL_FAILURE(rig.finish(rank));
    }
  }
}

// Those that fetch from the rank get the error, and are not left waiting.
TEST(Damage, OfWhereMessagesAreIsAnErrorOfTheirReceivers) {
  for (const bool slice : {false, true}) {
    const WholeCollective collective = whole_alltoall(Layout::uniform(3, 3), 1000);
    Rig rig({.layout = Layout::uniform(3, 3)}, collective);
    for (int epoch = 1; epoch <= 3; ++epoch) {
      for (int rank = 0; rank < rig.ranks(); ++rank) {
        rig.start(rank);
      }
      if (epoch < 3) {
        rig.run_dry();
        for (int rank = 0; rank < rig.ranks(); ++rank) {
          ASSERT_NO_FATAL_FAILURE(rig.finish(rank));
        }
      }
    }
    Block& block = rig.block(victim);
    if (slice) {
      in_block<algos::Slice>(&block, block.slices_at)[step(rig, Op::send_node, 2).source.begin].offset = wild;
    } else {
      block.buffers[0].offset = wild;
    }
    rig.run_dry();
    ASSERT_TRUE(rig.done(2));
    EXPECT_EQ(rig.block(2).error.load(), static_cast<int>(Code::peer_lost));
    EXPECT_NE(std::string(rig.block(2).error_text)
                  .find("from rank 1 could not be fetched: the sender's shared memory is damaged"),
              std::string::npos)
        << rig.block(2).error_text;
    EXPECT_TRUE(rig.memory(0).damaged(victim));
    rig.give_up();
  }
}

// The rank itself, in Wait.
TEST(Damage, OfTheStateOfAnEpochIsImplausible) {
  const WholeCollective collective = whole_alltoall(Layout::uniform(3, 3), 40);
  Rig rig({.layout = Layout::uniform(3, 3)}, collective);
  rig.start(victim);
  const Program program({victim, 0, rig.block_offset(victim)}, rig.memory(victim));
  ASSERT_TRUE(plausible(program, 1));
  Block& block = rig.block(victim);
  const auto refused = [&](auto& word) {
    const auto before = std::exchange(word, static_cast<std::remove_reference_t<decltype(word)>>(wild));
    EXPECT_FALSE(plausible(program, 1));
    word = before;
    EXPECT_TRUE(plausible(program, 1));
  };
  refused(block.state.steps_left);
  refused(block.state.wire_count);
  refused(reinterpret_cast<std::uint64_t&>(block.started));
  refused(reinterpret_cast<std::uint64_t&>(block.submitted));
  refused(reinterpret_cast<std::uint64_t&>(block.retired));
  refused(reinterpret_cast<std::uint32_t&>(block.ownership));
  refused(*rig.memory(victim).at<std::uint64_t>(channel(rig, Op::recv_node, 2).ready));
  refused(*rig.memory(victim).at<std::uint64_t>(channel(rig, Op::send_node, 2).taken));
  rig.run_dry();
}

} // namespace
} // namespace stoker::engine
