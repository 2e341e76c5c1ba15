// SPDX-License-Identifier: BSD-3-Clause
// Messages by round.
#include "algos/schedule/rounds.hpp"

#include "algos/schedule/matching.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace stoker::algos {

std::vector<RoundMessage> messages_by_round(std::span<const Program> programs) {
  const Matching matching = match(programs);
  if (!matching.defect.empty()) {
    throw std::invalid_argument(matching.defect);
  }
  struct State {
    std::uint32_t waits_for = 0;
    int rounds = 0; // that have to pass before it is done
  };
  std::vector<std::vector<State>> states(programs.size());
  std::vector<std::pair<int, StepId>> ready;
  std::size_t left = 0;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    const auto& steps = programs[rank].steps;
    left += steps.size();
    for (StepId id = 0; id < steps.size(); ++id) {
      // A recv waits for its send, too.
      states[rank].push_back({steps[id].predecessors + (steps[id].kind == StepKind::recv ? 1U : 0U), 0});
      if (states[rank].back().waits_for == 0) {
        ready.emplace_back(static_cast<int>(rank), id);
      }
    }
  }
  std::vector<RoundMessage> messages;
  const auto arrive = [&](int rank, StepId id, int rounds) {
    State& state = states[static_cast<std::size_t>(rank)][id];
    state.rounds = std::max(state.rounds, rounds);
    if (--state.waits_for == 0) {
      ready.emplace_back(rank, id);
    }
  };
  struct Fence {
    std::vector<std::pair<int, StepId>> come;
    int rounds = 0;
  };
  std::vector<Fence> fences;
  while (!ready.empty()) {
    const auto [rank, id] = ready.back();
    ready.pop_back();
    const Program& program = programs[static_cast<std::size_t>(rank)];
    const Step& step = program.steps[id];
    const int rounds = states[static_cast<std::size_t>(rank)][id].rounds;
    const StepId partner = matching.partners[static_cast<std::size_t>(rank)][id];
    if (step.kind == StepKind::fence) {
      fences.resize(std::max<std::size_t>(fences.size(), partner + 1));
      Fence& fence = fences[partner];
      fence.come.emplace_back(rank, id);
      fence.rounds = std::max(fence.rounds, rounds);
      if (fence.come.size() < programs.size()) {
        continue;
      }
      for (const auto& [other, step_of_it] : fence.come) {
        const Program& theirs = programs[static_cast<std::size_t>(other)];
        for (const StepId next : theirs.successors_of(theirs.steps[step_of_it])) {
          arrive(other, next, fence.rounds);
        }
      }
      left -= fence.come.size();
      continue;
    }
    --left;
    if (delivers(step.kind)) {
      arrive(step.peer, partner, rounds + 1);
    } else if (step.kind == StepKind::recv) {
      messages.push_back({rounds, step.peer, rank, step.bytes});
    }
    for (const StepId next : program.successors_of(step)) {
      arrive(rank, next, rounds);
    }
  }
  if (left > 0) {
    throw std::invalid_argument("steps wait for each other");
  }
  std::stable_sort(messages.begin(), messages.end(), [](const RoundMessage& a, const RoundMessage& b) {
    return std::tuple(a.round, a.source, a.target) < std::tuple(b.round, b.source, b.target);
  });
  return messages;
}

} // namespace stoker::algos
