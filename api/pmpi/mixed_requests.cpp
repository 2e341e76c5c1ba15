// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/mixed_requests.hpp"

#include "api/pmpi/errors.hpp"
#include "api/pmpi/state.hpp"
#include "engine/base/agreement.hpp"
#include "engine/core/engine.hpp"

namespace stoker::pmpi {

using engine::Error;

void set_empty(MPI_Status* status, ErrorField field) {
  if (status != MPI_STATUS_IGNORE) {
    MPI_Status empty{}; // no elements, not cancelled
    empty.MPI_SOURCE = MPI_ANY_SOURCE;
    empty.MPI_TAG = MPI_ANY_TAG;
    empty.MPI_ERROR = field == ErrorField::set ? MPI_SUCCESS : status->MPI_ERROR;
    *status = empty;
  }
}

bool is_in_status(int code) {
  int error_class = MPI_SUCCESS;
  return code != MPI_SUCCESS && PMPI_Error_class(code, &error_class) == MPI_SUCCESS && error_class == MPI_ERR_IN_STATUS;
}

std::optional<Failure> complete(Request& request, MPI_Request& handle, MPI_Status* status, ErrorField field) {
  if (!request.active()) {
    set_empty(status);
    return std::nullopt;
  }
  set_empty(status, field);
  const MPI_Comm comm = request.comm();
  const std::optional<Error> error = engine::attempt([&] { request.finish(); });
  if (!request.persistent()) {
    (void)remove(handle);
    handle = MPI_REQUEST_NULL;
  }
  return error ? std::optional(Failure{comm, *error}) : std::nullopt;
}

int complete_one(Request& request, MPI_Request& handle, MPI_Status* status) {
  const std::optional<Failure> failure = complete(request, handle, status, ErrorField::kept);
  return failure ? report_error(failure->comm, failure->error) : MPI_SUCCESS;
}

engine::WaitSite wait_site() { return the_engine() != nullptr ? the_engine()->wait_site() : engine::WaitSite{}; }

void drive_mpi() {
  if (the_engine() != nullptr) {
    (void)the_engine()->advance(); // inline requests that the call does not ask for, because another is not complete
  }
  engine::poke_mpi(wait_site().network);
}

bool done(Request& request) {
  if (request.done()) {
    return true;
  }
  drive_mpi();
  return request.done();
}

bool get_status(Request& request, MPI_Status* status) {
  if (request.active() && !done(request)) {
    return false;
  }
  request.settle();
  set_empty(status);
  return true;
}

} // namespace stoker::pmpi
