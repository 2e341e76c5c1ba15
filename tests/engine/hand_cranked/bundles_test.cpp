// SPDX-License-Identifier: BSD-3-Clause
// Short operations on global memory between two nodes, whose helpers are cranked by hand: what waits goes in few
// messages, and is complete and right whatever arrives when. Each node has a carrier and another rank.
#include "engine/global/bundle.hpp"
#include "engine/global/global_access.hpp"
#include "engine/shared/node_memory.hpp"
#include "in_process_network.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace stoker::engine {
namespace {

using Post = InProcessNetwork::Post;

constexpr int origin = 0, target = 1; // nodes, and the carriers' endpoints
constexpr std::uint32_t carrier = 0, rank = 1;
constexpr std::uint64_t words = 8; // of the target

class TwoNodes {
public:
  TwoNodes() {
    for (Node& node : nodes_) {
      std::vector<NodeMemory::Introduction> introductions;
      for (auto& memory : node.memories) {
        memory = std::make_unique<NodeMemory>(std::uint64_t{16} << 20U, -1);
        introductions.push_back(memory->introduction());
      }
      for (std::uint32_t r = 0; r < node.memories.size(); ++r) {
        node.memories[r]->attach(r, introductions);
      }
    }
    place = arena(target).allocate(words * sizeof(std::int64_t), cache_line);
    std::memset(arena(target).base() + place, 0, words * sizeof(std::int64_t));
    network.refuse = [this](const Post& post) { return count(post); };
    for (const int node : {origin, target}) {
      nodes_[static_cast<std::size_t>(node)].access =
          std::make_unique<GlobalAccess>(*nodes_[static_cast<std::size_t>(node)].memories[carrier],
                                         Network{.transport = &network.endpoint(node)}, windows_);
    }
  }

  [[nodiscard]] Arena& arena(int node) { return nodes_[static_cast<std::size_t>(node)].memories[rank]->arena(); }
  [[nodiscard]] std::int64_t word(std::uint64_t i) {
    std::int64_t value = 0;
    std::memcpy(&value, arena(target).base() + place + (i * sizeof value), sizeof value);
    return value;
  }
  [[nodiscard]] bool damaged() const { return nodes_[origin].memories[carrier]->damaged(rank); }

  // An atomic sum of 1 to a word of the target, with its result.
  GlobalOperation& fetch_and_add(std::uint64_t i) {
    OperationRequest request{.kind = OperationKind::fetch_and_op,
                             .type = ElementType::int64,
                             .op = AtomicOp::sum,
                             .place = place + (i * sizeof(std::int64_t)),
                             .bytes = sizeof(std::int64_t)};
    GlobalOperation& operation = record();
    const std::int64_t one = 1;
    std::memcpy(operation.inline_data, &one, sizeof one);
    return submit(operation, request, static_cast<const std::byte*>(operation.inline_data));
  }
  [[nodiscard]] static std::int64_t result_of(const GlobalOperation& operation) {
    std::int64_t result = 0;
    std::memcpy(&result, operation.inline_data, sizeof result);
    return result;
  }
  // An operation with a local buffer, which has room for the results.
  GlobalOperation& operate(OperationRequest request, const std::byte* local) {
    return submit(record(), request, local);
  }
  [[nodiscard]] std::byte* local(std::uint64_t bytes) {
    return arena(origin).base() + arena(origin).allocate(bytes, cache_line);
  }

  bool crank(int node) { return nodes_[static_cast<std::size_t>(node)].access->poll(); }
  void run_dry() {
    for (bool moved = true; moved;) {
      network.arrive_all();
      moved = crank(origin);
      moved |= crank(target);
      moved |= !network.on_its_way().empty();
    }
  }
  void run_at_random(std::mt19937& random) {
    for (int i = 0; i < 20000; ++i) {
      random() % 2 == 0 ? static_cast<void>(network.arrive_any(random)) : static_cast<void>(crank(random() % 2));
    }
    run_dry();
  }

  InProcessNetwork network{2, 1 << 20};
  std::uint64_t place = 0; // of the target's words
  int sent[2] = {0, 0};    // short messages, by node
  int refuse_sends_of = -1;

private:
  struct Node {
    std::vector<std::unique_ptr<NodeMemory>> memories = std::vector<std::unique_ptr<NodeMemory>>(2);
    std::unique_ptr<GlobalAccess> access;
  };

  int count(const Post& post) {
    if (post.sending && post.process == refuse_sends_of) {
      return InProcessNetwork::a_fault;
    }
    sent[post.process] += post.sending && post.channel == Transport::Channel::unasked ? 1 : 0;
    return MPI_SUCCESS;
  }
  GlobalOperation& record() {
    return *new (arena(origin).base() + arena(origin).allocate(sizeof(GlobalOperation), cache_line)) GlobalOperation;
  }
  GlobalOperation& submit(GlobalOperation& operation, OperationRequest request, const std::byte* local) {
    request.unit = 3;
    request.endpoint = target;
    request.arena = rank;
    request.local = {.path = Path::staged, .offset = arena(origin).offset_of(local)};
    request.epoch = 1;
    write_request(request, operation);
    nodes_[origin].access->adopt(
        rank, {.block = arena(origin).offset_of(&operation), .epoch = 1, .what = Submitted::operation}, 0);
    return operation;
  }

  std::vector<Node> nodes_ = std::vector<Node>(2);
  std::vector<std::shared_ptr<Window>> windows_;
};

bool done(const GlobalOperation& operation) { return operation.completed.reached(1); }
bool succeeded(const GlobalOperation& operation) { return done(operation) && operation.error == 0; }

TEST(Bundles, WhatWaitsGoesInFewMessages) {
  TwoNodes nodes;
  std::vector<GlobalOperation*> operations;
  constexpr std::uint64_t count = 1000;
  for (std::uint64_t i = 0; i < count; ++i) {
    operations.push_back(&nodes.fetch_and_add(i % words));
  }
  nodes.run_dry();
  // With a header of 24 bytes and an operand of 8 each.
  constexpr int least = static_cast<int>((count * 32 + bundle_bytes - 1) / bundle_bytes);
  EXPECT_EQ(nodes.sent[origin], least);
  EXPECT_EQ(nodes.sent[target], least); // one reply each
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_TRUE(succeeded(*operations[i]));
    ASSERT_EQ(TwoNodes::result_of(*operations[i]), static_cast<std::int64_t>(i / words)); // nobody else
  }
  EXPECT_EQ(nodes.word(0), static_cast<std::int64_t>(count / words));
}

// A few bundles set out at once. What comes while these are under way waits for an answer, or for a full message.
TEST(Bundles, WaitWhileOthersAreUnderWay) {
  TwoNodes nodes;
  std::vector<GlobalOperation*> operations;
  for (std::uint64_t i = 0; i < 50; ++i) {
    operations.push_back(&nodes.fetch_and_add(0));
    nodes.crank(origin);
  }
  EXPECT_EQ(nodes.sent[origin], 2);
  nodes.run_dry();
  EXPECT_EQ(nodes.sent[origin], 3);
  for (const GlobalOperation* operation : operations) {
    ASSERT_TRUE(succeeded(*operation));
  }
  EXPECT_EQ(nodes.word(0), 50);
}

// Puts, gets and a signal among them; accumulates longer than a message; items that the rank has written itself.
TEST(Bundles, AreRightInAnyOrder) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    TwoNodes nodes;
    constexpr std::uint64_t longest = 3000; // elements
    const std::uint64_t long_place = nodes.arena(target).allocate(longest * 8, cache_line);
    std::memset(nodes.arena(target).base() + long_place, 0, longest * 8);
    const std::uint64_t own_place = nodes.arena(target).allocate(64 * 4096, cache_line); // a page each
    std::vector<GlobalOperation*> operations;
    std::vector<std::pair<std::byte*, std::byte*>> equal; // local and target pages
    std::int64_t sums = 0, accumulates = 0;
    for (std::uint64_t i = 0; i < 60; ++i) {
      std::byte* const local = nodes.local(longest * 8);
      std::byte* const page = nodes.arena(target).base() + own_place + (i * 4096);
      const std::uint64_t bytes = 1 + (random() % 4096);
      switch (random() % 5) {
      case 0:
        operations.push_back(&nodes.fetch_and_add(1));
        ++sums;
        break;
      case 1:
        std::memset(local, static_cast<int>(i) + 1, 4096);
        std::memset(page, 0, 4096);
        operations.push_back(&nodes.operate({.kind = OperationKind::put,
                                             .place = own_place + (i * 4096),
                                             .bytes = bytes,
                                             .signals = true,
                                             .signal_place = nodes.place + 16,
                                             .signal_value = 77},
                                            local));
        std::memset(local + bytes, 0, 4096 - bytes);
        equal.emplace_back(local, page);
        break;
      case 2:
        std::memset(page, static_cast<int>(i) + 1, bytes);
        std::memset(page + bytes, 0, 4096 - bytes);
        std::memset(local, 0, 4096);
        operations.push_back(
            &nodes.operate({.kind = OperationKind::get, .place = own_place + (i * 4096), .bytes = bytes}, local));
        equal.emplace_back(local, page);
        break;
      case 3: {
        const std::vector<std::int64_t> ones(longest, 1);
        std::memcpy(local, ones.data(), longest * 8);
        operations.push_back(&nodes.operate({.kind = OperationKind::accumulate,
                                             .type = ElementType::int64,
                                             .op = AtomicOp::sum,
                                             .place = long_place,
                                             .bytes = longest * 8},
                                            local));
        ++accumulates;
        break;
      }
      default: {
        BundleWriter items(local);
        const std::int64_t one = 1;
        const BundleItem item{.kind = OperationKind::fetch_and_op,
                              .type = ElementType::int64,
                              .op = AtomicOp::sum,
                              .arena = rank,
                              .place = nodes.place + 8,
                              .bytes = 8};
        for (std::uint64_t k = 0; k < 1 + (random() % 100); ++k, ++sums) {
          items.add(item, &one);
        }
        operations.push_back(&nodes.operate({.kind = OperationKind::bundle,
                                             .bytes = items.bytes(),
                                             .result_bytes = items.result_bytes(),
                                             .items_seal = checksum(0, local, items.bytes())},
                                            local));
        break;
      }
      }
      if (random() % 3 == 0) {
        nodes.crank(origin);
      }
    }
    nodes.run_at_random(random);
    for (const GlobalOperation* operation : operations) {
      ASSERT_TRUE(succeeded(*operation));
    }
    EXPECT_EQ(nodes.word(1), sums);
    for (std::uint64_t i = 0; i < longest; ++i) {
      std::int64_t element = -1;
      std::memcpy(&element, nodes.arena(target).base() + long_place + (i * 8), 8);
      ASSERT_EQ(element, accumulates) << i;
    }
    for (const auto& [local, page] : equal) {
      ASSERT_EQ(std::memcmp(local, page, 4096), 0);
    }
  }
}

// A word of the items is damaged, one at a time.
TEST(Bundles, AreNotSentWhereTheirItemsAreDamaged) {
  for (std::uint64_t word = 0; word < 4; ++word) {
    SCOPED_TRACE(word);
    TwoNodes nodes;
    std::byte* const local = nodes.local(bundle_bytes);
    BundleWriter items(local);
    const std::int64_t one = 1;
    items.add({.kind = OperationKind::accumulate,
               .type = ElementType::int64,
               .op = AtomicOp::sum,
               .arena = rank,
               .place = nodes.place,
               .bytes = 8},
              &one);
    const GlobalOperation& operation = nodes.operate(
        {.kind = OperationKind::bundle, .bytes = items.bytes(), .items_seal = checksum(0, local, items.bytes())},
        local);
    local[word * 8] ^= std::byte{0x40};
    const GlobalOperation& next = nodes.fetch_and_add(1);
    nodes.run_dry();
    EXPECT_FALSE(done(operation));
    EXPECT_TRUE(nodes.damaged());
    EXPECT_EQ(nodes.word(0), 0);
    EXPECT_TRUE(succeeded(next));
  }
}

// The target's transport refuses its replies for a while: the origin gets them afterwards.
TEST(Bundles, ARefusedReplyIsSentAgain) {
  TwoNodes nodes;
  const GlobalOperation& operation = nodes.fetch_and_add(0);
  std::byte* const local = nodes.local(4096);
  const GlobalOperation& get = nodes.operate({.kind = OperationKind::get, .place = nodes.place, .bytes = 64}, local);
  nodes.refuse_sends_of = target;
  nodes.run_dry();
  nodes.run_dry();
  EXPECT_EQ(nodes.word(0), 1); // was executed
  EXPECT_FALSE(done(operation));
  nodes.refuse_sends_of = -1;
  nodes.run_dry();
  EXPECT_TRUE(succeeded(operation));
  EXPECT_TRUE(succeeded(get));
  EXPECT_EQ(nodes.word(0), 1); // once
}

// The origin's requests are refused: nothing is certain any more, and everything ends with an error.
TEST(Bundles, ARefusedRequestEndsAllOperations) {
  TwoNodes nodes;
  std::vector<GlobalOperation*> operations;
  nodes.refuse_sends_of = origin;
  for (std::uint64_t i = 0; i < 300; ++i) {
    operations.push_back(&nodes.fetch_and_add(0));
  }
  nodes.run_dry();
  nodes.refuse_sends_of = -1;
  operations.push_back(&nodes.fetch_and_add(0));
  nodes.run_dry();
  for (const GlobalOperation* operation : operations) {
    ASSERT_TRUE(done(*operation));
    ASSERT_EQ(operation->error, static_cast<std::int32_t>(Code::mpi));
  }
  EXPECT_EQ(nodes.word(0), 0);
}

} // namespace
} // namespace stoker::engine
