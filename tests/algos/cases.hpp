// SPDX-License-Identifier: BSD-3-Clause
// The cases that every algorithm has to pass: layouts, block sizes, in place or not.
#pragma once

#include "algos/verify/whole_exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stoker::tests {

// Verifier and simulator take ten times as long under the address sanitizer.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool has_address_sanitizer = true;
inline constexpr int most_ranks = 12;
inline constexpr std::size_t least_cases = 10; // a matrix with fewer has left something out
#else
inline constexpr bool has_address_sanitizer = false;
inline constexpr int most_ranks = 33;
inline constexpr std::size_t least_cases = 50;
#endif
// 12 ranks have layouts that fewer do not have; 10 and 11 hardly have.
[[nodiscard]] constexpr bool is_left_out(int ranks) { return has_address_sanitizer && (ranks == 10 || ranks == 11); }

// Every algorithm for alltoall and alltoallv as it is by default; and with other values of its parameters, too.
[[nodiscard]] std::vector<algos::Choice> rows();
[[nodiscard]] std::vector<algos::Choice> choices();
// The same for vector calls, with both.
[[nodiscard]] std::vector<algos::Choice> vector_choices();
// A choice's name as a test's: "alltoall_radix_r_3".
[[nodiscard]] std::string test_name(const algos::Choice& choice);
// False where a layout is too small for a parameter's value.
[[nodiscard]] bool applies(const algos::Choice& choice, const topology::Layout& layout);
[[nodiscard]] bool is_default(const algos::Choice& choice);

struct NamedLayout {
  std::string name;
  topology::Layout layout;
};

// One node, one rank per node, 2, 3, 4 and 8 per node, ragged nodes, ranks shuffled over nodes, several domains per
// node; those that P ranks can form, without repetition.
[[nodiscard]] std::vector<NamedLayout> layouts_of(int ranks);

struct NamedExchange {
  std::string name;
  algos::WholeExchange exchange;
};

// Uniform, nothing at all, all to one, one to all, own blocks only, random with zeros, and random with gaps between
// blocks that lie in reverse order. `bytes` sets the scale. Sizes are made symmetric in place.
[[nodiscard]] std::vector<NamedExchange> exchanges_of(const topology::Layout& layout, std::uint64_t bytes,
                                                      bool in_place);

// All programs, as part of a failure's message where there are not too many.
[[nodiscard]] std::string programs_text(const std::vector<algos::Program>& programs);

} // namespace stoker::tests
