// SPDX-License-Identifier: BSD-3-Clause
// The default choice of an algorithm: the one that is expected to be fastest on the machine. Which time is expected of
// each, says algos/simulate/expectation.hpp.
#pragma once

#include "algos/select/choice.hpp"
#include "algos/select/family.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace stoker::algos {

// The candidates, resolved for the layout, in the order of the registry; the same on all ranks. `bytes`: of a block; of
// the vector where there are no blocks. Algorithms for alltoallv that need to know all sizes are left out, and so are
// those that write into other ranks' buffers, which not every MPI library and executor can.
[[nodiscard]] std::vector<Choice> candidates(Collective collective, const topology::Layout& layout, std::uint64_t bytes,
                                             bool commutative = true, Breadth breadth = Breadth::few);

// Whether a resolved choice for a reduction takes operations that are not commutative: some algorithms do with some
// lists of factors, and where the ranks of a node or group follow each other. Where the order depends on the nodes, a
// program is compiled to find out.
[[nodiscard]] bool takes_any_operation(const Choice& choice, const topology::Layout& layout);

// The index of the candidate to take, given the expected time of each: the first that comes close to the fastest.
[[nodiscard]] std::size_t preferred(std::span<const double> seconds);

// Who carries the steps out: every rank its own; or a helper those of all ranks of its domain, one after the other.
enum class Driver : std::uint8_t { rank, helper };

// For help texts.
inline constexpr std::string_view selection_text =
    "of all algorithms with several values of their parameters: the one that is expected to be fastest on the machine "
    "(setting cost_model)";

} // namespace stoker::algos
