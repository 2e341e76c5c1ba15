// SPDX-License-Identifier: BSD-3-Clause
// How slabs are transposed: a set of all-to-alls, and of sums over all ranks, that are described once and then started
// and waited for, with MPI or with stoker behind it. The solver is the same for all of them.
#pragma once

#include "examples/transposes/array.hpp"

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace transposes {

enum class Variant {
  mpi_blocking,         // MPI_Alltoall, MPI_Allreduce in start()
  mpi_nonblocking,      // MPI_Ialltoall, MPI_Iallreduce in start(), MPI_Wait in wait()
  mpi_nonblocking_test, // the same, and MPI_Test between the planes of the transforms
  stoker,               // a persistent request that a progress thread executes
  stoker_test,          // the same, and stoker_testall between the planes
  stoker_inline         // a persistent request that this rank executes, between the planes too
};
inline constexpr Variant all_variants[] = {Variant::mpi_blocking,         Variant::mpi_nonblocking,
                                           Variant::mpi_nonblocking_test, Variant::stoker,
                                           Variant::stoker_test,          Variant::stoker_inline};
const char* name_of(Variant variant);
bool is_stoker(Variant variant);

struct EngineOptions {
  std::vector<std::pair<std::string, std::string>> settings; // key and value, passed on to the engine
  bool mapped_buffers = true;                                // from stoker_alloc
};

struct ExchangeTimes {
  double exposed = 0;  // seconds inside start, wait and poll
  double exchange = 0; // seconds from start to completion, stoker's own count over all requests
  double hidden = 0;   // the part of them that passed outside stoker's calls
  double helper = 0;   // seconds of processor time of the helper in this process
};

class Exchange {
public:
  virtual ~Exchange() = default;

  // Zeroed memory for blocks, which lives as long as the exchange does.
  virtual std::span<Complex> allocate(std::size_t count) = 0;
  // Describes an all-to-all with blocks of send.size() / ranks elements; answers its number. Collective.
  virtual std::size_t add(std::span<const Complex> send, std::span<Complex> recv) = 0;

  // Describes an allreduce, the sum of all ranks' addends; answers its number. Collective.
  virtual std::size_t add_sum(std::span<const Complex> addends, std::span<Complex> sums) = 0;

  void start(std::size_t i);
  void wait(std::size_t i);
  // Gives a library that does not progress by itself the chance to do so.
  void poll();

  // Marks the time from begin to end in the engine's trace, if there is one. Regions may be nested.
  virtual void begin(const char* /*region*/) {}
  virtual void end() {}

  [[nodiscard]] virtual ExchangeTimes times() const { return {.exposed = exposed_}; }
  // The executor: a helper, the rank itself, or MPI.
  [[nodiscard]] virtual std::string executor() const { return "MPI"; }

protected:
  virtual void do_start(std::size_t i) = 0;
  virtual void do_wait(std::size_t i) = 0;
  virtual void do_poll() {}

private:
  double exposed_ = 0;
};

// Collective over the communicator, which must outlive the exchange.
std::unique_ptr<Exchange> make_exchange(Variant variant, MPI_Comm comm, const EngineOptions& options);

} // namespace transposes
