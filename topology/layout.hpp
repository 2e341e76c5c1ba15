// SPDX-License-Identifier: BSD-3-Clause
// Where each rank of a communicator sits: node, NUMA domain and leader group. Plain data, standard library only, so
// that algorithms can be written, verified and counted without a machine.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stoker::topology {

// Labels of one rank's place. Ranks with equal `node` share memory; ranks with equal (node, domain) are served by one
// progress thread; ranks with equal (node, group) share a leader in multi-leader schedules. Labels need not be dense.
struct Place {
  int node = 0;
  int domain = 0;
  int group = 0;
  bool operator==(const Place&) const = default;
};

// The layout of a communicator's ranks. Nodes, domains and groups are renumbered densely over the whole communicator,
// in the order of their lowest rank, so that node_of(0) == domain_of(0) == group_of(0) == 0. Immutable; copies are
// cheap enough for init time only. Ragged nodes and ranks in any order are ordinary input.
class Layout {
public:
  // One place per rank. Throws std::invalid_argument when empty.
  explicit Layout(std::vector<Place> places) : places_(std::move(places)) {
    if (places_.empty()) {
      throw std::invalid_argument("a layout needs at least one rank");
    }
    nodes_ = number([](const Place& p) { return std::pair{p.node, 0}; }, &Place::node);
    // The node labels are dense now; domains and groups are told apart within them.
    domains_ = number([](const Place& p) { return std::pair{p.node, p.domain}; }, &Place::domain);
    groups_ = number([](const Place& p) { return std::pair{p.node, p.group}; }, &Place::group);
    local_index_.resize(places_.size());
    for (const auto& members : nodes_) {
      for (std::size_t i = 0; i < members.size(); ++i) {
        local_index_[members[i]] = static_cast<int>(i);
      }
    }
  }

  // `ranks` ranks in order, `ranks_per_node` on each node (the last node may hold fewer), each node cut into
  // `domains_per_node` domains of consecutive ranks, groups equal to domains.
  static Layout uniform(int ranks, int ranks_per_node, int domains_per_node = 1) {
    if (ranks < 1 || ranks_per_node < 1 || domains_per_node < 1) {
      throw std::invalid_argument("Layout::uniform needs positive numbers");
    }
    std::vector<Place> places(static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) {
      const int domain = (r % ranks_per_node) * domains_per_node / ranks_per_node;
      places[r] = {r / ranks_per_node, domain, domain};
    }
    return Layout(std::move(places));
  }

  [[nodiscard]] int ranks() const { return static_cast<int>(places_.size()); }
  [[nodiscard]] int nodes() const { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] int domains() const { return static_cast<int>(domains_.size()); }
  [[nodiscard]] int groups() const { return static_cast<int>(groups_.size()); }

  [[nodiscard]] const Place& place(int rank) const { return places_.at(static_cast<std::size_t>(rank)); }
  [[nodiscard]] int node_of(int rank) const { return place(rank).node; }
  [[nodiscard]] int domain_of(int rank) const { return place(rank).domain; }
  [[nodiscard]] int group_of(int rank) const { return place(rank).group; }
  [[nodiscard]] bool same_node(int a, int b) const { return node_of(a) == node_of(b); }
  [[nodiscard]] bool same_domain(int a, int b) const { return domain_of(a) == domain_of(b); }

  // Members in ascending rank order.
  [[nodiscard]] std::span<const int> node_ranks(int node) const { return nodes_.at(static_cast<std::size_t>(node)); }
  [[nodiscard]] std::span<const int> domain_ranks(int domain) const {
    return domains_.at(static_cast<std::size_t>(domain));
  }
  [[nodiscard]] std::span<const int> group_ranks(int group) const {
    return groups_.at(static_cast<std::size_t>(group));
  }

  // Position of `rank` among node_ranks(node_of(rank)).
  [[nodiscard]] int local_index(int rank) const { return local_index_.at(static_cast<std::size_t>(rank)); }
  // The node's lowest rank acts for it in hierarchical schedules.
  [[nodiscard]] int node_leader(int node) const { return node_ranks(node).front(); }

  // The layout of a subset: member i of the result is rank members[i] of this layout.
  [[nodiscard]] Layout restricted_to(std::span<const int> members) const {
    std::vector<Place> places;
    places.reserve(members.size());
    for (const int rank : members) {
      places.push_back(place(rank));
    }
    return Layout(std::move(places));
  }

  bool operator==(const Layout& other) const { return places_ == other.places_; }

private:
  // Replaces the labels that `key` tells apart by dense numbers in order of first appearance; returns their members.
  template <class Key>
  std::vector<std::vector<int>> number(Key key, int Place::*label) {
    std::map<std::pair<int, int>, int> numbers;
    std::vector<std::vector<int>> members;
    std::vector<int> dense(places_.size());
    for (std::size_t r = 0; r < places_.size(); ++r) {
      const auto [entry, fresh] = numbers.try_emplace(key(places_[r]), static_cast<int>(members.size()));
      if (fresh) {
        members.emplace_back();
      }
      dense[r] = entry->second;
      members[dense[r]].push_back(static_cast<int>(r));
    }
    for (std::size_t r = 0; r < places_.size(); ++r) {
      places_[r].*label = dense[r];
    }
    return members;
  }

  std::vector<Place> places_;
  std::vector<std::vector<int>> nodes_;
  std::vector<std::vector<int>> domains_;
  std::vector<std::vector<int>> groups_;
  std::vector<int> local_index_;
};

} // namespace stoker::topology
