// SPDX-License-Identifier: BSD-3-Clause
#include "algos/verify/terms.hpp"

#include "algos/schedule/append.hpp"

#include <algorithm>
#include <utility>

namespace stoker::algos {
namespace {

std::uint64_t pair_of(Token first, Token second) { return (std::uint64_t{first} << 32U) | second; }

// The finalizer of splitmix64: every bit of the result depends on every bit of the number.
std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31U);
}

} // namespace

std::size_t Terms::Hash::operator()(Inputs inputs) const {
  std::uint64_t hash = inputs.size();
  for (const Token token : inputs) {
    hash = mixed(hash + token);
  }
  return hash;
}

std::size_t Terms::Hash::operator()(std::uint64_t pair) const { return mixed(pair); }

Token Terms::combine(Token left, Token right) {
  const auto [known, fresh] = combined_.try_emplace(pair_of(left, right), undefined);
  if (fresh) {
    std::vector<Token> all;
    for (const Token token : {left, right}) {
      if (is_combined(token)) {
        append(all, inputs(token));
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
  if (const auto known = numbers_.find(inputs); known != numbers_.end()) {
    return known->second;
  }
  auto* kept = std::pmr::polymorphic_allocator<Token>(memory_.get()).allocate(inputs.size());
  std::ranges::copy(inputs, kept);
  const auto token = static_cast<Token>(first_combined + terms_.size());
  terms_.emplace_back(kept, inputs.size());
  numbers_.emplace(terms_.back(), token);
  return token;
}

Token Terms::combined_moved_on(Token token, Token by) {
  const auto [known, fresh] = moved_on_.try_emplace(pair_of(token, by), undefined);
  if (fresh) {
    std::vector<Token> later(inputs(token).begin(), inputs(token).end());
    std::ranges::for_each(later, [by](Token& input) { input += by; });
    known->second = of(std::move(later));
  }
  return known->second;
}

} // namespace stoker::algos
