// SPDX-License-Identifier: BSD-3-Clause
// Tokens for the results of reductions. A token says from which operands a byte was combined; and in which order, if
// that matters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <unordered_map>
#include <vector>

namespace stoker::algos {

// Stands for one byte: two bytes with equal tokens come from the same place of the same rank's input, or from the same
// such places by a reduction.
using Token = std::uint32_t;
constexpr Token undefined = 0;
constexpr Token first_combined = Token{1} << 31U; // smaller ones are inputs
[[nodiscard]] constexpr bool is_combined(Token token) { return token >= first_combined; }

class Terms {
public:
  // The order of operands does not matter to a commutative operation. All operations are associative.
  explicit Terms(bool commutative = true) : commutative_(commutative) {}
  Terms(Terms&&) = default;
  Terms& operator=(Terms&&) = delete;
  Terms(const Terms&) = delete;
  Terms& operator=(const Terms&) = delete;
  ~Terms() = default;

  [[nodiscard]] Token combine(Token left, Token right);
  // The inputs in the order of the operation, at least one of them.
  [[nodiscard]] Token of(std::vector<Token> inputs);
  // The same token with every input moved on by so many, as the inputs of a later epoch are.
  [[nodiscard]] Token moved_on(Token token, Token by) {
    if (token == undefined || by == 0) {
      return token;
    }
    return is_combined(token) ? combined_moved_on(token, by) : token + by;
  }
  // The inputs that a combined token stands for; in ascending order where the operation is commutative.
  [[nodiscard]] std::span<const Token> inputs(Token combined) const { return terms_[combined - first_combined]; }

private:
  [[nodiscard]] Token combined_moved_on(Token token, Token by);

  using Inputs = std::span<const Token>;
  struct Hash {
    std::size_t operator()(Inputs inputs) const;
    std::size_t operator()(std::uint64_t pair) const;
  };
  struct Equal {
    bool operator()(Inputs one, Inputs other) const { return std::ranges::equal(one, other); }
  };
  using Asked = std::pmr::unordered_map<std::uint64_t, Token, Hash>; // by a pair of numbers of 32 bits

  bool commutative_;
  // Also of the inputs; nothing is forgotten before all is. It stays where it is when the terms are moved.
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_ =
      std::make_unique<std::pmr::monotonic_buffer_resource>();
  std::vector<Inputs> terms_;
  std::pmr::unordered_map<Inputs, Token, Hash, Equal> numbers_{memory_.get()};
  Asked combined_{memory_.get()}; // answers that were given before
  Asked moved_on_{memory_.get()};
};

} // namespace stoker::algos
