// SPDX-License-Identifier: BSD-3-Clause
// The shortest use of stoker from C++: an all-to-all that runs while the program computes.
//   mpicxx -std=c++20 quickstart.cpp $(pkg-config --cflags --libs stoker) -o quickstart
#include <stoker/stoker.hpp>

#include <cstdio>

// Fills the engine's memory with one block per rank, exchanges and computes. Answers whether what arrived is right.
bool exchange_and_compute(int rank, int ranks) {
  constexpr std::size_t count = 65536; // doubles for each rank
  stoker::Engine engine(MPI_COMM_WORLD);
  // Any memory will do; this is never copied on the way.
  auto send = engine.allocate<double>(static_cast<std::size_t>(ranks) * count);
  auto recv = engine.allocate<double>(static_cast<std::size_t>(ranks) * count);
  auto request = engine.alltoall_init<double>(send, recv, MPI_COMM_WORLD);

  bool good = true;
  for (int step = 1; step <= 3; ++step) {
    for (std::size_t i = 0; i < send.size(); ++i) {
      send[i] = step * (1000 * rank + static_cast<int>(i / count)); // from whom, to whom
    }
    request.start();
    double sum = 0; // compute: the exchange proceeds meanwhile
    for (int i = 1; i < 2000000; ++i) {
      sum += 1.0 / i / i;
    }
    request.wait();
    for (std::size_t i = 0; i < recv.size(); ++i) {
      good = good && recv[i] == step * (1000 * static_cast<int>(i / count) + rank);
    }
    good = good && sum > 1.644 && sum < 1.645; // pi^2 / 6
  }
  return good;
}

int main(int argc, char** argv) {
  int level = 0, rank = 0, ranks = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bool good = false;
  try {
    good = exchange_and_compute(rank, ranks);
  } catch (const stoker::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  std::printf("rank %d of %d: %s\n", rank, ranks, good ? "correct" : "WRONG");
  MPI_Finalize();
  return good ? 0 : 1;
}
