// SPDX-License-Identifier: BSD-3-Clause
// Tokens of what reductions make: which operands a byte was combined from, and in which order where that matters.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace stoker::algos {

// Stands for one byte: two bytes with equal tokens come from the same place of the same rank's input, or from the same such
// places by a reduction.
using Token = std::uint32_t;
constexpr Token undefined = 0;
constexpr Token first_combined = Token{1} << 31U; // smaller ones are inputs
[[nodiscard]] constexpr bool is_combined(Token token) { return token >= first_combined; }

class Terms {
public:
  // Of a commutative operation the order of operands is of no interest. All operations are associative.
  explicit Terms(bool commutative = true) : commutative_(commutative) {}

  [[nodiscard]] Token combine(Token left, Token right);
  // The inputs in the order of the operation, at least one of them.
  [[nodiscard]] Token of(std::vector<Token> inputs);
  // The inputs that a combined token stands for; in ascending order where the operation is commutative.
  [[nodiscard]] std::span<const Token> inputs(Token combined) const { return terms_[combined - first_combined]; }

private:
  bool commutative_;
  std::vector<std::vector<Token>> terms_;
  std::map<std::vector<Token>, Token> numbers_;
  std::map<std::pair<Token, Token>, Token> combined_; // what was asked for before
};

} // namespace stoker::algos
