// SPDX-License-Identifier: BSD-3-Clause
// How the aggregating algorithms divide a layout: ranks into groups with a leader each, the groups of a node into
// regions.
#pragma once

#include "topology/layout.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stoker::algos {

// How many parts each node is cut into: runs of neighbouring ranks, as equal as can be, and no more than there are
// ranks; or the node's NUMA domains.
struct Parts {
  static constexpr std::int32_t each = 0;     // one for each of its members
  static constexpr std::int32_t domains = -1; // the node's NUMA domains
  std::int32_t per_node = 1;
};

class Teams {
public:
  // `regions` divides a node's groups; a group lies in the region of its leader.
  Teams(const topology::Layout& layout, Parts groups, Parts regions);

  [[nodiscard]] std::size_t groups() const { return groups_.size(); }
  [[nodiscard]] std::size_t regions() const { return regions_.size(); }

  // All ranks, ordered by node, region and group; each of these is a run of it.
  [[nodiscard]] std::span<const int> node_ranks(std::size_t node) const { return run(nodes_[node].ranks); }
  [[nodiscard]] std::span<const int> region_ranks(std::size_t region) const { return run(regions_[region].ranks); }
  [[nodiscard]] std::span<const int> group_ranks(std::size_t group) const { return run(groups_[group].ranks); }

  [[nodiscard]] std::size_t group_of(int rank) const { return group_of_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::size_t region_of(std::size_t group) const { return groups_[group].region; }
  [[nodiscard]] std::size_t first_region(std::size_t node) const { return nodes_[node].first_region; }
  [[nodiscard]] std::size_t node_regions(std::size_t node) const { return nodes_[node].regions; } // how many
  [[nodiscard]] std::size_t node_of_region(std::size_t region) const { return regions_[region].node; }
  [[nodiscard]] std::size_t index_in_group(int rank) const { return index_in_group_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int leader(std::size_t group) const { return group_ranks(group).front(); }
  [[nodiscard]] std::size_t index_in_region(std::size_t group) const {
    return group - regions_[groups_[group].region].first_group;
  }
  [[nodiscard]] std::size_t region_size(std::size_t region) const { return regions_[region].groups; } // in groups
  [[nodiscard]] std::size_t largest_region() const { return largest_region_; }
  // The group that stands for column `index` in a region: columns wrap around where the region is smaller.
  [[nodiscard]] std::size_t group_at(std::size_t region, std::size_t index) const {
    return regions_[region].first_group + index % regions_[region].groups;
  }
  // Every rank is its own group.
  [[nodiscard]] bool all_lead() const { return groups_.size() == order_.size(); }

private:
  struct Run {
    std::size_t begin = 0;
    std::size_t count = 0;
  };
  struct Group {
    Run ranks;
    std::size_t region = 0;
  };
  struct Region {
    Run ranks;
    std::size_t node = 0;
    std::size_t first_group = 0;
    std::size_t groups = 0;
  };
  struct Node {
    Run ranks;
    std::size_t first_region = 0;
    std::size_t regions = 0;
  };
  void add_node(const topology::Layout& layout, int node, Parts groups, Parts regions);
  [[nodiscard]] std::span<const int> run(Run r) const { return std::span(order_).subspan(r.begin, r.count); }

  std::vector<int> order_;
  std::vector<Node> nodes_;
  std::vector<Region> regions_;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_; // by rank
  std::vector<std::size_t> index_in_group_;
  std::size_t largest_region_ = 0;
};

} // namespace stoker::algos
