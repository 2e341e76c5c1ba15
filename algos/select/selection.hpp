// SPDX-License-Identifier: BSD-3-Clause
// The default choice of an algorithm: the one that the cost model expects to be fastest. Every rank compiles its own
// program of each candidate and adds up its costs. The largest sums over all ranks decide, so that all ranks make the
// same choice.
#pragma once

#include "algos/select/choice.hpp"
#include "algos/select/cost_model.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace stoker::algos {

// The candidates, resolved for the layout, the simplest first; the same on all ranks. Algorithms for alltoallv that
// need to know all sizes are left out. Within one node, or with one rank per node, there is nothing to aggregate, and
// the direct exchange is the only candidate.
[[nodiscard]] std::vector<Choice> candidates(Collective collective, const topology::Layout& layout);
// The same for a distributed vector of so many bytes, with this or another operation. Those that aggregate messages
// between nodes come first. Chains are left out where their length counts, which the ranks' own costs do not show.
[[nodiscard]] std::vector<Choice> vector_candidates(Collective collective, const topology::Layout& layout,
                                                    bool commutative, std::uint64_t bytes);

// The index of the candidate to take, given the expected time of each: the first that comes close to the fastest.
[[nodiscard]] std::size_t preferred(std::span<const double> seconds);

// Who carries the steps out: every rank its own, sending and receiving at the same time; or a helper those of all ranks
// of its domain, one after the other.
enum class Driver : std::uint8_t { rank, helper };

// Adds up the loads of the ranks of one node, from which the least time of a schedule follows.
class NodeLoad {
public:
  NodeLoad(Driver driver, const topology::Layout& layout, int node);
  void add(int rank, const Load& load);
  [[nodiscard]] double seconds() const;
  // The values to be summed over the ranks of the node if each rank knows only its own load.
  [[nodiscard]] std::span<double> sums() { return sums_; }

private:
  Driver driver_;
  const topology::Layout& layout_;
  int first_domain_;
  std::vector<double> sums_; // port out, port in, each domain's helper
  double longest_ = 0;
};

// The least time of an alltoall with such blocks, by the sums from which the default choice is made. Compiles the
// programs of one node's ranks only, so all nodes of the layout must be alike.
[[nodiscard]] double expected_seconds(const Choice& choice, const topology::Layout& layout, std::uint64_t bytes,
                                      const CostModel& model, Driver driver = Driver::rank);

// For help texts.
inline constexpr std::string_view selection_text =
    "of nonblocking and the algorithms that aggregate messages between nodes, where several ranks share one: the "
    "simplest that the cost model (setting cost_model) expects to come within 10 % of the fastest";

} // namespace stoker::algos
