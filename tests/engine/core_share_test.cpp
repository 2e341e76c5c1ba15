// SPDX-License-Identifier: BSD-3-Clause
#include "engine/helper/core_share.hpp"

#include <gtest/gtest.h>

namespace stoker::tests {
namespace {

using engine::CoreShare;

TEST(CoreShare, IsContendedFromTheFirstYieldThatSomebodyUses) {
  CoreShare share;
  EXPECT_FALSE(share.contended());
  share.yielded_for(400);
  EXPECT_FALSE(share.contended());
  share.yielded_for(3000);
  EXPECT_TRUE(share.contended());
}

TEST(CoreShare, ForgetsAfterManyThatNobodyUses) {
  CoreShare share;
  share.yielded_for(3'000'000);
  for (int i = 0; i < 63; ++i) {
    share.yielded_for(400);
    EXPECT_TRUE(share.contended()) << i;
  }
  share.yielded_for(400);
  EXPECT_FALSE(share.contended());
}

TEST(CoreShare, OneThatIsUsedStartsTheCountAnew) {
  CoreShare share;
  for (int i = 0; i < 200; ++i) {
    share.yielded_for(i % 50 == 0 ? 5000 : 400);
    EXPECT_TRUE(share.contended()) << i;
  }
}

} // namespace
} // namespace stoker::tests
