// SPDX-License-Identifier: BSD-3-Clause
// Which send meets which recv: the n-th from a to b in a's step order the n-th from a in b's.
#include "algos/matching.hpp"

#include "algos/print.hpp"

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

// All sends, or all recvs, by pair of ranks and then in step order.
std::vector<End> ends(std::span<const Program> programs, StepKind kind) {
  std::vector<End> result;
  for (const Program& program : programs) {
    for (StepId id = 0; id < program.steps.size(); ++id) {
      const Step& step = program.steps[id];
      if (step.kind == kind) {
        const bool sends = kind == StepKind::send;
        result.push_back({sends ? program.rank : step.peer, sends ? step.peer : program.rank, program.rank, id});
      }
    }
  }
  std::stable_sort(result.begin(), result.end(), [](const End& a, const End& b) {
    return std::tie(a.sender, a.receiver) < std::tie(b.sender, b.receiver);
  });
  return result;
}

} // namespace

Matching match(std::span<const Program> programs) {
  Matching matching;
  for (const Program& program : programs) {
    matching.partners.emplace_back(program.steps.size());
  }
  const auto step_of = [&](const End& end) -> const Step& { return programs[end.rank].steps[end.step]; };
  const auto name = [&](const End& end) {
    return "rank " + std::to_string(end.rank) + ", " + describe(step_of(end), end.step);
  };

  const std::vector<End> sends = ends(programs, StepKind::send);
  const std::vector<End> recvs = ends(programs, StepKind::recv);
  for (std::size_t i = 0; i < std::max(sends.size(), recvs.size()); ++i) {
    if (i < sends.size() && i < recvs.size() && same_pair(sends[i], recvs[i])) {
      if (step_of(sends[i]).bytes != step_of(recvs[i]).bytes) {
        matching.defect = name(sends[i]) + " hands over " + std::to_string(step_of(sends[i]).bytes) + " bytes, but " +
                          name(recvs[i]) + " takes " + std::to_string(step_of(recvs[i]).bytes);
        return matching;
      }
      matching.partners[sends[i].sender][sends[i].step] = recvs[i].step;
      matching.partners[recvs[i].receiver][recvs[i].step] = sends[i].step;
      continue;
    }
    // Of the two, the one whose pair sorts first has no partner.
    const bool send_first = i < sends.size() && (i >= recvs.size() || std::tie(sends[i].sender, sends[i].receiver) <
                                                                          std::tie(recvs[i].sender, recvs[i].receiver));
    matching.defect = send_first ? name(sends[i]) + " meets no recv" : name(recvs[i]) + " meets no send";
    return matching;
  }
  return matching;
}

} // namespace stoker::algos
