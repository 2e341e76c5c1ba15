// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/cache_line.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

namespace stoker::engine {
namespace {

TEST(CacheLine, IsNotShorterThanTheProcessors) {
  const long of_processor = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
  if (of_processor <= 0) {
    GTEST_SKIP() << "the system does not say how long cache lines are";
  }
  EXPECT_GE(cache_line, static_cast<std::size_t>(of_processor));
}

} // namespace
} // namespace stoker::engine
