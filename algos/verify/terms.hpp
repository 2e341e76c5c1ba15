// SPDX-License-Identifier: BSD-3-Clause
// Tokens for the results of reductions. A token says from which operands a byte was combined; and in which order, if
// that matters.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace stoker::algos {

// Stands for one byte: two bytes with equal tokens come from the same place of the same rank's input, or from the same
// such places by a reduction. The lower half of a combined token is its first input, the upper half says which shape
// the others form, seen from the first. So neighbouring bytes, which are combined alike, have the same shape.
using Token = std::uint64_t;
constexpr Token undefined = 0;
constexpr Token first_combined = Token{1} << 32U;
constexpr Token inputs_end = first_combined / 2; // inputs are smaller, so that sums of one and a distance fit
[[nodiscard]] constexpr bool is_combined(Token token) { return token >= first_combined; }

class Terms {
public:
  // The order of operands does not matter to a commutative operation. All operations are associative.
  explicit Terms(bool commutative = true) : commutative_(commutative) {}

  [[nodiscard]] Token combine(Token left, Token right) {
    const Pair pair{left / first_combined, right / first_combined, distance(left, right)};
    if (pair != latest_) {
      latest_combined_ = look_up(pair);
      latest_ = pair;
    }
    const auto first = static_cast<Token>(static_cast<std::int64_t>(left % first_combined) + latest_combined_.shift);
    return latest_combined_.shape * first_combined + first;
  }
  // The inputs in the order of the operation, at least one of them.
  [[nodiscard]] Token of(std::vector<Token> inputs);
  // The same token with every input moved on by so many, as the inputs of a later epoch are.
  [[nodiscard]] static Token moved_on(Token token, Token by) { return token == undefined ? undefined : token + by; }
  // The inputs that a token stands for; in ascending order where the operation is commutative.
  [[nodiscard]] std::vector<Token> inputs(Token token) const;

private:
  // The shapes of two tokens, and how far the second one's first input is from the first one's.
  using Pair = std::tuple<Token, Token, std::int64_t>;
  struct Combined {
    Token shape = 0;
    std::int64_t shift = 0; // of the first input, from that of the left token
  };
  // From the first input of one to that of the other.
  [[nodiscard]] static std::int64_t distance(Token from, Token to) {
    return static_cast<std::int64_t>(to % first_combined) - static_cast<std::int64_t>(from % first_combined);
  }
  [[nodiscard]] Combined look_up(const Pair& pair);

  bool commutative_;
  std::vector<std::vector<std::int64_t>> shapes_{{0}}; // by number: distances of the inputs from the first one
  std::map<std::vector<std::int64_t>, Token> numbers_; // of the shapes of more than one input
  std::map<Pair, Combined> combined_;                  // answers that were given before
  Pair latest_{0, 0, 0};
  Combined latest_combined_ = look_up(latest_);
};

} // namespace stoker::algos
