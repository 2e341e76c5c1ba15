// SPDX-License-Identifier: BSD-3-Clause
// Atomics that are completed later, and many atomic updates in one call: they do what the blocking ones do, nothing is
// lost however many are under way, and what is refused changes nothing.
#include "tests/api/global_support.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace api_tests {
namespace {

std::int64_t word(const GlobalOwner& global, stoker_gptr pointer) {
  std::int64_t value = -1;
  EXPECT_TRUE(ok(stoker_get(global.get(), &value, pointer, sizeof value)));
  return value;
}

// Each unit has a word of its own on every other.
TEST(NonblockingAtomics, DoWhatTheBlockingOnesDo) {
  const GlobalOwner global;
  const auto ranks = static_cast<std::size_t>(world_size());
  const stoker_gptr segment = global.allocate(ranks * 64);
  for (int unit = 0; unit < world_size(); ++unit) {
    const stoker_gptr place = at(segment, unit, static_cast<std::uint64_t>(world_rank()) * 64);
    std::int64_t operand = 5;
    std::int64_t before = -1;
    stoker_transfer transfer = STOKER_TRANSFER_NULL;
    EXPECT_TRUE(ok(stoker_fetch_and_op_nb(global.get(), place, MPI_INT64_T, MPI_SUM, &operand, &before, &transfer)));
    operand = 1000; // was read
    EXPECT_TRUE(ok(stoker_transfer_wait(&transfer)));
    EXPECT_EQ(before, 0);
    EXPECT_EQ(word(global, place), 5);
    // No operand; and by test.
    EXPECT_TRUE(ok(stoker_fetch_and_op_nb(global.get(), place, MPI_INT64_T, MPI_NO_OP, nullptr, &before, &transfer)));
    for (int flag = 0; flag == 0;) {
      EXPECT_TRUE(ok(stoker_transfer_test(&transfer, &flag)));
      std::this_thread::yield();
    }
    EXPECT_EQ(before, 5);
    const std::int64_t seven = 7, five = 5;
    EXPECT_TRUE(
        ok(stoker_compare_and_swap_nb(global.get(), place, MPI_INT64_T, &seven, &five, &before, &transfer))); // it is 5
    EXPECT_TRUE(ok(stoker_transfer_wait(&transfer)));
    EXPECT_EQ(before, 5);
    EXPECT_TRUE(ok(stoker_compare_and_swap_nb(global.get(), place, MPI_INT64_T, &five, &seven, &before, nullptr)));
    EXPECT_TRUE(ok(stoker_flush(global.get(), unit)));
    EXPECT_EQ(before, 5);
    EXPECT_EQ(word(global, place), 7);
    const std::int64_t pair[2] = {3, 9};
    EXPECT_TRUE(ok(stoker_accumulate_nb(global.get(), place, MPI_INT64_T, MPI_MAX, pair, 2, &transfer)));
    EXPECT_TRUE(ok(stoker_transfer_wait(&transfer)));
    EXPECT_EQ(word(global, place), 7);
    EXPECT_EQ(word(global, at(place, unit, 8)), 9);
    EXPECT_TRUE(ok(stoker_accumulate_nb(global.get(), place, MPI_INT64_T, MPI_SUM, nullptr, 0, &transfer)));
    EXPECT_EQ(transfer, STOKER_TRANSFER_NULL);
  }
  barrier();
}

// More than fit into a message, into the ring and under way.
TEST(NonblockingAtomics, NothingIsLost) {
  const GlobalOwner global;
  constexpr std::size_t words = 16;
  constexpr std::int64_t rounds = 3000;
  const stoker_gptr segment = global.allocate(words * 8);
  const std::int64_t one = 1;
  for (std::int64_t i = 0; i < rounds; ++i) {
    const int unit = static_cast<int>(i % world_size());
    const stoker_gptr place = at(segment, unit, static_cast<std::uint64_t>(i) % words * 8);
    ASSERT_TRUE(ok(stoker_accumulate_nb(global.get(), place, MPI_INT64_T, MPI_SUM, &one, 1, nullptr)));
  }
  EXPECT_TRUE(ok(stoker_flush_all(global.get())));
  barrier();
  const auto* mine = global.address<std::int64_t>(at(segment, world_rank()), words * 8);
  std::int64_t total = std::accumulate(mine, mine + words, std::int64_t{0});
  MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(total, rounds * world_size());
  barrier();
}

// Nobody asks for them: the end of the global memory completes them.
TEST(NonblockingAtomics, AreCompletedByTheEnd) {
  std::vector<std::int64_t> results(500, -1);
  {
    const GlobalOwner global;
    const stoker_gptr segment = global.allocate(64);
    const std::int64_t one = 1;
    for (std::int64_t& result : results) {
      ASSERT_TRUE(ok(stoker_fetch_and_op_nb(global.get(), at(segment, (world_rank() + 1) % world_size()), MPI_INT64_T,
                                            MPI_SUM, &one, &result, nullptr)));
    }
  }
  EXPECT_EQ(std::accumulate(results.begin(), results.end(), std::int64_t{0}), 500 * 499 / 2); // 0 to 499, in any order
}

// A handle for each, released in another order, from several threads.
TEST(NonblockingAtomics, ThreadsHaveTheirOwn) {
  const GlobalOwner global;
  const stoker_gptr segment = global.allocate(64);
  constexpr int threads = 3, each = 200;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      std::vector<stoker_transfer> transfers(each);
      std::vector<std::int64_t> before(each, -1);
      const std::int64_t one = 1;
      for (int i = 0; i < each; ++i) {
        EXPECT_TRUE(
            ok(stoker_fetch_and_op_nb(global.get(), at(segment, i % world_size()), MPI_INT64_T, MPI_SUM, &one,
                                      &before[static_cast<std::size_t>(i)], &transfers[static_cast<std::size_t>(i)])));
      }
      std::reverse(transfers.begin(), transfers.end());
      EXPECT_TRUE(ok(stoker_transfer_waitall(each, transfers.data())));
      EXPECT_TRUE(std::none_of(before.begin(), before.end(), [](std::int64_t b) { return b < 0; }));
    });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  barrier();
  std::int64_t total = word(global, at(segment, world_rank()));
  MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(total, threads * each * world_size());
  barrier();
}

// All results of a shared counter are different, and none is left out.
TEST(ManyAtomics, FetchAndOp) {
  const GlobalOwner global;
  constexpr std::size_t count = 1000;
  const stoker_gptr segment = global.allocate(64);
  const int home = world_size() - 1;
  const std::vector<stoker_gptr> targets(count, at(segment, home));
  const std::vector<std::int32_t> ones(count, 1);
  std::vector<std::int32_t> results(count, -1);
  EXPECT_TRUE(ok(stoker_fetch_and_op_many(global.get(), targets.data(), MPI_INT32_T, MPI_SUM, ones.data(),
                                          results.data(), count)));
  std::vector<std::int32_t> all(count * static_cast<std::size_t>(world_size()));
  MPI_Allgather(results.data(), count, MPI_INT32_T, all.data(), count, MPI_INT32_T, MPI_COMM_WORLD);
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i], static_cast<std::int32_t>(i));
  }
  // Nothing but a look; on every unit, so that some are near.
  std::vector<stoker_gptr> looks;
  for (int unit = 0; unit < world_size(); ++unit) {
    looks.push_back(at(segment, unit));
  }
  results.assign(looks.size(), -1);
  EXPECT_TRUE(ok(stoker_fetch_and_op_many(global.get(), looks.data(), MPI_INT32_T, MPI_NO_OP, nullptr, results.data(),
                                          looks.size())));
  for (int unit = 0; unit < world_size(); ++unit) {
    EXPECT_EQ(results[static_cast<std::size_t>(unit)], unit == home ? static_cast<std::int32_t>(all.size()) : 0);
  }
  barrier();
}

// On all units, more than there may be messages under way.
TEST(ManyAtomics, Accumulate) {
  const GlobalOwner global;
  constexpr std::size_t words = 64, count = 20000;
  const stoker_gptr segment = global.allocate(words * 8);
  std::vector<stoker_gptr> targets;
  std::vector<std::uint64_t> operands;
  for (std::size_t i = 0; i < count; ++i) {
    targets.push_back(at(segment, static_cast<int>(mix(i) % static_cast<std::uint64_t>(world_size())), i % words * 8));
    operands.push_back(mix(i + 7));
  }
  EXPECT_TRUE(ok(stoker_accumulate_many(global.get(), targets.data(), MPI_UINT64_T, MPI_BXOR, operands.data(), count)));
  EXPECT_TRUE(ok(stoker_accumulate_many(global.get(), targets.data(), MPI_UINT64_T, MPI_NO_OP, nullptr, count)));
  EXPECT_TRUE(ok(stoker_accumulate_many(global.get(), nullptr, MPI_UINT64_T, MPI_BXOR, nullptr, 0)));
  barrier();
  std::vector<std::uint64_t> expected(words, 0);
  for (std::size_t i = 0; i < count; ++i) { // an odd number of units leaves one of them
    expected[i % words] ^= targets[i].unit == world_rank() && world_size() % 2 == 1 ? operands[i] : 0;
  }
  const auto* mine = global.address<std::uint64_t>(at(segment, world_rank()), words * 8);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), mine));
  barrier();
  // And once more by one unit.
  if (world_rank() == 0) {
    EXPECT_TRUE(
        ok(stoker_accumulate_many(global.get(), targets.data(), MPI_UINT64_T, MPI_SUM, operands.data(), count)));
  }
  barrier();
  for (std::size_t i = 0; i < count; ++i) {
    expected[i % words] += targets[i].unit == world_rank() ? operands[i] : 0;
  }
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), mine));
  barrier();
}

TEST(ManyAtomics, AreCheckedBeforeTheFirst) {
  const GlobalOwner global;
  const stoker_gptr segment = global.allocate(64);
  const int last = world_size() - 1;
  const std::vector<std::int64_t> operands(3, 1);
  std::vector<std::int64_t> results(3, 0);
  const std::vector<stoker_gptr> targets{at(segment, last), at(segment, 0), at(segment, last, 60)};
  EXPECT_TRUE(refused(
      stoker_accumulate_many(global.get(), targets.data(), MPI_INT64_T, MPI_SUM, operands.data(), targets.size()),
      STOKER_ERR_ARGUMENT, {"targets[2]", "offset 60"}));
  EXPECT_TRUE(refused(stoker_fetch_and_op_many(global.get(), targets.data(), MPI_INT64_T, MPI_SUM, operands.data(),
                                               results.data(), targets.size()),
                      STOKER_ERR_ARGUMENT, {"targets[2]"}));
  barrier();
  EXPECT_EQ(word(global, at(segment, last)), 0);
  EXPECT_TRUE(refused(stoker_accumulate_many(global.get(), nullptr, MPI_INT64_T, MPI_SUM, operands.data(), 2),
                      STOKER_ERR_ARGUMENT, {"targets"}));
  EXPECT_TRUE(refused(stoker_accumulate_many(global.get(), targets.data(), MPI_INT64_T, MPI_SUM, nullptr, 2),
                      STOKER_ERR_ARGUMENT, {"operands"}));
  EXPECT_TRUE(
      refused(stoker_fetch_and_op_many(global.get(), targets.data(), MPI_INT64_T, MPI_SUM, operands.data(), nullptr, 2),
              STOKER_ERR_ARGUMENT, {"results"}));
  stoker_transfer transfer = STOKER_TRANSFER_NULL;
  EXPECT_TRUE(refused(stoker_fetch_and_op_nb(global.get(), at(segment, last, 4), MPI_INT64_T, MPI_SUM, operands.data(),
                                             results.data(), &transfer),
                      STOKER_ERR_ARGUMENT, {"target"}));
  EXPECT_TRUE(refused(stoker_compare_and_swap_nb(global.get(), at(segment, last), MPI_DOUBLE, operands.data(),
                                                 operands.data(), results.data(), &transfer),
                      STOKER_ERR_ARGUMENT, {"type"}));
  EXPECT_TRUE(
      refused(stoker_accumulate_nb(global.get(), at(segment, last), MPI_CHAR, MPI_SUM, operands.data(), 1, nullptr),
              STOKER_ERR_ARGUMENT, {"type"}));
  EXPECT_EQ(transfer, STOKER_TRANSFER_NULL);
  barrier();
}

// A helper that is paused carries them while somebody waits.
TEST(NonblockingAtomics, ArePossibleWhilePaused) {
  const GlobalOwner global;
  const stoker_gptr segment = global.allocate(64);
  barrier();
  EXPECT_TRUE(ok(stoker_pause(global.engine())));
  const std::int64_t one = 1;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(
        ok(stoker_accumulate_nb(global.get(), at(segment, i % world_size()), MPI_INT64_T, MPI_SUM, &one, 1, nullptr)));
  }
  EXPECT_TRUE(ok(stoker_flush_all(global.get())));
  EXPECT_TRUE(ok(stoker_resume(global.engine())));
  barrier();
  std::int64_t total = word(global, at(segment, world_rank()));
  MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(total, 10 * world_size());
  barrier();
}

} // namespace
} // namespace api_tests
