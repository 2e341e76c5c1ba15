// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/mpi_collective.hpp"

#include "engine/base/agreement.hpp"
#include "engine/helper/waiting.hpp"

#include <climits>
#include <string>
#include <vector>

namespace stoker::engine {
namespace {

using algos::Collective;

int narrow(std::int64_t value, const char* what) {
  if (value < INT_MIN || value > INT_MAX) {
    throw Error(Code::unsupported, std::string(what) + " is " + std::to_string(value) + "; expected at most " +
                                       std::to_string(INT_MAX) + " where the MPI library's own collective is called");
  }
  return static_cast<int>(value);
}

template <class Wide>
std::vector<int> narrow(const Wide* values, int count, const char* what) {
  std::vector<int> list;
  for (int i = 0; values != nullptr && i < count; ++i) {
    list.push_back(narrow(values[i], what));
  }
  return list;
}

// Arguments with counts as MPI's functions of old take them. Null where there are none: MPI does not look at them then.
class IntArguments {
public:
  IntArguments(const VectorArguments& arguments, Collective collective, int ranks)
      : sendcounts_(narrow(arguments.sendcounts, collective == Collective::scatterv ? ranks : 1, "sendcounts")),
        recvcounts_(narrow(arguments.recvcounts, takes_all_counts(collective) ? ranks : 1, "recvcounts")),
        sdispls_(narrow(arguments.sdispls, ranks, "displs")), rdispls_(narrow(arguments.rdispls, ranks, "displs")) {}
  [[nodiscard]] const int* sendcounts() const { return sendcounts_.data(); }
  [[nodiscard]] const int* recvcounts() const { return recvcounts_.data(); }
  [[nodiscard]] const int* sdispls() const { return sdispls_.data(); }
  [[nodiscard]] const int* rdispls() const { return rdispls_.data(); }
  [[nodiscard]] int sendcount() const { return sendcounts_.empty() ? 0 : sendcounts_.front(); }
  [[nodiscard]] int recvcount() const { return recvcounts_.empty() ? 0 : recvcounts_.front(); }

private:
  static bool takes_all_counts(Collective collective) {
    return collective == Collective::gatherv || collective == Collective::allgatherv ||
           collective == Collective::reduce_scatter;
  }
  std::vector<int> sendcounts_;
  std::vector<int> recvcounts_;
  std::vector<int> sdispls_;
  std::vector<int> rdispls_;
};

} // namespace

void call_mpi(Engine& engine, const CommContext& context, Collective collective, const VectorArguments& a) {
  const bool at_root = context.rank() == a.root;
  VectorArguments significant = a;
  if (!at_root && collective == Collective::gatherv) {
    significant.recvcounts = nullptr;
    significant.rdispls = nullptr;
  }
  if (!at_root && collective == Collective::scatterv) {
    significant.sendcounts = nullptr;
    significant.sdispls = nullptr;
  }
  const IntArguments ints(significant, collective, context.ranks());
  const MPI_Comm comm = context.comm();
  MPI_Request under_way = MPI_REQUEST_NULL;
  MPI_Request* const request = &under_way;
  const auto start = [&] {
    switch (collective) {
    case Collective::allreduce:
      return MPI_Iallreduce(a.sendbuf, a.recvbuf, ints.recvcount(), a.recvtype, a.op, comm, request);
    case Collective::reduce:
      return MPI_Ireduce(a.sendbuf, a.recvbuf, ints.recvcount(), a.recvtype, a.op, a.root, comm, request);
    case Collective::reduce_scatter:
      return MPI_Ireduce_scatter(a.sendbuf, a.recvbuf, ints.recvcounts(), a.recvtype, a.op, comm, request);
    case Collective::reduce_scatter_block:
      return MPI_Ireduce_scatter_block(a.sendbuf, a.recvbuf, ints.recvcount(), a.recvtype, a.op, comm, request);
    case Collective::scan:
      return MPI_Iscan(a.sendbuf, a.recvbuf, ints.recvcount(), a.recvtype, a.op, comm, request);
    case Collective::exscan:
      return MPI_Iexscan(a.sendbuf, a.recvbuf, ints.recvcount(), a.recvtype, a.op, comm, request);
    case Collective::bcast:
      return MPI_Ibcast(a.recvbuf, ints.recvcount(), a.recvtype, a.root, comm, request);
    case Collective::allgather:
      return MPI_Iallgather(a.sendbuf, ints.sendcount(), a.sendtype, a.recvbuf, ints.recvcount(), a.recvtype, comm,
                            request);
    case Collective::allgatherv:
      return MPI_Iallgatherv(a.sendbuf, ints.sendcount(), a.sendtype, a.recvbuf, ints.recvcounts(), ints.rdispls(),
                             a.recvtype, comm, request);
    case Collective::gather:
      return MPI_Igather(a.sendbuf, ints.sendcount(), a.sendtype, a.recvbuf, ints.recvcount(), a.recvtype, a.root, comm,
                         request);
    case Collective::gatherv:
      return MPI_Igatherv(a.sendbuf, ints.sendcount(), a.sendtype, a.recvbuf, ints.recvcounts(), ints.rdispls(),
                          a.recvtype, a.root, comm, request);
    case Collective::scatter:
      return MPI_Iscatter(a.sendbuf, ints.sendcount(), a.sendtype, a.recvbuf, ints.recvcount(), a.recvtype, a.root,
                          comm, request);
    case Collective::scatterv:
      return MPI_Iscatterv(a.sendbuf, ints.sendcounts(), ints.sdispls(), a.sendtype, a.recvbuf, ints.recvcount(),
                           a.recvtype, a.root, comm, request);
    default:
      return MPI_Ibarrier(comm, request);
    }
  };
  check_mpi(start(), algos::name_of(collective).data());
  engine.wait_for_mpi(*request);
}

} // namespace stoker::engine
