// SPDX-License-Identifier: BSD-3-Clause
// Appends steps to a program; edges are sorted into the program's flat successor array at the end.
#include "algos/schedule/builder.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace stoker::algos {

namespace {

constexpr std::uint64_t scratch_alignment = 64;

// How far the program's own steps reach into its scratch. What a put writes to is the peer's.
std::uint64_t scratch_used(const Program& program) {
  std::uint64_t end = 0;
  const auto look_at = [&end](std::span<const Slice> slices) {
    for (const Slice& slice : slices) {
      if (slice.buffer == Buffer::scratch && slice.bytes() > 0) {
        end = std::max(end, slice.offset + ((slice.count - 1) * (slice.count > 1 ? slice.stride : 0)) + slice.length);
      }
    }
  };
  for (const Step& step : program.steps) {
    look_at(program.sources(step));
    if (step.kind != StepKind::put) {
      look_at(program.targets(step));
    }
  }
  return end;
}

std::uint64_t total_bytes(std::span<const Slice> slices) {
  std::uint64_t bytes = 0;
  for (const Slice& slice : slices) {
    bytes += slice.bytes();
  }
  return bytes;
}

} // namespace

bool join(Slice& last, const Slice& block) {
  if (last.buffer != block.buffer || block.count != 1) {
    return false;
  }
  if (last.count == 1 && last.offset + last.length == block.offset) {
    last.length += block.length;
    return true;
  }
  if (last.length != block.length) {
    return false;
  }
  if (last.count == 1 && block.offset > last.offset + last.length) {
    last.stride = block.offset - last.offset;
    last.count = 2;
    return true;
  }
  if (last.count > 1 && last.offset + last.count * last.stride == block.offset) {
    ++last.count;
    return true;
  }
  return false;
}

Builder::Builder(int rank, int ranks, std::uint64_t send_bytes, std::uint64_t recv_bytes) {
  if (ranks < 1 || rank < 0 || rank >= ranks) {
    throw std::invalid_argument("a program needs a rank between 0 and the number of ranks");
  }
  program_.rank = rank;
  program_.ranks = ranks;
  program_.send_bytes = send_bytes;
  program_.recv_bytes = recv_bytes;
}

std::uint64_t Builder::scratch(std::uint64_t bytes) {
  const std::uint64_t offset = (program_.scratch_bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
  program_.scratch_bytes = offset + bytes;
  return offset;
}

StepId Builder::send(int peer, std::span<const Slice> source, std::span<const StepId> after) {
  return append(StepKind::send, peer, source, {}, after);
}

StepId Builder::recv(int peer, std::span<const Slice> target, std::span<const StepId> after) {
  return append(StepKind::recv, peer, {}, target, after);
}

StepId Builder::copy(std::span<const Slice> target, std::span<const Slice> source, std::span<const StepId> after) {
  if (total_bytes(target) != total_bytes(source)) {
    throw std::logic_error("copy: source and target differ in size");
  }
  return append(StepKind::copy, -1, source, target, after);
}

StepId Builder::reduce(std::span<const Slice> target, std::span<const Slice> left, std::span<const Slice> right,
                       std::span<const StepId> after) {
  if (total_bytes(target) != total_bytes(left) || total_bytes(target) != total_bytes(right)) {
    throw std::logic_error("reduce: target and operands differ in size");
  }
  const StepId id = append(StepKind::reduce, -1, left, target, after);
  Step& step = program_.steps[id];
  // The target's slices lie between the operands' so far.
  const Range second = append_slices(right);
  std::rotate(program_.slices.begin() + step.target.begin, program_.slices.begin() + second.begin,
              program_.slices.end());
  step.target.begin += second.count;
  step.source.count += second.count;
  return id;
}

StepId Builder::recv_operand(int peer, Operand message, std::span<const Slice> target, std::span<const Slice> other,
                             std::span<const StepId> after) {
  if (message == Operand::none || total_bytes(target) != total_bytes(other)) {
    throw std::logic_error("recv_operand: no operand, or one that differs from the target in size");
  }
  const StepId id = append(StepKind::recv, peer, other, target, after);
  program_.steps[id].message = message;
  return id;
}

StepId Builder::put(int peer, std::span<const Slice> source, Slice target, bool announced,
                    std::span<const StepId> after) {
  if (target.bytes() != total_bytes(source)) {
    throw std::logic_error("put: source and target differ in size");
  }
  const StepId id = append(StepKind::put, peer, source, {&target, 1}, after);
  program_.steps[id].announced = announced;
  return id;
}

StepId Builder::announced_recv(int peer, std::span<const Slice> target, std::span<const StepId> after) {
  const StepId id = recv(peer, target, after);
  program_.steps[id].announced = true;
  return id;
}

StepId Builder::fence(std::span<const StepId> after) { return append(StepKind::fence, -1, {}, {}, after); }

void Builder::wait_all() {
  const auto end = static_cast<StepId>(program_.steps.size());
  if (end == barrier_) {
    return;
  }
  // Every step so far leads to one that nothing waits for yet.
  std::vector<StepId> last;
  for (StepId id = barrier_; id < end; ++id) {
    if (waiter_[id] == 0) {
      last.push_back(id);
    }
  }
  if (last.size() > 2) {
    last = {join_steps(last)};
  }
  frontier_ = std::move(last);
  barrier_ = static_cast<StepId>(program_.steps.size());
}

StepId Builder::append(StepKind kind, int peer, std::span<const Slice> source, std::span<const Slice> target,
                       std::span<const StepId> after) {
  constexpr std::size_t many = 8;
  if (after.size() < many) {
    return append_step(kind, peer, source, target, after);
  }
  if (!std::ranges::equal(after, many_)) {
    many_.assign(after.begin(), after.end());
    join_.reset();
    return append_step(kind, peer, source, target, after);
  }
  if (!join_) {
    join_ = join_steps(after);
  }
  return append_step(kind, peer, source, target, {&*join_, 1});
}

StepId Builder::append_step(StepKind kind, int peer, std::span<const Slice> source, std::span<const Slice> target,
                            std::span<const StepId> after) {
  const auto id = static_cast<StepId>(program_.steps.size());
  Step step;
  step.kind = kind;
  step.peer = peer;
  step.source = append_slices(source);
  step.target = append_slices(target);
  step.bytes = total_bytes(kind == StepKind::recv || kind == StepKind::reduce ? target : source);
  program_.steps.push_back(step);
  waiter_.push_back(0);

  const std::size_t first_edge = edges_.size();
  const auto wait_for = [&](StepId before) {
    if (waiter_[before] != id) {
      waiter_[before] = id;
      edges_.push_back({before, id});
    }
  };
  for (const StepId before : after) {
    if (before >= id) {
      throw std::logic_error("a step can only wait for steps that exist already");
    }
    // What lies before the barrier is covered by the frontier.
    if (before >= barrier_) {
      wait_for(before);
    }
  }
  // A step that waits for one behind the barrier waits for the frontier through it.
  if (edges_.size() == first_edge) {
    std::for_each(frontier_.begin(), frontier_.end(), wait_for);
  }
  program_.steps[id].predecessors = static_cast<std::uint32_t>(edges_.size() - first_edge);
  return id;
}

Range Builder::append_slices(std::span<const Slice> slices) {
  auto& all = program_.slices;
  const std::size_t begin = all.size();
  for (Slice slice : slices) {
    if (slice.bytes() == 0) {
      continue;
    }
    if (slice.count > 1 && slice.stride == slice.length) {
      slice.length *= slice.count;
      slice.count = 1;
    }
    if (slice.count == 1) {
      slice.stride = 0;
    }
    if (all.size() == begin || !join(all.back(), slice)) {
      all.push_back(slice);
    }
  }
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(all.size() - begin)};
}

Program Builder::finish() && {
  // Ranks that pass nothing on have homes for what they might, of all ranks' blocks.
  program_.scratch_bytes = std::min(program_.scratch_bytes, scratch_used(program_));
  for (const Edge& edge : edges_) {
    ++program_.steps[edge.before].successors.count;
  }
  std::uint32_t begin = 0;
  for (Step& step : program_.steps) {
    step.successors.begin = begin;
    begin += step.successors.count;
    step.successors.count = 0;
  }
  program_.successors.resize(edges_.size());
  for (const Edge& edge : edges_) {
    Range& successors = program_.steps[edge.before].successors;
    program_.successors[successors.begin + successors.count++] = edge.after;
  }
  return std::move(program_);
}

} // namespace stoker::algos
