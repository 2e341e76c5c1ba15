// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/own_comm.hpp"

#include "engine/base/agreement.hpp"

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stoker::engine {
namespace {

struct GroupKind {
  using Handle = MPI_Group;
  static MPI_Group null() { return MPI_GROUP_NULL; }
  static void free(MPI_Group* group) { PMPI_Group_free(group); }
};

std::vector<int> array_of(int count) { return std::vector<int>(static_cast<std::size_t>(count)); }

// `plain` with the topology of `comm`. Weights are left out: no exchange asks for them.
MPI_Comm with_topology(MPI_Comm plain, MPI_Comm comm, int topology) {
  MPI_Comm made = MPI_COMM_NULL;
  if (topology == MPI_CART) {
    int dimensions = 0;
    check_mpi(PMPI_Cartdim_get(comm, &dimensions), "MPI_Cartdim_get");
    auto dims = array_of(dimensions);
    auto periods = dims;
    auto mine = dims;
    check_mpi(PMPI_Cart_get(comm, dimensions, dims.data(), periods.data(), mine.data()), "MPI_Cart_get");
    check_mpi(PMPI_Cart_create(plain, dimensions, dims.data(), periods.data(), 0, &made), "MPI_Cart_create");
  } else if (topology == MPI_GRAPH) {
    int nodes = 0;
    int edges = 0;
    check_mpi(PMPI_Graphdims_get(comm, &nodes, &edges), "MPI_Graphdims_get");
    auto ends = array_of(nodes + 1); // both libraries ask for addresses even where there is nothing
    auto neighbors = array_of(edges + 1);
    check_mpi(PMPI_Graph_get(comm, nodes, edges, ends.data(), neighbors.data()), "MPI_Graph_get");
    check_mpi(PMPI_Graph_create(plain, nodes, ends.data(), neighbors.data(), 0, &made), "MPI_Graph_create");
  } else {
    int sources = 0;
    int targets = 0;
    int weighted = 0;
    check_mpi(PMPI_Dist_graph_neighbors_count(comm, &sources, &targets, &weighted), "MPI_Dist_graph_neighbors_count");
    auto from = array_of(sources + 1); // MPICH asks for an address even where there are none
    auto to = array_of(targets + 1);
    auto unread = array_of(sources + targets + 1);
    check_mpi(PMPI_Dist_graph_neighbors(comm, sources, from.data(), unread.data(), targets, to.data(), unread.data()),
              "MPI_Dist_graph_neighbors");
    check_mpi(PMPI_Dist_graph_create_adjacent(plain, sources, from.data(), MPI_UNWEIGHTED, targets, to.data(),
                                              MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made),
              "MPI_Dist_graph_create_adjacent");
  }
  return made;
}

std::atomic<int> taken{0};
std::atomic<std::int64_t> proposals{0}; // of tags, by this process

// While a communicator of the application's is used. What fails is not the application's.
class ErrorsReturned {
public:
  explicit ErrorsReturned(MPI_Comm comm) : comm_(comm) {
    PMPI_Comm_get_errhandler(comm, &handler_);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  ErrorsReturned(const ErrorsReturned&) = delete;
  ErrorsReturned& operator=(const ErrorsReturned&) = delete;
  ~ErrorsReturned() {
    PMPI_Comm_set_errhandler(comm_, handler_);
    PMPI_Errhandler_free(&handler_);
  }

private:
  MPI_Comm comm_;
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

template <class Make>
OwnedComm made_by(Make&& make) {
  MPI_Comm made = MPI_COMM_NULL;
  make(&made);
  return OwnedComm(made);
}

int topology_of(MPI_Comm comm) {
  int topology = MPI_UNDEFINED;
  check_mpi(PMPI_Topo_test(comm, &topology), "MPI_Topo_test");
  return topology;
}

MPI_Group group_of(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  check_mpi(PMPI_Comm_group(comm, &group), "MPI_Comm_group");
  return group;
}

// Collective over comm. Some ranks may have a communicator where others find none left. Those free theirs, which MPI
// libraries do without waiting for the others.
template <class Make>
OwnedComm on_all_or_none(MPI_Comm comm, Make&& make) {
  OwnedComm owned;
  agree(comm, attempt([&] { owned = made_by(make); }));
  return owned;
}

} // namespace

void CommKind::free(MPI_Comm* comm) {
  PMPI_Comm_free(comm);
  taken.fetch_sub(1, std::memory_order_relaxed);
}

int largest_tag(MPI_Comm own) {
  constexpr int least = 32767; // that MPI allows
  int* bound = nullptr;
  int found = 0;
  int has_world = 0;
  PMPI_Initialized(&has_world); // else there are sessions only
  PMPI_Comm_get_attr(has_world != 0 ? MPI_COMM_WORLD : own, MPI_TAG_UB, static_cast<void*>(&bound), &found);
  return found != 0 ? *bound : least;
}

int comms_taken() { return taken.load(std::memory_order_relaxed); }

OwnedComm::OwnedComm(MPI_Comm comm) : OwnedHandle(comm) {
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  taken.fetch_add(1, std::memory_order_relaxed);
}

MPI_Comm OwnedComm::release() {
  taken.fetch_sub(*this == MPI_COMM_NULL ? 0 : 1, std::memory_order_relaxed);
  return OwnedHandle::release();
}

OwnedComm OwnedComm::like(MPI_Comm comm) {
  const ErrorsReturned errors(comm);
  const OwnedHandle<GroupKind> group(group_of(comm));
  const int topology = topology_of(comm);
  OwnedComm plain =
      on_all_or_none(comm, [&](MPI_Comm* made) { check_mpi(PMPI_Comm_create(comm, group, made), "MPI_Comm_create"); });
  return topology == MPI_UNDEFINED
             ? std::move(plain)
             : on_all_or_none(comm, [&](MPI_Comm* made) { *made = with_topology(plain, comm, topology); });
}

OwnedComm OwnedComm::like(MPI_Comm comm, MPI_Comm own) {
  CommsTogether together(comm, own);
  OwnedComm made = together.like();
  together.agree();
  return made;
}

OwnedComm OwnedComm::part_of(MPI_Comm comm, int color) {
  return on_all_or_none(
      comm, [&](MPI_Comm* made) { check_mpi(PMPI_Comm_split(comm, color, rank_in(comm), made), "MPI_Comm_split"); });
}

int CommsTogether::proposed_tag(MPI_Comm comm, MPI_Comm own) {
  if (rank_in(comm) != 0) {
    return INT_MAX;
  }
  int ranks = 0;
  PMPI_Comm_size(own, &ranks);
  const std::int64_t number = proposals.fetch_add(1, std::memory_order_relaxed) * ranks + rank_in(own);
  return static_cast<int>(number % largest_tag(own));
}

CommsTogether::CommsTogether(MPI_Comm comm, MPI_Comm own, std::optional<int> tag)
    : comm_(comm), own_(own), tag_(tag ? *tag : proposed_tag(comm, own)), topology_(topology_of(comm)) {
  if (!tag) {
    check_mpi(PMPI_Bcast(&tag_, 1, MPI_INT, 0, comm), "MPI_Bcast");
  }
  group_ = group_of(comm);
}

CommsTogether::~CommsTogether() { PMPI_Group_free(&group_); }

template <class Make>
OwnedComm CommsTogether::noted(Make&& make) {
  OwnedComm owned;
  note(attempt([&] { owned = made_by(make); }));
  return owned;
}

void CommsTogether::make_from(MPI_Group ranks, MPI_Comm* made) const {
  check_mpi(PMPI_Comm_create_group(own_, ranks, tag_, made), "MPI_Comm_create_group");
}

OwnedComm CommsTogether::like() {
  OwnedComm plain = noted([&](MPI_Comm* made) { make_from(group_, made); });
  if (topology_ == MPI_UNDEFINED) {
    return plain;
  }
  agree();
  return noted([&](MPI_Comm* made) { *made = with_topology(plain, comm_, topology_); });
}

OwnedComm CommsTogether::part(std::span<const int> ranks) {
  return noted([&](MPI_Comm* made) {
    MPI_Group some = MPI_GROUP_NULL;
    check_mpi(PMPI_Group_incl(group_, static_cast<int>(ranks.size()), ranks.data(), &some), "MPI_Group_incl");
    const OwnedHandle<GroupKind> group(some);
    make_from(group, made);
  });
}

void CommsTogether::agree() { engine::agree(comm_, failure_); }

} // namespace stoker::engine
