// SPDX-License-Identifier: BSD-3-Clause
// Validation of one program: first the shape of every step, then the order of steps, then that no place is touched by
// two steps in no order of which one writes it. Later checks rely on what earlier ones have established.
#include "algos/schedule/schedule.hpp"

#include "algos/schedule/print.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace stoker::algos {

namespace {

// An empty string: no defect.
using Defect = std::string;

bool inside(const Range& range, std::size_t size) { return range.begin <= size && range.count <= size - range.begin; }

std::uint64_t size_of(const Program& program, Buffer buffer) {
  switch (buffer) {
  case Buffer::send:
    return program.send_bytes;
  case Buffer::recv:
    return program.recv_bytes;
  case Buffer::scratch:
    return program.scratch_bytes;
  }
  return 0;
}

// One past the last byte. Only for slices that fit.
std::uint64_t end_of(const Slice& slice) {
  return slice.offset + (slice.count - 1) * (slice.count > 1 ? slice.stride : 0) + slice.length;
}

// No sum or product here may wrap around. Only for slices whose blocks are apart.
bool fits(const Slice& slice, std::uint64_t size) {
  if (slice.offset > size || slice.length > size - slice.offset) {
    return false;
  }
  const std::uint64_t room = size - slice.offset - slice.length;
  return slice.count == 1 || slice.count - 1 <= room / slice.stride;
}

Defect slice_defect(const Program& program, const Slice& slice, bool written) {
  if (slice.buffer != Buffer::send && slice.buffer != Buffer::recv && slice.buffer != Buffer::scratch) {
    return "names an unknown buffer";
  }
  if (slice.length == 0 || slice.count == 0) {
    return "has an empty slice " + to_text(slice);
  }
  if (slice.count > 1 && slice.stride < slice.length) {
    return "has overlapping blocks in " + to_text(slice);
  }
  if (!fits(slice, size_of(program, slice.buffer))) {
    return "reaches beyond the " + std::to_string(size_of(program, slice.buffer)) + " bytes of its buffer with " +
           to_text(slice);
  }
  if (written && slice.buffer == Buffer::send) {
    return "writes the send buffer";
  }
  return {};
}

// Slices have to fit before their bytes can be added up.
Defect bytes_defect(std::span<const Slice> slices, std::uint64_t bytes, std::string_view what) {
  std::uint64_t sum = 0;
  for (const Slice& slice : slices) {
    sum += slice.bytes();
  }
  return sum == bytes ? Defect{}
                      : "claims " + std::to_string(bytes) + " bytes, but its " + std::string(what) + " holds " +
                            std::to_string(sum);
}

Defect step_defect(const Program& program, const Step& step, StepId id) {
  if (step.kind > StepKind::reduce) {
    return "is of no known kind";
  }
  if (!inside(step.source, program.slices.size()) || !inside(step.target, program.slices.size())) {
    return "has slices outside the program's slices";
  }
  if (!inside(step.successors, program.successors.size())) {
    return "has successors outside the program's successors";
  }
  const bool reads = step.kind == StepKind::copy || delivers(step.kind) || combines(step);
  const bool writes = step.kind == StepKind::copy || step.kind == StepKind::recv || step.kind == StepKind::reduce;
  const bool puts = step.kind == StepKind::put;
  if (step.message > Operand::right || (step.message != Operand::none && step.kind != StepKind::recv)) {
    return "is no recv, or of no known kind of operand";
  }
  if (step.kind == StepKind::copy || step.kind == StepKind::reduce || step.kind == StepKind::fence) {
    if (step.peer != -1) {
      return "has a peer";
    }
  } else if (step.peer < 0 || step.peer >= program.ranks) {
    return "has a peer outside the " + std::to_string(program.ranks) + " ranks";
  } else if (step.peer == program.rank) {
    return "has its own rank as its peer";
  }
  if (!reads && step.source.count > 0) {
    return "has a source";
  }
  if (!writes && !puts && step.target.count > 0) {
    return "has a target";
  }
  for (const bool written : {false, true}) {
    if (written && puts) {
      continue; // in another rank's buffer: that it fits there says its recv, which has to have the same target
    }
    for (const Slice& slice : written ? program.targets(step) : program.sources(step)) {
      if (Defect defect = slice_defect(program, slice, written); !defect.empty()) {
        return defect;
      }
    }
  }
  if (step.kind == StepKind::reduce) {
    const auto [left, right] = operands(program, step);
    for (const auto& operand : {left, right}) {
      if (Defect defect = bytes_defect(operand, step.bytes, "operand"); !defect.empty()) {
        return defect;
      }
    }
  } else if (reads) {
    if (Defect defect = bytes_defect(program.sources(step), step.bytes, "source"); !defect.empty()) {
      return defect;
    }
  }
  if (combines(step)) {
    for (const auto& slices : {program.sources(step), program.targets(step)}) {
      for (const Slice& slice : slices) {
        if (slice.length % program.element_bytes != 0) {
          return "cuts an element of " + std::to_string(program.element_bytes) + " bytes with " + to_text(slice);
        }
      }
    }
  }
  if (writes || puts) {
    if (Defect defect = bytes_defect(program.targets(step), step.bytes, "target"); !defect.empty()) {
      return defect;
    }
  }
  for (const StepId successor : program.successors_of(step)) {
    if (successor >= program.steps.size()) {
      return "is waited for by step " + std::to_string(successor) + ", which does not exist";
    }
    if (successor <= id) {
      return "is waited for by step " + std::to_string(successor) + ", which comes first: the order is not topological";
    }
    if (puts && program.steps[successor].kind != StepKind::fence) {
      return "is waited for by step " + std::to_string(successor) + ", which is no fence";
    }
  }
  return {};
}

Defect predecessor_defect(const Program& program) {
  std::vector<std::uint32_t> predecessors(program.steps.size());
  for (const Step& step : program.steps) {
    for (const StepId successor : program.successors_of(step)) {
      ++predecessors[successor];
    }
  }
  for (StepId id = 0; id < program.steps.size(); ++id) {
    const Step& step = program.steps[id];
    if (step.predecessors != predecessors[id]) {
      return describe(step, id) + " claims " + std::to_string(step.predecessors) + " predecessors, but " +
             std::to_string(predecessors[id]) + " lead to it";
    }
  }
  return {};
}

// One slice as one step uses it.
struct Access {
  Slice slice;
  std::uint64_t end;
  StepId step;
  bool writes;
};

// Walks through the blocks of both in order of place, in leaps over those that end before the other's begin.
bool overlap(const Slice& a, const Slice& b) {
  // The first block of `slice`, from block `from` on, that ends behind `place`.
  const auto first_behind = [](const Slice& slice, std::uint64_t from, std::uint64_t place) {
    const std::uint64_t end = slice.offset + slice.length;
    const std::uint64_t block = place < end ? 0 : slice.stride == 0 ? slice.count : (place - end) / slice.stride + 1;
    return std::max(from, block);
  };
  std::uint64_t i = 0;
  std::uint64_t j = 0;
  while (true) {
    i = first_behind(a, i, b.offset + j * b.stride);
    if (i >= a.count) {
      return false;
    }
    const std::uint64_t begin = a.offset + i * a.stride;
    if (begin < b.offset + j * b.stride + b.length) {
      return true;
    }
    j = first_behind(b, j, begin);
    if (j >= b.count) {
      return false;
    }
  }
}

// Two steps that touch one place, at least one of them writing; first < second.
struct Conflict {
  StepId first;
  StepId second;
  [[nodiscard]] std::uint64_t order() const { return (std::uint64_t{first} << 32U) | second; }
};

std::vector<Access> accesses_to(const Program& program, Buffer buffer) {
  std::vector<Access> accesses;
  for (StepId id = 0; id < program.steps.size(); ++id) {
    for (const bool writes : {false, true}) {
      if (writes && program.steps[id].kind == StepKind::put) {
        continue; // another rank's buffer
      }
      for (const Slice& slice : writes ? program.targets(program.steps[id]) : program.sources(program.steps[id])) {
        if (slice.buffer == buffer) {
          accesses.push_back({slice, end_of(slice), id, writes});
        }
      }
    }
  }
  std::sort(accesses.begin(), accesses.end(),
            [](const Access& a, const Access& b) { return a.slice.offset < b.slice.offset; });
  return accesses;
}

// Bytes that follow each other, and which of a list's bytes they are.
struct NumberedRun {
  Buffer buffer;
  std::uint64_t place;
  std::uint64_t length;
  std::uint64_t position;
};

std::vector<NumberedRun> numbered_runs(std::span<const Slice> slices) {
  std::vector<NumberedRun> runs;
  std::uint64_t position = 0;
  for (const Slice& slice : slices) {
    for (std::uint64_t block = 0; block < slice.count; ++block) {
      runs.push_back({slice.buffer, slice.offset + (block * slice.stride), slice.length, position});
      position += slice.length;
    }
  }
  std::ranges::sort(runs, [](const NumberedRun& a, const NumberedRun& b) {
    return std::tie(a.buffer, a.place) < std::tie(b.buffer, b.place);
  });
  return runs;
}

// A result may take the place of one of its operands: wherever the two share bytes, they are the same ones of each.
// Only for slices that fit.
bool stays_in_place(const Program& program, StepId id) {
  const Step& step = program.steps[id];
  if (!combines(step)) {
    return false;
  }
  const std::vector<NumberedRun> targets = numbered_runs(program.targets(step));
  const auto [left, right] =
      step.kind == StepKind::reduce ? operands(program, step) : Operands{program.sources(step), {}};
  for (const auto& operand : {left, right}) {
    const std::vector<NumberedRun> sources = numbered_runs(operand);
    for (std::size_t t = 0, s = 0; t < targets.size() && s < sources.size();) {
      const NumberedRun& target = targets[t];
      const NumberedRun& source = sources[s];
      const bool overlapping = target.buffer == source.buffer && target.place < source.place + source.length &&
                               source.place < target.place + target.length;
      if (overlapping && target.place - target.position != source.place - source.position) {
        return false;
      }
      std::tie(target.buffer, target.place) < std::tie(source.buffer, source.place) ? ++t : ++s;
    }
  }
  return true;
}

// Sweeps over one buffer, keeping the accesses that are open at the present place: reads meet open writes, writes meet
// all. Conflicts go to `conflicts`; returns a step that is in conflict with itself, if there is one.
Defect find_conflicts(const Program& program, Buffer buffer, std::vector<Conflict>& conflicts) {
  std::vector<Access> open_reads;
  std::vector<Access> open_writes;
  for (const Access& access : accesses_to(program, buffer)) {
    Defect defect;
    const auto meet = [&](std::vector<Access>& open) {
      std::erase_if(open, [&](const Access& other) { return other.end <= access.slice.offset; });
      for (const Access& other : open) {
        if (!overlap(access.slice, other.slice)) {
          continue;
        }
        if (access.step == other.step && access.writes != other.writes && stays_in_place(program, access.step)) {
          continue;
        }
        if (access.step != other.step) {
          conflicts.push_back({std::min(access.step, other.step), std::max(access.step, other.step)});
        } else if (defect.empty()) {
          defect = describe(program.steps[access.step], access.step) +
                   (access.writes && other.writes ? " writes twice where " : " writes where it reads: ") +
                   to_text(other.slice) + " and " + to_text(access.slice) + " overlap";
        }
      }
    };
    meet(open_writes);
    if (access.writes) {
      meet(open_reads);
    }
    if (!defect.empty()) {
      return defect;
    }
    (access.writes ? open_writes : open_reads).push_back(access);
  }
  return {};
}

// Checks that the first step of each conflict leads to the second. `conflicts` are sorted. Sixty-four first steps at a
// time: a pass over the steps in topological order tells for each which of them lead to it.
Defect unordered_defect(const Program& program, std::span<const Conflict> conflicts) {
  std::vector<std::uint64_t> led_to_by(program.steps.size());
  while (!conflicts.empty()) {
    std::size_t taken = 0;
    std::array<StepId, 64> firsts{};
    std::size_t sources = 0;
    StepId last = 0;
    for (; taken < conflicts.size(); ++taken) {
      if (sources == 0 || firsts[sources - 1] != conflicts[taken].first) {
        if (sources == firsts.size()) {
          break;
        }
        firsts[sources++] = conflicts[taken].first;
      }
      last = std::max(last, conflicts[taken].second);
    }
    std::fill(led_to_by.begin() + firsts[0], led_to_by.begin() + last + 1, 0);
    for (std::size_t s = 0; s < sources; ++s) {
      led_to_by[firsts[s]] |= std::uint64_t{1} << s;
    }
    for (StepId id = firsts[0]; id < last; ++id) {
      for (const StepId successor : program.successors_of(program.steps[id])) {
        if (successor <= last) {
          led_to_by[successor] |= led_to_by[id];
        }
      }
    }
    std::size_t s = 0;
    for (const Conflict& conflict : conflicts.first(taken)) {
      s += firsts[s] != conflict.first;
      if ((led_to_by[conflict.second] >> s & 1) == 0) {
        return describe(program.steps[conflict.first], conflict.first) + " and " +
               describe(program.steps[conflict.second], conflict.second) +
               " touch one place, at least one writes it, and neither waits for the other";
      }
    }
    conflicts = conflicts.subspan(taken);
  }
  return {};
}

} // namespace

Operands operands(const Program& program, const Step& step) {
  const auto all = program.sources(step);
  std::size_t left = 0;
  for (std::uint64_t bytes = 0; left < all.size() && bytes < step.bytes; ++left) {
    bytes += all[left].bytes();
  }
  return {all.first(left), all.subspan(left)};
}

std::string find_defect(const Program& program) {
  if (program.element_bytes == 0) {
    return "rank " + std::to_string(program.rank) + " has elements of no bytes";
  }
  if (program.ranks < 1 || program.rank < 0 || program.rank >= program.ranks) {
    return "rank " + std::to_string(program.rank) + " is not one of " + std::to_string(program.ranks) + " ranks";
  }
  for (StepId id = 0; id < program.steps.size(); ++id) {
    if (Defect defect = step_defect(program, program.steps[id], id); !defect.empty()) {
      return describe(program.steps[id], id) + " " + defect;
    }
  }
  if (Defect defect = predecessor_defect(program); !defect.empty()) {
    return defect;
  }
  std::vector<Conflict> conflicts;
  for (const Buffer buffer : {Buffer::recv, Buffer::scratch}) {
    if (Defect defect = find_conflicts(program, buffer, conflicts); !defect.empty()) {
      return defect;
    }
  }
  std::ranges::sort(conflicts, {}, &Conflict::order);
  return unordered_defect(program, conflicts);
}

} // namespace stoker::algos
