// SPDX-License-Identifier: BSD-3-Clause
// The inside of simulate(): what ranks, helpers and messages do at each event.
#pragma once

#include "algos/simulate/events.hpp"
#include "algos/simulate/links.hpp"
#include "algos/simulate/places.hpp"
#include "algos/simulate/processor.hpp"
#include "algos/simulate/simulate.hpp"
#include "algos/simulate/skeleton.hpp"

#include <unordered_map>
#include <vector>

namespace stoker::algos {

class Simulation {
public:
  Simulation(const topology::Layout& layout, const Machine& machine, const Skeletons& skeletons,
             const Scenario& scenario);

  [[nodiscard]] Outcome run(const OnProgress& on_progress);

private:
  struct Rank {
    enum class State : std::uint8_t { absent, in_call, computing, waiting, finished };
    State state = State::absent;
    std::uint32_t steps_left = 0;
    std::uint64_t first_state = 0; // of its steps, in states_
    double begin = 0;
    double end = 0;
    double computation_left = 0;
    double computes_since = 0; // or waits
    double computes_until = 0;
  };
  // By step: how many steps it waits for, and these bits.
  static constexpr std::uint32_t ready_bit = 1U << 31U; // nothing of its own rank keeps it from running
  static constexpr std::uint32_t here_bit = 1U << 30U;  // its message, or the peer's readiness, is there

  // ---- ranks and helpers (simulation_ranks.cpp); `index`: of a processor ----
  void start(std::uint32_t rank);
  void begin_steps(std::uint32_t rank);
  void compute(std::uint32_t rank);
  void computed(std::uint32_t rank);
  void begin_wait(std::uint32_t rank);
  void end_wait(std::uint32_t rank);
  void leave_call(std::uint32_t rank);
  [[nodiscard]] std::uint32_t processor_of(std::uint32_t rank, bool within_node) const;
  [[nodiscard]] bool is_helper(std::uint32_t processor) const { return processor >= places_.ranks(); }
  // Whether a helper's core computes for its carrier.
  [[nodiscard]] bool shares_core(std::uint32_t processor) const;
  void add_task(std::uint32_t processor, const Task& task);
  void look(std::uint32_t processor);
  void next_task(std::uint32_t index);
  void task_done(std::uint32_t index);
  void observe(std::uint32_t processor, Activity::Kind kind, std::uint32_t rank, std::int32_t peer, std::uint64_t bytes,
               double begin, double end);
  void observe(std::uint32_t processor, const Task& task, double begin, double end);

  // ---- steps and messages (simulation_steps.cpp); `id`: of a step, `index`: of a message ----
  struct Work {
    double seconds = 0;
    std::uint64_t memory_bytes = 0; // of the domain's memory
  };
  [[nodiscard]] Work work_of(const Task& task, const Processor& processor) const;
  [[nodiscard]] Work work_of_step(std::uint32_t rank, const Skeleton::Step& step) const;
  [[nodiscard]] Work work_of_receive(const Message& message, const Processor& processor) const;
  [[nodiscard]] bool is_long(std::uint32_t source, std::uint32_t target, std::uint64_t bytes) const;
  void ready(std::uint32_t rank, StepId id);
  void post(std::uint32_t rank, StepId id);
  void carry_out(const Task& task);
  void send(std::uint32_t rank, StepId id);
  void arrived(std::uint32_t index);
  void answered(std::uint32_t index);
  void announced(std::uint32_t index);
  void received(std::uint32_t index);
  void complete(std::uint32_t rank, StepId id);
  void take_early();
  void come_to_fence(std::uint32_t fence);
  void met(std::uint32_t fence);

  [[nodiscard]] std::uint32_t peer_of(std::uint32_t rank, const Skeleton::Step& step) const {
    return (rank + step.peer) % places_.ranks();
  }
  [[nodiscard]] std::uint32_t from_view_of(std::uint32_t peer, std::uint32_t rank) const {
    return (rank + places_.ranks() - peer) % places_.ranks();
  }
  [[nodiscard]] std::uint32_t& state_of(std::uint32_t rank, StepId step) {
    return states_[ranks_[rank].first_state + step];
  }
  static std::uint64_t key(std::uint32_t rank, StepId step) { return (std::uint64_t{rank} << 32U) | step; }
  void dispatch(const Event& event);
  void check_end() const;
  [[nodiscard]] Outcome outcome() const;

  const Machine& machine_;
  const Skeletons& skeletons_;
  const Scenario& scenario_;
  Places places_;
  Links links_;
  EventQueue events_;
  double now_ = 0;

  std::vector<Rank> ranks_;
  std::vector<Processor> processors_; // of the ranks, then of the helpers
  std::vector<std::uint32_t> states_; // of the steps of all ranks
  std::uint64_t steps_ = 0;
  std::uint64_t steps_done_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> early_; // messages whose recv is not posted, by rank and step
  // What receives that were just posted find there already: it has to wait until the steps that became ready with them,
  // sends for instance, are on their way.
  std::vector<Task> found_early_;
  std::vector<double> memory_free_from_; // by domain

  double fence_seconds_ = 0;
  std::vector<std::uint32_t> come_; // by fence: how many ranks have come to it
  std::uint64_t puts_on_their_way_ = 0;

  std::vector<double> first_sent_, last_arrived_; // by node; negative: never
  std::uint64_t messages_ = 0, network_messages_ = 0, network_bytes_ = 0;
  std::vector<bool> observed_; // by processor
  std::vector<Activity> activities_;
};

} // namespace stoker::algos
