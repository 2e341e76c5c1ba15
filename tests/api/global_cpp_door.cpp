// SPDX-License-Identifier: BSD-3-Clause
// The C++ interface to global memory: handles that move, typed pointers and references, arrays over a team, transfers,
// atomics.
#include "tests/api/mpi_main.hpp"
#include "tests/api/support.hpp"
#include "tests/api/thrown.hpp"
#include <stoker/stoker_global.hpp>

#include <gtest/gtest.h>

#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace api_tests {
namespace {

static_assert(!std::is_copy_constructible_v<stoker::GlobalMemory> && !std::is_copy_constructible_v<stoker::Team> &&
              !std::is_copy_constructible_v<stoker::Transfer> &&
              !std::is_copy_constructible_v<stoker::GlobalArray<int>>);
static_assert(std::is_nothrow_move_constructible_v<stoker::GlobalMemory> &&
              std::is_nothrow_move_assignable_v<stoker::Team> && std::is_nothrow_move_assignable_v<stoker::Transfer>);
static_assert(std::is_trivially_copyable_v<stoker::GlobalPointer<double>>);

struct Place {
  stoker::Engine engine{MPI_COMM_WORLD};
  stoker::GlobalMemory global{engine, 1 << 16};
  stoker::Team team{global, MPI_COMM_WORLD};
};

struct Particle {
  double position[3];
  std::int32_t kind;
  bool operator==(const Particle&) const = default;
};

TEST(GlobalCppDoor, PointersAreRandomAccess) {
  Place place;
  const stoker::GlobalPointer<Particle> begin = place.global.allocate<Particle>(10);
  EXPECT_TRUE(begin);
  EXPECT_FALSE(stoker::GlobalPointer<Particle>());
  EXPECT_EQ(stoker::GlobalPointer<Particle>(), nullptr);
  EXPECT_EQ(begin.unit(), world_rank());
  auto end = begin + 10;
  EXPECT_EQ(end - begin, 10);
  EXPECT_LT(begin, end);
  EXPECT_EQ(3 + begin, end - 7);
  EXPECT_EQ(std::distance(begin, end), 10);
  std::int32_t kind = 0;
  for (auto p = begin; p != end; ++p) {
    *p = Particle{{1, 2, 3}, kind++};
  }
  EXPECT_EQ(static_cast<Particle>(begin[7]).kind, 7);
  begin[2] = begin[9]; // a get and a put
  EXPECT_EQ(static_cast<Particle>(*(end - 8)).kind, 9);
  EXPECT_EQ(begin.local(10)[2].kind, 9);
  EXPECT_EQ((end--) - begin, 10);
  EXPECT_EQ(end - begin, 9);
  place.global.deallocate(begin);
  EXPECT_EQ(code_thrown_by([&] { place.global.deallocate(begin); }), STOKER_ERR_ARGUMENT);
  EXPECT_EQ(code_thrown_by([&] { (void)place.global.allocate<Particle>(1000000); }), STOKER_ERR_RESOURCE);
}

TEST(GlobalCppDoor, PointersStayInTheirPartInDebugBuilds) {
  Place place;
  const stoker::GlobalArray<int> array(place.team, 100 * static_cast<std::size_t>(world_size()));
  const auto pointer = array.pointer(world_size() - 1, 0);
#ifndef NDEBUG
  EXPECT_EQ(code_thrown_by([&] { (void)(pointer + 101); }), STOKER_ERR_ARGUMENT);
  EXPECT_EQ(code_thrown_by([&] { (void)(pointer - 1); }), STOKER_ERR_ARGUMENT);
  EXPECT_EQ(code_thrown_by([&] { (void)*(pointer + 100); }), STOKER_ERR_ARGUMENT);
#endif
  const auto end = pointer + 100; // may be pointed to
  EXPECT_EQ(code_thrown_by([&] { stoker::put(end, {{1}}); }), STOKER_ERR_ARGUMENT);
  EXPECT_EQ(code_thrown_by([&] { (void)array.pointer(100 * static_cast<std::size_t>(world_size())); }),
            STOKER_ERR_ARGUMENT);
  EXPECT_EQ(code_thrown_by([&] { (void)array.pointer(world_size(), 0); }), STOKER_ERR_ARGUMENT);
}

TEST(GlobalCppDoor, Arrays) {
  Place place;
  const auto ranks = static_cast<std::size_t>(world_size());
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, ranks * 50, ranks * 50 + 1, ranks * 50 - 1}) {
    stoker::GlobalArray<std::uint64_t> array(place.team, size);
    EXPECT_EQ(array.size(), size);
    std::size_t total = 0;
    for (int r = 0; r < world_size(); ++r) {
      EXPECT_EQ(array.first_of(r), total);
      total += array.size_of(r);
    }
    EXPECT_EQ(total, size);
    const std::size_t first = array.first_of(world_rank());
    for (std::size_t i = 0; i < array.local().size(); ++i) {
      EXPECT_EQ(array.local()[i], 0u);
      array.local()[i] = mix(first + i);
    }
    barrier();
    for (std::size_t i = static_cast<std::size_t>(world_rank()); i < size; i += 7) {
      const std::uint64_t value = array[i];
      EXPECT_EQ(value, mix(i));
    }
    barrier();
    for (std::size_t i = 0; i < size; ++i) {
      if (i % ranks == static_cast<std::size_t>(world_rank())) {
        array[i] = i + 1;
      }
    }
    barrier();
    for (std::size_t i = 0; i < array.local().size(); ++i) {
      EXPECT_EQ(array.local()[i], first + i + 1);
    }
    stoker::GlobalArray<std::uint64_t> moved(std::move(array));
    EXPECT_EQ(moved.local().size(), moved.size_of(world_rank()));
    barrier();
  }
}

TEST(GlobalCppDoor, Transfers) {
  Place place;
  const stoker::GlobalArray<double> array(place.team, 3000 * static_cast<std::size_t>(world_size()));
  const auto right = array.pointer((world_rank() + 1) % world_size(), 0);
  std::vector<double> values(3000);
  std::iota(values.begin(), values.end(), world_rank() * 1e4);
  stoker::put(right, values);
  std::vector<double> back(3000);
  stoker::get(right, back);
  EXPECT_EQ(back, values);
  std::reverse(values.begin(), values.end());
  stoker::Transfer transfer = stoker::put_nb(right, values);
  stoker::Transfer other = std::move(transfer);
  EXPECT_TRUE(transfer.test()); // NOLINT(bugprone-use-after-move): empty, and so complete
  other.wait();
  other.wait();
  std::fill(back.begin(), back.end(), 0.0);
  { const stoker::Transfer waits_at_the_end = stoker::get_nb(right, back); }
  EXPECT_EQ(back, values);
  std::fill(back.begin(), back.end(), 0.0);
  transfer = stoker::get_nb(right, back);
  while (!transfer.test()) {
  }
  EXPECT_EQ(back, values);
  place.global.flush_all();
  place.global.flush(0);
  const stoker_global_statistics statistics = place.global.statistics();
  EXPECT_EQ(statistics.node_transfers + statistics.wire_transfers, 5u);
  barrier();
}

TEST(GlobalCppDoor, Atomics) {
  Place place;
  const stoker::GlobalArray<std::int64_t> array(place.team, 4 * static_cast<std::size_t>(world_size()));
  const auto counter = array.pointer(0, 0);
  for (int i = 0; i < 50; ++i) {
    EXPECT_GE(stoker::fetch_add(counter, 2), 0);
    std::int64_t expected = stoker::atomic_load(counter + 1);
    while (!stoker::compare_exchange(counter + 1, expected, expected + 3)) {
    }
  }
  const std::vector<std::int64_t> operands{5, 6};
  stoker::accumulate(counter + 2, MPI_SUM, operands);
  barrier();
  EXPECT_EQ(stoker::atomic_load(counter), 100 * world_size());
  EXPECT_EQ(stoker::atomic_load(counter + 1), 150 * world_size());
  EXPECT_EQ(static_cast<std::int64_t>(counter[2]), 5 * world_size());
  EXPECT_EQ(static_cast<std::int64_t>(counter[3]), 6 * world_size());
  barrier();
  if (world_rank() == 0) {
    EXPECT_EQ(stoker::exchange(counter, 7), 100 * world_size());
    EXPECT_EQ(stoker::fetch_and_op(counter, MPI_MAX, 9), 7);
    EXPECT_EQ(stoker::atomic_load(counter), 9);
  }
  // Pointers go from unit to unit as their address.
  stoker_gptr address = counter.address();
  MPI_Bcast(&address, sizeof address, MPI_BYTE, 0, MPI_COMM_WORLD);
  EXPECT_EQ(place.global.pointer<std::int64_t>(address), counter);
  barrier();
}

TEST(GlobalCppDoor, ObjectsMayEndInAnyOrder) {
  std::optional<stoker::Engine> engine(std::in_place, MPI_COMM_WORLD);
  std::optional<stoker::GlobalMemory> global(std::in_place, *engine, 4096);
  std::optional<stoker::Team> team(std::in_place, *global, MPI_COMM_WORLD);
  std::optional<stoker::GlobalArray<int>> array(std::in_place, *team, 1000);
  const auto pointer = array->pointer(0);
  engine.reset();
  EXPECT_EQ(code_thrown_by([&] { stoker::put(pointer, {{1}}); }), STOKER_ERR_REQUEST);
  EXPECT_EQ(code_thrown_by([&] { (void)global->allocate<int>(1); }), STOKER_ERR_REQUEST);
  EXPECT_EQ(code_thrown_by([&] { (void)team->size(); }), STOKER_ERR_REQUEST);
  global.reset();
  array.reset();
  team.reset();
}

} // namespace
} // namespace api_tests
