// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/slice_parts.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace stoker::engine {
namespace {

using algos::Buffer;
using algos::Slice;

// The places of all bytes that the slices hold, in order.
std::vector<std::pair<Buffer, std::uint64_t>> places(std::span<const Slice> slices) {
  std::vector<std::pair<Buffer, std::uint64_t>> result;
  for (const Slice& slice : slices) {
    for (std::uint64_t block = 0; block < slice.count; ++block) {
      for (std::uint64_t i = 0; i < slice.length; ++i) {
        result.emplace_back(slice.buffer, slice.offset + (block * slice.stride) + i);
      }
    }
  }
  return result;
}

TEST(SliceParts, AreTheBytesThatTheyWereCutFrom) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<Slice> slices(random() % 5);
    for (Slice& slice : slices) {
      const std::uint64_t length = random() % 9;
      slice = {random() % 2 == 0 ? Buffer::send : Buffer::scratch, random() % 1000, length, length + (random() % 4),
               1 + (random() % 5)};
    }
    const auto all = places(slices);
    SlicePosition near; // from cut to cut
    std::vector<Slice> part;
    for (int cuts = 0; cuts < 20; ++cuts) {
      const std::size_t begin = random() % (all.size() + 1);
      const std::size_t bytes = random() % (all.size() - begin + 1);
      cut(slices, begin, bytes, near, part);
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(begin);
      EXPECT_EQ(places(part), std::vector(from, from + static_cast<std::ptrdiff_t>(bytes))) << "seed " << seed;
      for (const Slice& slice : part) {
        EXPECT_GT(slice.bytes(), 0U);
      }
    }
  }
}

TEST(SliceParts, OfOneRunAreOneRun) {
  const Slice run{Buffer::recv, 100, 1000};
  SlicePosition near;
  std::vector<Slice> part;
  cut({&run, 1}, 300, 50, near, part);
  ASSERT_EQ(part.size(), 1U);
  EXPECT_EQ(part[0].offset, 400U);
  EXPECT_EQ(part[0].bytes(), 50U);
}

} // namespace
} // namespace stoker::engine
