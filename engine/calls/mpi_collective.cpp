// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/mpi_collective.hpp"

#include "engine/base/agreement.hpp"
#include "engine/data/mpi_collectives.hpp"

#include <climits>
#include <string>

namespace stoker::engine {

void wait_for_mpi(Engine& engine, const CommContext& context, const CollectiveCall& call) {
  NarrowArrays arrays;
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = start_mpi(call, context.comm(), &request, arrays);
  if (code == MPI_ERR_COUNT) {
    throw Error(Code::unsupported, "counts or displacements are beyond " + std::to_string(INT_MAX) +
                                       ", which the MPI library's own collective cannot take");
  }
  check_mpi(code, name_of(call.collective).data());
  engine.wait_for_mpi(request);
}

} // namespace stoker::engine
