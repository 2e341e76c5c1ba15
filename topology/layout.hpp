// SPDX-License-Identifier: BSD-3-Clause
// Where each rank of a communicator sits: node and NUMA domain. Plain data, standard library only, so that algorithms
// can be written, verified and counted without a machine.
#pragma once

#include <algorithm>
#include <cstddef>
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
// 16 bytes for each rank, and 20 where the domains of a node are no runs of its ranks. The tables are plain bytes, so
// that the processes of a node may share them, too. Ragged nodes and ranks in any order are ordinary input.
class Layout {
public:
  // One place per rank. Throws std::invalid_argument when empty.
  explicit Layout(std::vector<Place> places) {
    if (places.empty()) {
      throw std::invalid_argument("a layout needs at least one rank");
    }
    Members nodes = number(
        places,
        [](const Place& p) {
          return std::pair{p.node, 0};
        },
        &Place::node);
    // The node labels are dense now; domains are told apart within them.
    Members domains = number(
        places,
        [](const Place& p) {
          return std::pair{p.node, p.domain};
        },
        &Place::domain);
    std::vector<int> local_index(places.size());
    for (const Extent& node : nodes.extents) {
      int index = 0;
      for (const int rank : of(nodes.members, node)) {
        local_index[static_cast<std::size_t>(rank)] = index++;
      }
    }
    make_runs(domains, nodes, places, local_index);
    take(places, local_index, nodes, domains);
  }

  // A layout that has the tables of another one. They must stay as they are as long as somebody holds `tables`.
  static Layout over(std::shared_ptr<const std::byte> tables) { return Layout(std::move(tables), nullptr); }
  // In one piece.
  [[nodiscard]] std::span<const std::byte> tables() const { return {tables_.get(), bytes_of(header())}; }

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

  [[nodiscard]] int ranks() const { return static_cast<int>(places_.size()); }
  [[nodiscard]] int nodes() const { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] int domains() const { return static_cast<int>(domains_.size()); }

  [[nodiscard]] const Place& place(int rank) const { return at(places_, rank); }
  [[nodiscard]] int node_of(int rank) const { return place(rank).node; }
  [[nodiscard]] int domain_of(int rank) const { return place(rank).domain; }
  [[nodiscard]] bool same_node(int a, int b) const { return node_of(a) == node_of(b); }
  [[nodiscard]] bool same_domain(int a, int b) const { return domain_of(a) == domain_of(b); }

  // Members in ascending rank order.
  [[nodiscard]] std::span<const int> node_ranks(int node) const { return of(node_members_, at(nodes_, node)); }
  [[nodiscard]] std::span<const int> domain_ranks(int domain) const {
    return of(domain_members_.empty() ? node_members_ : domain_members_, at(domains_, domain));
  }

  // Position of `rank` among node_ranks(node_of(rank)).
  [[nodiscard]] int local_index(int rank) const { return at(local_index_, rank); }
  // The node's lowest rank acts for it in hierarchical schedules.
  [[nodiscard]] int node_leader(int node) const { return node_ranks(node).front(); }

  // The layout of a subset: member i of the result is rank members[i] of this layout. All members in order share the
  // tables of this layout.
  [[nodiscard]] Layout restricted_to(std::span<const int> members) const {
    const bool all = members.size() == places_.size() &&
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
    return tables_ == other.tables_ || std::ranges::equal(places_, other.places_);
  }

private:
  Layout(std::shared_ptr<const std::byte> tables, std::nullptr_t) : tables_(std::move(tables)) { look_at_tables(); }

  struct Extent {
    int begin = 0;
    int count = 0;
  };
  // Ranks, sorted by what they are members of.
  struct Members {
    std::vector<int> members;
    std::vector<Extent> extents;
  };
  // At the beginning of the tables: how many entries those have that follow, in this order.
  struct Header {
    int places = 0; // as many local indices and members of nodes
    int domain_members = 0;
    int nodes = 0;
    int domains = 0;
  };

  static std::size_t bytes_of(const Header& header) {
    const auto count = [](int entries) { return static_cast<std::size_t>(entries); };
    return sizeof(Header) + (count(header.places) * (sizeof(Place) + (2 * sizeof(int)))) +
           (count(header.domain_members) * sizeof(int)) + (count(header.nodes + header.domains) * sizeof(Extent));
  }
  [[nodiscard]] const Header& header() const { return *reinterpret_cast<const Header*>(tables_.get()); }

  template <class T>
  static const T& at(std::span<const T> table, int index) {
    if (static_cast<std::size_t>(index) >= table.size()) {
      throw std::out_of_range("Layout: there is no such rank, node or domain");
    }
    return table[static_cast<std::size_t>(index)];
  }
  static std::span<const int> of(std::span<const int> members, const Extent& extent) {
    return members.subspan(static_cast<std::size_t>(extent.begin), static_cast<std::size_t>(extent.count));
  }

  // Domains that are runs of their nodes' ranks need no members of their own.
  static void make_runs(Members& domains, const Members& nodes, const std::vector<Place>& places,
                        const std::vector<int>& local_index) {
    std::vector<Extent> runs;
    for (const Extent& domain : domains.extents) {
      const std::span<const int> ranks = of(domains.members, domain);
      const auto first = static_cast<std::size_t>(ranks.front());
      const Extent& node = nodes.extents[static_cast<std::size_t>(places[first].node)];
      const Extent run{node.begin + local_index[first], std::min(domain.count, node.count - local_index[first])};
      if (!std::ranges::equal(ranks, of(nodes.members, run))) {
        return;
      }
      runs.push_back(run);
    }
    domains = {{}, std::move(runs)};
  }

  void take(const std::vector<Place>& places, const std::vector<int>& local_index, const Members& nodes,
            const Members& domains) {
    const auto count = [](const auto& list) { return static_cast<int>(list.size()); };
    const Header header{count(places), count(domains.members), count(nodes.extents), count(domains.extents)};
    const std::shared_ptr<std::byte> tables(new std::byte[bytes_of(header)], std::default_delete<std::byte[]>());
    std::byte* end = tables.get();
    const auto append = [&end](const auto* from, std::size_t entries) {
      end = std::copy_n(reinterpret_cast<const std::byte*>(from), entries * sizeof *from, end);
    };
    append(&header, 1);
    append(places.data(), places.size());
    append(local_index.data(), local_index.size());
    append(nodes.members.data(), nodes.members.size());
    append(domains.members.data(), domains.members.size());
    append(nodes.extents.data(), nodes.extents.size());
    append(domains.extents.data(), domains.extents.size());
    tables_ = tables;
    look_at_tables();
  }

  void look_at_tables() {
    const std::byte* end = tables_.get() + sizeof(Header);
    const auto next = [&end]<class T>(std::span<const T>& table, int entries) {
      table = {reinterpret_cast<const T*>(end), static_cast<std::size_t>(entries)};
      end += table.size_bytes();
    };
    next(places_, header().places);
    next(local_index_, header().places);
    next(node_members_, header().places);
    next(domain_members_, header().domain_members);
    next(nodes_, header().nodes);
    next(domains_, header().domains);
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
    int begin = 0;
    for (Extent& extent : sorted.extents) {
      extent.begin = begin;
      begin += std::exchange(extent.count, 0);
    }
    for (std::size_t r = 0; r < places.size(); ++r) {
      Extent& extent = sorted.extents[static_cast<std::size_t>(places[r].*label)];
      const int place = extent.begin + extent.count++;
      sorted.members[static_cast<std::size_t>(place)] = static_cast<int>(r);
    }
    return sorted;
  }

  std::shared_ptr<const std::byte> tables_;
  std::span<const Place> places_; // in the tables, as are all that follow
  std::span<const int> local_index_;
  std::span<const int> node_members_;
  std::span<const int> domain_members_; // empty: they are runs of the nodes'
  std::span<const Extent> nodes_;
  std::span<const Extent> domains_;
};

} // namespace stoker::topology
