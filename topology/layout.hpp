// SPDX-License-Identifier: BSD-3-Clause
// Where each rank of a communicator sits: node and NUMA domain. Plain data, standard library only, so that algorithms
// can be written, verified and counted without a machine.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace stoker::topology {

// Labels of one rank's place. Ranks with equal `node` share memory; ranks with equal (node, domain) are served by one
// progress thread. Labels need not be dense.
struct Place {
  int node = 0;
  int domain = 0;
  bool operator==(const Place&) const = default;
};

// The layout of a communicator's ranks. Nodes and domains are renumbered densely over the whole communicator, in the
// order of their lowest rank, so that node_of(0) == domain_of(0) == 0. Immutable; copies share their tables, which have
// 16 bytes for each rank, and 20 where the domains of a node are no runs of its ranks. Ragged nodes and ranks in any
// order are ordinary input.
class Layout {
public:
  // One place per rank. Throws std::invalid_argument when empty.
  explicit Layout(std::vector<Place> places) {
    if (places.empty()) {
      throw std::invalid_argument("a layout needs at least one rank");
    }
    auto tables = std::make_shared<Tables>();
    tables->nodes = number(
        places,
        [](const Place& p) {
          return std::pair{p.node, 0};
        },
        &Place::node);
    // The node labels are dense now; domains are told apart within them.
    tables->domains = number(
        places,
        [](const Place& p) {
          return std::pair{p.node, p.domain};
        },
        &Place::domain);
    tables->places = std::move(places);
    tables->local_index.resize(tables->places.size());
    for (const Extent& node : tables->nodes.extents) {
      for (std::size_t i = 0; i < node.count; ++i) {
        tables->local_index[static_cast<std::size_t>(tables->nodes.members[node.begin + i])] = static_cast<int>(i);
      }
    }
    tables->share_members();
    tables_ = std::move(tables);
  }

  // `ranks` ranks in order, `ranks_per_node` on each node (the last node may hold fewer), each node cut into
  // `domains_per_node` domains of consecutive ranks.
  static Layout uniform(int ranks, int ranks_per_node, int domains_per_node = 1) {
    if (ranks < 1 || ranks_per_node < 1 || domains_per_node < 1) {
      throw std::invalid_argument("Layout::uniform needs positive numbers");
    }
    std::vector<Place> places(static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) {
      places[static_cast<std::size_t>(r)] = {r / ranks_per_node,
                                             (r % ranks_per_node) * domains_per_node / ranks_per_node};
    }
    return Layout(std::move(places));
  }

  [[nodiscard]] int ranks() const { return static_cast<int>(tables_->places.size()); }
  [[nodiscard]] int nodes() const { return static_cast<int>(tables_->nodes.extents.size()); }
  [[nodiscard]] int domains() const { return static_cast<int>(tables_->domains.extents.size()); }

  [[nodiscard]] const Place& place(int rank) const { return tables_->places.at(static_cast<std::size_t>(rank)); }
  [[nodiscard]] int node_of(int rank) const { return place(rank).node; }
  [[nodiscard]] int domain_of(int rank) const { return place(rank).domain; }
  [[nodiscard]] bool same_node(int a, int b) const { return node_of(a) == node_of(b); }
  [[nodiscard]] bool same_domain(int a, int b) const { return domain_of(a) == domain_of(b); }

  // Members in ascending rank order.
  [[nodiscard]] std::span<const int> node_ranks(int node) const {
    return of(tables_->nodes.members, tables_->nodes.extents.at(static_cast<std::size_t>(node)));
  }
  [[nodiscard]] std::span<const int> domain_ranks(int domain) const {
    const Extent& extent = tables_->domains.extents.at(static_cast<std::size_t>(domain));
    return of(tables_->domains.members.empty() ? tables_->nodes.members : tables_->domains.members, extent);
  }

  // Position of `rank` among node_ranks(node_of(rank)).
  [[nodiscard]] int local_index(int rank) const { return tables_->local_index.at(static_cast<std::size_t>(rank)); }
  // The node's lowest rank acts for it in hierarchical schedules.
  [[nodiscard]] int node_leader(int node) const { return node_ranks(node).front(); }

  // The layout of a subset: member i of the result is rank members[i] of this layout. All members in order share the
  // tables of this layout.
  [[nodiscard]] Layout restricted_to(std::span<const int> members) const {
    const bool all = members.size() == tables_->places.size() &&
                     std::ranges::adjacent_find(members, [](int a, int b) { return b != a + 1; }) == members.end();
    if (all) {
      return *this;
    }
    std::vector<Place> places;
    places.reserve(members.size());
    for (const int rank : members) {
      places.push_back(place(rank));
    }
    return Layout(std::move(places));
  }

  bool operator==(const Layout& other) const {
    return tables_ == other.tables_ || tables_->places == other.tables_->places;
  }

private:
  struct Extent {
    std::size_t begin = 0;
    std::size_t count = 0;
  };
  // Ranks, sorted by what they are members of.
  struct Members {
    std::vector<int> members;
    std::vector<Extent> extents;
  };
  struct Tables {
    std::vector<Place> places;
    std::vector<int> local_index;
    Members nodes;
    Members domains; // no members: they are runs of the nodes'

    void share_members() {
      std::vector<Extent> runs;
      for (const Extent& domain : domains.extents) {
        const std::span<const int> ranks = of(domains.members, domain);
        const auto first = static_cast<std::size_t>(ranks.front());
        const Extent run{nodes.extents[static_cast<std::size_t>(places[first].node)].begin +
                             static_cast<std::size_t>(local_index[first]),
                         domain.count};
        if (!std::ranges::equal(ranks, of(nodes.members, run))) {
          return;
        }
        runs.push_back(run);
      }
      domains = {{}, std::move(runs)};
    }
  };

  static std::span<const int> of(const std::vector<int>& members, const Extent& extent) {
    return std::span(members).subspan(extent.begin, std::min(extent.count, members.size() - extent.begin));
  }

  // Replaces the labels that `key` tells apart by dense numbers in order of first appearance; returns their members.
  template <class Key>
  static Members number(std::vector<Place>& places, Key key, int Place::*label) {
    std::map<std::pair<int, int>, int> numbers;
    Members sorted{std::vector<int>(places.size()), {}};
    for (Place& place : places) {
      const auto [entry, fresh] = numbers.try_emplace(key(place), static_cast<int>(numbers.size()));
      if (fresh) {
        sorted.extents.emplace_back();
      }
      place.*label = entry->second;
      ++sorted.extents[static_cast<std::size_t>(entry->second)].count;
    }
    std::size_t begin = 0;
    for (Extent& extent : sorted.extents) {
      extent.begin = begin;
      begin += std::exchange(extent.count, 0);
    }
    for (std::size_t r = 0; r < places.size(); ++r) {
      Extent& extent = sorted.extents[static_cast<std::size_t>(places[r].*label)];
      sorted.members[extent.begin + extent.count++] = static_cast<int>(r);
    }
    return sorted;
  }

  std::shared_ptr<const Tables> tables_;
};

} // namespace stoker::topology
