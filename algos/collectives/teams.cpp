// SPDX-License-Identifier: BSD-3-Clause
// Groups and regions of a layout.
#include "algos/collectives/teams.hpp"

#include <algorithm>
#include <map>

namespace stoker::algos {

namespace {

// Cuts `items` into parts. `domain_of` is asked for Parts::domains only.
template <class Item, class DomainOf>
std::vector<std::vector<Item>> cut(const std::vector<Item>& items, Parts parts, DomainOf domain_of) {
  std::vector<std::vector<Item>> result;
  if (parts.per_node == Parts::domains) {
    std::map<int, std::size_t> known; // domains are numbered in the order of their lowest rank
    for (const Item& item : items) {
      const auto [entry, fresh] = known.try_emplace(domain_of(item), result.size());
      if (fresh) {
        result.emplace_back();
      }
      result[entry->second].push_back(item);
    }
    return result;
  }
  const std::size_t wanted = parts.per_node == Parts::each ? items.size() : static_cast<std::size_t>(parts.per_node);
  result.resize(std::min(wanted, items.size()));
  for (std::size_t i = 0; i < items.size(); ++i) {
    result[i * result.size() / items.size()].push_back(items[i]);
  }
  return result;
}

} // namespace

Teams::Teams(const topology::Layout& layout, Parts groups, Parts regions)
    : group_of_(static_cast<std::size_t>(layout.ranks())), index_in_group_(group_of_.size()) {
  for (int node = 0; node < layout.nodes(); ++node) {
    const std::size_t node_begin = order_.size();
    const std::size_t first_region = regions_.size();
    const auto members = layout.node_ranks(node);
    const auto node_groups =
        cut(std::vector(members.begin(), members.end()), groups, [&](int rank) { return layout.domain_of(rank); });
    const auto node_regions = cut(node_groups, regions, [&](const auto& g) { return layout.domain_of(g.front()); });
    for (const auto& region : node_regions) {
      const std::size_t region_begin = order_.size();
      const std::size_t first_group = groups_.size();
      for (const auto& group : region) {
        groups_.push_back({{order_.size(), group.size()}, regions_.size()});
        for (const int rank : group) {
          group_of_[static_cast<std::size_t>(rank)] = groups_.size() - 1;
          index_in_group_[static_cast<std::size_t>(rank)] = order_.size() - groups_.back().ranks.begin;
          order_.push_back(rank);
        }
      }
      regions_.push_back(
          {{region_begin, order_.size() - region_begin}, static_cast<std::size_t>(node), first_group, region.size()});
      largest_region_ = std::max(largest_region_, region.size());
    }
    nodes_.push_back({{node_begin, order_.size() - node_begin}, first_region, regions_.size() - first_region});
  }
}

} // namespace stoker::algos
