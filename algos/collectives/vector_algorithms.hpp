// SPDX-License-Identifier: BSD-3-Clause
// The algorithms for distributed vectors: what the registry's rows compile. Factor lists are resolved (choice.hpp). The
// node-aware ones have lanes: ranks of a node each of which acts for it in one part of the vector, or for some of its
// blocks. With one lane that is a leader, with as many as there are ranks all of them reach other nodes at the same
// time.
#pragma once

#include "algos/collectives/registry.hpp"
#include "algos/collectives/teams.hpp"

namespace stoker::algos {

// Jocksch et al., "Flexible allreduce for shared memory and networks".
[[nodiscard]] Program allreduce_exchange(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allreduce_cyclic(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allreduce_tree(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allreduce_copy_in(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allreduce_ring(const DistributedVector& vector, const Tuning& tuning);
// Recursive exchange after a step that leaves a power of two of ranks: Rabenseifner's halving and doubling, or another
// list.
[[nodiscard]] Program allreduce_building_blocks(const DistributedVector& vector, const Tuning& tuning);
// De Sensi et al.: with Bine butterflies the vector is divided and gathered, or combined whole; Swing does the former
// in all dimensions and directions of a torus at the same time.
[[nodiscard]] Program allreduce_bine(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allreduce_bine_doubling(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allreduce_swing(const DistributedVector& vector, const Tuning& tuning);
// Segments go up and down two binary trees.
[[nodiscard]] Program allreduce_two_tree(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allreduce_node_aware(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allreduce_locality_aware(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allreduce_multileader(const DistributedVector& vector, const Tuning& tuning);
// With one leader per node, and trees within nodes. Likewise reduce and bcast.
[[nodiscard]] Program allreduce_hierarchical(const DistributedVector& vector, const Tuning& tuning);

[[nodiscard]] Program reduce_exchange(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program reduce_cyclic(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program reduce_tree(const DistributedVector& vector, const Tuning& tuning);
// Segments go from rank to rank, each of which adds its own operand; to the root from the rank behind it.
[[nodiscard]] Program reduce_chain(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program reduce_bine(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program reduce_node_aware(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program reduce_hierarchical(const DistributedVector& vector, const Tuning& tuning);

[[nodiscard]] Program reduce_scatter_exchange(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program reduce_scatter_cyclic(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program reduce_scatter_ring(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program reduce_scatter_bine(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program reduce_scatter_node_aware(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program reduce_scatter_locality_aware(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program reduce_scatter_multileader(const DistributedVector& vector, const Tuning& tuning);
// By puts into the receivers' scratch.
[[nodiscard]] Program reduce_scatter_rma_fence(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program reduce_scatter_rma_lock(const DistributedVector& vector, const Tuning& tuning);

[[nodiscard]] Program bcast_tree(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program bcast_scatter(const DistributedVector& vector, const Tuning& tuning); // and allgather
[[nodiscard]] Program bcast_scatter_ring(const DistributedVector& vector, const Tuning& tuning);
// Segments go from rank to rank, from the root on.
[[nodiscard]] Program bcast_chain(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program bcast_bine(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program bcast_node_aware(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program bcast_hierarchical(const DistributedVector& vector, const Tuning& tuning);
// By puts into the receive buffers; likewise allgather.
[[nodiscard]] Program bcast_rma_fence(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program bcast_rma_lock(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program bcast_rma_scatter_allgather(const DistributedVector& vector, const Tuning& tuning);

[[nodiscard]] Program allgather_exchange(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allgather_cyclic(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allgather_ring(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allgather_neighbor(const DistributedVector& vector, const Tuning& tuning); // odd ranks: the ring
[[nodiscard]] Program allgather_bine(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allgather_node_aware(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allgather_locality_aware(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allgather_multileader(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allgather_rma_fence(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allgather_rma_lock(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program allgather_rma_fence_hierarchy(const DistributedVector& vector, const Tuning& tuning);

[[nodiscard]] Program gather_tree(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program gather_node_aware(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program scatter_tree(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program scatter_node_aware(const DistributedVector& vector, const Tuning& tuning);

[[nodiscard]] Program barrier_cyclic(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program barrier_tree(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program barrier_node_aware(const DistributedVector& vector, const Tuning& tuning);

// exscan: the operands move one rank on, before the ranks but the first do a scan.
[[nodiscard]] Program scan_cyclic(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program scan_node_aware(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program exscan_cyclic(const DistributedVector& vector, const Tuning& tuning);
[[nodiscard]] Program exscan_node_aware(const DistributedVector& vector, const Tuning& tuning);

// How the locality-aware and the multileader ones divide a layout.
[[nodiscard]] Teams locality_aware_teams(const topology::Layout& layout, const Tuning& tuning);
[[nodiscard]] Teams multileader_teams(const topology::Layout& layout, const Tuning& tuning);

} // namespace stoker::algos
