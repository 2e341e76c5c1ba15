// SPDX-License-Identifier: BSD-3-Clause
#include "algos/verify/terms.hpp"

#include <algorithm>

namespace stoker::algos {

Token Terms::combine(Token left, Token right) {
  const auto [known, fresh] = combined_.try_emplace({left, right}, undefined);
  if (fresh) {
    std::vector<Token> all;
    for (const Token token : {left, right}) {
      if (is_combined(token)) {
        all.insert(all.end(), inputs(token).begin(), inputs(token).end());
      } else {
        all.push_back(token);
      }
    }
    known->second = of(std::move(all));
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
  const auto [known, fresh] =
      numbers_.try_emplace(std::move(inputs), static_cast<Token>(first_combined + terms_.size()));
  if (fresh) {
    terms_.push_back(known->first);
  }
  return known->second;
}

} // namespace stoker::algos
