// SPDX-License-Identifier: BSD-3-Clause
// The C door to the collectives: persistent ones, stoker_X_init, and blocking ones, stoker_X, with int and with large
// counts.
#include <stoker/stoker_blocking.h>

#include "api/c/guarded.hpp"
#include "engine/calls/blocking.hpp"
#include "engine/requests/init.hpp"

using stoker::algos::Collective;
using stoker::engine::CollectiveCall;

namespace {

int init(const CollectiveCall& call, MPI_Info info, stoker_engine engine, stoker_request* request) {
  using namespace stoker::api;
  return guarded([&] {
    check_comm(call.comm);
    check_pointer(request, "request");
    *request = STOKER_REQUEST_NULL;
    *request = keep(stoker::engine::init(live(engine), call, info));
  });
}

int carry_out(const CollectiveCall& call, stoker_engine engine) {
  using namespace stoker::api;
  return guarded([&] {
    check_comm(call.comm);
    call_blocking(live(engine), call);
  });
}

} // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): names
#define LIST(...) __VA_ARGS__ // what stands in parentheses as one argument of a macro, without them
#define CALL(name, ...)                                                                                                \
  CollectiveCall { .collective = Collective::name, __VA_ARGS__, .comm = comm }
#define PERSISTENT(name, function, parameters, ...)                                                                    \
  extern "C" int function(LIST parameters, MPI_Comm comm, MPI_Info info, stoker_engine engine,                         \
                          stoker_request* request) {                                                                   \
    return init(CALL(name, __VA_ARGS__), info, engine, request);                                                       \
  }
#define BLOCKING(name, function, parameters, ...)                                                                      \
  extern "C" int function(LIST parameters, MPI_Comm comm, stoker_engine engine) {                                      \
    return carry_out(CALL(name, __VA_ARGS__), engine);                                                                 \
  }
// NOLINTEND(bugprone-macro-parentheses)

#define COUNT int
#define DISPL int
#define COLLECTIVE(name, Name, parameters, arguments, ...)                                                             \
  PERSISTENT(name, stoker_##name##_init, parameters, __VA_ARGS__)                                                      \
  BLOCKING(name, stoker_##name, parameters, __VA_ARGS__)
#define EXCHANGE(name, Name, parameters, arguments, ...) PERSISTENT(name, stoker_##name##_init, parameters, __VA_ARGS__)
#define MPI_ONLY(...)
#include "engine/data/collectives.def"
#undef DISPL
#undef COUNT

#define COUNT MPI_Count
#define DISPL MPI_Aint
#define COLLECTIVE(name, Name, parameters, arguments, ...)                                                             \
  PERSISTENT(name, stoker_##name##_init_c, parameters, __VA_ARGS__)                                                    \
  BLOCKING(name, stoker_##name##_c, parameters, __VA_ARGS__)
#define EXCHANGE(name, Name, parameters, arguments, ...)                                                               \
  PERSISTENT(name, stoker_##name##_init_c, parameters, __VA_ARGS__)
#define MPI_ONLY(...)
#include "engine/data/collectives.def"

extern "C" {

int stoker_barrier_init(MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request) {
  return init({.comm = comm}, info, engine, request);
}

int stoker_barrier(MPI_Comm comm, stoker_engine engine) { return carry_out({.comm = comm}, engine); }

} // extern "C"
