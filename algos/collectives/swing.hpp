// SPDX-License-Identifier: BSD-3-Clause
// Who meets whom in Swing, and in the trees and butterflies called Bine. In a ring with an even number of members,
// those with even numbers meet in step s the member at distance rho(s) = (1 - (-2)^(s + 1)) / 3, which is 1, -1, 3, -5,
// ...; those with odd numbers the one at -rho(s). These distances are two thirds of the powers of two by which binomial
// trees and butterflies go.
#pragma once

#include "algos/collectives/vector_steps.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace stoker::algos {

// The steps of the members of a torus, the ring being one of one dimension. Members are numbered like the processes of
// MPI_Cart_create, the last coordinate fastest. In a step all move in one dimension, each of which has its turn.
// Nothing here asks for powers of two: whoever has been reached in later steps is not met again in an earlier one.
class Swings {
public:
  // Even numbers, in all dimensions; `mirrored`: in the other direction.
  explicit Swings(std::vector<std::size_t> dimensions, std::size_t first_dimension = 0, bool mirrored = false);

  [[nodiscard]] std::size_t members() const { return members_; }
  [[nodiscard]] std::size_t steps() const { return moves_.size(); }
  [[nodiscard]] std::size_t partner(std::size_t member, std::size_t step) const;
  // The members that a message from `member` can reach in the steps from `first_step` on, itself among them. Members
  // that can reach each other in few late steps are neighbours in this list.
  [[nodiscard]] std::vector<std::size_t> reached(std::size_t member, std::size_t first_step) const;
  // For whom a member hands on what it has in a step: those that its partner reaches later, but not the member itself.
  [[nodiscard]] std::vector<std::size_t> handed_on(std::size_t member, std::size_t step) const;

private:
  struct Move {
    std::size_t size = 1;   // of the dimension
    std::size_t stride = 1; // between neighbours in it
    std::size_t distance = 0;
  };
  std::size_t members_ = 1;
  std::vector<Move> moves_;
};

// The largest even number of so many members, which form a ring. If there is one more it stands beside the ring.
[[nodiscard]] Swings ring_of(std::size_t members);

// Reduces each member's blocks to that member; and spreads them, in the reverse order. A member beside the ring
// exchanges blocks with all others directly.
using BlocksOf = std::function<Blocks(std::size_t member)>;
void swing_reduce_scatter(VectorSteps& steps, const Group& group, const Swings& swings, const BlocksOf& blocks_of,
                          const Home& home);
void swing_allgather(VectorSteps& steps, const Group& group, const Swings& swings, const BlocksOf& blocks_of,
                     const Home& home);

// The tree by which the ring of all members would spread the root's block. A member beside the ring is a leaf.
struct TreePlace {
  std::optional<std::size_t> parent;
  std::vector<std::size_t> children; // the one with most members below it first
};
[[nodiscard]] TreePlace swing_tree(const Group& group, std::size_t root);

} // namespace stoker::algos
