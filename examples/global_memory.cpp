// SPDX-License-Identifier: BSD-3-Clause
// Global memory from C++: a histogram over all units. Every unit counts its own keys straight into a distributed array,
// reads the neighbour's block while it computes, and finds the largest bin.
//   mpicxx -std=c++20 global_memory.cpp $(pkg-config --cflags --libs stoker) -o global_memory
#include <stoker/stoker_global.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <numeric>
#include <vector>

namespace {

constexpr std::size_t bins = 101;
constexpr std::size_t keys = 2000; // of each unit

std::size_t bin_of(std::size_t unit, std::size_t key) { return (key * key + 31 * unit) % bins; }

bool histogram(int rank, int ranks) {
  stoker::Engine engine(MPI_COMM_WORLD);
  stoker::GlobalMemory global(engine, 4096);
  const stoker::Team team(global, MPI_COMM_WORLD);
  const stoker::GlobalArray<std::int64_t> counts(team, bins); // in equal blocks, zero at first

  for (std::size_t key = 0; key < keys; ++key) {
    stoker::fetch_add(counts.pointer(bin_of(static_cast<std::size_t>(rank), key)), 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  const int right = (rank + 1) % ranks;
  std::vector<std::int64_t> neighbours(counts.size_of(right));
  stoker::Transfer transfer = stoker::get_nb(counts.pointer(right, 0), neighbours);
  const std::int64_t mine = std::accumulate(counts.local().begin(), counts.local().end(), std::int64_t{0});
  transfer.wait();

  // An element reads like a value, wherever it is.
  std::int64_t total = 0;
  std::int64_t largest = 0;
  for (const std::int64_t count : counts) {
    total += count;
    largest = std::max(largest, count);
  }
  std::int64_t expected_largest = 0;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    std::int64_t count = 0;
    for (std::size_t unit = 0; unit < static_cast<std::size_t>(ranks); ++unit) {
      for (std::size_t key = 0; key < keys; ++key) {
        count += bin_of(unit, key) == bin ? 1 : 0;
      }
    }
    expected_largest = std::max(expected_largest, count);
  }
  const bool same = std::equal(neighbours.begin(), neighbours.end(), counts.pointer(right, 0));
  MPI_Barrier(MPI_COMM_WORLD); // the array is freed behind it
  return same && mine <= total && total == static_cast<std::int64_t>(keys) * ranks && largest == expected_largest;
}

} // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bool correct = false;
  try {
    correct = histogram(rank, ranks);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  std::printf("unit %d of %d: %s\n", rank, ranks, correct ? "correct" : "WRONG");
  MPI_Finalize();
  return correct ? 0 : 1;
}
