// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/registry.hpp"

#include "algos/collectives/registry_rows.hpp"
#include "algos/schedule/append.hpp"

#include <algorithm>
#include <vector>

namespace stoker::algos {

std::span<const Algorithm> registry() {
  static const std::vector<Algorithm> rows = [] {
    std::vector<Algorithm> all(alltoall_rows().begin(), alltoall_rows().end());
    append(all, vector_rows());
    return all;
  }();
  return rows;
}

std::span<const Algorithm> algorithms_of(Collective collective) {
  const std::span<const Algorithm> all = registry();
  const auto first = std::ranges::find(all, collective, &Algorithm::collective);
  const auto last = std::find_if(first, all.end(), [&](const Algorithm& row) { return row.collective != collective; });
  return {first, last};
}

const Algorithm* find(Collective collective, std::string_view name) {
  const auto rows = algorithms_of(collective);
  const auto row = std::ranges::find(rows, name, &Algorithm::name);
  return row == rows.end() ? nullptr : &*row;
}

} // namespace stoker::algos
