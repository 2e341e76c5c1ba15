// SPDX-License-Identifier: BSD-3-Clause
// Atomics on global memory: what each operation does with each datatype, and that nothing is lost when all units
// contend, atomics of the processor among them.
#include "tests/api/global_support.hpp"

#include <atomic>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

namespace api_tests {
namespace {

template <class T>
MPI_Datatype type_of() {
  if constexpr (std::is_same_v<T, std::int32_t>) {
    return MPI_INT32_T;
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    return MPI_UINT32_T;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return MPI_INT64_T;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return MPI_UINT64_T;
  } else if constexpr (std::is_same_v<T, float>) {
    return MPI_FLOAT;
  } else {
    return MPI_DOUBLE;
  }
}

template <class T>
class GlobalOperations : public ::testing::Test {};
using ElementTypes = ::testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(GlobalOperations, ElementTypes);

TYPED_TEST(GlobalOperations, DoWhatTheySay) {
  using T = TypeParam;
  const GlobalOwner global;
  // Each unit has a place of its own on every other.
  const auto ranks = static_cast<std::size_t>(world_size());
  const stoker_gptr segment = global.allocate(ranks * 64);
  for (int unit = 0; unit < world_size(); ++unit) {
    const stoker_gptr place = at(segment, unit, static_cast<std::uint64_t>(world_rank()) * 64 + sizeof(T));
    const auto step = [&](MPI_Op op, T operand, T before, T after) {
      T result = T(77);
      EXPECT_TRUE(ok(stoker_fetch_and_op(global.get(), place, type_of<T>(), op, &operand, &result)));
      EXPECT_EQ(result, before);
      T now = T(78);
      EXPECT_TRUE(ok(stoker_fetch_and_op(global.get(), place, type_of<T>(), MPI_NO_OP, nullptr, &now)));
      EXPECT_EQ(now, after);
      EXPECT_TRUE(ok(stoker_get(global.get(), &now, place, sizeof now)));
      EXPECT_EQ(now, after);
    };
    step(MPI_SUM, T(5), T(0), T(5));
    step(MPI_SUM, T(7), T(5), T(12));
    step(MPI_PROD, T(3), T(12), T(36));
    step(MPI_MIN, T(50), T(36), T(36));
    step(MPI_MIN, T(9), T(36), T(9));
    step(MPI_MAX, T(4), T(9), T(9));
    step(MPI_MAX, T(21), T(9), T(21));
    step(MPI_REPLACE, T(12), T(21), T(12));
    step(MPI_NO_OP, T(1), T(12), T(12));
    if constexpr (std::is_integral_v<T>) {
      step(MPI_BAND, T(10), T(12), T(8));
      step(MPI_BOR, T(3), T(8), T(11));
      step(MPI_BXOR, T(1), T(11), T(10));
      step(MPI_REPLACE, std::numeric_limits<T>::max(), T(10), std::numeric_limits<T>::max());
      step(MPI_SUM, T(1), std::numeric_limits<T>::max(), std::numeric_limits<T>::min()); // wraps around
      step(MPI_REPLACE, T(12), std::numeric_limits<T>::min(), T(12));
      T result = 0;
      T expected = 11;
      const T desired = 99;
      EXPECT_TRUE(ok(stoker_compare_and_swap(global.get(), place, type_of<T>(), &expected, &desired, &result)));
      EXPECT_EQ(result, T(12));
      expected = 12;
      EXPECT_TRUE(ok(stoker_compare_and_swap(global.get(), place, type_of<T>(), &expected, &desired, &result)));
      EXPECT_EQ(result, T(12));
      step(MPI_SUM, T(1), T(99), T(100));
    } else {
      step(MPI_SUM, T(-0.25), T(12), T(11.75));
      const T operand = 1;
      T result = 0;
      for (const MPI_Op op : {MPI_BAND, MPI_BOR, MPI_BXOR}) {
        EXPECT_TRUE(refused(stoker_fetch_and_op(global.get(), place, type_of<T>(), op, &operand, &result),
                            STOKER_ERR_ARGUMENT, {"op"}));
      }
      EXPECT_TRUE(refused(stoker_compare_and_swap(global.get(), place, type_of<T>(), &operand, &operand, &result),
                          STOKER_ERR_ARGUMENT, {"type"}));
    }
    // The neighbours are untouched.
    T neighbours[3] = {T(1), T(1), T(1)};
    EXPECT_TRUE(ok(stoker_get(global.get(), neighbours,
                              at(segment, unit, static_cast<std::uint64_t>(world_rank()) * 64), sizeof neighbours)));
    EXPECT_EQ(neighbours[0], T(0));
    EXPECT_EQ(neighbours[2], T(0));
  }
  barrier();
}

// Long enough for many pieces, from private memory and with all units at one place.
TYPED_TEST(GlobalOperations, Accumulate) {
  using T = TypeParam;
  for (const Settings& settings : {Settings{}, Settings{{"access", "staged"}}}) {
    const GlobalOwner global(settings);
    constexpr std::size_t count = 20000;
    const stoker_gptr segment = global.allocate((count + 1) * sizeof(T));
    std::vector<T> operands(count);
    for (std::size_t i = 0; i < count; ++i) {
      operands[i] = static_cast<T>(i % 1000);
    }
    for (int unit = 0; unit < world_size(); ++unit) {
      EXPECT_TRUE(ok(stoker_accumulate(global.get(), at(segment, unit, sizeof(T)), type_of<T>(), MPI_SUM,
                                       operands.data(), count)));
      EXPECT_TRUE(
          ok(stoker_accumulate(global.get(), at(segment, unit, sizeof(T)), type_of<T>(), MPI_SUM, operands.data(), 3)));
      EXPECT_TRUE(ok(stoker_accumulate(global.get(), at(segment, unit), type_of<T>(), MPI_SUM, nullptr, 0)));
    }
    barrier();
    const auto* mine = global.address<T>(at(segment, world_rank()), (count + 1) * sizeof(T));
    EXPECT_EQ(mine[0], T(0));
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(mine[i + 1], static_cast<T>((i % 1000) * static_cast<std::size_t>(world_size()) * (i < 3 ? 2 : 1)));
    }
    barrier();
  }
}

TEST(Atomics, NothingIsLostUnderContention) {
  const GlobalOwner global;
  const stoker_gptr segment = global.allocate(64);
  const int target = world_size() - 1;
  const std::int64_t rounds = world_size() == 1 ? 20000 : 2000;
  auto* const there = global.address<std::int64_t>(at(segment, target), 64); // not on all units
  std::int64_t last = -1;
  for (std::int64_t i = 0; i < rounds; ++i) {
    const std::int64_t one = 1;
    std::int64_t before = -1;
    ASSERT_TRUE(ok(stoker_fetch_and_op(global.get(), at(segment, target), MPI_INT64_T, MPI_SUM, &one, &before)));
    ASSERT_GT(before, last); // monotonic, as nobody subtracts
    last = before;
    const double half = 0.5;
    ASSERT_TRUE(ok(stoker_accumulate(global.get(), at(segment, target, 8), MPI_DOUBLE, MPI_SUM, &half, 1)));
    if (there != nullptr) { // the processor's own atomics on the same words
      std::atomic_ref<std::int64_t>(there[0]).fetch_add(1);
    }
    const std::int32_t bit = 1 << (i % 31);
    ASSERT_TRUE(ok(stoker_accumulate(global.get(), at(segment, target, 16), MPI_INT32_T, MPI_BXOR, &bit, 1)));
  }
  const std::int64_t local = there != nullptr ? 1 : 0;
  std::int64_t locals = 0;
  MPI_Allreduce(&local, &locals, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  std::int64_t sum = 0;
  double halves = 0;
  EXPECT_TRUE(ok(stoker_get(global.get(), &sum, at(segment, target), 8)));
  EXPECT_TRUE(ok(stoker_get(global.get(), &halves, at(segment, target, 8), 8)));
  EXPECT_EQ(sum, rounds * (world_size() + locals));
  EXPECT_EQ(halves, 0.5 * static_cast<double>(rounds * world_size()));
  barrier();
}

// A spin lock of compare_and_swap guards an update that is two transfers.
TEST(Atomics, SpinLock) {
  const GlobalOwner global;
  const stoker_gptr segment = global.allocate(64);
  const int home = world_size() / 2;
  const stoker_gptr lock = at(segment, home);
  const stoker_gptr guarded = at(segment, home, 8);
  constexpr std::uint64_t rounds = 100;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const std::int32_t open = 0;
    const std::int32_t mine = world_rank() + 1;
    std::int32_t found = -1;
    while (found != open) {
      ASSERT_TRUE(ok(stoker_compare_and_swap(global.get(), lock, MPI_INT32_T, &open, &mine, &found)));
      if (found != open) {
        std::this_thread::yield();
      }
    }
    std::uint64_t words[2] = {0, 0};
    ASSERT_TRUE(ok(stoker_get(global.get(), words, guarded, sizeof words)));
    ASSERT_EQ(words[1], mix(words[0]) * (words[0] != 0 ? 1 : 0));
    ++words[0];
    words[1] = mix(words[0]);
    ASSERT_TRUE(ok(stoker_put(global.get(), guarded, words, sizeof words)));
    ASSERT_TRUE(ok(stoker_fetch_and_op(global.get(), lock, MPI_INT32_T, MPI_REPLACE, &open, &found)));
    ASSERT_EQ(found, mine);
  }
  barrier();
  std::uint64_t total = 0;
  EXPECT_TRUE(ok(stoker_get(global.get(), &total, guarded, sizeof total)));
  EXPECT_EQ(total, rounds * static_cast<std::uint64_t>(world_size()));
  barrier();
}

TEST(Atomics, AreChecked) {
  const GlobalOwner global;
  const stoker_gptr segment = global.allocate(64);
  const int last = world_size() - 1;
  const std::int64_t operand = 1;
  std::int64_t result = 0;
  const std::string self = "rank " + std::to_string(world_rank());
  for (const std::uint64_t offset : {1, 4, 60}) {
    EXPECT_TRUE(
        refused(stoker_fetch_and_op(global.get(), at(segment, last, offset), MPI_INT64_T, MPI_SUM, &operand, &result),
                STOKER_ERR_ARGUMENT, {self, "target"}));
    EXPECT_TRUE(refused(
        stoker_compare_and_swap(global.get(), at(segment, last, offset), MPI_INT64_T, &operand, &operand, &result),
        STOKER_ERR_ARGUMENT, {self, "target"}));
    EXPECT_TRUE(refused(stoker_accumulate(global.get(), at(segment, last, offset), MPI_INT64_T, MPI_SUM, &operand, 1),
                        STOKER_ERR_ARGUMENT, {self, "target"}));
  }
  const stoker_gptr place = at(segment, last);
  for (const MPI_Datatype type : {MPI_CHAR, MPI_SHORT, MPI_BYTE, MPI_LONG_DOUBLE, MPI_DATATYPE_NULL}) {
    EXPECT_TRUE(refused(stoker_fetch_and_op(global.get(), place, type, MPI_SUM, &operand, &result), STOKER_ERR_ARGUMENT,
                        {self, "type"}));
  }
  for (const MPI_Op op : {MPI_LAND, MPI_MAXLOC, MPI_OP_NULL}) {
    EXPECT_TRUE(refused(stoker_fetch_and_op(global.get(), place, MPI_INT, op, &operand, &result), STOKER_ERR_ARGUMENT,
                        {self, "op"}));
  }
  EXPECT_TRUE(refused(stoker_fetch_and_op(global.get(), place, MPI_INT, MPI_SUM, nullptr, &result), STOKER_ERR_ARGUMENT,
                      {"operand"}));
  EXPECT_TRUE(refused(stoker_fetch_and_op(global.get(), place, MPI_INT, MPI_SUM, &operand, nullptr),
                      STOKER_ERR_ARGUMENT, {"result"}));
  EXPECT_TRUE(refused(stoker_compare_and_swap(global.get(), place, MPI_INT, nullptr, &operand, &result),
                      STOKER_ERR_ARGUMENT, {"expected"}));
  EXPECT_TRUE(refused(stoker_compare_and_swap(global.get(), place, MPI_INT, &operand, nullptr, &result),
                      STOKER_ERR_ARGUMENT, {"desired"}));
  EXPECT_TRUE(refused(stoker_accumulate(global.get(), place, MPI_INT, MPI_SUM, &operand, SIZE_MAX / 2),
                      STOKER_ERR_ARGUMENT, {"count"}));
  EXPECT_TRUE(
      refused(stoker_accumulate(global.get(), place, MPI_INT, MPI_SUM, &operand, 17), STOKER_ERR_ARGUMENT, {"target"}));
  EXPECT_TRUE(ok(stoker_get(global.get(), &result, place, 8)));
  EXPECT_EQ(result, 0);
  barrier();
}

} // namespace
} // namespace api_tests
