// SPDX-License-Identifier: BSD-3-Clause
// The closed forms for tunable radix against the figures that the paper prints, and against the schedules themselves.
#include "radix_counts.hpp"

#include "algos/schedule/traffic.hpp"
#include "algos/select/choice.hpp"

#include <gtest/gtest.h>

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using topology::Layout;

TEST(RadixCounts, AreThoseOfThePaper) {
  EXPECT_EQ(radix_counts(16384, 128), (RadixCounts{254, 32512}));
  EXPECT_EQ(radix_counts(16384, 2), (RadixCounts{14, 114688}));
  EXPECT_EQ(radix_counts(16384, 16384), (RadixCounts{16383, 16383}));
  EXPECT_EQ(radix_counts(8, 3), (RadixCounts{4, 10}));  // figure 1
  EXPECT_EQ(radix_counts(9, 3), (RadixCounts{4, 12}));  // figure 2
  EXPECT_EQ(radix_counts(11, 3), (RadixCounts{5, 15})); // figure 3
  EXPECT_EQ(radix_counts(1, 2), RadixCounts{});
}

// What a rank of a compiled schedule sends and receives, block by block of one byte. Ranks differ by a rotation only,
// so rank 0 speaks for all; that all agree is the verifier's matter.
TEST(RadixCounts, AreThoseOfTheSchedules) {
#ifdef __SANITIZE_ADDRESS__
  constexpr int step = 37; // beyond 64: all take minutes
#else
  constexpr int step = 1;
#endif
  for (int ranks = 1; ranks <= 512; ranks += ranks < 64 ? 1 : step) {
    const Layout layout = Layout::uniform(ranks, 1);
    const BlockSizes sizes = BlockSizes::uniform(ranks, 1);
    Exchange exchange{.layout = layout, .rank = 0, .sizes = sizes, .send_offsets = {}, .recv_offsets = {}};
    for (int i = 0; i < ranks; ++i) {
      exchange.send_offsets.push_back(static_cast<std::uint64_t>(i));
      exchange.recv_offsets.push_back(static_cast<std::uint64_t>(i));
    }
    Choice choice = parse_choice(Collective::alltoall, "radix");
    for (int radix = 2; radix <= std::max(2, ranks); ++radix) {
      choice.tuning.radix = radix;
      const Traffic traffic = traffic_of(compile(choice, exchange), layout);
      const RadixCounts counts = radix_counts(static_cast<std::uint64_t>(ranks), static_cast<std::uint64_t>(radix));
      ASSERT_EQ(traffic.sent_at(Level::network), (Volume{counts.messages, counts.blocks})) << ranks << ", " << radix;
      ASSERT_EQ(traffic.received_at(Level::network), (Volume{counts.messages, counts.blocks}))
          << ranks << ", " << radix;
    }
  }
}

} // namespace
} // namespace stoker::tests
