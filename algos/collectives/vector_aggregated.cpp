// SPDX-License-Identifier: BSD-3-Clause
// allgather, reduce_scatter and allreduce among regions of ranks. Every rank belongs to a group, whose first rank is
// its leader and acts for it; every group to a region. All leaders of a region have the same between two stages, and
// share among them the messages that the region exchanges with others in a stage.
//
//   groups per node    regions per node    is
//   one for each rank  G                   locality-aware
//   L                  one for each group  multileader
//
// Locality-aware: Bienz, Gautam and Kharel, "A Locality-Aware Bruck Allgather", 2022, whose reverse the reduce_scatter
// is; Bienz, Olson and Gropp, "Node-Aware Improvements to Allreduce", 2019 (NAPAllreduce). With m ranks in a region
// they reach m + 1 times, in the allreduce m times as many regions after a stage of one message from each rank. Some
// things differ from there:
//
// - A stage has any factor, not only the number of ranks, which then have several messages each.
// - The allgather meets in sets, like the allreduce, not in a ring. Blocks need no rotation, and the regions of a node
//   meet first. Any number of regions will do for both: where sets are of different sizes, a region of the smaller one
//   serves several of the larger one (regions.hpp).
// - Within a region, blocks are gathered and operands combined with factors up to 8, not by halves.
// - An allreduce whose list begins with negative factors is a reduce_scatter and an allgather of parts.
#include "algos/collectives/vector_algorithms.hpp"

#include "algos/collectives/multi_radix.hpp"
#include "algos/collectives/regions.hpp"
#include "algos/collectives/vector_programs.hpp"
#include "algos/schedule/append.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>

namespace stoker::algos {

namespace {

using BlocksOfGroup = std::function<Blocks(std::size_t group)>;

Group leaders_of(const Regions& regions) { return {regions.leaders(), regions.index()}; }
Group members_of(const Regions& regions) { return {{regions.members().begin(), regions.members().end()}, 0}; }

// The blocks of all regions of a set.
Blocks blocks_of_set(const Regions& regions, const Meeting& meeting, std::size_t set, const BlocksOfGroup& blocks_of) {
  Blocks blocks;
  for (std::size_t group = regions.first_group(meeting.begin(set)); group < regions.first_group(meeting.end(set));
       ++group) {
    append(blocks, blocks_of(group));
  }
  return blocks;
}

// ---- among the leaders: from the blocks of each group at its leader to all of them at each, and the reverse ----

void allgather(VectorSteps& steps, const Regions& regions, const FactorList& factors, const BlocksOfGroup& blocks_of,
               const Home& home) {
  const Group leaders = leaders_of(regions);
  const auto share = [&](const std::function<Blocks(std::size_t leader)>& blocks) {
    allgather(steps, leaders, exchange_or_cyclic_factors(leaders.size(), Signs::gathering), blocks, home);
  };
  share([&](std::size_t leader) { return blocks_of(regions.group(leader)); });
  for (const Meeting& meeting : regions.meetings(gathering(factors))) {
    const Blocks own = blocks_of_set(regions, meeting, meeting.set_of(regions.region()), blocks_of);
    for (const Crossing& to : regions.departures(meeting, Regions::Dealt::messages)) {
      if (to.leader == leaders.me) {
        steps.send(to.peer, own);
      }
    }
    std::vector<Blocks> arrived(leaders.size());
    for (const Crossing& from : regions.arrivals(meeting, Regions::Dealt::messages)) {
      const Blocks blocks = blocks_of_set(regions, meeting, from.set, blocks_of);
      append(arrived[from.leader], blocks);
      if (from.leader == leaders.me) {
        steps.receive(from.peer, blocks, home);
      }
    }
    share([&](std::size_t leader) { return arrived[leader]; });
  }
}

void reduce_scatter(VectorSteps& steps, const Regions& regions, const FactorList& factors,
                    const BlocksOfGroup& blocks_of, const Home& home) {
  const Group leaders = leaders_of(regions);
  const std::vector<std::size_t> within = dividing(cyclic_factors(leaders.size(), Signs::dividing));
  const std::vector<std::size_t> all = dividing(factors);
  std::vector<Meeting> meetings = regions.meetings(std::vector<std::size_t>{all.rbegin(), all.rend()});
  std::ranges::reverse(meetings);
  for (const Meeting& meeting : meetings) {
    // What would arrive in an allgather leaves.
    std::vector<Blocks> leaving(leaders.size());
    const std::vector<Crossing> crossings = regions.arrivals(meeting, Regions::Dealt::messages);
    for (const Crossing& to : crossings) {
      append(leaving[to.leader], blocks_of_set(regions, meeting, to.set, blocks_of));
    }
    cyclic_reduce_scatter(
        steps, leaders, within, [&](std::size_t leader) { return leaving[leader]; }, home);
    for (const Crossing& to : crossings) {
      if (to.leader == leaders.me) {
        steps.send(to.peer, blocks_of_set(regions, meeting, to.set, blocks_of));
      }
    }
    const Blocks own = blocks_of_set(regions, meeting, meeting.set_of(regions.region()), blocks_of);
    for (const Crossing& from : regions.departures(meeting, Regions::Dealt::messages)) {
      if (from.leader == leaders.me) {
        steps.accumulate(from.peer, own, home);
      }
    }
  }
  cyclic_reduce_scatter(
      steps, leaders, within, [&](std::size_t leader) { return blocks_of(regions.group(leader)); }, home);
}

// ---- among the leaders: all combine the whole vector ----

// In the same way at all members.
void combine_within(VectorSteps& steps, const Group& group, const Home& home) {
  constexpr std::size_t large = 16;
  const FactorList factors = exchange_factors(group.size(), Signs::gathering);
  if (std::ranges::all_of(gathering(factors), [](std::size_t factor) { return factor <= large; })) {
    exchange_allreduce(steps, group, phases_of(factors, group.size()), 0, home);
    return;
  }
  const FactorList tree = cyclic_factors(group.size(), Signs::both);
  tree_reduce(steps, group, 0, dividing(tree), steps.all(), home);
  tree_broadcast(steps, group, 0, gathering(tree), steps.all(), home);
}

// The operands of one stage. They are cut into shares, each of which one leader combines as they come.
void combine_share(VectorSteps& steps, const Regions& regions, const Meeting& meeting, const Home& home) {
  const std::size_t own = meeting.set_of(regions.region());
  std::vector<int> peers(meeting.sets(), -1); // by set, of the operands that arrive here
  for (const Crossing& from : regions.arrivals(meeting, Regions::Dealt::operands)) {
    if (from.leader == regions.index()) {
      peers[from.set] = from.peer;
    }
  }
  if (regions.keeper(meeting) == regions.index()) {
    Group share;
    for (std::size_t set = 0; set < peers.size(); ++set) {
      share.me = set == own ? share.size() : share.me;
      if (set == own || peers[set] >= 0) {
        share.members.push_back(set == own ? regions.members().front() : peers[set]);
      }
    }
    steps.reduce(share, steps.all(), home);
    return;
  }
  bool first = true;
  for (const int peer : peers) {
    if (peer >= 0 && first) {
      steps.receive(peer, steps.all(), home);
    } else if (peer >= 0) {
      steps.accumulate(peer, steps.all(), home);
    }
    first = first && peer < 0;
  }
}

void allreduce(VectorSteps& steps, const Regions& regions, const FactorList& factors, const Home& result) {
  const Group leaders = leaders_of(regions);
  if (leaders.size() > 1) {
    combine_within(steps, leaders, result);
  }
  for (const Meeting& meeting : regions.meetings(gathering(factors))) {
    // What is sent must not be where something arrives.
    const bool at_result = steps.is_at(0, result);
    const Home& arriving = at_result ? steps.aside(1) : result;
    for (const Crossing& to : regions.departures(meeting, Regions::Dealt::operands)) {
      if (to.leader == leaders.me) {
        steps.send(to.peer, steps.all());
      }
    }
    combine_share(steps, regions, meeting, arriving);
    // The leaders that have a share combine those, and serve the others behind them.
    const std::vector<std::size_t> sharing = regions.with_operands(meeting);
    const auto next = std::ranges::upper_bound(sharing, leaders.me);
    if (*std::prev(next) != leaders.me) {
      steps.receive(leaders.members[*std::prev(next)], steps.all(), arriving);
      continue;
    }
    if (sharing.size() > 1) {
      combine_within(steps, leaders.subgroup(sharing), at_result ? result : steps.aside(1));
    }
    const std::size_t end = next == sharing.end() ? leaders.size() : *next;
    for (std::size_t leader = leaders.me + 1; leader < end; ++leader) {
      steps.send(leaders.members[leader], steps.all());
    }
  }
}

// ---- between a leader and its group ----

void hand_out(VectorSteps& steps, const Regions& regions, const std::function<Blocks(int member)>& blocks) {
  for (const int member : regions.members().subspan(1)) {
    steps.send(member, blocks(member));
  }
}

// ---- what is compiled ----

void check_order(const DistributedVector& vector, const Teams& teams, const FactorList& factors) {
  if (vector.commutative) {
    return;
  }
  int next = 0;
  for (std::size_t group = 0; group < teams.groups(); ++group) {
    for (const int rank : teams.group_ranks(group)) {
      if (rank != next++) {
        throw std::invalid_argument("locality-aware and multileader combine the operands of nodes and of their parts "
                                    "first, but the ranks of those are not consecutive, and the operation is not "
                                    "commutative; expected recursive-exchange or tree");
      }
    }
  }
  if (!dividing(factors).empty()) {
    throw std::invalid_argument("locality-aware and multileader: between=" + to_text(factors) +
                                " divides the vector in any order, but the operation is not commutative; expected, for "
                                "example, " +
                                to_text(cyclic_factors(teams.regions(), Signs::gathering)));
  }
}

Program allgather_among(const DistributedVector& vector, const Tuning& tuning, const Teams& teams) {
  const Regions regions(teams, vector.rank);
  Gathering program(vector, true);
  const auto all_but = [&](int rank) {
    Blocks blocks = program.steps.all();
    std::erase(blocks, static_cast<std::size_t>(rank));
    return blocks;
  };
  const int leader = regions.members().front();
  if (!regions.leads()) {
    program.steps.send(leader, Blocks{static_cast<std::size_t>(vector.rank)});
    program.steps.receive(leader, all_but(vector.rank), program.home);
    return std::move(program).finish();
  }
  for (const int member : regions.members().subspan(1)) {
    program.steps.receive(member, Blocks{static_cast<std::size_t>(member)}, program.home);
  }
  const auto blocks_of = [&](std::size_t group) {
    const auto ranks = teams.group_ranks(group);
    return Blocks(ranks.begin(), ranks.end());
  };
  allgather(program.steps, regions, tuning.factors_between, blocks_of, program.home);
  hand_out(program.steps, regions, all_but);
  return std::move(program).finish();
}

Program reduce_scatter_among(const DistributedVector& vector, const Tuning& tuning, const Teams& teams) {
  const Regions regions(teams, vector.rank);
  BlockReduction program(vector);
  VectorSteps& steps = program.steps;
  const int leader = regions.members().front();
  if (!regions.leads()) {
    steps.send(leader, steps.all());
    steps.receive(leader, Blocks{static_cast<std::size_t>(vector.rank)}, program.last_home());
    return std::move(program).finish();
  }
  steps.reduce_here(members_of(regions), steps.all(), steps.aside());
  const auto blocks_of = [&](std::size_t group) {
    const auto ranks = teams.group_ranks(group);
    return Blocks(ranks.begin(), ranks.end());
  };
  reduce_scatter(steps, regions, tuning.factors_between, blocks_of, steps.aside());
  hand_out(steps, regions, [](int member) { return Blocks{static_cast<std::size_t>(member)}; });
  return std::move(program).finish();
}

Program allreduce_among(const DistributedVector& vector, const Tuning& tuning, const Teams& teams) {
  const FactorList& factors = tuning.factors_between;
  check_order(vector, teams, factors);
  const Regions regions(teams, vector.rank);
  const bool divides = !dividing(factors).empty();
  Reduction program = allreduction(vector, tuning, divides ? teams.groups() : 1);
  VectorSteps& steps = program.steps;
  const int leader = regions.members().front();
  if (!regions.leads()) {
    steps.send(leader, steps.all());
    steps.receive(leader, steps.all(), program.result);
    return std::move(program).finish();
  }
  steps.reduce_here(members_of(regions), steps.all(), steps.aside(1));
  if (divides) {
    const auto part_of = [](std::size_t group) { return Blocks{group}; };
    reduce_scatter(steps, regions, factors, part_of, program.result);
    steps.settle(part_of(teams.group_of(vector.rank)), program.result);
    allgather(steps, regions, factors, part_of, program.result);
  } else {
    allreduce(steps, regions, factors, program.result);
    steps.settle(steps.all(), program.result);
  }
  hand_out(steps, regions, [&](int /*member*/) { return steps.all(); });
  return std::move(program).finish();
}

} // namespace

Teams locality_aware_teams(const topology::Layout& layout, const Tuning& tuning) {
  return {layout, {Parts::each}, {tuning.groups}};
}
Teams multileader_teams(const topology::Layout& layout, const Tuning& tuning) {
  return {layout, {tuning.leaders}, {Parts::each}};
}

Program allreduce_locality_aware(const DistributedVector& vector, const Tuning& tuning) {
  return allreduce_among(vector, tuning, locality_aware_teams(vector.layout, tuning));
}
Program allreduce_multileader(const DistributedVector& vector, const Tuning& tuning) {
  return allreduce_among(vector, tuning, multileader_teams(vector.layout, tuning));
}
Program reduce_scatter_locality_aware(const DistributedVector& vector, const Tuning& tuning) {
  return reduce_scatter_among(vector, tuning, locality_aware_teams(vector.layout, tuning));
}
Program reduce_scatter_multileader(const DistributedVector& vector, const Tuning& tuning) {
  return reduce_scatter_among(vector, tuning, multileader_teams(vector.layout, tuning));
}
Program allgather_locality_aware(const DistributedVector& vector, const Tuning& tuning) {
  return allgather_among(vector, tuning, locality_aware_teams(vector.layout, tuning));
}
Program allgather_multileader(const DistributedVector& vector, const Tuning& tuning) {
  return allgather_among(vector, tuning, multileader_teams(vector.layout, tuning));
}

} // namespace stoker::algos
