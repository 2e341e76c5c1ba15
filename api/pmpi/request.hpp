// SPDX-License-Identifier: BSD-3-Clause
// What a handle of this library's stands for: a collective under way, or one that can be started again and again.
#pragma once

#include <mpi.h>

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
  // Of a persistent one that is not active. Throws engine::Error.
  virtual void start() = 0;
  // One attempt; local. True also where it is not active. What it needs of the MPI library's progress the caller sees to.
  [[nodiscard]] virtual bool done() = 0;
  // Returns once done() would be true, and drives the MPI library meanwhile.
  virtual void wait() = 0;
  // Of one that is active and done, and stays so: its results are in place, for which done() need not see.
  virtual void settle() {}
  // Of one that is active and done: its results are in place, and it is not active any more. Throws engine::Error.
  virtual void finish() = 0;
  // Whose error handler hears of its errors.
  [[nodiscard]] MPI_Comm comm() const { return comm_; }

private:
  MPI_Comm comm_;
};

} // namespace stoker::pmpi
