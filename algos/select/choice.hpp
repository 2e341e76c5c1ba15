// SPDX-License-Identifier: BSD-3-Clause
// An algorithm with the values of its parameters, as users write it: "radix:r=4", "locality-aware:groups=2,within=pairwise".
// Nested exchanges are nonblocking, pairwise, batched-N, bruck, or radix-R.
#pragma once

#include "algos/collectives/registry.hpp"

#include <optional>
#include <string>

namespace stoker::algos {

struct Choice {
  const Algorithm* algorithm = nullptr;
  Tuning tuning;
};

// Throws std::invalid_argument that names what is wrong, what can stand there, and the nearest name that exists.
[[nodiscard]] Choice parse_choice(Collective collective, std::string_view text);
// What parse_choice reads; nested nonblocking exchanges and numbers that were not given are left out.
[[nodiscard]] std::string to_text(const Choice& choice);
[[nodiscard]] std::string to_text(FlatExchange exchange);

// The same with every number filled in and checked against a layout. A number that is too large for it is reduced, or
// refused: throws std::invalid_argument that names algorithm, parameter, range and the nearest value within it.
enum class TooLarge : std::uint8_t { refuse, reduce };
[[nodiscard]] Choice resolve(Choice choice, const topology::Layout& layout, TooLarge what = TooLarge::refuse);

// Whose block sizes it needs. Of a resolved choice.
[[nodiscard]] Knowledge knowledge_of(const Choice& choice);
// Of a resolved choice for a collective of the exchange's kind; throws std::bad_variant_access for one of another kind.
[[nodiscard]] Program compile(const Choice& choice, const Exchange& exchange);
[[nodiscard]] Program compile(const Choice& choice, const NeighborExchange& exchange);
// Throws std::invalid_argument for an operation that is not commutative where the algorithm needs one that is.
[[nodiscard]] Program compile(const Choice& choice, const VectorCall& call);

// Names of a collective's algorithms: for help texts.
[[nodiscard]] std::string known_algorithms(Collective collective);

} // namespace stoker::algos
