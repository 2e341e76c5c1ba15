// SPDX-License-Identifier: BSD-3-Clause
// The stages of the multi-radix algorithms over a group of ranks: recursive exchange and cyclic shift, each as
// reduce_scatter, allreduce and allgather, and trees. After Jocksch et al., "Flexible allreduce for shared memory and
// networks"; cyclic shift after Bruck and Ho, "Efficient global combine operations in multi-port message-passing
// systems", 1993.
#pragma once

#include "algos/collectives/factor_rules.hpp"
#include "algos/collectives/vector_steps.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace stoker::algos {

// ---- stages; `factors` as magnitudes ----

// The block of each member, for exchanges whose parts belong to somebody; and the order in which parts lie otherwise:
// neighbours after the last division.
enum class PartOrder : std::uint8_t { by_member, nested };

// Divides blocks[0..product) among product(factors) consecutive members each: `first` block on.
// What a member has at the end is its part.
void exchange_reduce_scatter(VectorSteps& steps, const Group& group, std::span<const std::size_t> factors,
                             std::size_t first, PartOrder order, const std::function<const Home&(bool last)>& home);
// All members have the same blocks, and the reduction of them at the end, in `home`.
void exchange_allgather(VectorSteps& steps, const Group& group, std::span<const std::size_t> factors, std::size_t parts,
                        const std::function<Blocks(std::size_t member)>& blocks_of, const Home& home);

// In each round the members of a group, of which this rank is one, send each other what they have, and all combine it.
// The result is in `home`.
void combine_in_rounds(VectorSteps& steps, std::size_t rounds, const std::function<Group(std::size_t round)>& group_in,
                       const Blocks& blocks, const Home& home);
// Recursive exchange with all its phases over blocks first..first+parts, from where they are to `home`.
void exchange_allreduce(VectorSteps& steps, const Group& group, const Phases& phases, std::size_t first,
                        const Home& home);

// Each member ends with its own blocks.
void cyclic_reduce_scatter(VectorSteps& steps, const Group& group, std::span<const std::size_t> factors,
                           const std::function<Blocks(std::size_t member)>& blocks_of, const Home& home);
void cyclic_allgather(VectorSteps& steps, const Group& group, std::span<const std::size_t> factors,
                      const std::function<Blocks(std::size_t member)>& blocks_of, const Home& home);

// Allreduce of blocks first..first+phases.parts, from where they are to `home`, for operations that commute.
void cyclic_allreduce(VectorSteps& steps, const Group& group, const CyclicPhases& phases, std::size_t first,
                      const Home& home);

// Allgather by recursive exchange where the list's product is the number of members, else by cyclic shift.
void allgather(VectorSteps& steps, const Group& group, const FactorList& factors,
               const std::function<Blocks(std::size_t member)>& blocks_of, const Home& home);
// Recursive exchange among a power of two of the members. In each of the first pairs the second one stands back.
void folded_allreduce(VectorSteps& steps, const Group& group, const FactorList& factors, std::size_t first,
                      const Home& home);

// Allreduce by recursive exchange, folded or not, if the list is one for that, else by cyclic shift; how many blocks a
// list needs.
[[nodiscard]] std::size_t allreduce_parts(const FactorList& factors, std::size_t members);
void allreduce(VectorSteps& steps, const Group& group, const FactorList& factors, std::size_t first, const Home& home);

// Trees: a member stands for a run of consecutive ones, the root for each that it is in. Any number of members.
void tree_reduce(VectorSteps& steps, const Group& group, std::size_t root, std::span<const std::size_t> factors,
                 std::span<const std::size_t> blocks, const Home& home);
void tree_broadcast(VectorSteps& steps, const Group& group, std::size_t root, std::span<const std::size_t> factors,
                    std::span<const std::size_t> blocks, const Home& home);
// One level of a broadcast as a member sees it: at most one of the two.
struct TreeLevel {
  std::optional<int> source; // brings the vector
  std::vector<int> targets;  // get it from this member
};
[[nodiscard]] std::vector<TreeLevel> broadcast_levels(const Group& group, std::size_t root,
                                                      std::span<const std::size_t> factors);
void tree_gather(VectorSteps& steps, const Group& group, std::size_t root, std::span<const std::size_t> factors,
                 const std::function<Blocks(std::size_t member)>& blocks_of, const Home& home);
// `home`: of what is passed on; `own`: of a single block.
void tree_scatter(VectorSteps& steps, const Group& group, std::size_t root, std::span<const std::size_t> factors,
                  const std::function<Blocks(std::size_t member)>& blocks_of, const Home& home, const Home& own);

} // namespace stoker::algos
