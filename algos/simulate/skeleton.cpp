// SPDX-License-Identifier: BSD-3-Clause
#include "algos/simulate/skeleton.hpp"

#include "algos/schedule/append.hpp"

#include <algorithm>

namespace stoker::algos {

namespace {

std::uint32_t relative(int peer, int rank, int ranks) {
  return static_cast<std::uint32_t>((peer - rank + ranks) % ranks);
}

// Numbers the steps of each peer in their order, and sorts them by peer.
void number(std::vector<Skeleton::Meeting>& meetings, std::vector<Skeleton::Step>& steps) {
  std::ranges::stable_sort(meetings, {}, &Skeleton::Meeting::peer);
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < meetings.size(); ++i) {
    next = i > 0 && meetings[i].peer == meetings[i - 1].peer ? next + 1 : 0;
    steps[meetings[i].step].number = next;
  }
}

// FNV-1a of all that programs of one algorithm differ in: what it leaves out follows from these.
std::uint64_t digest(const Skeleton& skeleton) {
  std::uint64_t result = 0xcbf29ce484222325;
  const auto mix = [&result](std::uint64_t value) { result = (result ^ value) * 0x100000001b3; };
  for (const Skeleton::Step& step : skeleton.steps) {
    mix(step.bytes);
    mix((static_cast<std::uint64_t>(step.peer) << 32U) | step.predecessors);
    mix((static_cast<std::uint64_t>(step.successors) << 32U) | step.pieces);
    mix(static_cast<std::uint64_t>(step.kind));
  }
  return result;
}

} // namespace

StepId Skeleton::find(const std::vector<Meeting>& meetings, std::uint32_t peer, std::uint32_t number) const {
  const auto first = std::ranges::lower_bound(meetings, peer, {}, &Meeting::peer);
  if (static_cast<std::size_t>(meetings.end() - first) <= number) {
    return size();
  }
  const auto meeting = first + static_cast<std::ptrdiff_t>(number);
  return meeting->peer == peer ? meeting->step : size();
}

Skeleton skeleton_of(const Program& program) {
  Skeleton result;
  result.steps.reserve(program.steps.size() + 1);
  result.successors.reserve(program.successors.size());
  for (StepId id = 0; id < program.steps.size(); ++id) {
    const Step& step = program.steps[id];
    const auto pieces = [](std::span<const Slice> slices) {
      std::uint64_t count = 0;
      for (const Slice& slice : slices) {
        count += slice.count;
      }
      return count;
    };
    const std::uint64_t most =
        std::max<std::uint64_t>(1, std::max(pieces(program.sources(step)) / (step.kind == StepKind::reduce ? 2 : 1),
                                            pieces(program.targets(step))));
    result.steps.push_back({.bytes = step.bytes,
                            .peer = step.peer < 0 ? 0 : relative(step.peer, program.rank, program.ranks),
                            .number = 0,
                            .predecessors = step.predecessors,
                            .successors = static_cast<std::uint32_t>(result.successors.size()),
                            .pieces = static_cast<std::uint32_t>(most - 1),
                            .kind = step.kind,
                            .combines = combines(step)});
    if (step.kind == StepKind::recv) {
      result.receives.push_back({result.steps.back().peer, id});
    } else if (delivers(step.kind)) {
      result.sends.push_back({result.steps.back().peer, id});
    } else if (step.kind == StepKind::fence) {
      result.steps.back().number = static_cast<std::uint32_t>(result.fences.size());
      result.fences.push_back(id);
    }
    const auto next = program.successors_of(step);
    append(result.successors, next);
  }
  result.steps.push_back({.successors = static_cast<std::uint32_t>(result.successors.size())});
  number(result.receives, result.steps);
  number(result.sends, result.steps);
  return result;
}

void Skeletons::add(Skeleton skeleton) {
  const std::uint64_t key = digest(skeleton);
  const auto [first, last] = by_digest_.equal_range(key);
  const auto known = std::find_if(first, last, [&](const auto& entry) { return different_[entry.second] == skeleton; });
  if (known != last) {
    index_.push_back(known->second);
    return;
  }
  const auto index = static_cast<std::uint32_t>(different_.size());
  index_.push_back(index);
  by_digest_.emplace(key, index);
  different_.push_back(std::move(skeleton));
}

} // namespace stoker::algos
