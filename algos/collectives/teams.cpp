// SPDX-License-Identifier: BSD-3-Clause
// Groups and regions of a layout.
#include "algos/collectives/teams.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace stoker::algos {

namespace {

// The part in which each of so many items lies. `domain_of` is asked for Parts::domains only.
template <class DomainOf>
std::vector<std::size_t> cut(std::size_t items, Parts parts, DomainOf domain_of) {
  std::vector<std::size_t> part(items);
  if (parts.per_node == Parts::domains) {
    std::map<int, std::size_t> known; // domains are numbered in the order of their lowest rank
    for (std::size_t i = 0; i < items; ++i) {
      part[i] = known.try_emplace(domain_of(i), known.size()).first->second;
    }
    return part;
  }
  const std::size_t wanted = parts.per_node == Parts::each ? items : static_cast<std::size_t>(parts.per_node);
  for (std::size_t i = 0; i < items; ++i) {
    part[i] = i * std::min(wanted, items) / items;
  }
  return part;
}

} // namespace

Teams::Teams(const topology::Layout& layout, Parts groups, Parts regions)
    : group_of_(static_cast<std::size_t>(layout.ranks())), index_in_group_(group_of_.size()) {
  groups_.reserve(groups.per_node == Parts::each ? group_of_.size() : 0);
  for (int node = 0; node < layout.nodes(); ++node) {
    add_node(layout, node, groups, regions);
  }
}

void Teams::add_node(const topology::Layout& layout, int node, Parts groups, Parts regions) {
  const auto members = layout.node_ranks(node);
  const std::vector<std::size_t> group_of_member =
      cut(members.size(), groups, [&](std::size_t i) { return layout.domain_of(members[i]); });
  std::vector<std::size_t> sizes;
  std::vector<int> leaders;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (group_of_member[i] == sizes.size()) {
      sizes.push_back(0);
      leaders.push_back(members[i]);
    }
    ++sizes[group_of_member[i]];
  }
  const std::vector<std::size_t> region_of_group =
      cut(sizes.size(), regions, [&](std::size_t g) { return layout.domain_of(leaders[g]); });
  std::vector<std::size_t> by_region(sizes.size());
  std::iota(by_region.begin(), by_region.end(), std::size_t{0});
  if (!std::ranges::is_sorted(region_of_group)) {
    std::ranges::stable_sort(by_region, {}, [&](std::size_t g) { return region_of_group[g]; });
  }

  nodes_.push_back({{order_.size(), members.size()}, regions_.size(), 0});
  std::vector<std::size_t> numbers(sizes.size()); // of the node's groups, among all
  std::size_t begin = order_.size();
  for (const std::size_t group : by_region) {
    if (region_of_group[group] == nodes_.back().regions) {
      regions_.push_back({{begin, 0}, static_cast<std::size_t>(node), groups_.size(), 0});
      ++nodes_.back().regions;
    }
    numbers[group] = groups_.size();
    groups_.push_back({{begin, 0}, regions_.size() - 1});
    begin += sizes[group];
    regions_.back().ranks.count += sizes[group];
    largest_region_ = std::max(largest_region_, ++regions_.back().groups);
  }
  order_.resize(begin);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto rank = static_cast<std::size_t>(members[i]);
    group_of_[rank] = numbers[group_of_member[i]];
    Run& ranks = groups_[group_of_[rank]].ranks;
    index_in_group_[rank] = ranks.count++;
    order_[ranks.begin + index_in_group_[rank]] = members[i];
  }
}

} // namespace stoker::algos
