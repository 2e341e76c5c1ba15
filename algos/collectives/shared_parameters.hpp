// SPDX-License-Identifier: BSD-3-Clause
// The parameters that the all-to-alls share with the other collectives.
#pragma once

#include "algos/collectives/registry.hpp"

#include <algorithm>

namespace stoker::algos {

inline std::int32_t largest_node(const topology::Layout& layout) {
  std::size_t most = 1;
  for (int node = 0; node < layout.nodes(); ++node) {
    most = std::max(most, layout.node_ranks(node).size());
  }
  return static_cast<std::int32_t>(most);
}
// Four ranks to a leader or group did best at most sizes in the literature's measurements of all-to-alls.
inline std::int32_t four_ranks_each(const topology::Layout& layout) { return std::max(1, largest_node(layout) / 4); }
inline std::int32_t one_a_node(const topology::Layout& /*layout*/) { return 1; }

inline std::int32_t all_ranks_but_one(const topology::Layout& layout) { return std::max(1, layout.ranks() - 1); }
inline std::int32_t root_of_ranks(const topology::Layout& layout) {
  return static_cast<std::int32_t>(balanced_radix(static_cast<std::size_t>(layout.ranks())));
}

inline constexpr Parameter batch{.name = "batch",
                                 .summary = "messages at a time",
                                 .number = &Tuning::batch,
                                 .most = all_ranks_but_one,
                                 .preset = root_of_ranks};
inline constexpr Parameter leaders{.name = "leaders",
                                   .summary = "leaders per node, or domains",
                                   .number = &Tuning::leaders,
                                   .most = largest_node,
                                   .preset = four_ranks_each,
                                   .domains = true};
template <std::int32_t (*preset)(const topology::Layout&)>
inline constexpr Parameter groups{.name = "groups",
                                  .summary = "groups per node, or domains",
                                  .number = &Tuning::groups,
                                  .most = largest_node,
                                  .preset = preset,
                                  .domains = true};

} // namespace stoker::algos
