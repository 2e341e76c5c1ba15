// SPDX-License-Identifier: BSD-3-Clause
// An algorithm with the values of its parameters, as users write it: "radix:r=4",
// "locality-aware:groups=2,within=pairwise". Nested exchanges are nonblocking, pairwise, batched-N, bruck, or radix-R.
#pragma once

#include "algos/collectives/registry.hpp"

#include <array>
#include <string>
#include <string_view>

namespace stoker::algos {

struct Choice {
  const Algorithm* algorithm = nullptr;
  Tuning tuning;
  bool operator==(const Choice&) const = default;
};
// By collective; those without an algorithm are selected for each request.
using Choices = std::array<Choice, collectives_with_algorithms>;

// Throws std::invalid_argument, which names the error, what is accepted, and the nearest name that exists.
[[nodiscard]] Choice parse_choice(Collective collective, std::string_view text);
// The text that parse_choice reads, without nested nonblocking exchanges and numbers that were not given.
[[nodiscard]] std::string to_text(const Choice& choice);
// A list for several collectives, as in "alltoall=radix:r=4,allreduce=auto". An item begins where the name of a
// collective follows a comma; all other commas belong to the choice of their item. Collectives that the list does not
// name keep their choice. "auto" for a list takes all choices away.
void parse_choices(std::string_view list, Choices& choices);
[[nodiscard]] std::string to_text(const Choices& choices);
[[nodiscard]] std::string to_text(FlatExchange exchange);

// The same with every parameter filled in and checked against a layout. A value that does not fit is refused: throws
// std::invalid_argument that names algorithm, parameter, and a value that fits. Or it is adapted: the largest number
// that fits, or the default list of factors, takes its place. `adapt_numbers` adapts numbers and refuses lists.
enum class Misfit : std::uint8_t { refuse, adapt_numbers, adapt };
[[nodiscard]] Choice resolve(Choice choice, const topology::Layout& layout, Misfit misfit = Misfit::refuse);

// Whose block sizes a resolved choice needs.
[[nodiscard]] Knowledge knowledge_of(const Choice& choice);
// Compiles a resolved choice for a collective of the exchange's kind; throws std::bad_variant_access for one of another
// kind.
[[nodiscard]] Program compile(const Choice& choice, const Exchange& exchange);
[[nodiscard]] Program compile(const Choice& choice, const NeighborExchange& exchange);
// Throws std::invalid_argument for an operation that is not commutative where the algorithm needs one that is.
[[nodiscard]] Program compile(const Choice& choice, const DistributedVector& vector);

} // namespace stoker::algos
