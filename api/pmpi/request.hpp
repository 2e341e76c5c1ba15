// SPDX-License-Identifier: BSD-3-Clause
// A request of this library's: a collective under way, or one that can be started again and again.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace stoker::pmpi {

// Used by one thread at a time, as MPI requires of requests.
class Request {
public:
  explicit Request(MPI_Comm comm) : comm_(comm) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  virtual ~Request() = default;

  [[nodiscard]] virtual bool persistent() const = 0;
  [[nodiscard]] virtual bool active() const = 0;
  // Starts a persistent request that is not active. Throws engine::Error.
  virtual void start() = 0;
  // One attempt; local. Returns true if the request is done or not active. The caller makes the MPI library progress.
  [[nodiscard]] virtual bool done() = 0;
  // Returns once done() would be true, and drives the MPI library meanwhile.
  virtual void wait() = 0;
  // Now and then in a long wait by done(): see engine::CallUnderWay.
  virtual void look_around(std::uint64_t waited_ns) { (void)waited_ns; }
  // For a request that is active and done: puts its results in place, which done() need not do. The request stays
  // active.
  virtual void settle() {}
  // For a request that is active and done: puts its results in place and makes it inactive. Throws engine::Error.
  virtual void finish() = 0;
  // The communicator whose error handler gets the request's errors.
  [[nodiscard]] virtual MPI_Comm comm() const { return comm_; }

private:
  MPI_Comm comm_;
};

} // namespace stoker::pmpi
