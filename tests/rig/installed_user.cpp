// SPDX-License-Identifier: BSD-3-Clause
// A user's C++ program against the installed library: settings, mapped memory, and an error as an exception.
#include <stoker/stoker.hpp>

#include <mpi.h>

#include <cstdio>

namespace {

int wrong_results() {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  stoker::Engine engine(MPI_COMM_WORLD, {{"executor", "auto"}});
  auto send = engine.allocate<double>(static_cast<std::size_t>(size));
  auto receive = engine.allocate<double>(static_cast<std::size_t>(size));
  stoker::Request request = engine.alltoall_init<double>(send, receive, MPI_COMM_WORLD);
  int wrong = 0;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int peer = 0; peer < size; ++peer) {
      send[static_cast<std::size_t>(peer)] = 100.0 * epoch + 10.0 * rank + peer;
      receive[static_cast<std::size_t>(peer)] = -1;
    }
    request.start();
    request.wait();
    for (int peer = 0; peer < size; ++peer) {
      wrong += receive[static_cast<std::size_t>(peer)] != 100.0 * epoch + 10.0 * peer + rank ? 1 : 0;
    }
  }
  stoker::Request moved = std::move(request);
  try {
    request.start(); // NOLINT(bugprone-use-after-move): that it is empty is what is tested
    ++wrong;
  } catch (const stoker::Error& error) {
    wrong += error.code() != STOKER_ERR_REQUEST ? 1 : 0;
  }
  return wrong;
}

} // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int wrong = 1;
  try {
    wrong = wrong_results();
  } catch (const stoker::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return wrong != 0 ? 1 : 0;
}
