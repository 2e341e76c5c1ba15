// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/vector_programs.hpp"

#include <algorithm>

namespace stoker::algos {

Partition partition(const Tuning& tuning) {
  return {static_cast<std::uint64_t>(tuning.part_bytes), static_cast<std::uint64_t>(tuning.fixed_bytes)};
}

std::uint64_t reach(const DistributedVector& vector) {
  std::uint64_t end = 0;
  for (std::size_t block = 0; block < vector.sizes.size(); ++block) {
    end = vector.sizes[block] == 0 ? end : std::max(end, vector.offsets[block] + vector.sizes[block]);
  }
  return end;
}

namespace {

Home at_zero(const DistributedVector& vector, Buffer buffer) {
  return VectorSteps::at(buffer, std::vector<std::uint64_t>(vector.sizes.size(), 0));
}

} // namespace

Reduction::Reduction(const DistributedVector& vector, const Tuning& tuning, std::size_t parts, bool receives)
    : bytes_(vector.sizes.front()),
      builder_(vector.rank, vector.layout.ranks(), vector.in_place ? 0 : bytes_, receives ? bytes_ : 0),
      steps(builder_, vector, cut(bytes_, parts, vector.element_bytes, partition(tuning))),
      result(receives ? steps.whole(Buffer::recv) : steps.aside()) {
  steps.begin_at(steps.all(), steps.whole(vector.in_place ? Buffer::recv : Buffer::send));
}

Reduction allreduction(const DistributedVector& vector, const Tuning& tuning, std::size_t parts) {
  return {vector, tuning, parts, true};
}

Reduction reduction_to_root(const DistributedVector& vector, const Tuning& tuning, std::size_t parts) {
  return {vector, tuning, parts, vector.rank == vector.root};
}

BlockReduction::BlockReduction(const DistributedVector& vector)
    : rank_(static_cast<std::size_t>(vector.rank)), cuts_(block_cuts(vector)),
      // In place the receive buffer holds all operands.
      builder_(vector.rank, vector.layout.ranks(), vector.in_place ? 0 : cuts_.back(),
               vector.in_place ? cuts_.back() : vector.sizes[rank_]),
      in_place_(vector.in_place), steps(builder_, vector, cuts_), result(at_zero(vector, Buffer::recv)) {
  steps.begin_at(steps.all(), steps.whole(in_place_ ? Buffer::recv : Buffer::send));
}

Program BlockReduction::finish() && {
  if (in_place_) {
    builder_.wait_all();
  }
  steps.settle(Blocks{rank_}, result);
  return std::move(builder_).finish();
}

Broadcast::Broadcast(const DistributedVector& vector, const Tuning& tuning, std::size_t parts)
    : bytes_(vector.sizes.front()),
      builder_(vector.rank, vector.layout.ranks(), vector.rank == vector.root ? bytes_ : 0,
               vector.rank == vector.root ? 0 : bytes_),
      steps(builder_, vector, cut(bytes_, parts, vector.element_bytes, partition(tuning))),
      home(steps.whole(vector.rank == vector.root ? Buffer::send : Buffer::recv)) {
  if (vector.rank == vector.root) {
    steps.begin_at(steps.all(), home);
  }
}

Movement::Movement(const DistributedVector& vector, std::uint64_t send_bytes, std::uint64_t recv_bytes)
    : builder_(vector.rank, vector.layout.ranks(), send_bytes, recv_bytes),
      steps(builder_, vector, block_cuts(vector)) {}

Gathering::Gathering(const DistributedVector& vector, bool receives)
    : call_(vector), movement_(vector, vector.in_place ? 0 : vector.sizes[own()], receives ? reach(vector) : 0),
      steps(movement_.steps), home(receives ? VectorSteps::at(Buffer::recv, vector.offsets) : movement_.steps.aside()),
      receives_(receives) {
  steps.begin_at(Blocks{own()}, vector.in_place ? home : at_zero(vector, Buffer::send));
}

Program Gathering::finish() && {
  if (receives_) {
    steps.settle(Blocks{own()}, home);
  }
  return std::move(movement_).finish();
}

Scattering::Scattering(const DistributedVector& vector)
    : call_(vector), movement_(vector, is_root() ? reach(vector) : 0, vector.in_place ? 0 : vector.sizes[own()]),
      steps(movement_.steps), own_home(at_zero(vector, Buffer::recv)) {
  if (is_root()) {
    steps.begin_at(steps.all(), VectorSteps::at(Buffer::send, vector.offsets));
  }
}

Program Scattering::finish() && {
  if (!call_.in_place) {
    steps.settle(Blocks{own()}, own_home);
  }
  return std::move(movement_).finish();
}

} // namespace stoker::algos
