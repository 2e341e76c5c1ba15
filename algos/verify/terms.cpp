// SPDX-License-Identifier: BSD-3-Clause
#include "algos/verify/terms.hpp"

#include "algos/schedule/append.hpp"

#include <algorithm>
#include <utility>

namespace stoker::algos {

Terms::Combined Terms::look_up(const Pair& pair) {
  const auto [known, fresh] = combined_.try_emplace(pair);
  if (fresh) {
    // Any place will do: here no input becomes undefined.
    const auto& [left_shape, right_shape, distance] = pair;
    constexpr Token middle = first_combined / 2;
    const Token left = left_shape * first_combined + middle;
    const Token right = right_shape * first_combined + static_cast<Token>(static_cast<std::int64_t>(middle) + distance);
    std::vector<Token> all = inputs(left);
    append(all, inputs(right));
    const Token token = of(std::move(all));
    known->second = {token / first_combined, Terms::distance(left, token)};
  }
  return known->second;
}

Token Terms::of(std::vector<Token> inputs) {
  if (inputs.size() == 1) {
    return inputs.front();
  }
  if (commutative_) {
    std::ranges::sort(inputs);
  }
  std::vector<std::int64_t> shape(inputs.size());
  std::ranges::transform(inputs, shape.begin(), [&](Token input) { return distance(inputs.front(), input); });
  const auto [known, fresh] = numbers_.try_emplace(shape, shapes_.size());
  if (fresh) {
    shapes_.push_back(std::move(shape));
  }
  return known->second * first_combined + inputs.front();
}

std::vector<Token> Terms::inputs(Token token) const {
  const std::vector<std::int64_t>& shape = shapes_[token / first_combined];
  std::vector<Token> all(shape.size());
  std::ranges::transform(shape, all.begin(), [&](std::int64_t distance) {
    return static_cast<Token>(static_cast<std::int64_t>(token % first_combined) + distance);
  });
  return all;
}

} // namespace stoker::algos
