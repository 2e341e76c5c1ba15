// SPDX-License-Identifier: BSD-3-Clause
// Errors of calls that the application has the MPI library make, but on a communicator of the engine's: they go to the
// error handler of the application's communicator, as they would if the call were made there.
#pragma once

#include <mpi.h>

namespace stoker::engine {

// From now on errors on `own` go to the handler of `given`; until stop_forwarding(), which comes before either is
// freed. Throws Error(mpi).
void forward_errors(MPI_Comm own, MPI_Comm given);
void stop_forwarding(MPI_Comm own);
// From now on to the handler of another one, if they are forwarded at all.
void redirect_errors(MPI_Comm own, MPI_Comm given);

// While one exists, errors of this thread's calls are only returned: those of the engine's own calls.
class ErrorsAreReturned {
public:
  ErrorsAreReturned();
  ErrorsAreReturned(const ErrorsAreReturned&) = delete;
  ErrorsAreReturned& operator=(const ErrorsAreReturned&) = delete;
  ~ErrorsAreReturned();
};

} // namespace stoker::engine
