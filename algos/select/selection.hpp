// SPDX-License-Identifier: BSD-3-Clause
// The default choice of an algorithm: the one that the cost model expects to be fastest. Every rank compiles its own program of
// each candidate and adds up what it costs; from the largest sums over all ranks everybody makes the same choice.
#pragma once

#include "algos/select/choice.hpp"
#include "algos/select/cost_model.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace stoker::algos {

// What is chosen from, resolved for the layout, the simplest first; the same on all ranks. Algorithms for alltoallv that need to
// know all sizes are left out, and so is everything but the direct exchange within one node or with one rank per node, where
// there is nothing to aggregate.
[[nodiscard]] std::vector<Choice> candidates(Collective collective, const topology::Layout& layout);
// The same for a distributed vector of so many bytes, with this or another operation. Those that aggregate messages between nodes come
// first. Chains are left out where their length counts, which the ranks' own costs do not show.
[[nodiscard]] std::vector<Choice> vector_candidates(Collective collective, const topology::Layout& layout,
                                                    bool commutative, std::uint64_t bytes);

// Index of the one to take, given how long each is expected to take: the first that comes close to the fastest.
[[nodiscard]] std::size_t preferred(std::span<const double> seconds);

// Who carries the steps out: every rank its own, sending and receiving at the same time; or a helper those of its domain's
// ranks, one after the other.
enum class Driver : std::uint8_t { rank, helper };

// Adds up what the ranks of one node contribute to the time that a schedule takes at least.
class NodeLoad {
public:
  NodeLoad(Driver driver, const topology::Layout& layout, int node);
  void add(int rank, const Load& load);
  [[nodiscard]] double seconds() const;
  // What has to be summed up where each rank knows its own load only.
  [[nodiscard]] std::span<double> sums() { return sums_; }

private:
  Driver driver_;
  const topology::Layout& layout_;
  int first_domain_;
  std::vector<double> sums_; // port out, port in, each domain's helper
  double longest_ = 0;
};

// How long an alltoall of such blocks takes at least, by the sums that the default choice is made from. Compiles the programs of
// one node's ranks: for layouts whose nodes are alike.
[[nodiscard]] double expected_seconds(const Choice& choice, const topology::Layout& layout, std::uint64_t bytes,
                                      const CostModel& model, Driver driver = Driver::rank);

// For help texts.
inline constexpr std::string_view selection_text =
    "of nonblocking and the algorithms that aggregate messages between nodes, where several ranks share one: the "
    "simplest that the cost model (setting cost_model) expects to come within 10 % of the fastest";

} // namespace stoker::algos
