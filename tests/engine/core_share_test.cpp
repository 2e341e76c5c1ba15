// SPDX-License-Identifier: BSD-3-Clause
#include "engine/helper/core_share.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace stoker::tests {
namespace {

using engine::CoreShare;

// System calls of a machine and of a virtual one, in nanoseconds.
constexpr std::uint64_t fast_call = 150;
constexpr std::uint64_t slow_call = 1080;

TEST(CoreShare, IsContendedFromTheFirstYieldThatSomebodyUses) {
  CoreShare share;
  EXPECT_FALSE(share.contended());
  share.yielded_for(400, fast_call);
  EXPECT_FALSE(share.contended());
  share.yielded_for(3000, fast_call);
  EXPECT_TRUE(share.contended());
}

TEST(CoreShare, ForgetsAfterManyThatNobodyUses) {
  CoreShare share;
  share.yielded_for(3'000'000, fast_call);
  for (int i = 0; i < 63; ++i) {
    share.yielded_for(400, fast_call);
    EXPECT_TRUE(share.contended()) << i;
  }
  share.yielded_for(400, fast_call);
  EXPECT_FALSE(share.contended());
}

TEST(CoreShare, OneThatIsUsedStartsTheCountAnew) {
  CoreShare share;
  for (int i = 0; i < 200; ++i) {
    share.yielded_for(i % 50 == 0 ? 5000 : 400, fast_call);
    EXPECT_TRUE(share.contended()) << i;
  }
}

// Yields that another thread used, which yielded at once, and others, as measured.
TEST(CoreShare, KnowsThatSystemCallsAreSlow) {
  CoreShare share;
  for (int i = 0; i < 200; ++i) {
    share.yielded_for(1313, slow_call);
    EXPECT_FALSE(share.contended());
  }
  share.yielded_for(3556, slow_call);
  EXPECT_TRUE(share.contended());
}

TEST(CoreShare, ProbesTheMoreSeldomTheLongerNobodyUsesIt) {
  CoreShare share;
  EXPECT_EQ(share.probe_interval_ns(), 0);
  share.yielded_for(400, fast_call);
  EXPECT_EQ(share.probe_interval_ns(), 1000);
  for (int i = 0; i < 1000; ++i) {
    share.yielded_for(400, fast_call);
  }
  EXPECT_EQ(share.probe_interval_ns(), 100'000);
  share.yielded_for(5000, fast_call);
  EXPECT_EQ(share.probe_interval_ns(), 0);
}

} // namespace
} // namespace stoker::tests
