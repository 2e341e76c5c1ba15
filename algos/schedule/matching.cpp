// SPDX-License-Identifier: BSD-3-Clause
// Which send or put meets which recv: the n-th from a to b in a's step order the n-th from a in b's.
#include "algos/schedule/matching.hpp"

#include "algos/schedule/print.hpp"

#include <algorithm>
#include <tuple>

namespace stoker::algos {

namespace {

// One end of a message.
struct End {
  int sender;
  int receiver;
  int rank; // whose step it is: the sender's or the receiver's
  StepId step;
};

bool same_pair(const End& a, const End& b) { return std::tie(a.sender, a.receiver) == std::tie(b.sender, b.receiver); }

// All sends and puts, or all recvs, by pair of ranks and then in step order.
std::vector<End> ends(std::span<const Program> programs, bool sends) {
  std::vector<End> result;
  for (const Program& program : programs) {
    for (StepId id = 0; id < program.steps.size(); ++id) {
      const Step& step = program.steps[id];
      if (sends ? delivers(step.kind) : step.kind == StepKind::recv) {
        result.push_back({sends ? program.rank : step.peer, sends ? step.peer : program.rank, program.rank, id});
      }
    }
  }
  std::stable_sort(result.begin(), result.end(), [](const End& a, const End& b) {
    return std::tie(a.sender, a.receiver) < std::tie(b.sender, b.receiver);
  });
  return result;
}

// Whether a step waits, directly or through others, for an earlier one.
bool leads_to(const Program& program, StepId first, StepId last) {
  std::vector<bool> led(program.steps.size(), false);
  led[first] = true;
  for (StepId id = first; id < last; ++id) {
    if (led[id]) {
      for (const StepId next : program.successors_of(program.steps[id])) {
        led[next] = true;
      }
    }
  }
  return led[last];
}

std::string name_of(std::span<const Program> programs, const End& end) {
  return "rank " + std::to_string(end.rank) + ", " + describe(programs[end.rank].steps[end.step], end.step);
}

// Numbers them, or finds their defect.
void number_fences(std::span<const Program> programs, Matching& matching) {
  std::vector<StepId> fences;
  for (const Program& program : programs) {
    fences.push_back(0);
    StepId last_fence = 0;
    for (StepId id = 0; id < program.steps.size(); ++id) {
      if (program.steps[id].kind == StepKind::fence) {
        if (fences.back() > 0 && !leads_to(program, last_fence, id)) {
          matching.defect = "rank " + std::to_string(program.rank) + ", " + describe(program.steps[id], id) +
                            " does not wait for the fence before it";
          return;
        }
        last_fence = id;
        matching.partners[program.rank][id] = fences.back()++;
      }
    }
    if (fences.back() != fences.front()) {
      matching.defect = "rank " + std::to_string(program.rank) + " has " + std::to_string(fences.back()) +
                        " fences, but rank 0 has " + std::to_string(fences.front());
      return;
    }
  }
}

constexpr StepId no_fence = ~StepId{0};

// The number of the first fence that waits for a put, or for its recv, itself.
StepId next_fence(const Program& program, const Step& step, const std::vector<StepId>& numbers) {
  StepId first = no_fence;
  for (const StepId next : program.successors_of(step)) {
    first = program.steps[next].kind == StepKind::fence ? std::min(first, numbers[next]) : first;
  }
  return first;
}

// What is wrong with a put and the recv that it meets; empty if nothing is.
std::string put_defect(std::span<const Program> programs, const Matching& matching, const End& source, const End& end) {
  const Program& sender = programs[source.rank];
  const Program& target = programs[end.rank];
  const Step& put = sender.steps[source.step];
  const Step& recv = target.steps[end.step];
  if (!std::ranges::equal(sender.targets(put), target.targets(recv))) {
    return name_of(programs, source) + " writes to another place than that of " + name_of(programs, end);
  }
  if (put.announced != recv.announced) {
    return name_of(programs, source) + " and " + name_of(programs, end) + " are announced on one side only";
  }
  if (!std::ranges::all_of(target.successors_of(recv),
                           [&](StepId next) { return target.steps[next].kind == StepKind::fence; })) {
    return name_of(programs, end) + " is waited for by a step that is no fence, but rank " +
           std::to_string(source.rank) + " puts there";
  }
  // What is put is flushed at the fence that waits for the put, and is there on all ranks once that fence is done.
  const StepId flushed = next_fence(sender, put, matching.partners[source.rank]);
  const StepId awaited = next_fence(target, recv, matching.partners[end.rank]);
  if (flushed == no_fence || awaited == no_fence) {
    return name_of(programs, flushed == no_fence ? source : end) + " is waited for by no fence";
  }
  return awaited < flushed ? name_of(programs, end) + " is over at a fence before that of " + name_of(programs, source)
                           : "";
}

} // namespace

Matching match(std::span<const Program> programs) {
  Matching matching;
  for (const Program& program : programs) {
    matching.partners.emplace_back(program.steps.size());
  }
  const auto step_of = [&](const End& end) -> const Step& { return programs[end.rank].steps[end.step]; };
  const auto name = [&](const End& end) { return name_of(programs, end); };
  number_fences(programs, matching);
  if (!matching.defect.empty()) {
    return matching;
  }
  const std::vector<End> sends = ends(programs, true);
  const std::vector<End> recvs = ends(programs, false);
  for (std::size_t i = 0; i < std::max(sends.size(), recvs.size()); ++i) {
    if (i < sends.size() && i < recvs.size() && same_pair(sends[i], recvs[i])) {
      if (step_of(sends[i]).bytes != step_of(recvs[i]).bytes) {
        matching.defect = name(sends[i]) + " hands over " + std::to_string(step_of(sends[i]).bytes) + " bytes, but " +
                          name(recvs[i]) + " takes " + std::to_string(step_of(recvs[i]).bytes);
        return matching;
      }
      if (step_of(sends[i]).kind == StepKind::put) {
        matching.defect = put_defect(programs, matching, sends[i], recvs[i]);
        if (!matching.defect.empty()) {
          return matching;
        }
      }
      matching.partners[sends[i].sender][sends[i].step] = recvs[i].step;
      matching.partners[recvs[i].receiver][recvs[i].step] = sends[i].step;
      continue;
    }
    // The one of the two whose pair sorts first has no partner.
    const bool send_first = i < sends.size() && (i >= recvs.size() || std::tie(sends[i].sender, sends[i].receiver) <
                                                                          std::tie(recvs[i].sender, recvs[i].receiver));
    matching.defect = send_first ? name(sends[i]) + " meets no recv" : name(recvs[i]) + " meets no send";
    return matching;
  }
  return matching;
}

} // namespace stoker::algos
