// SPDX-License-Identifier: BSD-3-Clause
// MPI for the subcommands: initialised on construction (also in a process that no launcher started), finalised at the
// end.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace stoker::cli {

class MpiSession {
public:
  MpiSession() {
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &thread_level_);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  ~MpiSession() { MPI_Finalize(); }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int thread_level() const { return thread_level_; }

private:
  int rank_ = 0;
  int size_ = 1;
  int thread_level_ = MPI_THREAD_SINGLE;
};

// Runs `body` with MPI initialised and returns its exit code. An exception of one rank ends the job, whose other ranks
// may wait for it.
template <class Body>
int with_mpi(Body body) {
  const MpiSession session;
  try {
    return body(session);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stoker: rank %d: %s\n", session.rank(), error.what());
    if (session.size() > 1) {
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return 1;
  }
}

[[nodiscard]] const char* thread_level_name(int level);

// Collective over MPI_COMM_WORLD. One text per rank on rank 0, nothing elsewhere.
[[nodiscard]] std::vector<std::string> gather(const std::string& text);
// Collective. Returns the value that rank 0 passed.
[[nodiscard]] int broadcast(int value);

} // namespace stoker::cli
