// SPDX-License-Identifier: BSD-3-Clause
// The collectives as the application calls them: MPI_X, and PMPI_X, which Open MPI's Fortran bindings and other tools
// call.
//
// A call that is left to the MPI library costs a look at whether its form is open, and a count.
#include "api/pmpi/alias.hpp"
#include "api/pmpi/collectives.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/mpi_calls.hpp"
#include "api/pmpi/persistent.hpp"
#include "api/pmpi/state.hpp"

using stoker::pmpi::blocking_call;
using stoker::pmpi::call_narrowed;
using stoker::pmpi::Collective;
using stoker::pmpi::CollectiveCall;
using stoker::pmpi::count_closed;
using stoker::pmpi::Form;
using stoker::pmpi::is_open;
using stoker::pmpi::MpiInit;
using stoker::pmpi::nonblocking_call;
using stoker::pmpi::note_use;
using stoker::pmpi::persistent_init;
using stoker::pmpi::real;
using stoker::pmpi::start_narrowed;
using stoker::pmpi::uses_are_noted;

#define LIST(...) __VA_ARGS__ // what stands in parentheses as one argument of a macro, without them
#define CALL(name, ...)                                                                                                \
  CollectiveCall { .collective = Collective::name, __VA_ARGS__, .comm = comm, .site = __builtin_return_address(0) }

// Where the MPI library has no such function, it is one for large counts.
#define DEFINE_BLOCKING(collective, Name, parameters, arguments, ...)                                                  \
  extern "C" int MPI_##Name(LIST parameters, MPI_Comm comm) {                                                          \
    if (uses_are_noted.load(std::memory_order_relaxed)) [[unlikely]] {                                                 \
      note_use(CALL(collective, __VA_ARGS__));                                                                         \
    }                                                                                                                  \
    if (is_open(Form::blocking)) {                                                                                     \
      if (const auto code = blocking_call(CALL(collective, __VA_ARGS__))) {                                            \
        return *code;                                                                                                  \
      }                                                                                                                \
    } else {                                                                                                           \
      count_closed(Form::blocking, Collective::collective);                                                            \
    }                                                                                                                  \
    if (real().MPI_##Name == nullptr) [[unlikely]] {                                                                   \
      return call_narrowed(CALL(collective, __VA_ARGS__));                                                             \
    }                                                                                                                  \
    return real().MPI_##Name(LIST arguments, comm);                                                                    \
  }                                                                                                                    \
  ALIAS(PMPI_##Name, MPI_##Name)

#define DEFINE_NONBLOCKING(collective, Name, parameters, arguments, ...)                                               \
  extern "C" int MPI_##Name(LIST parameters, MPI_Comm comm, MPI_Request* request) {                                    \
    if (is_open(Form::nonblocking)) {                                                                                  \
      if (const auto code = nonblocking_call(CALL(collective, __VA_ARGS__), request, comm)) {                          \
        return *code;                                                                                                  \
      }                                                                                                                \
    } else {                                                                                                           \
      count_closed(Form::nonblocking, Collective::collective);                                                         \
    }                                                                                                                  \
    if (real().MPI_##Name == nullptr) [[unlikely]] {                                                                   \
      return start_narrowed(CALL(collective, __VA_ARGS__), request);                                                   \
    }                                                                                                                  \
    return real().MPI_##Name(LIST arguments, comm, request);                                                           \
  }                                                                                                                    \
  ALIAS(PMPI_##Name, MPI_##Name)

#define DEFINE_PERSISTENT(collective, Name, parameters, arguments, ...)                                                \
  extern "C" int MPI_##Name(LIST parameters, MPI_Comm comm, MPI_Info info, MPI_Request* request) {                     \
    MpiInit mpi;                                                                                                       \
    if (real().MPI_##Name != nullptr) {                                                                                \
      mpi = [&](MPI_Request* its_request) { return real().MPI_##Name(LIST arguments, comm, info, its_request); };      \
    }                                                                                                                  \
    return persistent_init(CALL(collective, __VA_ARGS__), info, request, mpi);                                         \
  }                                                                                                                    \
  ALIAS(PMPI_##Name, MPI_##Name)

// Open MPI 4.1's persistent collectives, from before MPI-4.
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define ALIAS_EXTENSION(Name)                                                                                          \
  ALIAS(MPIX_##Name##_init, MPI_##Name##_init)                                                                         \
  ALIAS(PMPIX_##Name##_init, MPI_##Name##_init)
#else
#define ALIAS_EXTENSION(Name)
#endif

#define COUNT int
#define DISPL int
#define COLLECTIVE(collective, Name, parameters, arguments, ...)                                                       \
  DEFINE_BLOCKING(collective, Name, parameters, arguments, __VA_ARGS__)                                                \
  DEFINE_NONBLOCKING(collective, I##collective, parameters, arguments, __VA_ARGS__)                                    \
  DEFINE_PERSISTENT(collective, Name##_init, parameters, arguments, __VA_ARGS__)                                       \
  ALIAS_EXTENSION(Name)
#define EXCHANGE COLLECTIVE
#define MPI_ONLY COLLECTIVE
#include "engine/data/collectives.def"
#undef DISPL
#undef COUNT

#define COUNT MPI_Count
#define DISPL MPI_Aint
#define COLLECTIVE(collective, Name, parameters, arguments, ...)                                                       \
  DEFINE_BLOCKING(collective, Name##_c, parameters, arguments, __VA_ARGS__)                                            \
  DEFINE_NONBLOCKING(collective, I##collective##_c, parameters, arguments, __VA_ARGS__)                                \
  DEFINE_PERSISTENT(collective, Name##_init_c, parameters, arguments, __VA_ARGS__)
#define EXCHANGE COLLECTIVE
#define MPI_ONLY COLLECTIVE
#include "engine/data/collectives.def"

extern "C" {

int MPI_Barrier(MPI_Comm comm) {
  if (uses_are_noted.load(std::memory_order_relaxed)) [[unlikely]] {
    note_use({.comm = comm});
  }
  if (is_open(Form::blocking)) {
    if (const auto code = blocking_call({.comm = comm, .site = __builtin_return_address(0)})) {
      return *code;
    }
  } else {
    count_closed(Form::blocking, Collective::barrier);
  }
  return real().MPI_Barrier(comm);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  if (is_open(Form::nonblocking)) {
    if (const auto code = nonblocking_call({.comm = comm, .site = __builtin_return_address(0)}, request, comm)) {
      return *code;
    }
  } else {
    count_closed(Form::nonblocking, Collective::barrier);
  }
  return real().MPI_Ibarrier(comm, request);
}

int MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  MpiInit mpi;
  if (real().MPI_Barrier_init != nullptr) {
    mpi = [&](MPI_Request* its_request) { return real().MPI_Barrier_init(comm, info, its_request); };
  }
  return persistent_init({.comm = comm, .site = __builtin_return_address(0)}, info, request, mpi);
}
}

ALIAS(PMPI_Barrier, MPI_Barrier)
ALIAS(PMPI_Ibarrier, MPI_Ibarrier)
ALIAS(PMPI_Barrier_init, MPI_Barrier_init)
ALIAS_EXTENSION(Barrier)
