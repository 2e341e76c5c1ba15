// SPDX-License-Identifier: BSD-3-Clause
// The functions that make and free communicators. They are collective, so what nonblocking calls need is made in them.
#include "api/pmpi/alias.hpp"
#include "api/pmpi/communicators.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/state.hpp"
#include "engine/base/agreement.hpp"

#include <memory>

using stoker::pmpi::adopt;
using stoker::pmpi::Communicator;
using stoker::pmpi::communicator_of;
using stoker::pmpi::Inside;
using stoker::pmpi::OwnInfo;
using stoker::pmpi::real;
using stoker::pmpi::the_engine;

namespace {

// `create` is the MPI library's function. `parent`: of a communicator with a distributed graph.
template <class Create>
int create(const MPI_Comm* made, MPI_Info info, Create&& create, MPI_Comm parent = MPI_COMM_NULL) {
  int code = MPI_SUCCESS;
  {
    const Inside inside;
    code = create();
  }
  if (code == MPI_SUCCESS && *made != MPI_COMM_NULL && stoker::pmpi::depth == 0 && the_engine() != nullptr) {
    adopt(*made, info, parent);
  }
  return code;
}

// An MPI library may keep a communicator for as long as messages or buffered sends refer to it. MPICH 4.2 then deletes
// its attributes in the middle of another call (MPI_Buffer_detach), where no request can be waited for. So this
// library's goes first. Calls that the application's own delete callbacks then make are the MPI library's.
template <class Destroy>
int destroy(MPI_Comm* comm, Destroy destroy) {
  if (comm == nullptr || stoker::pmpi::depth > 0 || the_engine() == nullptr) {
    return destroy(comm);
  }
  const stoker::pmpi::BeingFreed being_freed(*comm);
  return destroy(comm);
}

// Hints are duplicated with their communicator.
MPI_Info info_of(MPI_Comm comm) {
  const Communicator* const communicator = the_engine() != nullptr ? communicator_of(comm) : nullptr;
  return communicator != nullptr ? communicator->info().get() : MPI_INFO_NULL;
}

} // namespace

extern "C" {

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  return create(newcomm, info_of(comm), [&] { return real().MPI_Comm_dup(comm, newcomm); });
}
int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  return create(newcomm, info, [&] { return real().MPI_Comm_dup_with_info(comm, info, newcomm); });
}
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) {
  return create(newcomm, MPI_INFO_NULL, [&] { return real().MPI_Comm_create(comm, group, newcomm); });
}
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) {
  return create(newcomm, MPI_INFO_NULL, [&] { return real().MPI_Comm_create_group(comm, group, tag, newcomm); });
}
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  return create(newcomm, MPI_INFO_NULL, [&] { return real().MPI_Comm_split(comm, color, key, newcomm); });
}
int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm) {
  return create(newcomm, info, [&] { return real().MPI_Comm_split_type(comm, split_type, key, info, newcomm); });
}
int MPI_Cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder,
                    MPI_Comm* comm_cart) {
  return create(comm_cart, MPI_INFO_NULL,
                [&] { return real().MPI_Cart_create(comm_old, ndims, dims, periods, reorder, comm_cart); });
}
int MPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm) {
  return create(newcomm, MPI_INFO_NULL, [&] { return real().MPI_Cart_sub(comm, remain_dims, newcomm); });
}
int MPI_Graph_create(MPI_Comm comm_old, int nnodes, const int indx[], const int edges[], int reorder,
                     MPI_Comm* comm_graph) {
  return create(comm_graph, MPI_INFO_NULL,
                [&] { return real().MPI_Graph_create(comm_old, nnodes, indx, edges, reorder, comm_graph); });
}
int MPI_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[], const int destinations[],
                          const int weights[], MPI_Info info, int reorder, MPI_Comm* comm_dist_graph) {
  const auto call = [&] {
    return real().MPI_Dist_graph_create(comm_old, n, sources, degrees, destinations, weights, info, reorder,
                                        comm_dist_graph);
  };
  return create(comm_dist_graph, info, call, comm_old);
}
int MPI_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[], const int sourceweights[],
                                   int outdegree, const int destinations[], const int destweights[], MPI_Info info,
                                   int reorder, MPI_Comm* comm_dist_graph) {
  const auto call = [&] {
    return real().MPI_Dist_graph_create_adjacent(comm_old, indegree, sources, sourceweights, outdegree, destinations,
                                                 destweights, info, reorder, comm_dist_graph);
  };
  return create(comm_dist_graph, info, call, comm_old);
}
int MPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm* newintracomm) {
  return create(newintracomm, MPI_INFO_NULL, [&] { return real().MPI_Intercomm_merge(intercomm, high, newintracomm); });
}

int MPI_Comm_free(MPI_Comm* comm) { return destroy(comm, real().MPI_Comm_free); }
int MPI_Comm_disconnect(MPI_Comm* comm) { return destroy(comm, real().MPI_Comm_disconnect); }

int MPI_Comm_set_info(MPI_Comm comm, MPI_Info info) {
  const int code = real().MPI_Comm_set_info(comm, info);
  Communicator* const communicator = code == MPI_SUCCESS && the_engine() != nullptr ? communicator_of(comm) : nullptr;
  if (communicator != nullptr) {
    communicator->use(OwnInfo(communicator->info().get(), info));
    communicator->use_assertion(info);
    communicator->cover();
  }
  return code;
}
}

ALIAS_PMPI(MPI_Comm_dup)
ALIAS_PMPI(MPI_Comm_dup_with_info)
ALIAS_PMPI(MPI_Comm_create)
ALIAS_PMPI(MPI_Comm_create_group)
ALIAS_PMPI(MPI_Comm_split)
ALIAS_PMPI(MPI_Comm_split_type)
ALIAS_PMPI(MPI_Cart_create)
ALIAS_PMPI(MPI_Cart_sub)
ALIAS_PMPI(MPI_Graph_create)
ALIAS_PMPI(MPI_Dist_graph_create)
ALIAS_PMPI(MPI_Dist_graph_create_adjacent)
ALIAS_PMPI(MPI_Intercomm_merge)
ALIAS_PMPI(MPI_Comm_free)
ALIAS_PMPI(MPI_Comm_disconnect)
ALIAS_PMPI(MPI_Comm_set_info)
