// SPDX-License-Identifier: BSD-3-Clause
// Levenshtein's distance.
#include "algos/select/edit_distance.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace stoker::algos {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

std::optional<std::string_view> nearest_name(std::string_view written, std::span<const std::string_view> names) {
  std::size_t least = std::max<std::size_t>(2, written.size() / 3) + 1;
  std::optional<std::string_view> nearest;
  for (const std::string_view name : names) {
    if (const std::size_t distance = edit_distance(written, name); distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

} // namespace stoker::algos
