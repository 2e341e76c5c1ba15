// SPDX-License-Identifier: BSD-3-Clause
// Ranges of distributed arrays in C++: iterators, copies, fills; and many atomic updates.
#include "tests/api/mpi_main.hpp"
#include "tests/api/support.hpp"
#include "tests/api/thrown.hpp"
#include <stoker/stoker_global.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

namespace api_tests {
namespace {

struct ArrayPlace {
  stoker::Engine engine{MPI_COMM_WORLD};
  stoker::GlobalMemory global{engine, 0};
  stoker::Team team{global, MPI_COMM_WORLD};
  // No multiple of the number of ranks, so that the last block is shorter.
  std::size_t size = static_cast<std::size_t>(world_size()) * 100 - 1;
  stoker::GlobalArray<int> array{team, size};
};

std::vector<int> counted(std::size_t size, int from) {
  std::vector<int> values(size);
  std::iota(values.begin(), values.end(), from);
  return values;
}

TEST(GlobalIterators, AreRandomAccess) {
  const ArrayPlace place;
  const auto begin = place.array.begin();
  const auto end = place.array.end();
  EXPECT_EQ(end - begin, static_cast<std::ptrdiff_t>(place.size));
  EXPECT_EQ(std::distance(begin, end), end - begin);
  EXPECT_EQ(begin + 5, 5 + begin);
  EXPECT_LT(begin, end - 1);
  EXPECT_EQ((begin + 7).index(), 7u);
  auto walking = end;
  --walking;
  EXPECT_EQ(walking--, end - 1);
  EXPECT_EQ(walking++, end - 2);
  walking -= end - 1 - begin;
  EXPECT_EQ(walking, begin);
  EXPECT_EQ(place.array.lend() - place.array.lbegin(), static_cast<std::ptrdiff_t>(place.array.local().size()));
  std::iota(place.array.lbegin(), place.array.lend(), static_cast<int>(place.array.first_of(world_rank())));
  barrier();
  EXPECT_EQ(begin[3], 3);
  EXPECT_EQ(*(end - 1), static_cast<int>(place.size) - 1);
  // Algorithms of the standard library, across blocks.
  EXPECT_EQ(std::accumulate(begin, end, std::int64_t{0}),
            static_cast<std::int64_t>(place.size) * static_cast<std::int64_t>(place.size - 1) / 2);
  EXPECT_EQ(std::lower_bound(begin, end, 98).index(), 98u);
  EXPECT_EQ(std::find(begin, end, -1), end);
  barrier();
}

TEST(GlobalIterators, SeeTheRunsOfOneUnit) {
  const ArrayPlace place;
  std::size_t total = 0;
  int unit = 0;
  for (auto i = place.array.begin(); i != place.array.end(); i += static_cast<std::ptrdiff_t>(i.contiguous())) {
    EXPECT_EQ(i.global_pointer().unit(), unit);
    EXPECT_EQ(i.contiguous(), place.array.size_of(unit++));
    total += i.contiguous();
  }
  EXPECT_EQ(total, place.size);
  EXPECT_EQ(unit, world_size());
  EXPECT_EQ((place.array.begin() + 98).contiguous(), world_size() == 1 ? 1u : 2u);
  EXPECT_EQ(place.array.end().contiguous(), 0u);
  barrier();
}

TEST(GlobalRanges, AreCopied) {
  const ArrayPlace place;
  for (int writer = 0; writer < world_size(); ++writer) {
    if (world_rank() == writer) {
      const std::vector<int> values = counted(place.size - 2, 1000 * writer);
      EXPECT_EQ(stoker::copy(values.begin(), values.end(), place.array.begin() + 1), place.array.end() - 1);
    }
    barrier();
    std::vector<int> back(place.size, -1);
    EXPECT_EQ(stoker::copy(place.array.begin() + 1, place.array.end() - 1, back.begin() + 1), back.end() - 1);
    EXPECT_EQ(back.front(), -1);
    EXPECT_EQ(back.back(), -1);
    EXPECT_TRUE(std::equal(back.begin() + 1, back.end() - 1, counted(place.size - 2, 1000 * writer).begin()));
    barrier();
  }
  EXPECT_EQ(place.array[0], 0); // was left out
  const std::vector<int> nothing;
  EXPECT_EQ(stoker::copy(nothing.begin(), nothing.end(), place.array.end()), place.array.end());
  // Behind the end.
  const std::vector<int> two{1, 2};
  EXPECT_EQ(code_thrown_by([&] { (void)stoker::copy(two.begin(), two.end(), place.array.end() - 1); }),
            STOKER_ERR_ARGUMENT);
  std::vector<int> out(place.size + 1);
  EXPECT_EQ(code_thrown_by([&] { (void)stoker::copy(place.array.begin(), place.array.end() + 1, out.begin()); }),
            STOKER_ERR_ARGUMENT);
  barrier();
}

TEST(GlobalRanges, AreFilled) {
  const ArrayPlace place;
  // Longer than what one put brings.
  const stoker::GlobalArray<double> large(place.team, static_cast<std::size_t>(world_size()) * 20000);
  if (world_rank() == world_size() - 1) {
    stoker::fill(place.array.begin() + 1, place.array.end() - 1, 7);
    stoker::fill(large.begin(), large.end(), 0.5);
    stoker::fill(place.array.begin(), place.array.begin(), 9);
  }
  barrier();
  for (std::size_t i = 0; i < place.array.local().size(); ++i) {
    const std::size_t index = place.array.first_of(world_rank()) + i;
    ASSERT_EQ(place.array.local()[i], index == 0 || index == place.size - 1 ? 0 : 7) << index;
  }
  EXPECT_TRUE(std::all_of(large.lbegin(), large.lend(), [](double value) { return value == 0.5; }));
  EXPECT_EQ(code_thrown_by([&] { stoker::fill(place.array.end() - 1, place.array.end() + 1, 1); }),
            STOKER_ERR_ARGUMENT);
  barrier();
}

TEST(GlobalArrays, TakeManyUpdates) {
  const ArrayPlace place;
  std::vector<stoker::GlobalPointer<int>> targets;
  for (std::size_t i = 0; i < place.size; ++i) {
    targets.push_back(place.array.pointer(i));
  }
  const std::vector<int> ones(place.size, 1);
  stoker::accumulate_many<int>(targets, MPI_SUM, ones);
  barrier();
  EXPECT_TRUE(std::all_of(place.array.lbegin(), place.array.lend(), [](int value) { return value == world_size(); }));
  barrier();
  const std::vector<int> before = stoker::fetch_and_op_many<int>(targets, MPI_MAX, ones);
  EXPECT_EQ(before, std::vector<int>(place.size, world_size()));
  EXPECT_EQ(code_thrown_by([&] { stoker::accumulate_many<int>(targets, MPI_SUM, std::vector<int>(3)); }),
            STOKER_ERR_ARGUMENT);
  stoker::accumulate_many<int>({}, MPI_SUM, {});
  barrier();
}

TEST(GlobalArrays, TakeNonblockingAtomics) {
  const ArrayPlace place;
  const stoker::GlobalArray<std::int64_t> counter(place.team, static_cast<std::size_t>(world_size()));
  const auto home = counter.pointer(static_cast<std::size_t>(world_size()) - 1);
  std::int64_t before = -1;
  stoker::fetch_add_nb(home, 1, before).wait();
  EXPECT_GE(before, 0);
  barrier();
  EXPECT_EQ(stoker::atomic_load(home), world_size());
  barrier();
  if (world_rank() == 0) {
    stoker::compare_and_swap_nb(home, world_size(), -5, before).wait();
    EXPECT_EQ(before, world_size());
    const std::vector<std::int64_t> two{2};
    stoker::accumulate_nb(home, MPI_PROD, two).wait();
    EXPECT_EQ(stoker::atomic_load(home), -10);
  }
  barrier();
}

} // namespace
} // namespace api_tests
