// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/step_order.hpp"

#include "engine/shared/access.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace stoker::engine {
namespace {

bool is_message(const algos::Program& program, const algos::Step& step, const LoweredStep& low) {
  const bool sending = low.op == Op::send_wire;
  return (sending || low.op == Op::recv_wire) && low.message == algos::Operand::none &&
         is_contiguous(sending ? program.sources(step) : program.targets(step));
}

bool by_distance(const algos::Program& program, std::span<const LoweredStep> steps) {
  if (!program.successors.empty()) {
    return false;
  }
  int distance = 0;
  return std::ranges::all_of(steps, [&](const LoweredStep& step) {
    if (step.op != Op::send_wire && step.op != Op::recv_wire) {
      return !is_posted(step.op);
    }
    const int ahead = step.op == Op::send_wire ? step.peer - program.rank : program.rank - step.peer;
    const int before = std::exchange(distance, (ahead + program.ranks) % program.ranks);
    return before <= distance;
  });
}

int root_order(Op op) {
  switch (op) {
  case Op::recv_node:
    return 0;
  case Op::copy:
  case Op::reduce:
    return 1;
  case Op::send_node:
    return 2;
  case Op::recv_wire:
    return 3;
  case Op::send_wire:
    return 4;
  default:
    return 5; // in the order of the program
  }
}

} // namespace

StepOrder order_of(const algos::Program& program, std::span<const LoweredStep> steps, std::uint32_t most_messages) {
  StepOrder order;
  order.places.resize(steps.size());
  std::iota(order.places.begin(), order.places.end(), 0U);
  const auto messages = std::stable_partition(order.places.begin(), order.places.end(), [&](std::uint32_t place) {
    return !is_message(program, program.steps[place], steps[place]);
  });
  order.messages = static_cast<std::uint32_t>(order.places.end() - messages);
  order.numbers.resize(steps.size());
  for (std::uint32_t i = 0; i < order.places.size(); ++i) {
    order.numbers[order.places[i]] = i;
  }
  order.most_posted = by_distance(program, steps) ? most_messages : static_cast<std::uint32_t>(steps.size());
  return order;
}

// The steps to run first come last, because the ready list is a stack: messages go out before anything is copied or
// waited for. Then come the posted ones, receives first in each stretch.
std::vector<std::uint32_t> roots_of(const StepOrder& order, std::span<const LoweredStep> steps,
                                    std::span<const std::uint32_t> predecessors) {
  const std::size_t all = std::max<std::size_t>(steps.size(), 1);
  const std::size_t stretch = order.most_posted < all ? order.most_posted / 2 : all;
  const auto key = [&](std::uint32_t step) {
    const Op op = steps[step].op;
    const auto place = static_cast<std::int64_t>(order.places[step]);
    const bool posted = is_posted(op);
    return std::tuple(posted, posted ? order.places[step] / stretch : 0, root_order(op), posted ? place : -place);
  };
  std::vector<std::uint32_t> roots;
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    if (predecessors[i] == 0) {
      roots.push_back(i);
    }
  }
  std::ranges::sort(roots, {}, key);
  return roots;
}

} // namespace stoker::engine
