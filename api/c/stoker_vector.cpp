// SPDX-License-Identifier: BSD-3-Clause
// The C door to reductions, broadcasts, gathers, scatters, scans and barriers.
#include "api/c/init.hpp"
#include "engine/requests/vector_request.hpp"

using stoker::algos::Collective;
using stoker::api::check_comm;
using stoker::api::guarded;
using stoker::api::init;
using stoker::api::size_of;
using stoker::api::WideArrays;
using stoker::engine::VectorArguments;

namespace {

void make(Collective collective, const VectorArguments& arguments, stoker_engine engine, stoker_request* request) {
  check_comm(arguments.comm);
  init(engine, request,
       [&](const auto& live_engine) { return make_vector_request(live_engine, collective, arguments); });
}

int vector_init(Collective collective, const VectorArguments& arguments, stoker_engine engine,
                stoker_request* request) {
  return guarded([&] { make(collective, arguments, engine, request); });
}

// Entries in an array that only the root has.
std::size_t entries_at(int root, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank == root ? size_of(comm) : 0;
}

} // namespace

extern "C" {

int stoker_allreduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                          MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request) {
  return stoker_allreduce_init_c(sendbuf, recvbuf, count, datatype, op, comm, info, engine, request);
}

int stoker_allreduce_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                            MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request) {
  return vector_init(Collective::allreduce,
                     {.sendbuf = sendbuf,
                      .recvbuf = recvbuf,
                      .recvcounts = &count,
                      .recvtype = datatype,
                      .op = op,
                      .comm = comm,
                      .info = info},
                     engine, request);
}

int stoker_reduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                       MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request) {
  return stoker_reduce_init_c(sendbuf, recvbuf, count, datatype, op, root, comm, info, engine, request);
}

int stoker_reduce_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                         int root, MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request) {
  return vector_init(Collective::reduce,
                     {.sendbuf = sendbuf,
                      .recvbuf = recvbuf,
                      .recvcounts = &count,
                      .recvtype = datatype,
                      .op = op,
                      .root = root,
                      .comm = comm,
                      .info = info},
                     engine, request);
}

int stoker_bcast_init(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                      stoker_engine engine, stoker_request* request) {
  return stoker_bcast_init_c(buffer, count, datatype, root, comm, info, engine, request);
}

int stoker_bcast_init_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                        stoker_engine engine, stoker_request* request) {
  return vector_init(
      Collective::bcast,
      {.recvbuf = buffer, .recvcounts = &count, .recvtype = datatype, .root = root, .comm = comm, .info = info}, engine,
      request);
}

int stoker_reduce_scatter_init(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
                               MPI_Op op, MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request) {
  return guarded([&] {
    check_comm(comm);
    const WideArrays wide(recvcounts, nullptr, size_of(comm));
    make(Collective::reduce_scatter,
         {.sendbuf = sendbuf,
          .recvbuf = recvbuf,
          .recvcounts = wide.counts,
          .recvtype = datatype,
          .op = op,
          .comm = comm,
          .info = info},
         engine, request);
  });
}

int stoker_reduce_scatter_init_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                                 stoker_request* request) {
  return vector_init(Collective::reduce_scatter,
                     {.sendbuf = sendbuf,
                      .recvbuf = recvbuf,
                      .recvcounts = recvcounts,
                      .recvtype = datatype,
                      .op = op,
                      .comm = comm,
                      .info = info},
                     engine, request);
}

int stoker_reduce_scatter_block_init(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                                     MPI_Op op, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                                     stoker_request* request) {
  return stoker_reduce_scatter_block_init_c(sendbuf, recvbuf, recvcount, datatype, op, comm, info, engine, request);
}

int stoker_reduce_scatter_block_init_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                                       MPI_Op op, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                                       stoker_request* request) {
  return vector_init(Collective::reduce_scatter_block,
                     {.sendbuf = sendbuf,
                      .recvbuf = recvbuf,
                      .recvcounts = &recvcount,
                      .recvtype = datatype,
                      .op = op,
                      .comm = comm,
                      .info = info},
                     engine, request);
}

int stoker_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                          MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                          stoker_request* request) {
  return stoker_allgather_init_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, engine,
                                 request);
}

int stoker_allgather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                            MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                            stoker_engine engine, stoker_request* request) {
  return vector_init(Collective::allgather,
                     {.sendbuf = sendbuf,
                      .sendcounts = &sendcount,
                      .sendtype = sendtype,
                      .recvbuf = recvbuf,
                      .recvcounts = &recvcount,
                      .recvtype = recvtype,
                      .comm = comm,
                      .info = info},
                     engine, request);
}

int stoker_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                           const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                           MPI_Info info, stoker_engine engine, stoker_request* request) {
  return guarded([&] {
    check_comm(comm);
    const WideArrays wide(recvcounts, displs, size_of(comm));
    const MPI_Count wide_count = sendcount;
    make(Collective::allgatherv,
         {.sendbuf = sendbuf,
          .sendcounts = &wide_count,
          .sendtype = sendtype,
          .recvbuf = recvbuf,
          .recvcounts = wide.counts,
          .rdispls = wide.displs,
          .recvtype = recvtype,
          .comm = comm,
          .info = info},
         engine, request);
  });
}

int stoker_allgatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                             const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                             MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request) {
  return vector_init(Collective::allgatherv,
                     {.sendbuf = sendbuf,
                      .sendcounts = &sendcount,
                      .sendtype = sendtype,
                      .recvbuf = recvbuf,
                      .recvcounts = recvcounts,
                      .rdispls = displs,
                      .recvtype = recvtype,
                      .comm = comm,
                      .info = info},
                     engine, request);
}

int stoker_gather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                       MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                       stoker_request* request) {
  return stoker_gather_init_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, info, engine,
                              request);
}

int stoker_gather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                         MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                         stoker_engine engine, stoker_request* request) {
  return vector_init(Collective::gather,
                     {.sendbuf = sendbuf,
                      .sendcounts = &sendcount,
                      .sendtype = sendtype,
                      .recvbuf = recvbuf,
                      .recvcounts = &recvcount,
                      .recvtype = recvtype,
                      .root = root,
                      .comm = comm,
                      .info = info},
                     engine, request);
}

int stoker_gatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm,
                        MPI_Info info, stoker_engine engine, stoker_request* request) {
  return guarded([&] {
    check_comm(comm);
    const WideArrays wide(recvcounts, displs, entries_at(root, comm));
    const MPI_Count wide_count = sendcount;
    make(Collective::gatherv,
         {.sendbuf = sendbuf,
          .sendcounts = &wide_count,
          .sendtype = sendtype,
          .recvbuf = recvbuf,
          .recvcounts = wide.counts,
          .rdispls = wide.displs,
          .recvtype = recvtype,
          .root = root,
          .comm = comm,
          .info = info},
         engine, request);
  });
}

int stoker_gatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                          const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
                          MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request) {
  return vector_init(Collective::gatherv,
                     {.sendbuf = sendbuf,
                      .sendcounts = &sendcount,
                      .sendtype = sendtype,
                      .recvbuf = recvbuf,
                      .recvcounts = recvcounts,
                      .rdispls = displs,
                      .recvtype = recvtype,
                      .root = root,
                      .comm = comm,
                      .info = info},
                     engine, request);
}

int stoker_scatter_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                        MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                        stoker_request* request) {
  return stoker_scatter_init_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, info, engine,
                               request);
}

int stoker_scatter_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                          MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                          stoker_engine engine, stoker_request* request) {
  return vector_init(Collective::scatter,
                     {.sendbuf = sendbuf,
                      .sendcounts = &sendcount,
                      .sendtype = sendtype,
                      .recvbuf = recvbuf,
                      .recvcounts = &recvcount,
                      .recvtype = recvtype,
                      .root = root,
                      .comm = comm,
                      .info = info},
                     engine, request);
}

int stoker_scatterv_init(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                         void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                         stoker_engine engine, stoker_request* request) {
  return guarded([&] {
    check_comm(comm);
    const WideArrays wide(sendcounts, displs, entries_at(root, comm));
    const MPI_Count wide_count = recvcount;
    make(Collective::scatterv,
         {.sendbuf = sendbuf,
          .sendcounts = wide.counts,
          .sdispls = wide.displs,
          .sendtype = sendtype,
          .recvbuf = recvbuf,
          .recvcounts = &wide_count,
          .recvtype = recvtype,
          .root = root,
          .comm = comm,
          .info = info},
         engine, request);
  });
}

int stoker_scatterv_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                           MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                           MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request) {
  return vector_init(Collective::scatterv,
                     {.sendbuf = sendbuf,
                      .sendcounts = sendcounts,
                      .sdispls = displs,
                      .sendtype = sendtype,
                      .recvbuf = recvbuf,
                      .recvcounts = &recvcount,
                      .recvtype = recvtype,
                      .root = root,
                      .comm = comm,
                      .info = info},
                     engine, request);
}

int stoker_barrier_init(MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request) {
  return vector_init(Collective::barrier, {.comm = comm, .info = info}, engine, request);
}

int stoker_scan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                     MPI_Info info, stoker_engine engine, stoker_request* request) {
  return stoker_scan_init_c(sendbuf, recvbuf, count, datatype, op, comm, info, engine, request);
}

int stoker_scan_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                       MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request) {
  return vector_init(Collective::scan,
                     {.sendbuf = sendbuf,
                      .recvbuf = recvbuf,
                      .recvcounts = &count,
                      .recvtype = datatype,
                      .op = op,
                      .comm = comm,
                      .info = info},
                     engine, request);
}

int stoker_exscan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                       MPI_Info info, stoker_engine engine, stoker_request* request) {
  return stoker_exscan_init_c(sendbuf, recvbuf, count, datatype, op, comm, info, engine, request);
}

int stoker_exscan_init_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request) {
  return vector_init(Collective::exscan,
                     {.sendbuf = sendbuf,
                      .recvbuf = recvbuf,
                      .recvcounts = &count,
                      .recvtype = datatype,
                      .op = op,
                      .comm = comm,
                      .info = info},
                     engine, request);
}

} // extern "C"
