// SPDX-License-Identifier: BSD-3-Clause
// Ranges of another process's memory, attached by the stand-in for XPMEM: what is kept, what makes room, what is refused.
#include "engine/shared/attached_memory.hpp"

#include "tests/engine/watchdog.hpp"
#include "tests/xpmem/stand_in.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace stoker::engine {
namespace {

using xpmem_tests::attachments;
using xpmem_tests::SharedDoubles;

constexpr std::size_t page_doubles = 512;

class AttachedMemoryTest : public test::WithWatchdog {};

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// Whether the text says so, in a process that has not looked for XPMEM yet.
bool refusal_mentions(const char* refused, const char* words) {
  return test::join_child(test::fork_child([&] {
           setenv("XPMEM_STAND_IN_REFUSES", refused, 1);
           const Xpmem& xpmem = own_xpmem();
           return xpmem.segment == -1 && xpmem.refusal.find(words) != std::string::npos ? 0 : 1;
         })) == 0;
}

TEST_F(AttachedMemoryTest, WhyThereIsNoneIsSaid) {
  EXPECT_TRUE(refusal_mentions("version", "/dev/xpmem: No such device"));
  EXPECT_TRUE(refusal_mentions("make", "xpmem_make: "));
  EXPECT_EQ(own_xpmem().refusal, "");
}

TEST_F(AttachedMemoryTest, AnotherProcessReadsAndWrites) {
  SharedDoubles memory(4 * page_doubles);
  std::ranges::fill(memory.span(), 7.0);
  const XpmemLibrary::SegmentId here = own_xpmem().segment;
  const std::size_t begin = page_doubles - 3; // bytes of three pages, of none from its beginning
  const std::size_t count = page_doubles + 5;
  const pid_t child = test::fork_child([&] {
    AttachedMemory peer(here);
    double* const own = memory.data() + begin;
    const auto range = peer.attach(address_of(own), count * sizeof(double));
    if (range == nullptr) {
      return 1;
    }
    auto* const there = reinterpret_cast<double*>(range->at(address_of(own)));
    if (there == own || !std::all_of(there, there + count, [](double value) { return value == 7; })) {
      return 2;
    }
    munmap(memory.data(), 4 * page_doubles * sizeof(double)); // the child's own way to it
    std::fill_n(there, count, 8.0);
    return 0;
  });
  EXPECT_EQ(test::join_child(child), 0);
  for (std::size_t i = 0; i < memory.span().size(); ++i) {
    ASSERT_EQ(memory.data()[i], i >= begin && i < begin + count ? 8 : 7) << i;
  }
}

// What follows attaches to its own process.

TEST_F(AttachedMemoryTest, WhatLiesWithinARangeIsFoundThere) {
  SharedDoubles memory(4 * page_doubles);
  AttachedMemory peer(own_xpmem().segment);
  const auto whole = peer.attach(address_of(memory.data()), memory.span().size_bytes());
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(peer.attach(address_of(memory.data() + 5), 8), whole);
  EXPECT_EQ(peer.attach(address_of(memory.data() + memory.span().size() - 1), 8), whole);
  EXPECT_EQ(attachments(), 1u);
  memory.data()[700] = 3;
  EXPECT_EQ(*reinterpret_cast<double*>(whole->at(address_of(memory.data() + 700))), 3);
}

TEST_F(AttachedMemoryTest, TheOneNotAskedForLongestMakesRoomUnlessItIsInUse) {
  SharedDoubles memory((AttachedMemory::most_kept + 2) * page_doubles);
  {
    AttachedMemory peer(own_xpmem().segment);
    const auto page = [&](std::size_t i) {
      return peer.attach(address_of(memory.data() + (i * page_doubles)), page_doubles * sizeof(double));
    };
    std::weak_ptr<const AttachedRange> first = page(0);
    const std::weak_ptr<const AttachedRange> second = page(1);
    auto third = page(2);
    for (std::size_t i = 3; i < AttachedMemory::most_kept; ++i) {
      ASSERT_NE(page(i), nullptr);
    }
    EXPECT_EQ(page(0), first.lock());
    EXPECT_EQ(attachments(), AttachedMemory::most_kept);
    EXPECT_NE(page(AttachedMemory::most_kept), nullptr);
    EXPECT_FALSE(first.expired());
    EXPECT_TRUE(second.expired());
    EXPECT_EQ(attachments(), AttachedMemory::most_kept);

    EXPECT_NE(page(AttachedMemory::most_kept + 1), nullptr); // in the place of the third, which is in use
    EXPECT_EQ(attachments(), AttachedMemory::most_kept + 1);
    const std::uint64_t address = address_of(memory.data() + (2 * page_doubles));
    memory.data()[2 * page_doubles] = 5;
    EXPECT_EQ(*reinterpret_cast<double*>(third->at(address)), 5);
    third.reset();
    EXPECT_EQ(attachments(), AttachedMemory::most_kept);
  }
  EXPECT_EQ(attachments(), 0u);
}

TEST_F(AttachedMemoryTest, ARangeOutlivesTheCacheWhileItIsInUse) {
  SharedDoubles memory(page_doubles);
  auto peer = std::make_unique<AttachedMemory>(own_xpmem().segment);
  auto range = peer->attach(address_of(memory.data()), 8);
  peer.reset();
  EXPECT_EQ(attachments(), 1u);
  range.reset();
  EXPECT_EQ(attachments(), 0u);
}

TEST_F(AttachedMemoryTest, WhatIsRefusedLeavesTheRestAlone) {
  const SharedDoubles memory(page_doubles);
  std::vector<double> private_memory(page_doubles);
  AttachedMemory peer(own_xpmem().segment);
  EXPECT_EQ(peer.attach(address_of(private_memory.data()), 8), nullptr);
  EXPECT_NE(peer.attach(address_of(memory.data()), 8), nullptr);
  EXPECT_EQ(peer.attach(address_of(private_memory.data()), 8), nullptr);
  EXPECT_EQ(attachments(), 1u);
}

TEST_F(AttachedMemoryTest, TheProbeSaysWhatIsWrong) {
  const SharedDoubles memory(page_doubles);
  auto* const word = reinterpret_cast<std::uint64_t*>(memory.data());
  *word = 41;
  const AttachedMemory peer(own_xpmem().segment);
  EXPECT_EQ(peer.probe(address_of(word), 41), 0);
  EXPECT_EQ(*word, 41u);
  EXPECT_EQ(peer.probe(address_of(word), 42), ESRCH);
  setenv("XPMEM_STAND_IN_REFUSES", "touch", 1);
  EXPECT_EQ(peer.probe(address_of(word), 41), EFAULT);
  setenv("XPMEM_STAND_IN_REFUSES", "attach", 1);
  EXPECT_EQ(peer.probe(address_of(word), 41), ENOMEM);
  setenv("XPMEM_STAND_IN_REFUSES", "get", 1);
  EXPECT_EQ(AttachedMemory(own_xpmem().segment).probe(address_of(word), 41), EACCES);
  unsetenv("XPMEM_STAND_IN_REFUSES");
  EXPECT_EQ(attachments(), 0u);
}

} // namespace
} // namespace stoker::engine
