// SPDX-License-Identifier: BSD-3-Clause
// The MPI library's own one-sided communication, where it works.
#pragma once

#include "bench/lib/session.hpp"

#include <mpi.h>

#include <cstddef>
#include <string>

namespace stoker::bench {

// A communicator of the same ranks, on which failures of MPI calls are returned.
class ReturningComm {
public:
  explicit ReturningComm(MPI_Comm comm);
  ReturningComm(const ReturningComm&) = delete;
  ReturningComm& operator=(const ReturningComm&) = delete;
  ~ReturningComm() { MPI_Comm_free(&comm_); }
  [[nodiscard]] MPI_Comm get() const { return comm_; }

private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// A window, of memory that is there already or that MPI allocates. Construction and destruction are collective;
// construction throws std::runtime_error on all ranks where it fails on one.
class Window {
public:
  Window(MPI_Comm comm, void* memory, std::size_t bytes); // created
  Window(MPI_Comm comm, std::size_t bytes);               // allocated
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() { MPI_Win_free(&window_); }
  [[nodiscard]] MPI_Win get() const { return window_; }
  [[nodiscard]] std::byte* memory() const { return memory_; } // of this rank

private:
  void finish(int status, const char* call);

  ReturningComm comm_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::byte* memory_ = nullptr;
};

// The reason why the library has no one-sided communication between these ranks; empty if it granted a trial window.
// Collective.
std::string why_no_rma(MPI_Comm comm);

// The reason why fences, and other calls that complete the puts to all targets at once, cannot be measured here; empty
// if they can.
std::string why_no_fences(const Session& session);

} // namespace stoker::bench
