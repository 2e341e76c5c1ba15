// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/mpi_calls.hpp"

#include "api/pmpi/errors.hpp"
#include "api/pmpi/handles.hpp"
#include "api/pmpi/library.hpp"
#include "engine/agreement.hpp"
#include "engine/neighbor_alltoall.hpp"

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

// A function of int, and the same one of large counts.
template <class Count, class Function, class LargeFunction>
auto choose(Function function, LargeFunction large_function) {
  if constexpr (std::is_same_v<Count, int>) {
    return function;
  } else {
    return large_function;
  }
}

#define STOKER_PMPI_START(name) choose<Count>(library.MPI_I##name, library.MPI_I##name##_c)

template <class Count, class Displ>
int start(const CollectiveCall& c, const Arrays<Count, Displ>& a, MPI_Comm comm, MPI_Request* request) {
  const Library& library = real();
  switch (c.family) {
  case Family::allgather:
    return STOKER_PMPI_START(allgather)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf, *a.recvcounts, *c.recvtypes,
                                        comm, request);
  case Family::allgatherv:
    return STOKER_PMPI_START(allgatherv)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf, a.recvcounts, a.rdispls,
                                         *c.recvtypes, comm, request);
  case Family::allreduce:
    return STOKER_PMPI_START(allreduce)(c.sendbuf, c.recvbuf, *a.recvcounts, *c.recvtypes, c.op, comm, request);
  case Family::alltoall:
    return STOKER_PMPI_START(alltoall)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf, *a.recvcounts, *c.recvtypes,
                                       comm, request);
  case Family::alltoallv:
    return STOKER_PMPI_START(alltoallv)(c.sendbuf, a.sendcounts, a.sdispls, *c.sendtypes, c.recvbuf, a.recvcounts,
                                        a.rdispls, *c.recvtypes, comm, request);
  case Family::alltoallw:
    return STOKER_PMPI_START(alltoallw)(c.sendbuf, a.sendcounts, a.sdispls, c.sendtypes, c.recvbuf, a.recvcounts,
                                        a.rdispls, c.recvtypes, comm, request);
  case Family::barrier:
    return library.MPI_Ibarrier(comm, request);
  case Family::bcast:
    return STOKER_PMPI_START(bcast)(c.recvbuf, *a.recvcounts, *c.recvtypes, c.root, comm, request);
  case Family::exscan:
    return STOKER_PMPI_START(exscan)(c.sendbuf, c.recvbuf, *a.recvcounts, *c.recvtypes, c.op, comm, request);
  case Family::gather:
    return STOKER_PMPI_START(gather)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf, *a.recvcounts, *c.recvtypes,
                                     c.root, comm, request);
  case Family::gatherv:
    return STOKER_PMPI_START(gatherv)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf, a.recvcounts, a.rdispls,
                                      *c.recvtypes, c.root, comm, request);
  case Family::neighbor_allgather:
    return STOKER_PMPI_START(neighbor_allgather)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf, *a.recvcounts,
                                                 *c.recvtypes, comm, request);
  case Family::neighbor_allgatherv:
    return STOKER_PMPI_START(neighbor_allgatherv)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf, a.recvcounts,
                                                  a.rdispls, *c.recvtypes, comm, request);
  case Family::neighbor_alltoall:
    return STOKER_PMPI_START(neighbor_alltoall)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf, *a.recvcounts,
                                                *c.recvtypes, comm, request);
  case Family::neighbor_alltoallv:
    return STOKER_PMPI_START(neighbor_alltoallv)(c.sendbuf, a.sendcounts, a.sdispls, *c.sendtypes, c.recvbuf,
                                                 a.recvcounts, a.rdispls, *c.recvtypes, comm, request);
  case Family::neighbor_alltoallw: // displacements are large in either form
    return STOKER_PMPI_START(neighbor_alltoallw)(c.sendbuf, a.sendcounts, c.sdispls.wide, c.sendtypes, c.recvbuf,
                                                 a.recvcounts, c.rdispls.wide, c.recvtypes, comm, request);
  case Family::reduce:
    return STOKER_PMPI_START(reduce)(c.sendbuf, c.recvbuf, *a.recvcounts, *c.recvtypes, c.op, c.root, comm, request);
  case Family::reduce_scatter:
    return STOKER_PMPI_START(reduce_scatter)(c.sendbuf, c.recvbuf, a.recvcounts, *c.recvtypes, c.op, comm, request);
  case Family::reduce_scatter_block:
    return STOKER_PMPI_START(reduce_scatter_block)(c.sendbuf, c.recvbuf, *a.recvcounts, *c.recvtypes, c.op, comm,
                                                   request);
  case Family::scan:
    return STOKER_PMPI_START(scan)(c.sendbuf, c.recvbuf, *a.recvcounts, *c.recvtypes, c.op, comm, request);
  case Family::scatter:
    return STOKER_PMPI_START(scatter)(c.sendbuf, *a.sendcounts, *c.sendtypes, c.recvbuf, *a.recvcounts, *c.recvtypes,
                                      c.root, comm, request);
  case Family::scatterv:
    return STOKER_PMPI_START(scatterv)(c.sendbuf, a.sendcounts, a.sdispls, *c.sendtypes, c.recvbuf, *a.recvcounts,
                                       *c.recvtypes, c.root, comm, request);
  }
  return MPI_ERR_INTERN;
}

// False where a number does not fit.
template <class Large>
bool narrow(const Numbers<Large>& numbers, std::size_t count, std::vector<int>& narrowed) {
  narrowed.assign(std::max<std::size_t>(count, 1), 0); // single ones are looked at where nothing is significant
  for (std::size_t i = 0; numbers.given() && i < count; ++i) {
    const Large value = numbers[i];
    if (value < INT_MIN || value > INT_MAX) {
      return false;
    }
    narrowed[i] = static_cast<int>(value);
  }
  return true;
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
  const bool large = call.sendcounts.wide != nullptr || call.recvcounts.wide != nullptr;
  if (!large) {
    return start(call,
                 IntArrays{call.sendcounts.narrow, call.sdispls.narrow, call.recvcounts.narrow, call.rdispls.narrow},
                 comm, request);
  }
  if (real().MPI_Iallreduce_c != nullptr) { // the library has all of them or none
    return start(call, LargeArrays{call.sendcounts.wide, call.sdispls.wide, call.recvcounts.wide, call.rdispls.wide},
                 comm, request);
  }
  const CountsOf counts = counts_of(call.family, peers_of(call, comm));
  const bool fits = narrow(call.sendcounts, call.sendbuf == MPI_IN_PLACE ? 0 : counts.send, arrays.sendcounts) &&
                    narrow(call.recvcounts, call.recvbuf == MPI_IN_PLACE ? 0 : counts.recv, arrays.recvcounts) &&
                    (call.family == Family::neighbor_alltoallw ||
                     (narrow(call.sdispls, call.sendbuf == MPI_IN_PLACE ? 0 : counts.send, arrays.sdispls) &&
                      narrow(call.rdispls, counts.recv, arrays.rdispls)));
  if (!fits) {
    return MPI_ERR_COUNT;
  }
  return start(
      call, IntArrays{arrays.sendcounts.data(), arrays.sdispls.data(), arrays.recvcounts.data(), arrays.rdispls.data()},
      comm, request);
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
