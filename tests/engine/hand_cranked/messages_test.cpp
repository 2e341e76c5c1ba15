// SPDX-License-Identifier: BSD-3-Clause
// Messages, whole, in pieces and as puts, over a network on which the test decides what arrives when and what fails.
#include "engine/transport/messages.hpp"

#include "in_process_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <tuple>

namespace stoker::engine {
namespace {

using Channel = Transport::Channel;
using Post = InProcessNetwork::Post;

constexpr int fault = InProcessNetwork::a_fault;
constexpr std::uint64_t stretch = 4 << 20; // of a message in pieces, see messages.cpp

std::vector<std::byte> pattern(std::uint64_t bytes, std::uint64_t seed) {
  std::vector<std::byte> data(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    data[i] = static_cast<std::byte>((((i + seed) * 0x9e3779b97f4a7c15U) >> 32U) & 0xffU);
  }
  return data;
}

// Memory that is put to: what was put is there after a flush, and not before.
class PutMemory final : public RemoteMemory {
public:
  explicit PutMemory(InProcessNetwork& network) : network_(network) {}
  int put(const void* data, std::uint64_t bytes, int target, std::uint64_t displacement,
          MPI_Request* request) override {
    const auto* from = static_cast<const std::byte*>(data);
    pending_.push_back({target, reinterpret_cast<std::byte*>(displacement), {from, from + bytes}}); // NOLINT
    *request = network_.ended(put_code);
    return refused;
  }
  int flush(int target) override {
    ++flushes;
    for (const Pending& put : pending_) {
      if (put.target == target && flush_code == MPI_SUCCESS) {
        std::ranges::copy(put.bytes, put.place);
      }
    }
    std::erase_if(pending_, [&](const Pending& put) { return put.target == target; });
    return flush_code;
  }
  void sync() override { ++syncs; }

  int refused = MPI_SUCCESS;
  int put_code = MPI_SUCCESS;
  int flush_code = MPI_SUCCESS;
  int flushes = 0;
  int syncs = 0;

private:
  struct Pending {
    int target;
    std::byte* place;
    std::vector<std::byte> bytes;
  };
  InProcessNetwork& network_;
  std::vector<Pending> pending_;
};

// Two processes, one of which sends the other a message.
class Pair {
public:
  Pair(std::uint64_t bytes, std::uint64_t piece_bytes, std::uint64_t buffered_bytes = 4096)
      : network(2, buffered_bytes), data(pattern(bytes, 1)), target(bytes, std::byte{0xee}), piece_bytes_(piece_bytes) {
  }

  void send() { post(0, {.outgoing = true, .data = data.data(), .bytes = data.size(), .peer = 1, .tag = 5}); }
  void receive() { post(1, {.data = target.data(), .bytes = target.size(), .peer = 0, .tag = 5}); }
  void send_as_put(PutMemory& memory) {
    post(0, {.outgoing = true,
             .data = data.data(),
             .bytes = data.size(),
             .peer = 1,
             .tag = 5,
             .put = true,
             .memory = &memory,
             .target = 1,
             .displacement = reinterpret_cast<std::uint64_t>(target.data())});
  }
  void receive_put(PutMemory& memory) {
    post(1, {.data = target.data(), .bytes = target.size(), .peer = 0, .tag = 5, .put = true, .memory = &memory});
  }
  // What the process's message ended with.
  std::optional<int> poll(int process) {
    auto& messages = messages_[static_cast<std::size_t>(process)];
    if (!messages) {
      return std::nullopt;
    }
    std::optional<int>& outcome = outcomes_[static_cast<std::size_t>(process)];
    for (const Messages::Outcome& done : messages->poll()) {
      EXPECT_FALSE(outcome) << "a message ends twice";
      outcome = done.error;
    }
    return outcome;
  }
  // Until nothing moves any more.
  void run() {
    for (int turn = 0; turn < 100; ++turn) {
      network.arrive_all();
      (void)poll(0);
      (void)poll(1);
    }
  }
  [[nodiscard]] std::size_t count(Channel channel) {
    return static_cast<std::size_t>(
        std::ranges::count_if(network.on_its_way(), [&](const auto& lane) { return lane.channel == channel; }));
  }
  [[nodiscard]] bool all_there() const { return target == data; }
  void let_go() {
    for (auto& messages : messages_) {
      messages.reset();
    }
  }

  InProcessNetwork network;
  std::vector<std::byte> data;
  std::vector<std::byte> target;

private:
  void post(int process, const Message& message) {
    auto& messages = messages_[static_cast<std::size_t>(process)];
    messages.emplace(Network{&network.endpoint(process), piece_bytes_});
    (void)messages->post(message);
  }

  std::uint64_t piece_bytes_;
  std::array<std::optional<Messages>, 2> messages_;
  std::array<std::optional<int>, 2> outcomes_;
};

TEST(MessagesByHand, WholeMessagesArriveWhoeverComesFirst) {
  for (const std::uint64_t bytes : {0U, 1U, 4096U, 100'000U}) {
    for (const bool sender_first : {false, true}) {
      SCOPED_TRACE(std::to_string(bytes) + (sender_first ? ", sender first" : ", receiver first"));
      Pair pair(bytes, 0);
      if (sender_first) {
        pair.send();
        EXPECT_EQ(pair.poll(0).has_value(), bytes <= 4096); // copied by the network
        pair.receive();
      } else {
        pair.receive();
        EXPECT_EQ(pair.poll(1), std::nullopt);
        pair.send();
      }
      EXPECT_EQ(pair.poll(1), std::nullopt) << "nothing has arrived";
      pair.network.arrive_all();
      EXPECT_EQ(pair.poll(0), MPI_SUCCESS);
      EXPECT_EQ(pair.poll(1), MPI_SUCCESS);
      EXPECT_TRUE(pair.all_there());
      EXPECT_TRUE(pair.network.empty());
    }
  }
}

TEST(MessagesByHand, PiecesWaitUntilTheReceiverIsReadyForAStretch) {
  constexpr std::uint64_t piece = 64 << 10;
  Pair pair((2 * stretch) + piece + 1, piece); // three stretches, the last of two pieces
  int pieces = 0;
  pair.network.fail = [&](const Post& post) {
    pieces += post.sending && post.channel == Channel::data ? 1 : 0;
    return MPI_SUCCESS;
  };
  pair.send();
  for (int late = 0; late < 10; ++late) {
    EXPECT_EQ(pair.poll(0), std::nullopt);
  }
  EXPECT_EQ(pieces, 0) << "the receiver has not said anything";
  pair.receive();
  EXPECT_EQ(pair.poll(0), std::nullopt);
  EXPECT_EQ(pieces, 0) << "its word is on its way";
  for (const int so_far : {64, 128, 130}) {
    ASSERT_EQ(pair.count(Channel::ready), 1U);
    pair.network.arrive_all();
    (void)pair.poll(0);
    EXPECT_EQ(pieces, so_far);
    EXPECT_EQ(pair.poll(1), std::nullopt);
    pair.network.arrive_all();
    for (int poll = 0; poll < 3; ++poll) { // each looks at so many pieces only
      (void)pair.poll(0);
      (void)pair.poll(1);
    }
  }
  EXPECT_EQ(pair.poll(0), MPI_SUCCESS);
  EXPECT_EQ(pair.poll(1), MPI_SUCCESS);
  EXPECT_TRUE(pair.all_there());
  EXPECT_TRUE(pair.network.empty());
}

// All to all, several messages for each pair, in both directions with the same tags.
TEST(MessagesByHand, WhateverOvertakesWhateverEveryMessageFindsItsPlace) {
  constexpr int processes = 4;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    InProcessNetwork network(processes, random() % 3 * 500);
    const std::uint64_t piece_bytes = random() % 2 == 0 ? 0 : 100 + (random() % 1000);
    std::list<Messages> messages;
    std::vector<Messages*> of;
    for (int process = 0; process < processes; ++process) {
      of.push_back(&messages.emplace_back(Network{&network.endpoint(process), piece_bytes}));
    }
    struct Pending {
      int process;
      Message message;
    };
    std::list<std::vector<std::byte>> buffers;
    std::vector<Pending> to_post;
    std::vector<std::pair<const std::vector<std::byte>*, const std::vector<std::byte>*>> expected;
    for (int from = 0; from < processes; ++from) {
      for (int to = 0; to < processes; ++to) {
        for (int tag = 0; from != to && tag < 3; ++tag) {
          const std::uint64_t bytes = random() % 5 == 0 ? 0 : random() % 5000;
          auto& source = buffers.emplace_back(pattern(bytes, random()));
          auto& target = buffers.emplace_back(bytes, std::byte{0xee});
          to_post.push_back({from, {.outgoing = true, .data = source.data(), .bytes = bytes, .peer = to, .tag = tag}});
          to_post.push_back({to, {.data = target.data(), .bytes = bytes, .peer = from, .tag = tag}});
          expected.emplace_back(&source, &target);
        }
      }
    }
    std::ranges::shuffle(to_post, random);
    const std::size_t all = to_post.size();
    std::size_t done = 0;
    for (int crank = 0; crank < 100'000 && done < all; ++crank) {
      if (!to_post.empty() && random() % 2 == 0) {
        (void)of[static_cast<std::size_t>(to_post.back().process)]->post(to_post.back().message);
        to_post.pop_back();
      } else if (random() % 2 == 0) {
        (void)network.arrive_any(random);
      } else {
        const auto& outcomes = of[random() % processes]->poll();
        done += outcomes.size();
        EXPECT_TRUE(std::ranges::all_of(outcomes, [](const auto& outcome) { return outcome.error == MPI_SUCCESS; }));
      }
    }
    ASSERT_EQ(done, all);
    for (const auto& [source, target] : expected) {
      EXPECT_EQ(*source, *target);
    }
    EXPECT_TRUE(network.empty());
  }
}

// The receiver expects more than is sent, and learns how much that is.
TEST(MessagesByHand, LessThanExpectedIsReceived) {
  for (const std::uint64_t piece_bytes : {0U, 1000U}) {
    for (const std::uint64_t sent : {1U, 999U, 1000U, 1001U, 5000U, 2'000'000U}) {
      for (const std::uint64_t expected : {sent, sent + 1, sent + 1000, sent + 1'900'000}) {
        SCOPED_TRACE(std::to_string(sent) + " of " + std::to_string(expected) + " bytes, pieces of " +
                     std::to_string(piece_bytes));
        InProcessNetwork network(2, 4096);
        Messages sender({&network.endpoint(0), piece_bytes});
        Messages receiver({&network.endpoint(1), piece_bytes});
        for (const std::uint64_t epoch : {1U, 2U, 3U}) { // nothing is left for the next one
          std::vector<std::byte> data = pattern(sent, epoch);
          std::vector<std::byte> target(expected, std::byte{0xee});
          (void)sender.post(
              {.outgoing = true, .data = data.data(), .bytes = sent, .at_most = true, .peer = 1, .tag = 5});
          (void)receiver.post({.data = target.data(), .bytes = expected, .at_most = true, .peer = 0, .tag = 5});
          std::optional<std::uint64_t> received;
          std::size_t done = 0;
          for (int turn = 0; turn < 100; ++turn) {
            network.arrive_all();
            done += sender.poll().size();
            for (const Messages::Outcome& outcome : receiver.poll()) {
              EXPECT_EQ(outcome.error, MPI_SUCCESS);
              received = outcome.bytes;
              ++done;
            }
          }
          EXPECT_EQ(done, 2U);
          EXPECT_EQ(received, sent);
          data.resize(expected, std::byte{0xee});
          EXPECT_TRUE(target == data);
        }
        EXPECT_TRUE(network.empty());
      }
    }
  }
}

struct Fault {
  std::string what;
  bool refused = false; // the call fails; else its request
  int process = 0;
  Channel channel = Channel::data;
  std::optional<int> sender; // what the messages end with; nothing: they do not
  std::optional<int> receiver;
};

void fail_in(InProcessNetwork& network, const Fault& what) {
  (what.refused ? network.refuse : network.fail) = [what, hit = false](const Post& post) mutable {
    if (hit || post.process != what.process || post.channel != what.channel) {
      return MPI_SUCCESS;
    }
    hit = true;
    return fault;
  };
}

void expect_outcomes(Pair& pair, const Fault& what) {
  pair.run();
  EXPECT_EQ(pair.poll(0), what.sender);
  EXPECT_EQ(pair.poll(1), what.receiver);
  pair.let_go(); // also with something under way
}

TEST(MessagesByHand, AFaultIsToldWhereItHappens) {
  for (const bool in_pieces : {false, true}) {
    std::vector<Fault> faults{
        {"sending fails", false, 0, Channel::data, fault, MPI_SUCCESS},
        {"receiving fails", false, 1, Channel::data, MPI_SUCCESS, fault},
        {"sending is refused", true, 0, Channel::data, fault, std::nullopt},
        // The network keeps what nobody receives.
        {"receiving is refused", true, 1, Channel::data, MPI_SUCCESS, fault},
    };
    if (in_pieces) {
      faults.push_back({"waiting for ready fails", false, 0, Channel::ready, fault, MPI_SUCCESS});
      faults.push_back({"waiting for ready is refused", true, 0, Channel::ready, fault, MPI_SUCCESS});
      faults.push_back({"saying ready fails", false, 1, Channel::ready, MPI_SUCCESS, fault});
      // The sender waits, as it would for a receiver that has not started; the receiver takes back what it awaits.
      faults.push_back({"saying ready is refused", true, 1, Channel::ready, std::nullopt, fault});
    }
    for (const Fault& what : faults) {
      SCOPED_TRACE(what.what + (in_pieces ? ", in pieces" : ", whole"));
      Pair pair(1000, in_pieces ? 100 : 0);
      fail_in(pair.network, what);
      pair.receive();
      pair.send();
      expect_outcomes(pair, what);
    }
  }
}

TEST(MessagesByHand, EndWithAnErrorWhereTheTransportCannotBeAskedAnyMore) {
  for (const std::uint64_t piece_bytes : {0U, 100U}) {
    for (const int process : {0, 1}) {
      Pair pair(100'000, piece_bytes);
      pair.send();
      pair.receive();
      pair.network.fail_to_ask = [process](int asking) { return asking == process ? fault : MPI_SUCCESS; };
      std::optional<int> outcome;
      for (int turn = 0; turn < 100 && !outcome; ++turn) {
        outcome = pair.poll(process);
      }
      EXPECT_EQ(outcome, fault) << "process " << process << ", pieces of " << piece_bytes;
      pair.let_go();
      EXPECT_EQ(pair.network.requests(), 0U);
    }
  }
}

TEST(MessagesByHand, PutsAreThereWhenTheReceiverHearsOfThem) {
  Pair pair(100'000, 1000); // puts go whole
  PutMemory theirs(pair.network);
  PutMemory own(pair.network);
  pair.send_as_put(theirs);
  EXPECT_EQ(pair.poll(0), std::nullopt);
  EXPECT_EQ(theirs.flushes, 0) << "the receiver's memory may be in use";
  pair.receive_put(own);
  pair.network.arrive_all();
  EXPECT_EQ(pair.poll(0), std::nullopt); // put, flushed, and the receiver told
  EXPECT_EQ(theirs.flushes, 1);
  EXPECT_TRUE(pair.all_there());
  EXPECT_EQ(pair.poll(1), std::nullopt) << "it has not heard";
  EXPECT_EQ(own.syncs, 0);
  pair.run();
  EXPECT_EQ(pair.poll(0), MPI_SUCCESS);
  EXPECT_EQ(pair.poll(1), MPI_SUCCESS);
  EXPECT_EQ(own.syncs, 1);
  EXPECT_TRUE(pair.network.empty());
}

TEST(MessagesByHand, APutThatFailsIsToldOnBothSides) {
  for (const Fault& what : {Fault{"waiting for ready fails", false, 0, Channel::ready, fault, MPI_ERR_OTHER},
                            Fault{"waiting for ready is refused", true, 0, Channel::ready, fault, MPI_ERR_OTHER},
                            Fault{"telling fails", false, 0, Channel::data, fault, MPI_SUCCESS},
                            Fault{"hearing fails", false, 1, Channel::data, MPI_SUCCESS, fault},
                            Fault{"saying ready is refused", true, 1, Channel::ready, std::nullopt, fault}}) {
    SCOPED_TRACE(what.what);
    Pair pair(1000, 0);
    PutMemory memory(pair.network);
    fail_in(pair.network, what);
    pair.receive_put(memory);
    pair.send_as_put(memory);
    expect_outcomes(pair, what);
  }
  for (const auto& [what, member] :
       {std::tuple{"the put fails", &PutMemory::put_code}, std::tuple{"the flush fails", &PutMemory::flush_code}}) {
    SCOPED_TRACE(what);
    Pair pair(1000, 0);
    PutMemory memory(pair.network);
    memory.*member = fault;
    pair.receive_put(memory);
    pair.send_as_put(memory);
    expect_outcomes(pair, {.what = what, .sender = fault, .receiver = MPI_ERR_OTHER});
  }
}

TEST(MessagesByHand, OneFlushForAllThatWentToOneTarget) {
  for (const bool first_is_empty : {false, true}) { // which needs none
    InProcessNetwork network(2, 4096);
    PutMemory memory(network);
    Messages sender({&network.endpoint(0), 0});
    Messages receiver({&network.endpoint(1), 0});
    auto data = pattern(64, 3);
    std::vector<std::vector<std::byte>> targets(5, std::vector<std::byte>(64));
    for (int tag = 0; tag < 5; ++tag) {
      auto& target = targets[static_cast<std::size_t>(tag)];
      (void)receiver.post({.data = target.data(), .bytes = 64, .peer = 0, .tag = tag, .put = true});
      (void)sender.post({.outgoing = true,
                         .data = data.data(),
                         .bytes = 64,
                         .empty = first_is_empty && tag == 0,
                         .peer = 1,
                         .tag = tag,
                         .put = true,
                         .memory = &memory,
                         .target = 1,
                         .displacement = reinterpret_cast<std::uint64_t>(target.data())});
    }
    network.arrive_all();
    std::size_t done = 0;
    for (int turn = 0; turn < 10; ++turn) {
      done += sender.poll().size() + receiver.poll().size();
      network.arrive_all();
    }
    EXPECT_EQ(done, 10U);
    EXPECT_EQ(memory.flushes, 1);
    EXPECT_EQ(std::ranges::count(targets, data), first_is_empty ? 4 : 5);
  }
}

// What comes too late, or is too much, would be taken for a message of the next epoch.
TEST(MessagesByHand, OfUnknownLengthAreOutOfStepWhereSomethingMayBeLeft) {
  constexpr std::uint64_t piece_bytes = 100;
  const auto outcome_of = [](std::uint64_t sent, std::uint64_t expected,
                             const std::function<void(InProcessNetwork&)>& break_it) {
    InProcessNetwork network(2, 4096);
    break_it(network);
    Messages sender({&network.endpoint(0), piece_bytes});
    Messages receiver({&network.endpoint(1), piece_bytes});
    std::vector<std::byte> data = pattern(sent, 1);
    std::vector<std::byte> target(expected);
    (void)sender.post({.outgoing = true, .data = data.data(), .bytes = sent, .at_most = true, .peer = 1, .tag = 5});
    (void)receiver.post({.data = target.data(), .bytes = expected, .at_most = true, .peer = 0, .tag = 5});
    std::optional<Messages::Outcome> result;
    bool sent_all = false;
    for (int turn = 0; turn < 100; ++turn) {
      network.arrive_all();
      sent_all = sent_all || !sender.poll().empty();
      for (const Messages::Outcome& outcome : receiver.poll()) {
        result = outcome;
      }
    }
    EXPECT_TRUE(sent_all);
    return result;
  };
  const auto too_much = outcome_of(250, 200, [](InProcessNetwork&) {});
  ASSERT_TRUE(too_much);
  EXPECT_EQ(too_much->error, MPI_ERR_TRUNCATE);
  EXPECT_TRUE(too_much->out_of_step);
  for (const std::uint64_t sent : {50U, 250U}) { // a length follows, or not
    const Fault first_piece{"the first piece fails", false, 1, Channel::data, std::nullopt, fault};
    const auto failed = outcome_of(sent, 300, [&](InProcessNetwork& network) { fail_in(network, first_piece); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->error, fault);
    EXPECT_TRUE(failed->out_of_step);
  }
  const auto unheard = outcome_of(250, 300, [](InProcessNetwork& network) {
    network.fail_to_ask = [](int process) { return process == 1 ? fault : MPI_SUCCESS; };
  });
  ASSERT_TRUE(unheard);
  EXPECT_TRUE(unheard->out_of_step);
}

TEST(MessagesByHand, WhatIsUnderWayIsLetGoOfAtTheEnd) {
  for (const std::uint64_t piece_bytes : {0U, 100U}) {
    Pair pair(100'000, piece_bytes);
    pair.send();
    pair.receive();
    pair.network.arrive_all();
    (void)pair.poll(0);
    pair.let_go();
    EXPECT_EQ(pair.network.requests(), 0U);
    std::ranges::fill(pair.data, std::byte{0});
    pair.network.arrive_all(); // without data that are not there any more
  }
}

TEST(Messages, EndTheProcessWhenTwoThreadsUseThem) {
  if (!check_threads) {
    GTEST_SKIP() << "built without checks";
  }
  EXPECT_EXIT(
      {
        InProcessNetwork network(2, 0);
        Messages messages({.transport = &network.endpoint(0)});
        network.refuse = [&](const Post&) { // while the message is being posted
          std::thread([&] { (void)messages.poll(); }).join();
          return MPI_SUCCESS;
        };
        std::byte data{};
        (void)messages.post({.outgoing = true, .data = &data, .bytes = 1, .peer = 1, .tag = 1});
      },
      testing::KilledBySignal(SIGABRT), "Messages belongs to one thread at a time");
}

} // namespace
} // namespace stoker::engine
