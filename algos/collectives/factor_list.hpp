// SPDX-License-Identifier: BSD-3-Clause
// Factor lists: the parameter of the multi-radix algorithms, as in Jocksch et al., "Flexible allreduce for shared
// memory and networks". A negative factor -f is a step of the first phase, in which groups of f ranks divide what they
// have among them (reduce_scatter, reduce, scatter); a positive one a step in which they exchange what they have: with
// reduction as long as operands are left to combine, and without it afterwards (allgather, broadcast).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stoker::algos {

// Flat, because it is a part of Tuning. Empty if nothing was asked for.
struct FactorList {
  static constexpr std::size_t most = 64; // two phases by factors of 2 for any number of ranks
  std::array<std::int32_t, most> values{};
  std::int32_t count = 0;
  bool operator==(const FactorList&) const = default;

  [[nodiscard]] std::span<const std::int32_t> all() const { return {values.data(), static_cast<std::size_t>(count)}; }
  [[nodiscard]] bool empty() const { return count == 0; }
  // Throws std::length_error beyond `most`.
  void add(std::int32_t factor);
};

// "-4 -2 2 4". Nothing for anything but numbers of at least 2, negated or not, with blanks between them.
[[nodiscard]] std::optional<FactorList> parse_factors(std::string_view text);
[[nodiscard]] std::string to_text(const FactorList& factors);

} // namespace stoker::algos
