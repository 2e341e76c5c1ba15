// SPDX-License-Identifier: BSD-3-Clause
// A discrete-event simulation of a schedule.
#include "algos/select/cost_model.hpp"

#include "algos/schedule/matching.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace stoker::algos {

namespace {

class Simulation {
public:
  Simulation(std::span<const Program> programs, const topology::Layout& layout, const CostModel& model)
      : programs_(programs), layout_(layout), model_(model), matching_(match(programs)), states_(programs.size()),
        queues_(programs.size()), busy_(programs.size()), receiving_(programs.size(), 0),
        ports_out_(static_cast<std::size_t>(layout.nodes()), 0), ports_in_(ports_out_) {
    if (!matching_.defect.empty()) {
      throw std::invalid_argument(matching_.defect);
    }
    for (std::size_t rank = 0; rank < programs.size(); ++rank) {
      const auto& steps = programs[rank].steps;
      left_ += steps.size();
      for (StepId id = 0; id < steps.size(); ++id) {
        // A recv is done by its message, too.
        states_[rank].push_back({steps[id].predecessors + (steps[id].kind == StepKind::recv ? 1U : 0U), 0});
        if (states_[rank].back().waits_for == 0) {
          events_.push({0, rank, id, false});
        }
      }
    }
  }

  double run() {
    double end = 0;
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      end = std::max(end, event.time);
      const Step& step = programs_[event.rank].steps[event.step];
      if (!event.done && step.kind == StepKind::fence) {
        meet(event.rank, event.step, event.time);
        continue;
      }
      if (!event.done && step.kind != StepKind::recv) {
        queues_[event.rank].push(event.step);
        start_next(event.rank, event.time);
        continue;
      }
      --left_;
      for (const StepId next : programs_[event.rank].successors_of(step)) {
        arrive(event.rank, next, event.time);
      }
      if (step.kind != StepKind::recv && step.kind != StepKind::fence) {
        busy_[event.rank] = false;
        start_next(event.rank, event.time);
      }
    }
    if (left_ > 0) {
      throw std::invalid_argument("steps wait for each other");
    }
    return end;
  }

private:
  struct State {
    std::uint32_t waits_for;
    double ready; // when the latest of what it waits for is done
  };
  // A step that can run from now on, or is done. In the order of time, so that what is shared is taken in that order.
  struct Event {
    double time;
    std::size_t rank;
    StepId step;
    bool done;
    bool operator>(const Event& other) const {
      return std::tie(time, rank, step, done) > std::tie(other.time, other.rank, other.step, other.done);
    }
  };

  // Takes a resource from `time` on, once it is free; returns until when.
  static double occupy(double& free_from, double time, double duration) {
    free_from = std::max(free_from, time) + duration;
    return free_from;
  }

  void arrive(std::size_t rank, StepId id, double time) {
    State& state = states_[rank][id];
    state.ready = std::max(state.ready, time);
    if (--state.waits_for == 0) {
      events_.push({state.ready, rank, id, false});
    }
  }

  void meet(std::size_t rank, StepId id, double time) {
    const StepId number = matching_.partners[rank][id];
    fences_.resize(std::max<std::size_t>(fences_.size(), number + 1));
    auto& come = fences_[number];
    come.emplace_back(rank, id);
    if (come.size() == programs_.size()) { // events come in the order of time: this is the last
      for (const auto& [other, fence] : come) {
        events_.push({time + fence_seconds(layout_, model_), other, fence, true});
      }
    }
  }

  // A rank sends, or copies, one thing at a time: what became ready first.
  void start_next(std::size_t rank, double time) {
    if (busy_[rank] || queues_[rank].empty()) {
      return;
    }
    const StepId id = queues_[rank].front();
    queues_[rank].pop();
    busy_[rank] = true;
    const Step& step = programs_[rank].steps[id];
    const double copied = step.bytes == 0 ? 0 : model_.at(Level::self).of(step.bytes);
    events_.push({delivers(step.kind) ? send(time, rank, id, step) : time + copied, rank, id, true});
  }

  double send(double time, std::size_t rank, StepId id, const Step& step) {
    const auto peer = static_cast<std::size_t>(step.peer);
    const Level level = level_between(layout_, static_cast<int>(rank), step.peer);
    const Cost& cost = model_.at(level);
    const double sent = time + cost.of(step.bytes);
    double arrived = sent;
    if (level == Level::network) {
      // The port passes bytes on while they are being sent, so it ends no earlier than the sender and adds what it is
      // behind.
      const double occupied = model_.port.of(step.bytes);
      arrived = std::max(arrived, occupy(port(ports_out_, rank), sent - cost.of(step.bytes), occupied));
      arrived = std::max(arrived, occupy(port(ports_in_, peer), arrived - occupied, occupied));
    }
    // The same holds for the receiver, which takes in one message at a time.
    const double taken = cost.of(step.bytes);
    arrived = std::max(arrived, occupy(receiving_[peer], arrived - taken, taken));
    arrive(peer, matching_.partners[rank][id], arrived);
    return sent;
  }

  double& port(std::vector<double>& ports, std::size_t rank) const {
    return ports[static_cast<std::size_t>(layout_.node_of(static_cast<int>(rank)))];
  }

  std::span<const Program> programs_;
  const topology::Layout& layout_;
  const CostModel& model_;
  Matching matching_;
  std::vector<std::vector<State>> states_;
  std::vector<std::queue<StepId>> queues_; // by rank: sends and copies that can run
  std::vector<bool> busy_;
  std::vector<double> receiving_;                                   // by rank: free from
  std::vector<double> ports_out_, ports_in_;                        // by node
  std::vector<std::vector<std::pair<std::size_t, StepId>>> fences_; // who has come to each
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::size_t left_ = 0;
};

} // namespace

double fence_seconds(const topology::Layout& layout, const CostModel& model) {
  const Level farthest = layout.nodes() > 1 ? Level::network : layout.domains() > 1 ? Level::node : Level::domain;
  return std::ceil(std::log2(layout.ranks())) * model.at(farthest).seconds;
}

double predict(std::span<const Program> programs, const topology::Layout& layout, const CostModel& model) {
  return Simulation(programs, layout, model).run();
}

Load load_of(const Program& program, const topology::Layout& layout, const CostModel& model) {
  Load load;
  std::vector<double> ready(program.steps.size(), 0);
  for (StepId id = 0; id < program.steps.size(); ++id) { // in a topological order
    const Step& step = program.steps[id];
    const bool moves = step.kind != StepKind::fence && (step.kind != StepKind::copy || step.bytes > 0);
    const Level level = step.peer < 0 ? Level::self : level_between(layout, program.rank, step.peer);
    const double cost = moves                          ? model.at(level).of(step.bytes)
                        : step.kind == StepKind::fence ? fence_seconds(layout, model)
                                                       : 0;
    if (moves) {
      (step.kind == StepKind::recv ? load.receiving : load.sending) += cost;
    }
    if (level == Level::network) {
      (step.kind == StepKind::recv ? load.port_in : load.port_out) += model.port.of(step.bytes);
    }
    const double done = ready[id] + cost;
    load.chain = std::max(load.chain, done);
    for (const StepId next : program.successors_of(step)) {
      ready[next] = std::max(ready[next], done);
    }
  }
  return load;
}

} // namespace stoker::algos
