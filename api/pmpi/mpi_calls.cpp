// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/mpi_calls.hpp"

#include "api/pmpi/errors.hpp"
#include "api/pmpi/handles.hpp"
#include "api/pmpi/library.hpp"
#include "engine/base/agreement.hpp"
#include "engine/requests/neighbor_alltoall.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace stoker::pmpi {
namespace {

template <class Count, class Displ>
struct Arrays {
  const Count* sendcounts;
  const Displ* sdispls;
  const Count* recvcounts;
  const Displ* rdispls;
};
using IntArrays = Arrays<int, int>;
using LargeArrays = Arrays<MPI_Count, MPI_Aint>;

// Which of the functions of a family is called.
enum class Way { nonblocking, persistent };

// The MPI library may have no such function.
template <class Function>
struct IfThere {
  Function function;
  template <class... Arguments>
  int operator()(Arguments... arguments) const {
    return function != nullptr ? function(arguments...) : MPI_ERR_UNSUPPORTED_OPERATION;
  }
};

template <Way way, class Count, class Start, class LargeStart, class Init, class LargeInit>
auto choose(Start start, LargeStart large_start, Init init, LargeInit large_init) {
  constexpr bool large = !std::is_same_v<Count, int>;
  if constexpr (way == Way::nonblocking && !large) {
    return IfThere<Start>{start};
  } else if constexpr (way == Way::nonblocking) {
    return IfThere<LargeStart>{large_start};
  } else if constexpr (!large) {
    return IfThere<Init>{init};
  } else {
    return IfThere<LargeInit>{large_init};
  }
}

#define STOKER_PMPI_CALL(name, Name)                                                                                   \
  choose<way, Count>(library.MPI_I##name, library.MPI_I##name##_c, library.MPI_##Name##_init,                          \
                     library.MPI_##Name##_init_c)

// `last`: the communicator, info where that is wanted, and the request.
template <Way way, class Count, class Displ, class... Last>
int issue(const CollectiveCall& c, const Arrays<Count, Displ>& a, Last... last) {
  const Library& library = real();
  switch (c.family) {
  case Family::allgather:
    return STOKER_PMPI_CALL(allgather, Allgather)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf, *a.recvcounts,
                                                  *c.recvtypes, last...);
  case Family::allgatherv:
    return STOKER_PMPI_CALL(allgatherv, Allgatherv)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf, a.recvcounts,
                                                    a.rdispls, *c.recvtypes, last...);
  case Family::allreduce:
    return STOKER_PMPI_CALL(allreduce, Allreduce)(c.sendbuf, c.recvbuf, *a.recvcounts, *c.recvtypes, c.op, last...);
  case Family::alltoall:
    return STOKER_PMPI_CALL(alltoall, Alltoall)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf, *a.recvcounts,
                                                *c.recvtypes, last...);
  case Family::alltoallv:
    return STOKER_PMPI_CALL(alltoallv, Alltoallv)(c.sendbuf, a.sendcounts, a.sdispls, *c.sendtypes, c.recvbuf,
                                                  a.recvcounts, a.rdispls, *c.recvtypes, last...);
  case Family::alltoallw:
    return STOKER_PMPI_CALL(alltoallw, Alltoallw)(c.sendbuf, a.sendcounts, a.sdispls, c.sendtypes, c.recvbuf,
                                                  a.recvcounts, a.rdispls, c.recvtypes, last...);
  case Family::barrier:
    if constexpr (way == Way::nonblocking) {
      return library.MPI_Ibarrier(last...);
    } else {
      return IfThere<decltype(library.MPI_Barrier_init)>{library.MPI_Barrier_init}(last...);
    }
  case Family::bcast:
    return STOKER_PMPI_CALL(bcast, Bcast)(c.recvbuf, *a.recvcounts, *c.recvtypes, c.root, last...);
  case Family::exscan:
    return STOKER_PMPI_CALL(exscan, Exscan)(c.sendbuf, c.recvbuf, *a.recvcounts, *c.recvtypes, c.op, last...);
  case Family::gather:
    return STOKER_PMPI_CALL(gather, Gather)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf, *a.recvcounts,
                                            *c.recvtypes, c.root, last...);
  case Family::gatherv:
    return STOKER_PMPI_CALL(gatherv, Gatherv)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf, a.recvcounts,
                                              a.rdispls, *c.recvtypes, c.root, last...);
  case Family::neighbor_allgather:
    return STOKER_PMPI_CALL(neighbor_allgather, Neighbor_allgather)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf,
                                                                    *a.recvcounts, *c.recvtypes, last...);
  case Family::neighbor_allgatherv:
    return STOKER_PMPI_CALL(neighbor_allgatherv, Neighbor_allgatherv)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf,
                                                                      a.recvcounts, a.rdispls, *c.recvtypes, last...);
  case Family::neighbor_alltoall:
    return STOKER_PMPI_CALL(neighbor_alltoall, Neighbor_alltoall)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf,
                                                                  *a.recvcounts, *c.recvtypes, last...);
  case Family::neighbor_alltoallv:
    return STOKER_PMPI_CALL(neighbor_alltoallv, Neighbor_alltoallv)(
        c.sendbuf, a.sendcounts, a.sdispls, *c.sendtypes, c.recvbuf, a.recvcounts, a.rdispls, *c.recvtypes, last...);
  case Family::neighbor_alltoallw: // displacements are large in either form
    return STOKER_PMPI_CALL(neighbor_alltoallw, Neighbor_alltoallw)(c.sendbuf, a.sendcounts, c.sdispls.wide,
                                                                    c.sendtypes, c.recvbuf, a.recvcounts,
                                                                    c.rdispls.wide, c.recvtypes, last...);
  case Family::reduce:
    return STOKER_PMPI_CALL(reduce, Reduce)(c.sendbuf, c.recvbuf, *a.recvcounts, *c.recvtypes, c.op, c.root, last...);
  case Family::reduce_scatter:
    return STOKER_PMPI_CALL(reduce_scatter, Reduce_scatter)(c.sendbuf, c.recvbuf, a.recvcounts, *c.recvtypes, c.op,
                                                            last...);
  case Family::reduce_scatter_block:
    return STOKER_PMPI_CALL(reduce_scatter_block, Reduce_scatter_block)(c.sendbuf, c.recvbuf, *a.recvcounts,
                                                                        *c.recvtypes, c.op, last...);
  case Family::scan:
    return STOKER_PMPI_CALL(scan, Scan)(c.sendbuf, c.recvbuf, *a.recvcounts, *c.recvtypes, c.op, last...);
  case Family::scatter:
    return STOKER_PMPI_CALL(scatter, Scatter)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf, *a.recvcounts,
                                              *c.recvtypes, c.root, last...);
  case Family::scatterv:
    return STOKER_PMPI_CALL(scatterv, Scatterv)(c.sendbuf, a.sendcounts, a.sdispls, *c.sendtypes, c.recvbuf,
                                                *a.recvcounts, *c.recvtypes, c.root, last...);
  }
  return MPI_ERR_INTERN;
}

// False where a number does not fit. Displacements: of blocks of so many elements.
template <class Large>
bool narrow(const Numbers<Large>& numbers, std::size_t count, std::vector<int>& narrowed,
            const std::vector<int>* elements = nullptr) {
  narrowed.assign(std::max<std::size_t>(count, 1), 0); // single ones are looked at where nothing is significant
  for (std::size_t i = 0; numbers.given() && i < count; ++i) {
    const Large value = elements != nullptr && (*elements)[i] == 0 ? 0 : numbers[i];
    if (value < INT_MIN || value > INT_MAX) {
      return false;
    }
    narrowed[i] = static_cast<int>(value);
  }
  return true;
}

// With the numbers of the call as they are, or narrowed where they are large and the library's are not.
template <Way way, class... Last>
int issue_as(const CollectiveCall& call, MPI_Comm comm, NarrowArrays& arrays, bool has_large, Last... last) {
  const bool large = call.sendcounts.wide != nullptr || call.recvcounts.wide != nullptr;
  if (!large) {
    return issue<way>(
        call, IntArrays{call.sendcounts.narrow, call.sdispls.narrow, call.recvcounts.narrow, call.rdispls.narrow},
        last...);
  }
  if (has_large) {
    return issue<way>(
        call, LargeArrays{call.sendcounts.wide, call.sdispls.wide, call.recvcounts.wide, call.rdispls.wide}, last...);
  }
  const CountsOf counts = counts_of(call.family, peers_of(call, comm));
  const bool fits =
      narrow(call.sendcounts, call.sendbuf == MPI_IN_PLACE ? 0 : counts.send, arrays.sendcounts) &&
      narrow(call.recvcounts, call.recvbuf == MPI_IN_PLACE ? 0 : counts.recv, arrays.recvcounts) &&
      (call.family == Family::neighbor_alltoallw ||
       (narrow(call.sdispls, call.sendbuf == MPI_IN_PLACE ? 0 : counts.send, arrays.sdispls, &arrays.sendcounts) &&
        narrow(call.rdispls, counts.recv, arrays.rdispls, &arrays.recvcounts)));
  if (!fits) {
    return MPI_ERR_COUNT;
  }
  return issue<way>(
      call, IntArrays{arrays.sendcounts.data(), arrays.sdispls.data(), arrays.recvcounts.data(), arrays.rdispls.data()},
      last...);
}

// A nonblocking call with narrowed arrays, which have to live as long as it.
class NarrowedRequest final : public Request {
public:
  explicit NarrowedRequest(MPI_Comm comm) : Request(comm) {}
  [[nodiscard]] bool persistent() const override { return false; }
  [[nodiscard]] bool active() const override { return active_; }
  void start() override { throw engine::Error(engine::Code::state, "request is not persistent"); }
  [[nodiscard]] bool done() override {
    int flag = 0;
    code_ = code_ != MPI_SUCCESS ? code_ : real().MPI_Test(&request_, &flag, MPI_STATUS_IGNORE);
    return flag != 0 || code_ != MPI_SUCCESS;
  }
  void wait() override { code_ = code_ != MPI_SUCCESS ? code_ : real().MPI_Wait(&request_, MPI_STATUS_IGNORE); }
  void finish() override {
    active_ = false;
    engine::check_mpi(code_, "a nonblocking collective");
  }
  [[nodiscard]] int begin(const CollectiveCall& call) { return start_mpi(call, call.comm, &request_, arrays_); }

private:
  MPI_Request request_ = MPI_REQUEST_NULL;
  NarrowArrays arrays_;
  int code_ = MPI_SUCCESS;
  bool active_ = true;
};

} // namespace

Peers peers_of(const CollectiveCall& call, MPI_Comm comm) {
  int inter = 0;
  int size = 0;
  int rank = 0;
  MPI_Comm_test_inter(comm, &inter);
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  Peers peers;
  peers.at_root = inter != 0 ? call.root == MPI_ROOT : call.root == rank;
  if (inter != 0 && call.family != Family::reduce_scatter) {
    MPI_Comm_remote_size(comm, &size);
  }
  peers.ranks = static_cast<std::size_t>(size);
  if (is_neighborhood(call.family)) {
    const engine::Neighbors neighbors = engine::neighbors_of(comm);
    peers.targets = neighbors.targets.size();
    peers.sources = neighbors.sources.size();
  }
  return peers;
}

int start_mpi(const CollectiveCall& call, MPI_Comm comm, MPI_Request* request, NarrowArrays& arrays) {
  const bool has_large = real().MPI_Iallreduce_c != nullptr; // the library has all of them or none
  return issue_as<Way::nonblocking>(call, comm, arrays, has_large, comm, request);
}

int init_mpi(const CollectiveCall& call, MPI_Comm comm, MPI_Request* request, NarrowArrays& arrays) {
  const bool has_large = real().MPI_Allreduce_init_c != nullptr; // likewise
  return issue_as<Way::persistent>(call, comm, arrays, has_large, comm, MPI_INFO_NULL, request);
}

int call_narrowed(const CollectiveCall& call) {
  NarrowArrays arrays;
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = start_mpi(call, call.comm, &request, arrays);
  if (code == MPI_ERR_COUNT) { // found here: the MPI library has not told the error handler
    MPI_Comm_call_errhandler(call.comm, code);
  }
  return code != MPI_SUCCESS ? code : real().MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int start_narrowed(const CollectiveCall& call, MPI_Request* request) {
  auto kept = std::make_unique<NarrowedRequest>(call.comm);
  const int code = kept->begin(call);
  if (code == MPI_ERR_COUNT) {
    MPI_Comm_call_errhandler(call.comm, code);
  }
  if (code == MPI_SUCCESS) {
    *request = insert(std::move(kept));
  }
  return code;
}

} // namespace stoker::pmpi
