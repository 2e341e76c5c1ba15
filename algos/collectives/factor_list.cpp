// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/factor_list.hpp"

#include <charconv>
#include <cstdlib>
#include <stdexcept>

namespace stoker::algos {

void FactorList::add(std::int32_t factor) {
  if (static_cast<std::size_t>(count) == most) {
    throw std::length_error("a list of more than " + std::to_string(most) + " factors");
  }
  values[static_cast<std::size_t>(count++)] = factor;
}

std::optional<FactorList> parse_factors(std::string_view text) {
  FactorList factors;
  const char* next = text.data();
  const char* const end = next + text.size();
  while (next != end) {
    if (*next == ' ') {
      ++next;
      continue;
    }
    std::int32_t value = 0;
    const auto [behind, error] = std::from_chars(next, end, value);
    if (error != std::errc() || (behind != end && *behind != ' ') || std::abs(static_cast<std::int64_t>(value)) < 2 ||
        static_cast<std::size_t>(factors.count) == FactorList::most) {
      return std::nullopt;
    }
    factors.add(value);
    next = behind;
  }
  return factors.empty() ? std::nullopt : std::optional(factors);
}

std::string to_text(const FactorList& factors) {
  std::string text;
  for (const std::int32_t factor : factors.all()) {
    text += (text.empty() ? "" : " ") + std::to_string(factor);
  }
  return text;
}

} // namespace stoker::algos
