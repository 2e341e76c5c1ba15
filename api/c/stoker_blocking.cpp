// SPDX-License-Identifier: BSD-3-Clause
// The C door to blocking collectives.
#include <stoker/stoker_blocking.h>

#include "api/c/init.hpp"
#include "engine/calls/blocking.hpp"

using stoker::algos::Collective;
using stoker::api::check_comm;
using stoker::api::guarded;
using stoker::api::live;
using stoker::api::size_of;
using stoker::api::WideArrays;
using stoker::engine::VectorArguments;

namespace {

int call(Collective collective, const VectorArguments& arguments, stoker_engine engine) {
  return guarded([&] {
    check_comm(arguments.comm);
    call_blocking(live(engine), collective, arguments);
  });
}

// Of the collectives that combine.
int combine(Collective collective, const void* sendbuf, void* recvbuf, const MPI_Count* counts, MPI_Datatype datatype,
            MPI_Op op, int root, MPI_Comm comm, stoker_engine engine) {
  return call(collective,
              {.sendbuf = sendbuf,
               .recvbuf = recvbuf,
               .recvcounts = counts,
               .recvtype = datatype,
               .op = op,
               .root = root,
               .comm = comm},
              engine);
}

constexpr int everywhere = -1;

// `wide_call` gets the arrays, which are `root`'s only or everywhere, as the _c forms take them.
template <class Call>
int widened(const int* counts, const int* displs, int root, MPI_Comm comm, Call&& wide_call) {
  int code = STOKER_SUCCESS;
  const int refused = guarded([&] {
    check_comm(comm);
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    const WideArrays wide(counts, displs, root == everywhere || root == rank ? size_of(comm) : 0);
    code = wide_call(wide.counts, wide.displs);
  });
  return refused != STOKER_SUCCESS ? refused : code;
}

} // namespace

extern "C" {

int stoker_allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                     stoker_engine engine) {
  return stoker_allreduce_c(sendbuf, recvbuf, count, datatype, op, comm, engine);
}

int stoker_allreduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                       MPI_Comm comm, stoker_engine engine) {
  return combine(Collective::allreduce, sendbuf, recvbuf, &count, datatype, op, 0, comm, engine);
}

int stoker_reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                  MPI_Comm comm, stoker_engine engine) {
  return stoker_reduce_c(sendbuf, recvbuf, count, datatype, op, root, comm, engine);
}

int stoker_reduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                    MPI_Comm comm, stoker_engine engine) {
  return combine(Collective::reduce, sendbuf, recvbuf, &count, datatype, op, root, comm, engine);
}

int stoker_bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, stoker_engine engine) {
  return stoker_bcast_c(buffer, count, datatype, root, comm, engine);
}

int stoker_bcast_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                   stoker_engine engine) {
  return call(Collective::bcast,
              {.recvbuf = buffer, .recvcounts = &count, .recvtype = datatype, .root = root, .comm = comm}, engine);
}

int stoker_reduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
                          MPI_Comm comm, stoker_engine engine) {
  return widened(recvcounts, nullptr, everywhere, comm, [&](const MPI_Count* counts, const MPI_Aint*) {
    return stoker_reduce_scatter_c(sendbuf, recvbuf, counts, datatype, op, comm, engine);
  });
}

int stoker_reduce_scatter_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype,
                            MPI_Op op, MPI_Comm comm, stoker_engine engine) {
  return combine(Collective::reduce_scatter, sendbuf, recvbuf, recvcounts, datatype, op, 0, comm, engine);
}

int stoker_reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
                                MPI_Comm comm, stoker_engine engine) {
  return stoker_reduce_scatter_block_c(sendbuf, recvbuf, recvcount, datatype, op, comm, engine);
}

int stoker_reduce_scatter_block_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                                  MPI_Op op, MPI_Comm comm, stoker_engine engine) {
  return combine(Collective::reduce_scatter_block, sendbuf, recvbuf, &recvcount, datatype, op, 0, comm, engine);
}

int stoker_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                     MPI_Datatype recvtype, MPI_Comm comm, stoker_engine engine) {
  return stoker_allgather_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, engine);
}

int stoker_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, stoker_engine engine) {
  return call(Collective::allgather,
              {.sendbuf = sendbuf,
               .sendcounts = &sendcount,
               .sendtype = sendtype,
               .recvbuf = recvbuf,
               .recvcounts = &recvcount,
               .recvtype = recvtype,
               .comm = comm},
              engine);
}

int stoker_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                      const int displs[], MPI_Datatype recvtype, MPI_Comm comm, stoker_engine engine) {
  return widened(recvcounts, displs, everywhere, comm, [&](const MPI_Count* counts, const MPI_Aint* places) {
    return stoker_allgatherv_c(sendbuf, sendcount, sendtype, recvbuf, counts, places, recvtype, comm, engine);
  });
}

int stoker_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm,
                        stoker_engine engine) {
  return call(Collective::allgatherv,
              {.sendbuf = sendbuf,
               .sendcounts = &sendcount,
               .sendtype = sendtype,
               .recvbuf = recvbuf,
               .recvcounts = recvcounts,
               .rdispls = displs,
               .recvtype = recvtype,
               .comm = comm},
              engine);
}

int stoker_gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                  MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine) {
  return stoker_gather_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, engine);
}

int stoker_gather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine) {
  return call(Collective::gather,
              {.sendbuf = sendbuf,
               .sendcounts = &sendcount,
               .sendtype = sendtype,
               .recvbuf = recvbuf,
               .recvcounts = &recvcount,
               .recvtype = recvtype,
               .root = root,
               .comm = comm},
              engine);
}

int stoker_gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                   const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine) {
  return widened(recvcounts, displs, root, comm, [&](const MPI_Count* counts, const MPI_Aint* places) {
    return stoker_gatherv_c(sendbuf, sendcount, sendtype, recvbuf, counts, places, recvtype, root, comm, engine);
  });
}

int stoker_gatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
                     MPI_Comm comm, stoker_engine engine) {
  return call(Collective::gatherv,
              {.sendbuf = sendbuf,
               .sendcounts = &sendcount,
               .sendtype = sendtype,
               .recvbuf = recvbuf,
               .recvcounts = recvcounts,
               .rdispls = displs,
               .recvtype = recvtype,
               .root = root,
               .comm = comm},
              engine);
}

int stoker_scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                   MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine) {
  return stoker_scatter_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, engine);
}

int stoker_scatter_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine) {
  return call(Collective::scatter,
              {.sendbuf = sendbuf,
               .sendcounts = &sendcount,
               .sendtype = sendtype,
               .recvbuf = recvbuf,
               .recvcounts = &recvcount,
               .recvtype = recvtype,
               .root = root,
               .comm = comm},
              engine);
}

int stoker_scatterv(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                    void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                    stoker_engine engine) {
  return widened(sendcounts, displs, root, comm, [&](const MPI_Count* counts, const MPI_Aint* places) {
    return stoker_scatterv_c(sendbuf, counts, places, sendtype, recvbuf, recvcount, recvtype, root, comm, engine);
  });
}

int stoker_scatterv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[], MPI_Datatype sendtype,
                      void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                      stoker_engine engine) {
  return call(Collective::scatterv,
              {.sendbuf = sendbuf,
               .sendcounts = sendcounts,
               .sdispls = displs,
               .sendtype = sendtype,
               .recvbuf = recvbuf,
               .recvcounts = &recvcount,
               .recvtype = recvtype,
               .root = root,
               .comm = comm},
              engine);
}

int stoker_barrier(MPI_Comm comm, stoker_engine engine) { return call(Collective::barrier, {.comm = comm}, engine); }

int stoker_scan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                stoker_engine engine) {
  return stoker_scan_c(sendbuf, recvbuf, count, datatype, op, comm, engine);
}

int stoker_scan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                  stoker_engine engine) {
  return combine(Collective::scan, sendbuf, recvbuf, &count, datatype, op, 0, comm, engine);
}

int stoker_exscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                  stoker_engine engine) {
  return stoker_exscan_c(sendbuf, recvbuf, count, datatype, op, comm, engine);
}

int stoker_exscan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm, stoker_engine engine) {
  return combine(Collective::exscan, sendbuf, recvbuf, &count, datatype, op, 0, comm, engine);
}

} // extern "C"
