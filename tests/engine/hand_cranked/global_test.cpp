// SPDX-License-Identifier: BSD-3-Clause
// Operations on global memory within one node, of which one process holds all arenas: rank 1 leaves them to the helper
// of rank 0.
#include "engine/global/global_access.hpp"
#include "engine/shared/node_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace stoker::engine {
namespace {

constexpr std::uint64_t wild_word = 0x5a17c3d29b84e06f;
constexpr std::uint32_t carrier_rank = 0, origin_rank = 1, target_rank = 2;
constexpr std::uint64_t bytes = 1000;

class OneNode {
public:
  OneNode() {
    std::vector<NodeMemory::Introduction> introductions;
    for (auto& memory : memories_) {
      memory = std::make_unique<NodeMemory>(std::uint64_t{16} << 20U, -1);
      introductions.push_back(memory->introduction());
    }
    for (std::uint32_t rank = 0; rank < memories_.size(); ++rank) {
      memories_[rank]->attach(rank, introductions);
    }
    record_ = allocate(origin_rank, sizeof(GlobalOperation));
    operation = new (memories_[origin_rank]->arena().base() + record_) GlobalOperation;
    local_ = allocate(origin_rank, bytes);
    place_ = allocate(target_rank, 3 * bytes); // bytes in the middle are the target
    access_ = std::make_unique<GlobalAccess>(*memories_[carrier_rank], Network{}, windows_);
  }

  // What rank 1 does to put its bytes, or get them.
  void submit(OperationKind kind) {
    ++epoch;
    std::fill_n(local(), bytes, std::byte(epoch));
    std::fill_n(whole_target(), 3 * bytes, std::byte(0x80 + epoch));
    OperationRequest request;
    request.kind = kind;
    request.unit = target_rank;
    request.arena = target_rank;
    request.place = place_ + bytes;
    request.bytes = bytes;
    request.local = {.path = Path::mapped, .offset = local_};
    request.epoch = epoch;
    write_request(request, *operation);
  }
  // What the helper does.
  void take() { access_->adopt(origin_rank, {.block = record_, .epoch = epoch, .what = Submitted::operation}, 0); }
  void carry_on() {
    while (access_->poll()) {
    }
  }
  void carry_out() {
    take();
    carry_on();
  }
  [[nodiscard]] bool done() const { return operation->completed.reached(epoch); }
  [[nodiscard]] bool damaged(std::uint32_t rank) const { return memories_[carrier_rank]->damaged(rank); }
  [[nodiscard]] std::byte* local() const { return memories_[origin_rank]->arena().base() + local_; }
  [[nodiscard]] std::byte* whole_target() const { return memories_[target_rank]->arena().base() + place_; }

  GlobalOperation* operation = nullptr;
  std::uint64_t epoch = 0;

private:
  std::uint64_t allocate(std::uint32_t rank, std::uint64_t count) {
    return memories_[rank]->arena().allocate(count, cache_line);
  }
  std::vector<std::unique_ptr<NodeMemory>> memories_ = std::vector<std::unique_ptr<NodeMemory>>(3);
  std::vector<std::shared_ptr<Window>> windows_;
  std::unique_ptr<GlobalAccess> access_;
  std::uint64_t record_ = 0;
  std::uint64_t local_ = 0;
  std::uint64_t place_ = 0;
};

bool all(const std::byte* from, std::uint64_t count, std::byte value) {
  return std::all_of(from, from + count, [&](std::byte b) { return b == value; });
}

TEST(GlobalOperationByHand, PutsAndGets) {
  OneNode node;
  for (int i = 0; i < 3; ++i) {
    for (const OperationKind kind : {OperationKind::put, OperationKind::get}) {
      node.submit(kind);
      node.carry_out();
      ASSERT_TRUE(node.done());
      const bool put = kind == OperationKind::put;
      const auto mine = std::byte(node.epoch), theirs = std::byte(0x80 + node.epoch);
      EXPECT_TRUE(all(node.whole_target(), bytes, theirs));
      EXPECT_TRUE(all(node.whole_target() + bytes, bytes, put ? mine : theirs));
      EXPECT_TRUE(all(node.whole_target() + 2 * bytes, bytes, theirs));
      EXPECT_TRUE(all(node.local(), bytes, put ? mine : theirs));
      EXPECT_EQ(node.operation->error, 0);
    }
  }
  EXPECT_FALSE(node.damaged(origin_rank));
}

// Any word of the record that the rank writes is damaged, one at a time.
TEST(GlobalOperationByHand, IsNotCarriedOutWhereItsRecordIsDamaged) {
  constexpr std::size_t words = sizeof(OperationRequest) / sizeof(std::uint64_t) + 1; // and the checksum
  for (std::size_t word = 0; word < words; ++word) {
    SCOPED_TRACE(word);
    OneNode node;
    node.submit(OperationKind::put);
    std::memcpy(reinterpret_cast<std::byte*>(node.operation) + word * sizeof wild_word, &wild_word, sizeof wild_word);
    node.carry_out();
    EXPECT_FALSE(node.done());
    EXPECT_TRUE(node.damaged(origin_rank));
    EXPECT_FALSE(node.damaged(carrier_rank));
    EXPECT_FALSE(node.damaged(target_rank));
    EXPECT_TRUE(all(node.whole_target(), 3 * bytes, std::byte(0x80 + node.epoch)));
  }
}

// The helper has a copy by then.
TEST(GlobalOperationByHand, IsCarriedOutAsItWasWhenItWasTaken) {
  OneNode node;
  node.submit(OperationKind::put);
  node.take();
  std::memset(static_cast<void*>(&node.operation->request), 0x5a, sizeof node.operation->request);
  node.carry_on();
  EXPECT_TRUE(node.done());
  EXPECT_TRUE(all(node.whole_target() + bytes, bytes, std::byte(node.epoch)));
  EXPECT_TRUE(all(node.whole_target(), bytes, std::byte(0x80 + node.epoch)));
}

} // namespace
} // namespace stoker::engine
