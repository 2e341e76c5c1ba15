// SPDX-License-Identifier: BSD-3-Clause
// Aggregating all-to-alls: Kinkead et al., "Scaling All-to-all Operations Across Emerging Many-Core Supercomputers",
// 2025, Algorithms 3 (hierarchical, multi-leader), 4 (node-aware, locality-aware) and 5 (multi-leader + node-aware);
// Fan et al., "Configurable Algorithms for All-to-All Collectives", 2024, section IV (two layers of tunable radix).
// Some things differ from there:
//
// - Nothing is repacked. A message carries blocks ordered by source and then by target. Blocks stay where they arrive,
//   and the next message picks its blocks from there. The source comes first, so that reads are spread over scratch and
//   writes are contiguous.
// - A member's blocks go to its leader in one message for each destination node. So the leader's message to a node
//   starts as soon as that node's blocks are there. A leader hands blocks out while others are still on their way.
// - If leaders collect for others, ranks of one node exchange their blocks directly: through leaders they would be
//   copied twice. If every rank is a leader, these blocks travel in messages between leaders, which are sent anyway.
// - Nodes, groups and regions may be of any sizes. If a region has fewer groups than another one, its leaders stand in
//   for several indices.
//
// A parcel whose only target is the rank that receives it arrives in recvbuf. Others arrive in scratch, from where a
// leader copies its own part. Empty messages are left out.
#include "algos/collectives/alltoall_aggregated.hpp"

#include "algos/collectives/bundles.hpp"
#include "algos/collectives/ends.hpp"
#include "algos/schedule/append.hpp"

#include <stdexcept>
#include <utility>

namespace stoker::algos {

namespace {

class Aggregated {
public:
  Aggregated(const Exchange& exchange, const Aggregation& how)
      : exchange_(exchange), how_(how), teams_(exchange.layout, how.groups, how.regions),
        builder_(exchange.rank, exchange.layout.ranks(), exchange.send_bytes(), exchange.recv_bytes()),
        ends_(builder_, exchange, Ends::SetAside::together), bundles_(exchange, builder_, ends_),
        direct_(!teams_.all_lead()), group_(teams_.group_of(exchange.rank)), region_(teams_.region_of(group_)),
        node_(teams_.node_of_region(region_)), index_(teams_.index_in_region(group_)) {
    if (how.within_first && direct_) {
      throw std::invalid_argument("blocks can move within regions first only where every rank is its own leader");
    }
  }

  Program compile() && {
    const int leader = teams_.leader(group_);
    if (leader != exchange_.rank) {
      contribute(leader);
      collect(leader);
    } else {
      gather();
      if (how_.within_first) {
        pass_within([this](std::size_t from, std::size_t to) { return for_index(from, to); },
                    [this](int target) { return index_of(target) % teams_.region_size(region_); });
        exchange_between_last();
      } else {
        exchange_between_first();
        pass_within([this](std::size_t from, std::size_t to) { return for_group(from, to); },
                    [this](int target) { return region_of(target) == region_ ? index_of(target) : index_; });
      }
      hand_out();
    }
    if (direct_) {
      append_flat(builder_, ends_.among(teams_.node_ranks(node_)), {});
    }
    ends_.copy_own();
    return std::move(builder_).finish();
  }

private:
  // ---- between a leader and its group ----

  // The destination nodes, in the order in which all ranks of this node go through them.
  [[nodiscard]] std::vector<std::size_t> destinations() const {
    std::vector<std::size_t> result = others(node_, static_cast<std::size_t>(exchange_.layout.nodes()));
    if (!direct_) {
      result.push_back(node_);
    }
    return result;
  }

  void contribute(int leader) {
    for (const std::size_t node : destinations()) {
      if (const Part part = outgoing_to(node); !part.slices.empty()) {
        builder_.send(leader, part.slices, part.after);
      }
    }
  }

  void gather() {
    const auto sources = teams_.group_ranks(group_);
    for (const std::size_t node : destinations()) {
      if (sources.size() == 1) {
        held_.push_back({{{sources, teams_.node_ranks(node)}}, 0, {}});
        continue;
      }
      // What goes to one region lies in one piece, ordered by source, so that it can be sent as it is.
      std::vector<Bundle> bundles;
      for (std::size_t i = 0; i < teams_.node_regions(node); ++i) {
        const Parcel parcel{sources, teams_.region_ranks(teams_.first_region(node) + i)};
        const std::uint64_t size = bundles_.bytes(parcel);
        bundles.push_back({{parcel}, size > 0 ? builder_.scratch(size) : 0, {}});
      }
      std::vector<std::uint64_t> filled(bundles.size(), 0);
      for (const int& source : sources) {
        Part place;
        for (std::size_t i = 0; i < bundles.size(); ++i) {
          const std::uint64_t size = bundles_.bytes({Ranks(&source, 1), bundles[i].parcels.front().targets});
          place.add({Buffer::scratch, bundles[i].place + filled[i], size});
          filled[i] += size;
        }
        if (place.slices.empty()) {
          continue;
        }
        const StepId step = source == exchange_.rank ? copy_outgoing(node, place) : builder_.recv(source, place.slices);
        for (Bundle& bundle : bundles) {
          bundle.ready.push_back(step);
        }
      }
      append(held_, bundles);
    }
  }

  StepId copy_outgoing(std::size_t node, const Part& place) {
    const Part blocks = outgoing_to(node);
    return builder_.copy(place.slices, blocks.slices, blocks.after);
  }

  [[nodiscard]] Part outgoing_to(std::size_t node) {
    Part part;
    for (const int target : teams_.node_ranks(node)) {
      ends_.add_outgoing(target, part);
    }
    return part;
  }

  void collect(int leader) {
    // The leader's bundles in its order: one from each region that it heard from itself, then one from each other
    // leader.
    std::vector<std::vector<Parcel>> bundles;
    for (const Parcel& parcel : arrived(index_)) {
      bundles.push_back({parcel});
    }
    for (const std::size_t i : others(index_, teams_.region_size(region_))) {
      bundles.push_back(for_group(i, index_));
    }
    for (const auto& bundle : bundles) {
      const Part part = bundles_.ends_of(bundle);
      if (!part.slices.empty()) {
        builder_.recv(leader, part.slices, part.after);
      }
    }
  }

  void hand_out() {
    const auto members = teams_.group_ranks(group_);
    std::vector<Part> parts(members.size());
    for (const Bundle& bundle : held_) {
      bundles_.deal(bundle, [&](int target) -> Part* {
        const bool ours = teams_.group_of(target) == group_;
        return ours ? &parts[teams_.index_in_group(target)] : nullptr;
      });
      for (std::size_t i = 0; i < members.size(); ++i) {
        const Part part = std::exchange(parts[i], {});
        if (part.slices.empty()) {
          continue;
        }
        if (members[i] != exchange_.rank) {
          builder_.send(members[i], part.slices, part.after);
          continue;
        }
        Part end = bundles_.ends_of(bundle.parcels);
        end.add_after(part.after);
        builder_.copy(end.slices, part.slices, end.after);
      }
    }
  }

  // ---- between regions, then within them ----

  void exchange_between_first() {
    std::vector<Part> departing(teams_.regions());
    std::vector<Bundle> kept;
    for (Bundle& bundle : held_) {
      bundles_.deal(bundle, [&](int target) {
        return exchanged(region_, region_of(target)) ? &departing[region_of(target)] : nullptr;
      });
      if (bundle.ready.empty()) {
        kept.push_back(std::move(bundle)); // this rank's own blocks for its region
      }
    }
    held_.clear();
    for_each_column([&](std::size_t column, GroupExchange& between) {
      std::vector<Bundle> arriving(teams_.regions());
      for (std::size_t r = 0; r < teams_.regions(); ++r) {
        if (column == index_ && exchanged(region_, r)) {
          between.outgoing[r] = std::move(departing[r]);
        }
        if (column < teams_.region_size(r) && exchanged(region_, r)) {
          arriving[r].parcels = {{teams_.group_ranks(teams_.group_at(r, column)), teams_.region_ranks(region_)}};
          between.incoming[r] = bundles_.prepare(arriving[r]);
        }
      }
      between.bytes = [this, column](std::size_t a, std::size_t b) {
        return exchanged(a, b) && column < teams_.region_size(a)
                   ? bundles_.bytes({teams_.group_ranks(teams_.group_at(a, column)), teams_.region_ranks(b)})
                   : 0;
      };
      hold(arriving, append_flat(builder_, between, how_.between), region_);
    });
    if (!direct_) {
      held_.insert(held_.begin(), kept.begin(), kept.end());
    }
  }

  // The parcels that the leader with this index in a region has from other regions, in its order.
  [[nodiscard]] std::vector<Parcel> arrived(std::size_t index) const {
    std::vector<Parcel> parcels;
    for (std::size_t column = index; column < teams_.largest_region(); column += teams_.region_size(region_)) {
      for (const std::size_t r : others(region_, teams_.regions())) {
        if (exchanged(r, region_) && column < teams_.region_size(r)) {
          parcels.push_back({teams_.group_ranks(teams_.group_at(r, column)), teams_.group_ranks(group_)});
        }
      }
    }
    return parcels;
  }

  // The parcels that one leader of this region passes on to another one for its group.
  [[nodiscard]] std::vector<Parcel> for_group(std::size_t from, std::size_t to) const {
    const Ranks targets = teams_.group_ranks(teams_.group_at(region_, to));
    std::vector<Parcel> parcels;
    if (!direct_) {
      parcels.push_back({teams_.group_ranks(teams_.group_at(region_, from)), targets});
    }
    for (Parcel parcel : arrived(from)) {
      parcel.targets = targets;
      parcels.push_back(parcel);
    }
    return parcels;
  }

  // ---- within regions, then between them ----

  // The parcels that one leader of this region passes on to another one because that has the index of the target's
  // leader.
  [[nodiscard]] std::vector<Parcel> for_index(std::size_t from, std::size_t to) const {
    std::vector<Parcel> parcels;
    const Ranks sources = teams_.group_ranks(teams_.group_at(region_, from));
    for (const std::size_t node : destinations()) {
      for (const int& target : teams_.node_ranks(node)) {
        if (index_of(target) % teams_.region_size(region_) == to) {
          parcels.push_back({sources, Ranks(&target, 1)});
        }
      }
    }
    return parcels;
  }

  void exchange_between_last() {
    std::vector<Part> departing(teams_.groups());
    for (const Bundle& bundle : held_) {
      bundles_.deal(bundle, [&](int target) {
        const bool goes = region_of(target) != region_ && index_of(target) % teams_.region_size(region_) == index_;
        return goes ? &departing[teams_.group_of(target)] : nullptr;
      });
    }
    held_.clear();
    for_each_column([&](std::size_t column, GroupExchange& between) {
      for (std::size_t r = 0; r < teams_.regions(); ++r) {
        if (r == region_) {
          continue;
        }
        if (column < teams_.region_size(r)) {
          between.outgoing[r] = std::move(departing[teams_.group_at(r, column)]);
        }
        if (column == index_) {
          between.incoming[r] = bundles_.ends_of(from_region(r, column, teams_.group_ranks(group_)));
        }
      }
      between.bytes = [this, column](std::size_t a, std::size_t b) {
        return a != b && column < teams_.region_size(b)
                   ? bundles_.bytes({teams_.region_ranks(a), teams_.group_ranks(teams_.group_at(b, column))})
                   : 0;
      };
      (void)append_flat(builder_, between, how_.between);
    });
  }

  // The parcels that the leader for a column of a region has for `targets`: its own blocks, then those of others.
  [[nodiscard]] std::vector<Parcel> from_region(std::size_t region, std::size_t column, Ranks targets) const {
    const std::size_t size = teams_.region_size(region);
    std::vector<Parcel> parcels = {{teams_.group_ranks(teams_.group_at(region, column)), targets}};
    for (const std::size_t i : others(column % size, size)) {
      parcels.push_back({teams_.group_ranks(teams_.group_at(region, i)), targets});
    }
    return parcels;
  }

  // ---- used by both orders ----

  // The exchange among this region's leaders. passed(a, b): what leader a has for leader b, in its order;
  // receiver(target): the index of the leader to whom blocks for a target go.
  template <class Passed, class Receiver>
  void pass_within(Passed passed, Receiver receiver) {
    GroupExchange within;
    const std::size_t size = teams_.region_size(region_);
    std::vector<int> members;
    for (std::size_t i = 0; i < size; ++i) {
      members.push_back(teams_.leader(teams_.group_at(region_, i)));
    }
    within.members = members;
    within.me = index_;
    within.outgoing.resize(size);
    within.incoming.resize(size);
    for (const Bundle& bundle : held_) {
      bundles_.deal(bundle, [&](int target) {
        const std::size_t to = receiver(target);
        return to != index_ ? &within.outgoing[to] : nullptr;
      });
    }
    std::vector<Bundle> arriving(size);
    for (std::size_t i = 0; i < size; ++i) {
      if (i != index_) {
        arriving[i].parcels = passed(i, index_);
        within.incoming[i] = bundles_.prepare(arriving[i]);
      }
    }
    within.bytes = [&](std::size_t a, std::size_t b) {
      std::uint64_t sum = 0;
      for (const Parcel& parcel : passed(a, b)) {
        sum += bundles_.bytes(parcel);
      }
      return sum;
    };
    hold(arriving, append_flat(builder_, within, how_.within), index_);
  }

  // The exchanges between regions in which this leader takes part: one for each index that it stands for.
  template <class Visit>
  void for_each_column(Visit visit) {
    for (std::size_t column = index_; column < teams_.largest_region(); column += teams_.region_size(region_)) {
      GroupExchange between;
      std::vector<int> members;
      for (std::size_t r = 0; r < teams_.regions(); ++r) {
        members.push_back(teams_.leader(teams_.group_at(r, column)));
      }
      between.members = members;
      between.me = region_;
      between.outgoing.resize(members.size());
      between.incoming.resize(members.size());
      visit(column, between);
    }
  }

  // Whether blocks go between these regions' leaders.
  [[nodiscard]] bool exchanged(std::size_t a, std::size_t b) const {
    return a != b && !(direct_ && teams_.node_of_region(a) == teams_.node_of_region(b));
  }

  // The other ones of so many, from the next one on: programs of different nodes are alike then.
  [[nodiscard]] static std::vector<std::size_t> others(std::size_t own, std::size_t count) {
    std::vector<std::size_t> result;
    for (std::size_t i = 1; i < count; ++i) {
      result.push_back((own + i) % count);
    }
    return result;
  }

  // Keeps what has arrived and goes on.
  void hold(std::vector<Bundle>& arriving, const Arrivals& arrivals, std::size_t own) {
    for (const std::size_t i : others(own, arriving.size())) {
      if (arrivals[i] && !arriving[i].parcels.empty()) {
        arriving[i].ready = {*arrivals[i]};
        held_.push_back(std::move(arriving[i]));
      }
    }
  }

  [[nodiscard]] std::size_t region_of(int rank) const { return teams_.region_of(teams_.group_of(rank)); }
  [[nodiscard]] std::size_t index_of(int rank) const { return teams_.index_in_region(teams_.group_of(rank)); }

  const Exchange& exchange_;
  const Aggregation& how_;
  Teams teams_;
  Builder builder_;
  Ends ends_;
  Bundles bundles_;
  bool direct_; // ranks of one node exchange their blocks directly
  std::size_t group_;
  std::size_t region_;
  std::size_t node_;
  std::size_t index_; // of the group in its region
  std::vector<Bundle> held_;
};

} // namespace

Program compile_aggregated(const Exchange& exchange, const Aggregation& how) {
  return Aggregated(exchange, how).compile();
}

} // namespace stoker::algos
