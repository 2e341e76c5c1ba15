// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/forwarded_errors.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/never_destroyed.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

namespace stoker::engine {
namespace {

struct Pair {
  MPI_Comm own;
  MPI_Comm given;
};
// Never destroyed: programs may leave without MPI_Finalize.
struct Pairs {
  std::mutex mutex;
  std::vector<Pair> all;
};
NeverDestroyed<Pairs> pairs_storage;
Pairs& pairs = pairs_storage.object;

thread_local int returned = 0; // ErrorsAreReturned of this thread

MPI_Comm given_of(MPI_Comm own) {
  const std::lock_guard lock(pairs.mutex);
  const auto found = std::ranges::find(pairs.all, own, &Pair::own);
  return found == pairs.all.end() ? MPI_COMM_SELF : found->given; // that of a freed one: as MPI does without any
}

// NOLINTNEXTLINE(readability-non-const-parameter): MPI's type
void forward(MPI_Comm* own, int* code, ... /* whatever the library adds */) {
  if (returned == 0) {
    PMPI_Comm_call_errhandler(given_of(*own), *code);
  }
}

} // namespace

void forward_errors(MPI_Comm own, MPI_Comm given) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  check_mpi(PMPI_Comm_create_errhandler(forward, &handler), "MPI_Comm_create_errhandler");
  const int code = PMPI_Comm_set_errhandler(own, handler);
  PMPI_Errhandler_free(&handler); // the communicator keeps it
  check_mpi(code, "MPI_Comm_set_errhandler");
  const std::lock_guard lock(pairs.mutex);
  pairs.all.push_back({own, given});
}

void stop_forwarding(MPI_Comm own) {
  const std::lock_guard lock(pairs.mutex);
  std::erase_if(pairs.all, [&](const Pair& pair) { return pair.own == own; });
}

void redirect_errors(MPI_Comm own, MPI_Comm given) {
  const std::lock_guard lock(pairs.mutex);
  const auto found = std::ranges::find(pairs.all, own, &Pair::own);
  if (found != pairs.all.end()) {
    found->given = given;
  }
}

ErrorsAreReturned::ErrorsAreReturned() { ++returned; }
ErrorsAreReturned::~ErrorsAreReturned() { --returned; }

} // namespace stoker::engine
