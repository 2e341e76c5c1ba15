// SPDX-License-Identifier: BSD-3-Clause
#include "engine/data/mpi_collectives.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <type_traits>

#define LIST(...) __VA_ARGS__ // what stands in parentheses as one argument of a macro, without them

// Functions of MPI-4, which the library may lack; null then.
#define WEAK(name, ...) extern "C" [[gnu::weak]] int name(__VA_ARGS__);

#define COUNT int
#define DISPL int
#define COLLECTIVE(name, Name, parameters, ...)                                                                        \
  WEAK(PMPI_##Name##_init, LIST parameters, MPI_Comm comm, MPI_Info info, MPI_Request* request)
#define EXCHANGE COLLECTIVE
#define MPI_ONLY COLLECTIVE
#include "engine/data/collectives.def"
#undef DISPL
#undef COUNT
WEAK(PMPI_Barrier_init, MPI_Comm comm, MPI_Info info, MPI_Request* request)

#define COUNT MPI_Count
#define DISPL MPI_Aint
#define COLLECTIVE(name, Name, parameters, ...)                                                                        \
  WEAK(PMPI_##Name##_c, LIST parameters, MPI_Comm comm)                                                                \
  WEAK(PMPI_I##name##_c, LIST parameters, MPI_Comm comm, MPI_Request* request)                                         \
  WEAK(PMPI_##Name##_init_c, LIST parameters, MPI_Comm comm, MPI_Info info, MPI_Request* request)
#define EXCHANGE COLLECTIVE
#define MPI_ONLY COLLECTIVE
#include "engine/data/collectives.def"
#undef DISPL
#undef COUNT

namespace stoker::engine {
namespace {

using algos::Collective;

enum class Form : std::uint8_t { blocking, nonblocking, persistent };

template <class Function>
struct IfThere {
  Function* function;
  template <class... Arguments>
  int operator()(const Arguments&... arguments) const {
    return function != nullptr ? function(arguments...) : MPI_ERR_UNSUPPORTED_OPERATION;
  }
};

template <Form form, class Blocking, class Nonblocking, class Persistent>
auto function_of([[maybe_unused]] Blocking* blocking, [[maybe_unused]] Nonblocking* nonblocking,
                 [[maybe_unused]] Persistent* persistent) {
  if constexpr (form == Form::blocking) {
    return IfThere<Blocking>{blocking};
  } else if constexpr (form == Form::nonblocking) {
    return IfThere<Nonblocking>{nonblocking};
  } else {
    return IfThere<Persistent>{persistent};
  }
}

// The arguments by the names that collectives.def has. `last`: the communicator, and what the form has besides.
template <Form form, class Count, class... Last>
int issue(const CollectiveCall& c, Last... last) {
  // Single ones only: arrays may be anything at a rank where MPI does not look at them.
  const algos::CollectiveTraits& traits = algos::traits_of(c.collective);
  const auto single = [](const Numbers<MPI_Count>& counts, algos::Number number) {
    return number == algos::Number::one && counts.given() ? static_cast<Count>(counts.at(0)) : Count{0};
  };
  const auto type = [&](const MPI_Datatype* types) {
    return types == nullptr || traits.own_types ? MPI_DATATYPE_NULL : *types;
  };
  const void* const sendbuf = c.sendbuf;
  const Count sendcount = single(c.sendcounts, traits.send.counts);
  const Numbers<MPI_Count>& sendcounts = c.sendcounts;
  const Numbers<MPI_Aint>& sdispls = c.sdispls;
  const MPI_Datatype* const sendtypes = c.sendtypes;
  const MPI_Datatype sendtype = type(sendtypes);
  void* const recvbuf = c.recvbuf;
  void* const buffer = recvbuf;
  const Count recvcount = single(c.recvcounts, traits.recv.counts);
  const Count count = recvcount;
  const Numbers<MPI_Count>& recvcounts = c.recvcounts;
  const Numbers<MPI_Aint>& rdispls = c.rdispls;
  const Numbers<MPI_Aint>& displs = c.collective == Collective::scatterv ? sdispls : rdispls;
  const MPI_Datatype* const recvtypes = c.recvtypes;
  const MPI_Datatype recvtype = type(recvtypes);
  const MPI_Datatype datatype = recvtype;
  const MPI_Op op = c.op;
  const int root = c.root;
  switch (c.collective) {
#define COLLECTIVE(name, Name, parameters, arguments, ...)                                                             \
  case Collective::name:                                                                                               \
    if constexpr (std::is_same_v<Count, int>) {                                                                        \
      return function_of<form>(PMPI_##Name, PMPI_I##name, PMPI_##Name##_init)(LIST arguments, last...);                \
    } else {                                                                                                           \
      return function_of<form>(PMPI_##Name##_c, PMPI_I##name##_c, PMPI_##Name##_init_c)(LIST arguments, last...);      \
    }
#define EXCHANGE COLLECTIVE
#define MPI_ONLY COLLECTIVE
#include "engine/data/collectives.def"
  case Collective::barrier:
    return function_of<form>(PMPI_Barrier, PMPI_Ibarrier, PMPI_Barrier_init)(last...);
  }
  return MPI_ERR_INTERN;
}

// Narrows numbers; returns false if one does not fit. `elements`: how many lie at each; where there are none, or it is not
// said, numbers are not looked at.
template <class Large>
bool narrow(Numbers<Large>& numbers, std::size_t count, std::vector<int>& narrowed,
            const std::vector<int>* elements = nullptr) {
  if (!numbers.given()) { // the MPI library says so where it looks at them
    return true;
  }
  narrowed.assign(std::max<std::size_t>(count, 1), 0); // single ones are looked at where nothing is significant
  for (std::size_t i = 0; i < count; ++i) {
    const bool nothing = elements != nullptr && (i >= elements->size() || (*elements)[i] == 0);
    const Large value = nothing ? 0 : numbers.at(i);
    if (value < INT_MIN || value > INT_MAX) {
      return false;
    }
    narrowed[i] = static_cast<int>(value);
  }
  numbers = narrowed.data();
  return true;
}

template <Form form, class... Last>
int issue_as_wide(const CollectiveCall& given, MPI_Comm comm, NarrowArrays& arrays, Last... last) {
  if (given.sendcounts.wide == nullptr && given.recvcounts.wide == nullptr) {
    return issue<form, int>(given, comm, last...);
  }
  const int code = issue<form, MPI_Count>(given, comm, last...);
  if (code != MPI_ERR_UNSUPPORTED_OPERATION) {
    return code;
  }
  CollectiveCall call = given;
  if (comm == MPI_COMM_NULL) { // the MPI library says so, and looks at nothing else
    return issue<form, int>(call, comm, last...);
  }
  const Significant read = significant(call, peers_of(call, comm));
  const std::size_t sent = read.send ? read.sendcounts : 0;
  const bool receives = call.recvbuf != MPI_IN_PLACE || traits_of(call.collective).combines; // whose counts are of both
  const std::size_t received = receives ? read.recvcounts : 0;
  arrays.fit = narrow(call.sendcounts, sent, arrays.sendcounts) &&
               narrow(call.recvcounts, received, arrays.recvcounts) &&
               (call.collective == Collective::neighbor_alltoallw || // displacements are large in either form
                (narrow(call.sdispls, sent, arrays.sdispls, &arrays.sendcounts) &&
                 narrow(call.rdispls, read.recvcounts, arrays.rdispls, &arrays.recvcounts)));
  return arrays.fit ? issue<form, int>(call, comm, last...) : MPI_ERR_COUNT;
}

} // namespace

int call_mpi(const CollectiveCall& call, MPI_Comm comm) {
  NarrowArrays arrays;
  return call_mpi(call, comm, arrays);
}

int call_mpi(const CollectiveCall& call, MPI_Comm comm, NarrowArrays& arrays) {
  return issue_as_wide<Form::blocking>(call, comm, arrays);
}

int start_mpi(const CollectiveCall& call, MPI_Comm comm, MPI_Request* request, NarrowArrays& arrays) {
  return issue_as_wide<Form::nonblocking>(call, comm, arrays, request);
}

int init_mpi(const CollectiveCall& call, MPI_Comm comm, MPI_Request* request, NarrowArrays& arrays) {
  return issue_as_wide<Form::persistent>(call, comm, arrays, MPI_INFO_NULL, request);
}

} // namespace stoker::engine
