// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/lanes.hpp"
#include "algos/collectives/multi_radix.hpp"
#include "algos/collectives/vector_algorithms.hpp"

#include <algorithm>
#include <utility>

namespace stoker::algos {

namespace {

class Barrier {
public:
  explicit Barrier(const DistributedVector& vector)
      : builder_(vector.rank, vector.layout.ranks(), 0, 0), steps(builder_, vector, {0}) {}
  [[nodiscard]] Program finish() && { return std::move(builder_).finish(); }

private:
  Builder builder_;

public:
  VectorSteps steps;
};

// Hensgen, Finkel and Manber's dissemination with any radix.
void disseminate(VectorSteps& steps, const Group& group, std::span<const std::size_t> factors) {
  std::size_t held = 1;
  for (const std::size_t factor : factors) {
    const std::size_t after = std::min(held * factor, group.size());
    for (std::size_t j = 1; j * held < after; ++j) {
      steps.signal(group.members[(group.me + group.size() - (j * held)) % group.size()]);
    }
    for (std::size_t j = 1; j * held < after; ++j) {
      steps.await(group.members[(group.me + (j * held)) % group.size()]);
    }
    held = after;
  }
}

} // namespace

Program barrier_cyclic(const DistributedVector& vector, const Tuning& tuning) {
  Barrier barrier(vector);
  disseminate(barrier.steps, all_ranks(vector), gathering(tuning.factors));
  return std::move(barrier).finish();
}

Program barrier_tree(const DistributedVector& vector, const Tuning& /*tuning*/) {
  Barrier barrier(vector);
  // Children 4i + 1 to 4i + 4.
  constexpr int arity = 4;
  const int ranks = vector.layout.ranks();
  const auto for_children = [&](auto visit) {
    for (int child = (arity * vector.rank) + 1; child <= (arity * vector.rank) + arity && child < ranks; ++child) {
      visit(child);
    }
  };
  for_children([&](int child) { barrier.steps.await(child); });
  if (vector.rank > 0) {
    const int parent = (vector.rank - 1) / arity;
    barrier.steps.signal(parent);
    barrier.steps.await(parent);
  }
  for_children([&](int child) { barrier.steps.signal(child); });
  return std::move(barrier).finish();
}

Program barrier_node_aware(const DistributedVector& vector, const Tuning& tuning) {
  Barrier barrier(vector);
  const Lanes lanes(vector, 1);
  if (lanes.mine() != 0) {
    barrier.steps.signal(lanes.here(0));
    barrier.steps.await(lanes.here(0));
    return std::move(barrier).finish();
  }
  const auto for_others = [&](auto visit) {
    for (const int rank : lanes.node().members) {
      if (rank != vector.rank) {
        visit(rank);
      }
    }
  };
  for_others([&](int rank) { barrier.steps.await(rank); });
  disseminate(barrier.steps, lanes.between(0), gathering(tuning.factors_between));
  for_others([&](int rank) { barrier.steps.signal(rank); });
  return std::move(barrier).finish();
}

} // namespace stoker::algos
