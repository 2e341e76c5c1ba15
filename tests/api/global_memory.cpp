// SPDX-License-Identifier: BSD-3-Clause
// Global memory: segments, pointers, put and get of every kind, teams, and what is refused. Run on one node, on nodes
// that are pretended (STOKER_RANKS_PER_NODE), and on emulated hosts.
#include "tests/api/global_support.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

namespace api_tests {
namespace {

constexpr std::size_t largest = (std::size_t{1} << 20U) + 3;

// Where the local buffer of a transfer lies decides how the helper reaches it.
class LocalBuffer {
public:
  LocalBuffer(stoker_engine engine, bool mapped, std::size_t bytes) : heap_(mapped ? 0 : bytes) {
    if (mapped) {
      EXPECT_TRUE(ok(stoker_alloc(engine, bytes, &mapped_)));
    }
    std::memset(get(), 0x5a, bytes);
  }
  LocalBuffer(const LocalBuffer&) = delete;
  LocalBuffer& operator=(const LocalBuffer&) = delete;
  ~LocalBuffer() { EXPECT_TRUE(ok(stoker_dealloc(mapped_))); }
  [[nodiscard]] unsigned char* get() {
    return mapped_ != nullptr ? static_cast<unsigned char*>(mapped_) : heap_.data();
  }

private:
  void* mapped_ = nullptr;
  std::vector<unsigned char> heap_;
};

struct Way {
  std::string name;
  Settings settings;
  bool mapped = false;
};

class GlobalTransfers : public ::testing::TestWithParam<Way> {};

// Blocking, each unit to each unit: the origin puts, the target looks by itself, somebody else gets.
TEST_P(GlobalTransfers, BlockingEachToEach) {
  const GlobalOwner global(GetParam().settings);
  const stoker_gptr segment = global.allocate(largest + 64);
  LocalBuffer local(global.engine(), GetParam().mapped, largest + 1);
  const int ranks = world_size();
  for (const std::size_t bytes : transfer_sizes) {
    for (int distance = 0; distance < ranks; ++distance) {
      const int to = (world_rank() + distance) % ranks;
      const int from = (world_rank() + ranks - distance) % ranks;
      note(std::to_string(bytes) + " bytes to unit " + std::to_string(to));
      auto* const mine = global.address<unsigned char>(at(segment, world_rank()), largest + 64);
      std::memset(mine, 0xe1, bytes + 48);
      barrier();
      const std::uint64_t salt = (bytes * 64) + static_cast<std::uint64_t>((world_rank() * 8) + to);
      const auto sent = data(bytes, salt);
      std::copy(sent.begin(), sent.end(), local.get());
      EXPECT_TRUE(ok(stoker_put(global.get(), at(segment, to, 16), local.get(), bytes)));
      barrier();
      const auto expected = data(bytes, (bytes * 64) + static_cast<std::uint64_t>((from * 8) + world_rank()));
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), mine + 16));
      EXPECT_EQ(mine[15], 0xe1);
      EXPECT_EQ(mine[16 + bytes], 0xe1);
      std::memset(local.get(), 0x77, bytes + 1);
      EXPECT_TRUE(ok(stoker_get(global.get(), local.get(), at(segment, to, 16), bytes)));
      EXPECT_TRUE(std::equal(sent.begin(), sent.end(), local.get()));
      EXPECT_EQ(local.get()[bytes], 0x77);
      barrier();
    }
  }
}

// Puts of all sizes to all units at once, completed in another order; then gets, likewise.
TEST_P(GlobalTransfers, NonblockingInAnyOrder) {
  const GlobalOwner global(GetParam().settings);
  const auto ranks = static_cast<std::size_t>(world_size());
  const std::size_t sizes = transfer_sizes.size();
  const stoker_gptr segment = global.allocate(ranks * sizes * (largest + 16));
  const auto place = [&](std::size_t origin, std::size_t size) { return (origin * sizes + size) * (largest + 16) + 5; };
  std::vector<std::unique_ptr<LocalBuffer>> locals;
  std::vector<stoker_transfer> transfers;
  const auto me = static_cast<std::size_t>(world_rank());
  const auto salt = [&](std::size_t origin, std::size_t target, std::size_t size) {
    return 7000 + (origin * 100) + (target * 10) + (1000 * size);
  };
  for (std::size_t target = 0; target < ranks; ++target) {
    for (std::size_t i = 0; i < sizes; ++i) {
      const auto sent = data(transfer_sizes[i], salt(me, target, i));
      locals.push_back(std::make_unique<LocalBuffer>(global.engine(), GetParam().mapped, transfer_sizes[i] + 1));
      std::copy(sent.begin(), sent.end(), locals.back()->get());
      transfers.push_back(STOKER_TRANSFER_NULL);
      EXPECT_TRUE(ok(stoker_put_nb(global.get(), at(segment, static_cast<int>(target), place(me, i)),
                                   locals.back()->get(), transfer_sizes[i], &transfers.back())));
    }
  }
  for (const std::size_t i : permutation(transfers.size(), 3 + me)) {
    EXPECT_TRUE(ok(stoker_transfer_wait(&transfers[i])));
    EXPECT_EQ(transfers[i], STOKER_TRANSFER_NULL);
  }
  barrier();
  const auto* mine = global.address<unsigned char>(at(segment, world_rank()), ranks * sizes * (largest + 16));
  for (std::size_t origin = 0; origin < ranks; ++origin) {
    for (std::size_t i = 0; i < sizes; ++i) {
      const auto expected = data(transfer_sizes[i], salt(origin, me, i));
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), mine + place(origin, i)))
          << transfer_sizes[i] << " bytes from " << origin;
    }
  }
  for (std::size_t k = 0; k < transfers.size(); ++k) {
    std::memset(locals[k]->get(), 0x33, transfer_sizes[k % sizes] + 1);
    EXPECT_TRUE(
        ok(stoker_get_nb(global.get(), locals[k]->get(), at(segment, static_cast<int>(k / sizes), place(me, k % sizes)),
                         transfer_sizes[k % sizes], &transfers[k])));
  }
  for (const std::size_t k : permutation(transfers.size(), 5 + me)) {
    for (int flag = 0; flag == 0;) {
      ASSERT_TRUE(ok(stoker_transfer_test(&transfers[k], &flag)));
    }
    EXPECT_EQ(transfers[k], STOKER_TRANSFER_NULL);
    const auto expected = data(transfer_sizes[k % sizes], salt(me, k / sizes, k % sizes));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), locals[k]->get()));
    EXPECT_EQ(locals[k]->get()[expected.size()], 0x33);
  }
  barrier();
}

// More at a time than the ring of submissions, the window between carriers or the records without handle have room for.
TEST_P(GlobalTransfers, ManyAtOnce) {
  const GlobalOwner global(GetParam().settings);
  constexpr std::size_t count = 3000;
  constexpr std::size_t bytes = 5000;
  const stoker_gptr segment = global.allocate(count * 8 + bytes);
  const int right = (world_rank() + 1) % world_size();
  const int left = (world_rank() + world_size() - 1) % world_size();
  std::vector<std::uint64_t> words(count);
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = mix(i + 10000 * static_cast<std::uint64_t>(world_rank()));
  }
  note("puts without handle");
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(ok(stoker_put_nb(global.get(), at(segment, right, 8 * i), &words[i], 8, nullptr)));
  }
  EXPECT_TRUE(ok(stoker_flush(global.get(), right)));
  barrier();
  const auto* mine = global.address<std::uint64_t>(at(segment, world_rank()), count * 8);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(mine[i], mix(i + 10000 * static_cast<std::uint64_t>(left)));
  }
  note("gets with handles");
  std::vector<std::uint64_t> back(count, 1);
  std::vector<stoker_transfer> transfers(count, STOKER_TRANSFER_NULL);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(ok(stoker_get_nb(global.get(), &back[i], at(segment, right, 8 * i), 8, &transfers[i])));
  }
  EXPECT_TRUE(ok(stoker_transfer_waitall(static_cast<int>(count), transfers.data())));
  EXPECT_EQ(back, words);
  note("longer ones");
  std::vector<unsigned char> buffer = data(bytes * 300, 9);
  std::vector<unsigned char> returned(bytes * 300, 0);
  for (std::size_t i = 0; i < 300; ++i) { // all to one place: any of them may be the last
    ASSERT_TRUE(ok(stoker_put_nb(global.get(), at(segment, right, 8 * count), &buffer[i * bytes], bytes, nullptr)));
  }
  EXPECT_TRUE(ok(stoker_flush_all(global.get())));
  for (std::size_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(ok(stoker_get_nb(global.get(), &returned[i * bytes], at(segment, right, 8 * count), bytes, nullptr)));
  }
  EXPECT_TRUE(ok(stoker_flush_all(global.get())));
  for (std::size_t i = 1; i < 300; ++i) {
    ASSERT_TRUE(
        std::equal(returned.begin(), returned.begin() + bytes, returned.begin() + static_cast<long>(i * bytes)));
  }
  barrier();
}

// A flush completes transfers with a handle, too, but does not release it.
TEST_P(GlobalTransfers, FlushLeavesHandles) {
  const GlobalOwner global(GetParam().settings);
  const stoker_gptr segment = global.allocate(8192);
  const int right = (world_rank() + 1) % world_size();
  const auto sent = data(8192, 21 + static_cast<std::uint64_t>(world_rank()));
  stoker_transfer put = STOKER_TRANSFER_NULL;
  EXPECT_TRUE(ok(stoker_put_nb(global.get(), at(segment, right), sent.data(), sent.size(), &put)));
  EXPECT_TRUE(ok(stoker_flush(global.get(), right)));
  std::vector<unsigned char> back(8192);
  EXPECT_TRUE(ok(stoker_get(global.get(), back.data(), at(segment, right), back.size())));
  EXPECT_EQ(back, sent);
  std::uint64_t word = 0;
  stoker_transfer get = STOKER_TRANSFER_NULL;
  EXPECT_TRUE(ok(stoker_get_nb(global.get(), &word, at(segment, right), 8, &get)));
  EXPECT_TRUE(ok(stoker_flush_all(global.get())));
  EXPECT_EQ(std::memcmp(&word, sent.data(), 8), 0); // flushed: the buffer is the caller's
  EXPECT_TRUE(ok(stoker_transfer_wait(&get)));
  int flag = 0;
  EXPECT_TRUE(ok(stoker_transfer_test(&put, &flag)));
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(put, STOKER_TRANSFER_NULL);
  EXPECT_TRUE(ok(stoker_transfer_wait(&put))); // a null handle is complete
  barrier();
}

INSTANTIATE_TEST_SUITE_P(Ways, GlobalTransfers,
                         ::testing::Values(Way{"private_buffers", {}, false}, Way{"mapped_buffers", {}, true},
                                           Way{"staged", {{"access", "staged"}}, false}),
                         [](const auto& param) { return param.param.name; });

// The target does not call anything while it waits for the flag, which only the put sets.
TEST(GlobalMemory, ReachesAUnitThatComputes) {
  const GlobalOwner global;
  const stoker_gptr segment = global.allocate(70000);
  const int right = (world_rank() + 1) % world_size();
  auto* const mine = global.address<std::uint64_t>(at(segment, world_rank()), 70000);
  barrier();
  for (const int putter : {0, 1}) {
    const auto sent = data(65536, 31 + static_cast<std::uint64_t>(putter));
    if (world_rank() % 2 == putter) {
      const std::uint64_t flag = 1 + static_cast<std::uint64_t>(putter);
      EXPECT_TRUE(ok(stoker_put(global.get(), at(segment, right, 64), sent.data(), sent.size())));
      EXPECT_TRUE(ok(stoker_put(global.get(), at(segment, right), &flag, 8)));
    }
    const int left = (world_rank() + world_size() - 1) % world_size();
    if (left % 2 == putter) {
      note("computing");
      const std::atomic_ref<std::uint64_t> flag(mine[0]);
      while (flag.load(std::memory_order_acquire) != 1 + static_cast<std::uint64_t>(putter)) {
        std::this_thread::yield();
      }
      EXPECT_EQ(std::memcmp(mine + 8, sent.data(), sent.size()), 0);
    }
    barrier();
  }
}

TEST(GlobalMemory, AddressesAreSharedWithinTheNode) {
  const GlobalOwner global;
  stoker_engine_facts facts{};
  facts.size = sizeof facts;
  EXPECT_TRUE(ok(stoker_engine_get_facts(global.engine(), &facts)));
  std::vector<int> nodes(static_cast<std::size_t>(world_size()));
  MPI_Allgather(&facts.node, 1, MPI_INT, nodes.data(), 1, MPI_INT, MPI_COMM_WORLD);
  const stoker_gptr segment = global.allocate(8 * static_cast<std::size_t>(world_size()));
  EXPECT_EQ(segment.unit, 0);
  EXPECT_EQ(segment.offset, 0u);
  for (int unit = 0; unit < world_size(); ++unit) {
    auto* const there = global.address<std::uint64_t>(at(segment, unit, 8 * static_cast<std::uint64_t>(world_rank())));
    EXPECT_EQ(there != nullptr, nodes[static_cast<std::size_t>(unit)] == facts.node);
    if (there != nullptr) {
      EXPECT_EQ(*there, 0u) << "not cleared";
      *there = 100 + static_cast<std::uint64_t>(world_rank());
    }
  }
  barrier();
  const auto* mine = global.address<std::uint64_t>(at(segment, world_rank()));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mine) % 4096, 0u);
  for (std::size_t unit = 0; unit < nodes.size(); ++unit) {
    EXPECT_EQ(mine[unit], nodes[unit] == facts.node ? 100 + unit : 0);
  }
  barrier();
}

TEST(GlobalMemory, ReusedMemoryIsCleared) {
  const GlobalOwner global;
  for (int round = 0; round < 40; ++round) {
    const std::size_t bytes = 100 + static_cast<std::size_t>(round % 3) * 50000;
    const stoker_gptr segment = global.allocate(bytes);
    auto* const mine = global.address<unsigned char>(at(segment, world_rank()), bytes);
    EXPECT_EQ(std::count(mine, mine + bytes, 0), static_cast<std::ptrdiff_t>(bytes));
    std::memset(mine, 0xff, bytes);
    EXPECT_TRUE(ok(stoker_team_deallocate(global.team(), segment)));
    stoker_gptr own{};
    EXPECT_TRUE(ok(stoker_global_allocate(global.get(), bytes, &own)));
    auto* const there = global.address<unsigned char>(own, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(there) % 64, 0u);
    EXPECT_EQ(std::count(there, there + bytes, 0), static_cast<std::ptrdiff_t>(bytes));
    std::memset(there, 0xff, bytes);
    EXPECT_TRUE(ok(stoker_global_deallocate(global.get(), own)));
  }
}

// Many segments at a time, so that the translation table grows; freed in another order, with allocations between.
TEST(GlobalMemory, ManySegments) {
  const GlobalOwner global;
  std::vector<stoker_gptr> segments;
  const int right = (world_rank() + 1) % world_size();
  const auto fill = [&](std::size_t i) {
    const std::uint64_t word = mix(i * 16 + static_cast<std::uint64_t>(world_rank()));
    EXPECT_TRUE(ok(stoker_put(global.get(), at(segments[i], right, 8 * (i % 3)), &word, 8)));
  };
  const auto check = [&](std::size_t i) {
    std::uint64_t word = 0;
    EXPECT_TRUE(ok(stoker_get(global.get(), &word, at(segments[i], right, 8 * (i % 3)), 8)));
    EXPECT_EQ(word, mix(i * 16 + static_cast<std::uint64_t>(world_rank())));
  };
  for (std::size_t i = 0; i < 60; ++i) {
    segments.push_back(global.allocate(24));
    fill(i);
  }
  const auto order = permutation(60, 11);
  for (std::size_t k = 0; k < 40; ++k) {
    check(order[k]);
    EXPECT_TRUE(ok(stoker_team_deallocate(global.team(), segments[order[k]])));
    std::uint64_t word = 0;
    EXPECT_TRUE(refused(stoker_get(global.get(), &word, segments[order[k]], 8), STOKER_ERR_ARGUMENT, {"segment"}));
  }
  for (std::size_t i = 60; i < 90; ++i) {
    segments.push_back(global.allocate(24));
    fill(i);
  }
  for (std::size_t k = 40; k < 60; ++k) {
    check(order[k]);
  }
  for (std::size_t i = 60; i < 90; ++i) {
    check(i);
  }
  barrier();
}

TEST(GlobalMemory, OwnAllocationsAreReachedThroughTheirPointers) {
  const GlobalOwner global;
  stoker_gptr mine{};
  EXPECT_TRUE(ok(stoker_global_allocate(global.get(), 20000, &mine)));
  EXPECT_EQ(mine.unit, world_rank());
  EXPECT_EQ(mine.segment, 0u);
  std::vector<stoker_gptr> all(static_cast<std::size_t>(world_size()));
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  const auto right = static_cast<std::size_t>((world_rank() + 1) % world_size());
  const auto sent = data(20000, 50 + static_cast<std::uint64_t>(world_rank()));
  EXPECT_TRUE(ok(stoker_put(global.get(), all[right], sent.data(), sent.size())));
  barrier();
  const auto left = static_cast<std::uint64_t>((world_rank() + world_size() - 1) % world_size());
  const auto expected = data(20000, 50 + left);
  EXPECT_EQ(std::memcmp(global.address<char>(mine, 20000), expected.data(), 20000), 0);
  barrier();
  EXPECT_TRUE(ok(stoker_global_deallocate(global.get(), mine)));
  EXPECT_TRUE(refused(stoker_global_deallocate(global.get(), mine), STOKER_ERR_ARGUMENT, {"pointer", "allocation"}));
}

TEST(GlobalMemory, TheHeapIsExhaustedAndRecovers) {
  const GlobalOwner global({}, 10000);
  std::vector<stoker_gptr> pointers;
  stoker_gptr pointer{};
  while (stoker_global_allocate(global.get(), 1000, &pointer) == STOKER_SUCCESS) {
    pointers.push_back(pointer);
    ASSERT_LT(pointers.size(), 11u);
  }
  EXPECT_TRUE(refused(stoker_global_allocate(global.get(), 1000, &pointer), STOKER_ERR_RESOURCE,
                      {"rank " + std::to_string(world_rank()), "heap_bytes", "1000 bytes", "10000"}));
  EXPECT_EQ(pointer.unit, STOKER_GPTR_NULL_UNIT);
  EXPECT_GE(pointers.size(), 9u);
  for (const stoker_gptr& each : pointers) {
    EXPECT_TRUE(ok(stoker_global_deallocate(global.get(), each)));
  }
  EXPECT_TRUE(ok(stoker_global_allocate(global.get(), 9900, &pointer)));
  EXPECT_TRUE(ok(stoker_global_deallocate(global.get(), pointer)));
  EXPECT_TRUE(refused(stoker_global_allocate(global.get(), SIZE_MAX - 3, &pointer), STOKER_ERR_RESOURCE));
  const GlobalOwner without({}, 0);
  EXPECT_TRUE(refused(stoker_global_allocate(without.get(), 1, &pointer), STOKER_ERR_RESOURCE));
}

TEST(GlobalMemory, TeamAllocationFailsEverywhereOrNowhere) {
  const GlobalOwner global(Settings{{"arena_bytes", "64M"}});
  stoker_gptr pointer{};
  const std::size_t bytes = world_rank() == world_size() - 1 ? std::size_t{1} << 40U : 100; // where it fails
  EXPECT_TRUE(refused(stoker_team_allocate(global.team(), bytes, &pointer), STOKER_ERR_RESOURCE, {"arena_bytes"}));
  EXPECT_EQ(pointer.unit, STOKER_GPTR_NULL_UNIT);
  if (world_size() > 1) {
    EXPECT_TRUE(refused(stoker_team_allocate(global.team(), 100 + static_cast<std::size_t>(world_rank()), &pointer),
                        STOKER_ERR_MISMATCH, {"bytes", "rank 1"}));
    stoker_global other = STOKER_GLOBAL_NULL;
    EXPECT_TRUE(refused(stoker_global_create(global.engine(), 100 + static_cast<std::size_t>(world_rank()), &other),
                        STOKER_ERR_MISMATCH, {"heap_bytes"}));
    EXPECT_EQ(other, STOKER_GLOBAL_NULL);
  }
  pointer = global.allocate(100); // as if nothing had been
  EXPECT_TRUE(ok(stoker_team_deallocate(global.team(), pointer)));
}

TEST(GlobalMemory, PointersAreChecked) {
  const GlobalOwner global({}, 4096);
  const stoker_gptr segment = global.allocate(100);
  const int last = world_size() - 1;
  std::vector<char> local(200);
  const std::string self = "rank " + std::to_string(world_rank());
  const auto rejects = [&](stoker_gptr pointer, std::size_t bytes, const std::vector<std::string>& words) {
    EXPECT_TRUE(refused(stoker_put(global.get(), pointer, local.data(), bytes), STOKER_ERR_ARGUMENT, words));
    EXPECT_TRUE(refused(stoker_get(global.get(), local.data(), pointer, bytes), STOKER_ERR_ARGUMENT, words));
    stoker_transfer transfer = STOKER_TRANSFER_NULL;
    EXPECT_TRUE(
        refused(stoker_put_nb(global.get(), pointer, local.data(), bytes, &transfer), STOKER_ERR_ARGUMENT, words));
    EXPECT_TRUE(
        refused(stoker_get_nb(global.get(), local.data(), pointer, bytes, nullptr), STOKER_ERR_ARGUMENT, words));
    EXPECT_EQ(transfer, STOKER_TRANSFER_NULL);
    void* address = &transfer;
    EXPECT_TRUE(refused(stoker_global_address(global.get(), pointer, bytes, &address), STOKER_ERR_ARGUMENT, words));
    EXPECT_EQ(address, nullptr);
  };
  for (const int unit : {0, last}) {
    rejects(at(segment, unit, 93), 8, {self, "offset 93", "8 bytes", "100"});
    rejects(at(segment, unit, 101), 0, {self, "offset 101"});
    rejects(at(segment, unit, 0), SIZE_MAX, {self});
    rejects(at(segment, unit, UINT64_MAX - 3), 8, {self});
    rejects({unit, segment.segment + 1000, 0}, 8, {self, "segment"});
    rejects({unit, 0, 4090}, 8, {self, "4096"});
  }
  rejects({STOKER_GPTR_NULL_UNIT, 0, 0}, 8, {self, "unit -1", "0 to " + std::to_string(last)});
  rejects({last + 1, 0, 0}, 8, {self, "unit " + std::to_string(last + 1)});
  EXPECT_TRUE(ok(stoker_put(global.get(), at(segment, last, 100), local.data(), 0)));
  EXPECT_TRUE(ok(stoker_put(global.get(), at(segment, last, 0), nullptr, 0)));
  EXPECT_TRUE(refused(stoker_put(global.get(), at(segment, last), nullptr, 8), STOKER_ERR_ARGUMENT, {self, "local"}));
  EXPECT_TRUE(refused(stoker_get(global.get(), nullptr, at(segment, 0), 8), STOKER_ERR_ARGUMENT, {self, "local"}));
  EXPECT_TRUE(refused(stoker_flush(global.get(), last + 1), STOKER_ERR_ARGUMENT, {"unit"}));
  EXPECT_TRUE(refused(stoker_flush(global.get(), -1), STOKER_ERR_ARGUMENT, {"unit"}));
  EXPECT_TRUE(refused(stoker_team_deallocate(global.team(), at(segment, 0, 8)), STOKER_ERR_ARGUMENT, {"offset 8"}));
  EXPECT_TRUE(refused(stoker_team_deallocate(global.team(), {0, 0, 0}), STOKER_ERR_ARGUMENT));
  barrier();
  EXPECT_TRUE(ok(stoker_team_deallocate(global.team(), segment)));
  rejects(at(segment, last), 8, {self, "segment " + std::to_string(segment.segment)});
  EXPECT_TRUE(refused(stoker_team_deallocate(global.team(), segment), STOKER_ERR_ARGUMENT));
}

TEST(GlobalMemory, HandlesAreChecked) {
  stoker_global none = STOKER_GLOBAL_NULL;
  stoker_global invented =
      reinterpret_cast<stoker_global>(std::uintptr_t{0x12345}); // NOLINT(performance-no-int-to-ptr)
  char byte = 0;
  int number = 0;
  for (stoker_global handle : {none, invented}) {
    EXPECT_TRUE(refused(stoker_put(handle, {0, 0, 0}, &byte, 1), STOKER_ERR_REQUEST, {"global"}));
    EXPECT_TRUE(refused(stoker_get(handle, &byte, {0, 0, 0}, 1), STOKER_ERR_REQUEST));
    EXPECT_TRUE(refused(stoker_put_nb(handle, {0, 0, 0}, &byte, 1, nullptr), STOKER_ERR_REQUEST));
    EXPECT_TRUE(refused(stoker_flush_all(handle), STOKER_ERR_REQUEST));
    EXPECT_TRUE(refused(stoker_global_free(&handle), STOKER_ERR_REQUEST));
  }
  stoker_team team = STOKER_TEAM_NULL;
  EXPECT_TRUE(refused(stoker_team_create(none, MPI_COMM_WORLD, &team), STOKER_ERR_REQUEST));
  EXPECT_TRUE(refused(stoker_team_size(team, &number), STOKER_ERR_REQUEST, {"team"}));
  EXPECT_TRUE(refused(stoker_team_free(&team), STOKER_ERR_REQUEST));
  stoker_transfer transfer = reinterpret_cast<stoker_transfer>(std::uintptr_t{77}); // NOLINT(performance-no-int-to-ptr)
  EXPECT_TRUE(refused(stoker_transfer_wait(&transfer), STOKER_ERR_REQUEST, {"transfer"}));
  EXPECT_TRUE(refused(stoker_transfer_test(&transfer, &number), STOKER_ERR_REQUEST));
  EXPECT_TRUE(refused(stoker_transfer_waitall(-1, nullptr), STOKER_ERR_ARGUMENT, {"count"}));
  EXPECT_TRUE(refused(stoker_transfer_waitall(1, &transfer), STOKER_ERR_REQUEST, {"transfers[0]"}));
  const GlobalOwner global;
  EXPECT_TRUE(refused(stoker_team_create(global.get(), MPI_COMM_NULL, &team), STOKER_ERR_ARGUMENT, {"MPI_COMM_NULL"}));
  EXPECT_TRUE(refused(stoker_team_unit(global.team(), world_size(), &number), STOKER_ERR_ARGUMENT, {"rank"}));
  stoker_global_statistics statistics{};
  EXPECT_TRUE(refused(stoker_global_get_statistics(global.get(), &statistics), STOKER_ERR_ARGUMENT, {"size"}));
}

// Teams of some units, in another order than theirs, at the same time; where possible without any carrier.
TEST(GlobalMemory, TeamsOfSomeUnits) {
  const GlobalOwner global;
  const int color = world_rank() % 2;
  CommOwner comm(split(MPI_COMM_WORLD, color, -world_rank()));
  stoker_team team = STOKER_TEAM_NULL;
  EXPECT_TRUE(ok(stoker_team_create(global.get(), comm.get(), &team)));
  comm.free(); // the team has its own
  int size = 0;
  int rank = -1;
  EXPECT_TRUE(ok(stoker_team_size(team, &size)));
  EXPECT_TRUE(ok(stoker_team_rank(team, &rank)));
  EXPECT_EQ(size, (world_size() + 1 - color) / 2);
  stoker_gptr segment{};
  EXPECT_TRUE(ok(stoker_team_allocate(team, 5000, &segment)));
  for (int r = 0; r < size; ++r) {
    int unit = -1;
    EXPECT_TRUE(ok(stoker_team_unit(team, r, &unit)));
    EXPECT_EQ(unit % 2, color);
    EXPECT_EQ(unit == world_rank(), r == rank);
    EXPECT_EQ(unit == segment.unit, r == 0);
    const std::uint64_t word = mix(static_cast<std::uint64_t>(world_rank()) * 100 + static_cast<std::uint64_t>(unit));
    EXPECT_TRUE(ok(stoker_put(global.get(), at(segment, unit, 8 * static_cast<std::uint64_t>(rank)), &word, 8)));
  }
  barrier();
  for (int r = 0; r < size; ++r) {
    int unit = -1;
    EXPECT_TRUE(ok(stoker_team_unit(team, r, &unit)));
    std::uint64_t word = 0;
    EXPECT_TRUE(ok(stoker_get(global.get(), &word, at(segment, world_rank(), 8 * static_cast<std::uint64_t>(r)), 8)));
    EXPECT_EQ(word, mix(static_cast<std::uint64_t>(unit) * 100 + static_cast<std::uint64_t>(world_rank())));
  }
  // Numbers are unique: the other team's pointers mean nothing here, and its units have no part of this segment.
  std::vector<stoker_gptr> all(static_cast<std::size_t>(world_size()));
  MPI_Allgather(&segment, sizeof segment, MPI_BYTE, all.data(), sizeof segment, MPI_BYTE, MPI_COMM_WORLD);
  for (int unit = 0; unit < world_size(); ++unit) {
    if (unit % 2 != color) {
      std::uint64_t word = 0;
      const stoker_gptr& other = all[static_cast<std::size_t>(unit)];
      EXPECT_NE(other.segment, segment.segment);
      EXPECT_TRUE(refused(stoker_get(global.get(), &word, other, 8), STOKER_ERR_ARGUMENT, {"segment"}));
      EXPECT_TRUE(refused(stoker_get(global.get(), &word, at(segment, unit), 8), STOKER_ERR_ARGUMENT, {"team"}));
    }
  }
  barrier();
  EXPECT_TRUE(ok(stoker_team_free(&team)));
  EXPECT_EQ(team, STOKER_TEAM_NULL);
  char byte = 0;
  EXPECT_TRUE(refused(stoker_get(global.get(), &byte, at(segment, world_rank()), 1), STOKER_ERR_ARGUMENT));
}

TEST(GlobalMemory, SeveralOnOneEngine) {
  const EngineOwner engine(MPI_COMM_WORLD);
  stoker_global globals[2] = {STOKER_GLOBAL_NULL, STOKER_GLOBAL_NULL};
  stoker_team teams[2] = {STOKER_TEAM_NULL, STOKER_TEAM_NULL};
  stoker_gptr segments[2];
  const int right = (world_rank() + 1) % world_size();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(ok(stoker_global_create(engine.get(), 4096, &globals[i])));
    EXPECT_TRUE(ok(stoker_team_create(globals[i], MPI_COMM_WORLD, &teams[i])));
    EXPECT_TRUE(ok(stoker_team_allocate(teams[i], 4096, &segments[i])));
  }
  EXPECT_NE(segments[0].segment, segments[1].segment);
  char byte = 0;
  EXPECT_TRUE(refused(stoker_get(globals[0], &byte, at(segments[1], right), 1), STOKER_ERR_ARGUMENT, {"segment"}));
  const auto check = [&](int i) {
    const std::uint64_t word = mix(static_cast<std::uint64_t>(world_rank()) + 1000 * static_cast<std::uint64_t>(i));
    std::uint64_t back = 0;
    EXPECT_TRUE(ok(stoker_put(globals[i], at(segments[i], right), &word, 8)));
    EXPECT_TRUE(ok(stoker_get(globals[i], &back, at(segments[i], right), 8)));
    EXPECT_EQ(back, word);
  };
  check(0);
  check(1);
  EXPECT_TRUE(ok(stoker_global_free(&globals[0])));
  EXPECT_TRUE(ok(stoker_team_free(&teams[0])));
  check(1);
  EXPECT_TRUE(ok(stoker_global_free(&globals[1]))); // with its team and allocation
  int size = 0;
  EXPECT_TRUE(refused(stoker_team_size(teams[1], &size), STOKER_ERR_REQUEST));
  EXPECT_TRUE(ok(stoker_team_free(&teams[1])));
}

// Transfers under way are completed by whatever ends the memory; what outlives it can be released and nothing else.
TEST(GlobalMemory, TheEngineGoesFirst) {
  EngineOwner engine(MPI_COMM_WORLD);
  stoker_global global = STOKER_GLOBAL_NULL;
  stoker_team team = STOKER_TEAM_NULL;
  stoker_gptr segment{};
  EXPECT_TRUE(ok(stoker_global_create(engine.get(), 4096, &global)));
  EXPECT_TRUE(ok(stoker_team_create(global, MPI_COMM_WORLD, &team)));
  EXPECT_TRUE(ok(stoker_team_allocate(team, 100000, &segment)));
  const int right = (world_rank() + 1) % world_size();
  auto sent = data(100000, 60);
  std::vector<unsigned char> back(100000);
  EXPECT_TRUE(ok(stoker_put(global, at(segment, right), sent.data(), sent.size())));
  stoker_transfer transfers[3] = {};
  EXPECT_TRUE(ok(stoker_get_nb(global, back.data(), at(segment, right), back.size(), &transfers[0])));
  EXPECT_TRUE(ok(stoker_put_nb(global, at(segment, right), sent.data(), 8, &transfers[1])));
  EXPECT_TRUE(ok(stoker_put_nb(global, at(segment, right), sent.data(), 50000, &transfers[2])));
  EXPECT_TRUE(ok(stoker_put_nb(global, at(segment, right), sent.data(), 70000, nullptr)));
  engine.destroy();
  EXPECT_EQ(back, sent);
  int number = 0;
  EXPECT_TRUE(
      refused(stoker_put(global, at(segment, right), sent.data(), 8), STOKER_ERR_REQUEST, {"engine destroyed"}));
  EXPECT_TRUE(refused(stoker_put_nb(global, at(segment, right), sent.data(), 8, nullptr), STOKER_ERR_REQUEST));
  EXPECT_TRUE(refused(stoker_flush_all(global), STOKER_ERR_REQUEST));
  EXPECT_TRUE(refused(stoker_team_rank(team, &number), STOKER_ERR_REQUEST));
  EXPECT_TRUE(refused(stoker_team_allocate(team, 8, &segment), STOKER_ERR_REQUEST));
  int flag = 0;
  EXPECT_TRUE(ok(stoker_transfer_test(&transfers[0], &flag)));
  EXPECT_EQ(flag, 1);
  EXPECT_TRUE(ok(stoker_transfer_waitall(3, transfers)));
  EXPECT_TRUE(ok(stoker_team_free(&team)));
  EXPECT_TRUE(ok(stoker_global_free(&global)));
}

TEST(GlobalMemory, ThreadsOfAUnit) {
  const GlobalOwner global;
  constexpr int threads = 3;
  constexpr std::size_t part = 9000;
  const stoker_gptr segment = global.allocate(threads * part + 8);
  const int right = (world_rank() + 1) % world_size();
  std::vector<std::string> problems(threads);
  std::vector<std::thread> running;
  running.reserve(threads);
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      std::string& problem = problems[static_cast<std::size_t>(t)];
      const auto expect = [&](int code) {
        problem = code != STOKER_SUCCESS && problem.empty() ? stoker_error_message() : problem;
      };
      const std::uint64_t place = static_cast<std::uint64_t>(t) * part;
      for (std::uint64_t round = 0; round < 30; ++round) {
        const std::size_t bytes = round % 2 == 0 ? part : 8;
        const auto sent = data(bytes, 900 + round * 16 + static_cast<std::uint64_t>(t));
        std::vector<unsigned char> back(bytes, 0xcc);
        stoker_transfer transfer = STOKER_TRANSFER_NULL;
        expect(stoker_put_nb(global.get(), at(segment, right, place), sent.data(), bytes,
                             round % 3 == 0 ? nullptr : &transfer));
        expect(round % 3 == 0 ? stoker_flush(global.get(), right) : stoker_transfer_wait(&transfer));
        expect(round % 5 == 0 ? stoker_get(global.get(), back.data(), at(segment, right, place), bytes)
                              : stoker_get_nb(global.get(), back.data(), at(segment, right, place), bytes, &transfer));
        expect(stoker_transfer_wait(&transfer));
        problem = back != sent && problem.empty() ? "wrong data in round " + std::to_string(round) : problem;
        const std::int64_t one = 1;
        std::int64_t before = 0;
        expect(
            stoker_fetch_and_op(global.get(), at(segment, right, threads * part), MPI_INT64_T, MPI_SUM, &one, &before));
      }
    });
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  for (const std::string& problem : problems) {
    EXPECT_EQ(problem, "");
  }
  barrier();
  EXPECT_EQ(*global.address<std::int64_t>(at(segment, world_rank(), threads * part)), threads * 30);
  stoker_global_statistics statistics{};
  statistics.size = sizeof statistics;
  EXPECT_TRUE(ok(stoker_global_get_statistics(global.get(), &statistics)));
  EXPECT_EQ(statistics.node_transfers + statistics.wire_transfers, 2u * threads * 30);
  EXPECT_EQ(statistics.node_bytes + statistics.wire_bytes, 2u * threads * 15 * (part + 8));
  EXPECT_EQ(statistics.node_atomics + statistics.wire_atomics, threads * 30u);
  barrier();
}

// Requests and global memory on one engine, at once.
TEST(GlobalMemory, BesideRequests) {
  const GlobalOwner global;
  const auto ranks = static_cast<std::size_t>(world_size());
  const stoker_gptr segment = global.allocate(300000);
  std::vector<int> send(ranks * 5000);
  std::vector<int> recv(ranks * 5000);
  stoker_request request = STOKER_REQUEST_NULL;
  EXPECT_TRUE(ok(stoker_alltoall_init(send.data(), 5000, MPI_INT, recv.data(), 5000, MPI_INT, MPI_COMM_WORLD,
                                      MPI_INFO_NULL, global.engine(), &request)));
  const int right = (world_rank() + 1) % world_size();
  for (int epoch = 0; epoch < 5; ++epoch) {
    std::iota(send.begin(), send.end(), epoch * 1000000);
    std::fill(recv.begin(), recv.end(), -1);
    const auto sent = data(300000, 70 + static_cast<std::uint64_t>(epoch));
    std::vector<unsigned char> back(sent.size());
    stoker_transfer transfer = STOKER_TRANSFER_NULL;
    EXPECT_TRUE(ok(stoker_put_nb(global.get(), at(segment, right), sent.data(), sent.size(), &transfer)));
    EXPECT_TRUE(ok(stoker_start(request)));
    EXPECT_TRUE(ok(stoker_transfer_wait(&transfer)));
    EXPECT_TRUE(ok(stoker_get_nb(global.get(), back.data(), at(segment, right), back.size(), &transfer)));
    EXPECT_TRUE(ok(stoker_wait(request)));
    EXPECT_TRUE(ok(stoker_transfer_wait(&transfer)));
    EXPECT_EQ(back, sent);
    for (std::size_t r = 0; r < ranks; ++r) {
      EXPECT_EQ(recv[r * 5000 + 17], epoch * 1000000 + world_rank() * 5000 + 17);
    }
    barrier();
  }
  EXPECT_TRUE(ok(stoker_request_free(&request)));
}

// While the helper is paused the ranks that wait make it work. (What comes from other nodes waits for that, or for
// resume.)
TEST(GlobalMemory, PausedHelpers) {
  const GlobalOwner global;
  stoker_engine_facts facts{};
  facts.size = sizeof facts;
  EXPECT_TRUE(ok(stoker_engine_get_facts(global.engine(), &facts)));
  const stoker_gptr segment = global.allocate(static_cast<std::size_t>(world_size()) * 100000);
  const auto sent = data(100000, 80 + static_cast<std::uint64_t>(world_rank()));
  const stoker_gptr place =
      at(segment, world_size() - 1, static_cast<std::uint64_t>(world_rank()) * 100000); // on the last node
  if (facts.node == 0) {
    std::vector<unsigned char> back(sent.size());
    stoker_transfer transfer = STOKER_TRANSFER_NULL;
    EXPECT_TRUE(ok(stoker_pause(global.engine())));
    EXPECT_TRUE(ok(stoker_put_nb(global.get(), place, sent.data(), sent.size(), &transfer)));
    for (int flag = 0; flag == 0;) {
      ASSERT_TRUE(ok(stoker_transfer_test(&transfer, &flag)));
    }
    EXPECT_TRUE(ok(stoker_get_nb(global.get(), back.data(), place, back.size(), nullptr)));
    EXPECT_TRUE(ok(stoker_flush_all(global.get())));
    EXPECT_EQ(back, sent);
    // The carrier of the node in the place of its helper, while the other ranks need that.
    for (std::size_t i = 0; i < 100; ++i) {
      note("blocking put " + std::to_string(i));
      EXPECT_TRUE(ok(stoker_put(global.get(), place, &sent[i], 8)));
    }
  }
  barrier();
  // Freed while paused.
}

TEST(GlobalMemory, WithoutHelpers) {
  const EngineOwner engine(MPI_COMM_WORLD, {{"executor", "inline"}});
  stoker_engine_facts facts{};
  facts.size = sizeof facts;
  EXPECT_TRUE(ok(stoker_engine_get_facts(engine.get(), &facts)));
  stoker_global global = STOKER_GLOBAL_NULL;
  if (facts.nodes > 1) {
    EXPECT_TRUE(refused(stoker_global_create(engine.get(), 4096, &global), STOKER_ERR_UNSUPPORTED, {"helpers"}));
    return;
  }
  EXPECT_TRUE(ok(stoker_global_create(engine.get(), 4096, &global)));
  stoker_team team = STOKER_TEAM_NULL;
  stoker_gptr segment{};
  EXPECT_TRUE(ok(stoker_team_create(global, MPI_COMM_WORLD, &team)));
  EXPECT_TRUE(ok(stoker_team_allocate(team, 100000, &segment)));
  const int right = (world_rank() + 1) % world_size();
  const auto sent = data(100000, 90 + static_cast<std::uint64_t>(world_rank()));
  std::vector<unsigned char> back(sent.size());
  stoker_transfer transfer = STOKER_TRANSFER_NULL;
  EXPECT_TRUE(ok(stoker_put_nb(global, at(segment, right), sent.data(), sent.size(), &transfer)));
  EXPECT_TRUE(ok(stoker_transfer_wait(&transfer)));
  EXPECT_TRUE(ok(stoker_get_nb(global, back.data(), at(segment, right), back.size(), nullptr)));
  EXPECT_TRUE(ok(stoker_flush_all(global)));
  EXPECT_EQ(back, sent);
  barrier();
  EXPECT_TRUE(ok(stoker_team_free(&team)));
  EXPECT_TRUE(ok(stoker_global_free(&global)));
}

// Around a ring, of all sizes: whoever sees the signal sees the data.
TEST(GlobalMemory, ASignalComesBehindItsData) {
  const GlobalOwner global;
  const std::size_t most = (std::size_t{1} << 20U) + 3;
  const stoker_gptr segment = global.allocate(64 + most);
  const int right = (world_rank() + 1) % world_size();
  const int left = (world_rank() + world_size() - 1) % world_size();
  const auto* const mine = global.address<unsigned char>(at(segment, world_rank(), 64), most);
  std::uint64_t round = 0;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{1000}, std::size_t{4097},
                                  std::size_t{65536}, most}) {
    for (const bool with_handle : {true, false}) {
      ++round;
      const auto sent = data(bytes, (1000 * round) + static_cast<std::uint64_t>(world_rank()));
      stoker_transfer transfer = STOKER_TRANSFER_NULL;
      EXPECT_TRUE(ok(stoker_put_signal_nb(global.get(), at(segment, right, 64), sent.data(), bytes, at(segment, right),
                                          round, with_handle ? &transfer : nullptr)));
      EXPECT_TRUE(ok(stoker_wait_until(global.get(), at(segment, world_rank()), STOKER_GE, round)));
      const auto expected = data(bytes, (1000 * round) + static_cast<std::uint64_t>(left));
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), mine)) << bytes << " bytes";
      EXPECT_TRUE(ok(with_handle ? stoker_transfer_wait(&transfer) : stoker_flush(global.get(), right)));
      barrier(); // before the next round overwrites
    }
  }
  const stoker_gptr word = at(segment, world_rank());
  EXPECT_TRUE(ok(stoker_wait_until(global.get(), word, STOKER_EQ, round)));
  EXPECT_TRUE(ok(stoker_wait_until(global.get(), word, STOKER_NE, 0)));
  EXPECT_TRUE(ok(stoker_wait_until(global.get(), word, STOKER_GT, round - 1)));
  EXPECT_TRUE(ok(stoker_wait_until(global.get(), word, STOKER_LT, round + 1)));
  EXPECT_TRUE(ok(stoker_wait_until(global.get(), word, STOKER_LE, round)));
  EXPECT_TRUE(refused(stoker_wait_until(global.get(), word, 6, 0), STOKER_ERR_ARGUMENT, {"comparison is 6"}));
  EXPECT_TRUE(refused(stoker_wait_until(global.get(), at(segment, world_rank(), 4), STOKER_EQ, 0), STOKER_ERR_ARGUMENT,
                      {"word", "multiple of 8"}));
  if (world_size() > 1) {
    const unsigned char byte = 0;
    EXPECT_TRUE(refused(stoker_put_signal_nb(global.get(), at(segment, right), &byte, 1, word, 1, nullptr),
                        STOKER_ERR_ARGUMENT, {"signal", "of the target's unit"}));
  }
  barrier();
}

} // namespace
} // namespace api_tests
