// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/mpi_collective.hpp"

#include "engine/base/agreement.hpp"
#include "engine/data/mpi_collectives.hpp"

#include <climits>

namespace stoker::engine {

void wait_for_mpi(Engine& engine, const CommContext& context, const CollectiveCall& call) {
  NarrowArrays arrays;
  MPI_Request request = MPI_REQUEST_NULL;
  check_start(start_mpi(call, context.comm(), &request, arrays), call.collective);
  engine.wait_for_mpi(request);
}

void check_start(int code, algos::Collective collective) {
  if (code == MPI_ERR_COUNT) {
    throw Error(Code::unsupported,
                "counts or displacements are beyond {}, which the MPI library's own collective cannot take", INT_MAX);
  }
  check_mpi(code, name_of(collective).data());
}

} // namespace stoker::engine
