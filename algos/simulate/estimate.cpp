// SPDX-License-Identifier: BSD-3-Clause
#include "algos/simulate/estimate.hpp"

#include "algos/simulate/places.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <vector>

namespace stoker::algos {

namespace {

using ByLink = std::map<std::uint32_t, double>; // links between switches

// Seconds for which one rank's program needs something.
struct Demand {
  double within = 0;  // a processor, for steps that stay in the node
  double between = 0; // a processor, for messages to and from other nodes
  double port_out = 0;
  double port_in = 0;
  double memory = 0; // of its domain
  ByLink links;      // out of its switch
};

// How many ranks use what they share, and so how much longer it takes each of them.
struct Shares {
  double between = 1; // of what carries out the steps between nodes
  double port_out = 1;
  double port_in = 1;
  double memory = 1;
  ByLink links;
};

std::uint32_t further_pieces(const Program& program, const Step& step) {
  const auto pieces = [](std::span<const Slice> slices) {
    std::uint64_t count = 0;
    for (const Slice& slice : slices) {
      count += slice.count;
    }
    return count;
  };
  const std::uint64_t sources = pieces(program.sources(step)) / (step.kind == StepKind::reduce ? 2 : 1);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, std::max(sources, pieces(program.targets(step)))) - 1);
}

// The costs of one rank's steps.
class Costs {
public:
  Costs(const Program& program, const Places& places, const Machine& machine)
      : program_(program), places_(places), machine_(machine) {
    if (machine.network.kind != Network::Kind::crossbar && places.switches() > 1) {
      const double links = machine.network.kind == Network::Kind::dragonfly ? places.switches() - 1.0 : 1.0;
      const double ports = static_cast<double>(machine.network.nodes_per_switch) * std::max(1, machine.ports);
      link_per_byte_ = machine.port.seconds_per_byte * machine.network.taper * links / ports;
    }
  }

  [[nodiscard]] Distance distance(const Step& step) const {
    return places_.distance(static_cast<std::uint32_t>(program_.rank), static_cast<std::uint32_t>(step.peer));
  }
  [[nodiscard]] const MessageCost& message(const Step& step) const { return machine_.at(distance(step)); }
  [[nodiscard]] double port(const Step& step) const { return machine_.port.of(step.bytes); }
  // The link out of its switch that a message takes, and for how long. A fat tree has one, a dragonfly one to each
  // other switch.
  [[nodiscard]] std::uint32_t link(const Step& step) const {
    return machine_.network.kind == Network::Kind::dragonfly ? places_.switch_of(static_cast<std::uint32_t>(step.peer))
                                                             : 0;
  }
  [[nodiscard]] double on_link(const Step& step) const {
    return distance(step) == Distance::network ? static_cast<double>(step.bytes) * link_per_byte_ : 0;
  }
  [[nodiscard]] bool is_between_nodes(const Step& step) const { return step.peer >= 0 && leaves_node(distance(step)); }
  [[nodiscard]] bool is_long(const Step& step) const {
    return leaves_node(distance(step)) && step.bytes > machine_.eager_bytes;
  }

  // What the step's processor has to do, as in the simulator. Without the search for a posted receive.
  struct Work {
    double seconds = 0;
    double memory = 0; // of its domain's, in seconds
  };
  [[nodiscard]] Work work(const Step& step) const {
    const auto bytes = static_cast<double>(step.bytes);
    const std::uint32_t further = further_pieces(program_, step);
    const double pieces = machine_.piece * further;
    const double memory = bytes * machine_.memory_per_byte;
    if (step.kind == StepKind::fence || step.bytes == 0) {
      return {};
    }
    if (step.kind == StepKind::copy) {
      return {machine_.copy + pieces + (bytes * machine_.copy_per_byte), memory};
    }
    if (step.kind == StepKind::reduce) {
      return {machine_.copy + pieces + (bytes * machine_.combine_per_byte), memory};
    }
    const MessageCost& cost = message(step);
    const bool fetched = is_long(step) && machine_.remote_reads;
    const double moved = leaves_node(distance(step)) ? (further > 0 ? bytes * machine_.copy_per_byte : 0) +
                                                           (fetched ? 0 : bytes * cost.overhead_per_byte)
                                                     : 0;
    if (delivers(step.kind)) {
      return {cost.send_overhead + pieces + moved, moved > 0 ? memory : 0};
    }
    if (!leaves_node(distance(step))) {
      const double per_byte =
          combines(step) ? std::max(cost.gap_per_byte, machine_.combine_per_byte) : cost.gap_per_byte;
      return {cost.receive_overhead + pieces + (bytes * per_byte), memory};
    }
    const double combining = combines(step) ? machine_.copy + (bytes * machine_.combine_per_byte) : 0;
    const double answering = is_long(step) ? cost.receive_overhead : 0;
    return {machine_.post + cost.receive_overhead + answering + pieces + moved + combining,
            moved + combining > 0 ? memory : 0};
  }

private:
  const Program& program_;
  const Places& places_;
  const Machine& machine_;
  double link_per_byte_ = 0;
};

Demand demand_of(const Program& program, const Costs& costs) {
  Demand demand;
  for (const Step& step : program.steps) {
    const Costs::Work work = costs.work(step);
    const bool between = costs.is_between_nodes(step);
    (between ? demand.between : demand.within) += work.seconds;
    demand.memory += work.memory;
    if (between) {
      (step.kind == StepKind::recv ? demand.port_in : demand.port_out) += costs.port(step);
      if (delivers(step.kind) && costs.on_link(step) > 0) {
        demand.links[costs.link(step)] += costs.on_link(step);
      }
    }
  }
  return demand;
}

// Carries out one rank's program, by the rank or also by its helper, as if its peers did the same at the same time. Its
// n-th message from another node, or from its own, comes when its n-th message to one has arrived. A message for which
// there is none by then has come.
//
// Long messages that are all asked for at once leave in the order of the answers. Ranks that are late to answer get
// theirs last, from everybody: their ports idle first, and are crowded then. The fewer ranks share a port, the more of
// its time is lost: up to half of it, and no more than a hundred messages take. Fitted to simulations of all-to-alls.
class Timeline {
public:
  Timeline(const Program& program, const Costs& costs, const Shares& shares, const Machine& machine, Driver driver,
           double fence)
      : program_(program), costs_(costs), shares_(shares), machine_(machine), driver_(driver), fence_(fence),
        waits_for_(program.steps.size()), posts_after_(program.steps.size()), ready_(program.steps.size(), 0) {
    if (driver == Driver::helper) {
      now_.fill(machine.helper.submit + machine.helper.notice);
    }
    for (StepId id = 0; id < program.steps.size(); ++id) {
      const Step& step = program.steps[id];
      waits_for_[id] = posts_after_[id] = step.predecessors;
      if (step.kind == StepKind::recv) {
        const bool network = costs.is_between_nodes(step);
        ++waits_for_[id];
        awaited_[network ? 1 : 0].push_back(id);
        posted_ += network && step.predecessors == 0 ? 1 : 0;
      }
      if (waits_for_[id] == 0) {
        queue_.push({0, id});
      }
    }
    const double lost = std::min(0.5, 100 / std::max(1.0, static_cast<double>(awaited_[1].size())));
    crowded_ = 1 + (lost / (shares.port_out * shares.port_out));
  }

  double run() {
    do {
      while (!queue_.empty()) {
        const auto [time, id] = queue_.top();
        queue_.pop();
        carry_out(time, id);
      }
    } while (let_one_come());
    return end_ + (driver_ == Driver::helper ? machine_.helper.notice : 0);
  }

private:
  using Ready = std::pair<double, StepId>;

  void wake(StepId id, double time) {
    ready_[id] = std::max(ready_[id], time);
    if (--waits_for_[id] == 0) {
      queue_.push({ready_[id], id});
    }
  }
  // Its n-th message to others has arrived.
  void arrive(bool network, double time) {
    auto& list = awaited_[network ? 1 : 0];
    std::size_t& next = next_[network ? 1 : 0];
    end_ = std::max(end_, time);
    if (next < list.size()) {
      wake(list[next++], time);
    }
  }
  bool let_one_come() {
    const auto left = [&](std::size_t c) { return next_[c] < awaited_[c].size(); };
    if (!left(0) && !left(1)) {
      return false;
    }
    const std::size_t c = !left(0) || (left(1) && awaited_[1][next_[1]] < awaited_[0][next_[0]]) ? 1 : 0;
    const StepId id = awaited_[c][next_[c]++];
    const MessageCost& cost = costs_.message(program_.steps[id]);
    wake(id, std::max(now_of(program_.steps[id]), cost.send_overhead + cost.latency));
    return true;
  }

  // How far the processor has come that carries out the step: beside a helper a rank that waits does what stays in its
  // node.
  double& now_of(const Step& step) { return now_[driver_ == Driver::helper && costs_.is_between_nodes(step) ? 1 : 0]; }

  void carry_out(double time, StepId id) {
    const Step& step = program_.steps[id];
    const bool between = costs_.is_between_nodes(step);
    if (step.kind == StepKind::recv && between) {
      port_in_ =
          std::max(time - (shares_.port_in * costs_.port(step)), port_in_) + (shares_.port_in * costs_.port(step));
      time = std::max(time, port_in_);
    }
    const Costs::Work work = costs_.work(step);
    double seconds = std::max(work.seconds, work.memory * shares_.memory);
    if (step.kind == StepKind::recv && between) {
      seconds += machine_.match_per_posted * shares_.between * static_cast<double>(posted_--) / 2;
    }
    seconds += between && driver_ == Driver::helper ? machine_.helper.poll : 0;
    double& now = now_of(step);
    now = std::max(now, time) + (seconds * (between ? shares_.between : 1));
    double done = step.kind == StepKind::fence ? now + fence_ : now;
    if (delivers(step.kind)) {
      done = deliver(step);
    }
    end_ = std::max(end_, done);
    for (const StepId next : program_.successors_of(step)) {
      const Step& woken = program_.steps[next];
      if (--posts_after_[next] == 0 && woken.kind == StepKind::recv && costs_.is_between_nodes(woken)) {
        ++posted_;
      }
      wake(next, done);
    }
  }

  // Returns when the source may be overwritten.
  double deliver(const Step& step) {
    const MessageCost& cost = costs_.message(step);
    const double now = now_of(step);
    if (!costs_.is_between_nodes(step)) {
      arrive(false, now + cost.latency);
      const double copied = static_cast<double>(step.bytes) * cost.gap_per_byte;
      return step.bytes <= machine_.eager_bytes ? now : now + (2 * cost.latency) + cost.receive_overhead + copied;
    }
    const double asked = costs_.is_long(step) ? (2 * cost.latency) + cost.receive_overhead : 0;
    const double occupied =
        std::max({cost.gap, static_cast<double>(step.bytes) * cost.gap_per_byte, shares_.port_out * costs_.port(step)});
    const double begin = std::max(stream_, now + asked);
    constexpr double few = 2; // messages that may be asked for at once
    const bool crowded = costs_.is_long(step) && begin - now - asked > few * occupied;
    stream_ = begin + (crowded ? crowded_ * occupied : occupied);
    double passed = stream_;
    if (const double on_link = costs_.on_link(step); on_link > 0) {
      double& link = links_[costs_.link(step)];
      link = std::max(link, begin) + (shares_.links.at(costs_.link(step)) * on_link);
      passed = std::max(passed, link);
    }
    arrive(true, passed + cost.latency);
    return costs_.is_long(step) ? stream_ + (2 * cost.latency) : now;
  }

  const Program& program_;
  const Costs& costs_;
  const Shares& shares_;
  const Machine& machine_;
  Driver driver_;
  double fence_;
  std::vector<std::uint32_t> waits_for_;
  std::vector<std::uint32_t> posts_after_; // as waits_for_, without the message
  std::vector<double> ready_;
  std::array<std::vector<StepId>, 2> awaited_; // receives from its own node, and from others
  std::array<std::size_t, 2> next_{};
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> queue_;
  std::size_t posted_ = 0;
  double crowded_ = 1;          // how many times as long a long message occupies a port that it finds crowded
  ByLink links_;                // free from
  std::array<double, 2> now_{}; // of the rank, and of its helper
  double stream_ = 0, port_in_ = 0, end_ = 0;
};

// The demands of the ranks that share something, as far as they have been added.
struct Sum {
  double all = 0;
  double most = 0;
  void add(double demand) {
    all += demand;
    most = std::max(most, demand);
  }
  [[nodiscard]] double share() const { return most > 0 ? all / most : 1; }
};

// The demands of all ranks of a node.
class NodeDemand {
public:
  NodeDemand(const Places& places, const Machine& machine)
      : places_(places),
        alike_(std::min<std::uint32_t>(static_cast<std::uint32_t>(machine.network.nodes_per_switch), places.nodes())) {}

  void add(std::uint32_t rank, const Demand& demand) {
    ports_out_[places_.port(rank)].add(demand.port_out);
    ports_in_[places_.port(rank)].add(demand.port_in);
    memories_[places_.domain(rank)].add(demand.memory);
    helpers_[places_.domain(rank)].add(demand.between);
    busiest_within_ = std::max(busiest_within_, demand.within);
    busiest_rank_ = std::max(busiest_rank_, demand.within + demand.between);
    for (const auto& [link, seconds] : demand.links) {
      links_[link].add(seconds);
    }
  }

  [[nodiscard]] Shares shares_of(std::uint32_t rank, Driver driver) const {
    Shares shares{.between = driver == Driver::helper ? helpers_.at(places_.domain(rank)).share() : 1,
                  .port_out = ports_out_.at(places_.port(rank)).share(),
                  .port_in = ports_in_.at(places_.port(rank)).share(),
                  .memory = memories_.at(places_.domain(rank)).share(),
                  .links = {}};
    for (const auto& [link, sum] : links_) {
      shares.links[link] = sum.share() * alike_;
    }
    return shares;
  }

  // The least time that ports and memories need, whatever waits for what.
  [[nodiscard]] double longest_shared() const {
    double result = 0;
    for (const auto* sums : {&ports_out_, &ports_in_, &memories_}) {
      for (const auto& [key, sum] : *sums) {
        result = std::max(result, sum.all);
      }
    }
    return result;
  }
  [[nodiscard]] double longest_processor(Driver driver) const {
    if (driver == Driver::rank) {
      return busiest_rank_;
    }
    double result = busiest_within_;
    for (const auto& [domain, sum] : helpers_) {
      result = std::max(result, sum.all);
    }
    return result;
  }
  // The least time of a link between switches, if all nodes of a switch do alike.
  [[nodiscard]] double longest_link() const {
    double result = 0;
    for (const auto& [link, sum] : links_) {
      result = std::max(result, sum.all * alike_);
    }
    return result;
  }

private:
  const Places& places_;
  double alike_; // nodes of a switch
  std::map<std::uint32_t, Sum> ports_out_, ports_in_, memories_, helpers_, links_;
  double busiest_within_ = 0, busiest_rank_ = 0;
};

// Ranks that need the same take the same time.
bool alike(const Demand& a, const Demand& b) {
  const auto same = [](double x, double y) { return std::abs(x - y) <= 1e-9 * std::max(x, y); };
  return same(a.within, b.within) && same(a.between, b.between) && same(a.port_out, b.port_out) &&
         same(a.port_in, b.port_in) && same(a.memory, b.memory);
}

double seconds_at_risk(const Program& program, const Costs& costs, const Shares& shares, const Machine& machine) {
  double copying = 0, receives = 0, posted_first = 0;
  for (const Step& step : program.steps) {
    if (step.kind == StepKind::recv && costs.is_between_nodes(step) && !costs.is_long(step)) {
      const double copy = static_cast<double>(step.bytes) * machine.unexpected_per_byte * shares.between;
      const double spare = (shares.port_in * costs.port(step)) - (shares.between * costs.work(step).seconds);
      copying += std::clamp(copy - spare, 0.0, copy);
      receives += 1;
      posted_first += step.predecessors == 0 ? 1 : 0;
    }
  }
  constexpr double share = 0.065; // chosen by simulations with and without late ranks
  return posted_first > 0 ? share * std::log2(receives / posted_first) * copying : 0;
}

// The costs and demands of a node's ranks.
struct NodeCosts {
  NodeCosts(std::span<const Program> node, const Places& places, const Machine& machine) : together(places, machine) {
    for (const Program& program : node) {
      costs.emplace_back(program, places, machine);
      demands.push_back(demand_of(program, costs.back()));
      together.add(static_cast<std::uint32_t>(program.rank), demands.back());
    }
  }
  std::vector<Costs> costs;
  std::vector<Demand> demands;
  NodeDemand together;
};

} // namespace

double least_seconds(std::span<const Program> node, const topology::Layout& layout, const Machine& machine,
                     Driver driver) {
  const Places places(layout, machine, 1);
  const NodeDemand together = NodeCosts(node, places, machine).together;
  // Beside a helper ranks that wait carry out steps, too.
  return std::max(together.longest_shared(), driver == Driver::rank ? together.longest_processor(driver) : 0);
}

Estimate estimated(std::span<const Program> node, const topology::Layout& layout, const Machine& machine,
                   Driver driver) {
  const Places places(layout, machine, 1);
  const double fence = fence_seconds(places, machine);
  const NodeCosts all(node, places, machine);
  Estimate longest;
  longest.seconds =
      std::max({all.together.longest_shared(), all.together.longest_processor(driver), all.together.longest_link()});
  std::vector<std::size_t> different;
  for (std::size_t i = 0; i < node.size(); ++i) {
    const Shares shares = all.together.shares_of(static_cast<std::uint32_t>(node[i].rank), driver);
    longest.seconds_at_risk =
        std::max(longest.seconds_at_risk, seconds_at_risk(node[i], all.costs[i], shares, machine));
    if (std::ranges::none_of(different, [&](std::size_t other) { return alike(all.demands[other], all.demands[i]); })) {
      different.push_back(i);
      longest.seconds =
          std::max(longest.seconds, Timeline(node[i], all.costs[i], shares, machine, driver, fence).run());
    }
  }
  return longest;
}

} // namespace stoker::algos
