// SPDX-License-Identifier: BSD-3-Clause
#include "algos/simulate/simulate.hpp"

#include "algos/simulate/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace stoker::algos {

namespace {

void check(const topology::Layout& layout, const Scenario& scenario) {
  const auto at_least_0 = [](double value, const char* name) {
    if (!(value >= 0) || std::isinf(value)) {
      throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) + "; expected 0 or more seconds");
    }
  };
  at_least_0(scenario.computation, "computation");
  at_least_0(scenario.test_every, "test_every");
  at_least_0(scenario.late, "late");
  for (const int rank : scenario.observed) {
    if (rank < 0 || rank >= layout.ranks()) {
      throw std::invalid_argument("rank " + std::to_string(rank) + " is to be observed; expected 0 to " +
                                  std::to_string(layout.ranks() - 1));
    }
  }
}

Skeleton skeleton_of_rank(const ProgramOf& program_of, int rank, int ranks) {
  const Program program = program_of(rank);
  if (program.rank != rank || program.ranks != ranks) {
    throw std::invalid_argument("the program of rank " + std::to_string(rank) + " is one for rank " +
                                std::to_string(program.rank) + " of " + std::to_string(program.ranks));
  }
  return skeleton_of(program);
}

Skeletons skeletons_of(int ranks, const ProgramOf& program_of, int compilers) {
  Skeletons skeletons;
  if (compilers <= 1) {
    for (int rank = 0; rank < ranks; ++rank) {
      skeletons.add(skeleton_of_rank(program_of, rank, ranks));
    }
    return skeletons;
  }
  const std::vector<ProgramOf> copies(static_cast<std::size_t>(compilers), program_of);
  for (int next = 0; next < ranks;) {
    std::vector<std::future<std::vector<Skeleton>>> rows;
    for (const ProgramOf& copy : copies) {
      const int first = std::exchange(next, std::min(ranks, next + programs_in_a_row));
      rows.push_back(std::async(std::launch::async, [&copy, first, end = next, ranks] {
        std::vector<Skeleton> row;
        for (int rank = first; rank < end; ++rank) {
          row.push_back(skeleton_of_rank(copy, rank, ranks));
        }
        return row;
      }));
    }
    for (std::future<std::vector<Skeleton>>& row : rows) {
      for (Skeleton& skeleton : row.get()) {
        skeletons.add(std::move(skeleton));
      }
    }
  }
  return skeletons;
}

} // namespace

std::string_view name_of(Activity::Kind kind) {
  constexpr std::array<std::string_view, 7> names = {"start", "send", "receive", "copy", "combine", "compute", "wait"};
  return names[static_cast<std::size_t>(kind)];
}

Simulation::Simulation(const topology::Layout& layout, const Machine& machine, const Skeletons& skeletons,
                       const Scenario& scenario)
    : machine_(machine), skeletons_(skeletons), scenario_(scenario),
      places_(layout, machine, scenario.progress == Progress::rank ? 1 : scenario.helpers_per_node),
      links_(places_, machine), ranks_(places_.ranks()), processors_(places_.ranks() + places_.helpers()),
      memory_free_from_(places_.domains(), 0), fence_seconds_(fence_seconds(places_, machine)),
      first_sent_(places_.nodes(), -1), last_arrived_(places_.nodes(), -1), observed_(processors_.size(), false) {
  std::mt19937_64 random(scenario.seed);
  std::uniform_real_distribution<double> anywhere(0, machine.noise.period);
  for (Processor& processor : processors_) {
    processor.phase = machine.noise.duration > 0 ? anywhere(random) : 0;
  }
  std::exponential_distribution<double> lateness(1);
  for (std::uint32_t rank = 0; rank < places_.ranks(); ++rank) {
    const Skeleton& skeleton = skeletons_.of(rank);
    ranks_[rank].steps_left = skeleton.size();
    ranks_[rank].first_state = states_.size();
    for (StepId step = 0; step < skeleton.size(); ++step) {
      states_.push_back(skeleton.steps[step].predecessors);
    }
    events_.push({scenario.late > 0 ? scenario.late * lateness(random) : 0, Event::Kind::start, rank});
  }
  for (std::uint32_t helper = 0; helper < places_.helpers(); ++helper) {
    processors_[places_.ranks() + helper].available = scenario.progress != Progress::rank;
  }
  steps_ = states_.size();
  for (const int rank : scenario.observed) {
    observed_[static_cast<std::size_t>(rank)] = true;
    if (scenario.progress != Progress::rank) {
      observed_[places_.ranks() + places_.helper(static_cast<std::uint32_t>(rank))] = true;
    }
  }
}

void Simulation::dispatch(const Event& event) {
  switch (event.kind) {
  case Event::Kind::start:
    start(event.index);
    break;
  case Event::Kind::submitted:
    begin_steps(event.index);
    break;
  case Event::Kind::done:
    task_done(event.index);
    break;
  case Event::Kind::look:
    look(event.index);
    break;
  case Event::Kind::computed:
    computed(event.index);
    break;
  case Event::Kind::at_link:
    links_.at_link(event.index, now_, events_);
    break;
  case Event::Kind::passed:
    links_.passed(event.index, now_, events_);
    break;
  case Event::Kind::arrived:
    arrived(event.index);
    break;
  case Event::Kind::answered:
    answered(event.index);
    break;
  case Event::Kind::announced:
    announced(event.index);
    break;
  case Event::Kind::met:
    met(event.index);
    break;
  case Event::Kind::noticed:
    end_wait(event.index);
    break;
  }
}

Outcome Simulation::run(const OnProgress& on_progress) {
  constexpr std::uint64_t now_and_then = 1U << 20U;
  for (std::uint64_t count = 0; !events_.empty(); ++count) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.time;
    if (now_ > scenario_.give_up_after && steps_done_ < steps_) {
      Outcome given_up;
      given_up.seconds = std::numeric_limits<double>::infinity();
      return given_up;
    }
    dispatch(event);
    if (on_progress && count % now_and_then == 0 && steps_ > 0) {
      on_progress(static_cast<double>(steps_done_) / static_cast<double>(steps_));
    }
  }
  check_end();
  return outcome();
}

void Simulation::check_end() const {
  for (std::uint32_t rank = 0; rank < places_.ranks(); ++rank) {
    if (ranks_[rank].steps_left > 0) {
      throw std::invalid_argument("steps wait for each other, or for messages that nobody sends: rank " +
                                  std::to_string(rank) + " has " + std::to_string(ranks_[rank].steps_left) + " left");
    }
  }
}

Outcome Simulation::outcome() const {
  Outcome result;
  const auto ranks = static_cast<double>(places_.ranks());
  for (const Rank& rank : ranks_) {
    result.seconds = std::max(result.seconds, rank.end);
    result.mean_seconds += (rank.end - rank.begin) / ranks;
  }
  result.exposed = result.mean_seconds - scenario_.computation;
  for (std::uint32_t node = 0; node < places_.nodes(); ++node) {
    const bool talks = first_sent_[node] >= 0 && last_arrived_[node] >= 0;
    const double first = talks ? std::min(first_sent_[node], last_arrived_[node]) : result.seconds;
    const double last = talks ? last_arrived_[node] : result.seconds;
    result.phases.before += first / places_.nodes();
    result.phases.between += (last - first) / places_.nodes();
    result.phases.after += (result.seconds - last) / places_.nodes();
  }
  result.steps = steps_;
  result.messages = messages_;
  result.network_messages = network_messages_;
  result.network_bytes = network_bytes_;
  result.different_programs = skeletons_.different();
  if (result.seconds > 0) {
    result.busiest_port = links_.busiest_port() / result.seconds;
    for (const Processor& processor : processors_) {
      result.busiest_processor = std::max(result.busiest_processor, processor.busy_seconds / result.seconds);
    }
  }
  result.activities = activities_;
  std::ranges::stable_sort(result.activities, {}, &Activity::begin);
  return result;
}

Outcome simulate(const topology::Layout& layout, const Machine& machine, const ProgramOf& program_of,
                 const Scenario& scenario, const OnProgress& on_progress, int compilers) {
  check(layout, scenario);
  const int processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const Skeletons skeletons = skeletons_of(layout.ranks(), program_of, std::min(compilers, processors));
  return Simulation(layout, machine, skeletons, scenario).run(on_progress);
}

} // namespace stoker::algos
