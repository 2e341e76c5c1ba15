// SPDX-License-Identifier: BSD-3-Clause
#include "tests/pmpi/collectives.h"

#if MPI_VERSION < 4
#include <mpi-ext.h>
#include <stoker/mpi4.h>
#endif

#include <stddef.h>

#define FAMILIES(X)                                                                                                    \
  X(Allgather, allgather)                                                                                              \
  X(Allgatherv, allgatherv)                                                                                            \
  X(Allreduce, allreduce)                                                                                              \
  X(Alltoall, alltoall)                                                                                                \
  X(Alltoallv, alltoallv)                                                                                              \
  X(Alltoallw, alltoallw)                                                                                              \
  X(Bcast, bcast)                                                                                                      \
  X(Exscan, exscan)                                                                                                    \
  X(Gather, gather)                                                                                                    \
  X(Gatherv, gatherv)                                                                                                  \
  X(Neighbor_allgather, neighbor_allgather)                                                                            \
  X(Neighbor_allgatherv, neighbor_allgatherv)                                                                          \
  X(Neighbor_alltoall, neighbor_alltoall)                                                                              \
  X(Neighbor_alltoallv, neighbor_alltoallv)                                                                            \
  X(Neighbor_alltoallw, neighbor_alltoallw)                                                                            \
  X(Reduce, reduce)                                                                                                    \
  X(Reduce_scatter, reduce_scatter)                                                                                    \
  X(Reduce_scatter_block, reduce_scatter_block)                                                                        \
  X(Scan, scan)                                                                                                        \
  X(Scatter, scatter)                                                                                                  \
  X(Scatterv, scatterv)

#if MPI_VERSION < 4
// The library alone has none of these: is_available() looks.
#define WEAK(Name, name)                                                                                               \
  extern __typeof__(MPI_##Name##_init) MPI_##Name##_init __attribute__((weak));                                        \
  extern __typeof__(MPI_##Name##_init_c) MPI_##Name##_init_c __attribute__((weak));                                    \
  extern __typeof__(MPI_##Name##_c) MPI_##Name##_c __attribute__((weak));                                              \
  extern __typeof__(MPI_I##name##_c) MPI_I##name##_c __attribute__((weak));
FAMILIES(WEAK)
extern __typeof__(MPI_Barrier_init) MPI_Barrier_init __attribute__((weak));
#endif

#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ // Open MPI 4.1
enum { has_mpix = true };
#define MPIX_CASE(Name, ...)                                                                                           \
  case form_mpix:                                                                                                      \
    return MPIX_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request);
#else
enum { has_mpix = false };
#define MPIX_CASE(Name, ...)
#endif

const char* family_name(Family family) {
  static const char* const names[family_count] = {
#define NAME(Name, name) [name] = #name,
      FAMILIES(NAME)[barrier] = "barrier"};
  return names[family];
}

const char* form_name(Form form) {
  static const char* const names[] = {"blocking",       "nonblocking",   "persistent", "blocking _c",
                                      "nonblocking _c", "persistent _c", "MPIX"};
  return names[form];
}

bool is_neighbor(Family family) { return family >= neighbor_allgather && family <= neighbor_alltoallw; }

bool is_reduction(Family family) {
  return family == allreduce || family == reduce || family == reduce_scatter || family == reduce_scatter_block ||
         family == scan || family == exscan;
}

bool has_in_place(Family family) { return family != barrier && family != bcast && !is_neighbor(family); }

bool has_root(Family family) {
  return family == bcast || family == gather || family == gatherv || family == reduce || family == scatter ||
         family == scatterv;
}

bool is_blocking(Form form) { return form == form_blocking || form == form_blocking_c; }

bool is_persistent(Form form) { return form == form_persistent || form == form_persistent_c || form == form_mpix; }

bool is_available(Form form) {
#if MPI_VERSION < 4
  switch (form) {
  case form_blocking:
  case form_nonblocking:
    return true;
  case form_mpix:
    return has_mpix;
  case form_persistent:
    return MPI_Alltoall_init != NULL;
  case form_blocking_c:
    return MPI_Alltoall_c != NULL;
  case form_nonblocking_c:
    return MPI_Ialltoall_c != NULL;
  case form_persistent_c:
    return MPI_Alltoall_init_c != NULL;
  }
  return false;
#else
  return form != form_mpix || has_mpix;
#endif
}

Form some_persistent_form(void) {
  if (is_available(form_persistent)) {
    return form_persistent;
  }
  return is_available(form_mpix) ? form_mpix : form_nonblocking;
}

#define EXPAND(...) __VA_ARGS__
#define CALL(Name, name, narrow, wide)                                                                                 \
  switch (form) {                                                                                                      \
  case form_blocking:                                                                                                  \
    return MPI_##Name(EXPAND narrow, a->comm);                                                                         \
  case form_nonblocking:                                                                                               \
    return MPI_I##name(EXPAND narrow, a->comm, request);                                                               \
  case form_persistent:                                                                                                \
    return MPI_##Name##_init(EXPAND narrow, a->comm, MPI_INFO_NULL, request);                                          \
  case form_blocking_c:                                                                                                \
    return MPI_##Name##_c(EXPAND wide, a->comm);                                                                       \
  case form_nonblocking_c:                                                                                             \
    return MPI_I##name##_c(EXPAND wide, a->comm, request);                                                             \
  case form_persistent_c:                                                                                              \
    return MPI_##Name##_init_c(EXPAND wide, a->comm, MPI_INFO_NULL, request);                                          \
    MPIX_CASE(Name, EXPAND narrow, a->comm)                                                                            \
  default:                                                                                                             \
    return MPI_ERR_OTHER;                                                                                              \
  }

// A barrier has no form with large counts.
static int call_barrier(Form form, MPI_Comm comm, MPI_Request* request) {
  switch (form) {
  case form_blocking:
  case form_blocking_c:
    return MPI_Barrier(comm);
  case form_nonblocking:
  case form_nonblocking_c:
    return MPI_Ibarrier(comm, request);
  case form_persistent:
  case form_persistent_c:
    return MPI_Barrier_init(comm, MPI_INFO_NULL, request);
    MPIX_CASE(Barrier, comm)
  default:
    return MPI_ERR_OTHER;
  }
}

int call_collective(Family family, Form form, const Arguments* a, MPI_Request* request) {
  switch (family) {
  case allgather:
    CALL(Allgather, allgather, (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcount, a->recvtype),
         (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcount, a->recvtype))
  case allgatherv:
    CALL(Allgatherv, allgatherv,
         (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcounts, a->rdispls, a->recvtype),
         (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->wide_recvcounts, a->wide_rdispls, a->recvtype))
  case allreduce:
    CALL(Allreduce, allreduce, (a->sendbuf, a->recvbuf, a->recvcount, a->recvtype, a->op),
         (a->sendbuf, a->recvbuf, a->recvcount, a->recvtype, a->op))
  case alltoall:
    CALL(Alltoall, alltoall, (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcount, a->recvtype),
         (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcount, a->recvtype))
  case alltoallv:
    CALL(Alltoallv, alltoallv,
         (a->sendbuf, a->sendcounts, a->sdispls, a->sendtype, a->recvbuf, a->recvcounts, a->rdispls, a->recvtype),
         (a->sendbuf, a->wide_sendcounts, a->wide_sdispls, a->sendtype, a->recvbuf, a->wide_recvcounts, a->wide_rdispls,
          a->recvtype))
  case alltoallw:
    CALL(Alltoallw, alltoallw,
         (a->sendbuf, a->sendcounts, a->sdispls, a->sendtypes, a->recvbuf, a->recvcounts, a->rdispls, a->recvtypes),
         (a->sendbuf, a->wide_sendcounts, a->wide_sdispls, a->sendtypes, a->recvbuf, a->wide_recvcounts,
          a->wide_rdispls, a->recvtypes))
  case barrier:
    return call_barrier(form, a->comm, request);
  case bcast:
    CALL(Bcast, bcast, (a->recvbuf, a->recvcount, a->recvtype, a->root),
         (a->recvbuf, a->recvcount, a->recvtype, a->root))
  case exscan:
    CALL(Exscan, exscan, (a->sendbuf, a->recvbuf, a->recvcount, a->recvtype, a->op),
         (a->sendbuf, a->recvbuf, a->recvcount, a->recvtype, a->op))
  case gather:
    CALL(Gather, gather, (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcount, a->recvtype, a->root),
         (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcount, a->recvtype, a->root))
  case gatherv:
    CALL(Gatherv, gatherv,
         (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcounts, a->rdispls, a->recvtype, a->root),
         (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->wide_recvcounts, a->wide_rdispls, a->recvtype, a->root))
  case neighbor_allgather:
    CALL(Neighbor_allgather, neighbor_allgather,
         (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcount, a->recvtype),
         (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcount, a->recvtype))
  case neighbor_allgatherv:
    CALL(Neighbor_allgatherv, neighbor_allgatherv,
         (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcounts, a->rdispls, a->recvtype),
         (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->wide_recvcounts, a->wide_rdispls, a->recvtype))
  case neighbor_alltoall:
    CALL(Neighbor_alltoall, neighbor_alltoall,
         (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcount, a->recvtype),
         (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcount, a->recvtype))
  case neighbor_alltoallv:
    CALL(Neighbor_alltoallv, neighbor_alltoallv,
         (a->sendbuf, a->sendcounts, a->sdispls, a->sendtype, a->recvbuf, a->recvcounts, a->rdispls, a->recvtype),
         (a->sendbuf, a->wide_sendcounts, a->wide_sdispls, a->sendtype, a->recvbuf, a->wide_recvcounts, a->wide_rdispls,
          a->recvtype))
  case neighbor_alltoallw:
    CALL(Neighbor_alltoallw, neighbor_alltoallw,
         (a->sendbuf, a->sendcounts, a->wide_sdispls, a->sendtypes, a->recvbuf, a->recvcounts, a->wide_rdispls,
          a->recvtypes),
         (a->sendbuf, a->wide_sendcounts, a->wide_sdispls, a->sendtypes, a->recvbuf, a->wide_recvcounts,
          a->wide_rdispls, a->recvtypes))
  case reduce:
    CALL(Reduce, reduce, (a->sendbuf, a->recvbuf, a->recvcount, a->recvtype, a->op, a->root),
         (a->sendbuf, a->recvbuf, a->recvcount, a->recvtype, a->op, a->root))
  case reduce_scatter:
    CALL(Reduce_scatter, reduce_scatter, (a->sendbuf, a->recvbuf, a->recvcounts, a->recvtype, a->op),
         (a->sendbuf, a->recvbuf, a->wide_recvcounts, a->recvtype, a->op))
  case reduce_scatter_block:
    CALL(Reduce_scatter_block, reduce_scatter_block, (a->sendbuf, a->recvbuf, a->recvcount, a->recvtype, a->op),
         (a->sendbuf, a->recvbuf, a->recvcount, a->recvtype, a->op))
  case scan:
    CALL(Scan, scan, (a->sendbuf, a->recvbuf, a->recvcount, a->recvtype, a->op),
         (a->sendbuf, a->recvbuf, a->recvcount, a->recvtype, a->op))
  case scatter:
    CALL(Scatter, scatter, (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcount, a->recvtype, a->root),
         (a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcount, a->recvtype, a->root))
  case scatterv:
    CALL(Scatterv, scatterv,
         (a->sendbuf, a->sendcounts, a->sdispls, a->sendtype, a->recvbuf, a->recvcount, a->recvtype, a->root),
         (a->sendbuf, a->wide_sendcounts, a->wide_sdispls, a->sendtype, a->recvbuf, a->recvcount, a->recvtype, a->root))
  case family_count:
    break;
  }
  return MPI_ERR_OTHER;
}
