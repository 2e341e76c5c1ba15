// SPDX-License-Identifier: BSD-3-Clause
// The builder, with which algorithms are written: appends steps to a program and keeps its arrays flat.
#pragma once

#include "algos/schedule/schedule.hpp"

#include <optional>
#include <span>
#include <vector>

namespace stoker::algos {

// Makes `block` a part of `last` if the two together are again one slice: contiguous, or one more of evenly spaced
// blocks. Returns whether it did.
bool join(Slice& last, const Slice& block);

class Builder {
public:
  // The program of `rank` out of `ranks`, whose send and receive buffers reach `send_bytes` and `recv_bytes` far.
  Builder(int rank, int ranks, std::uint64_t send_bytes, std::uint64_t recv_bytes);

  // Declares the size of the elements that are reduced.
  void reduces(std::uint64_t element_bytes) { program_.element_bytes = element_bytes; }

  // Room in scratch, aligned to 64 bytes. Returns its offset.
  std::uint64_t scratch(std::uint64_t bytes);

  // Each appends a step that starts once all of `after` are done, and returns its id. Slices without bytes are dropped,
  // and blocks that touch or are evenly spaced become one slice; the order of the bytes stays. A send, recv or copy of
  // nothing is still a step where it is asked for; algorithms leave out empty blocks themselves. Where several
  // steps in a row wait for the same many ones, join_steps() is called for them.
  StepId send(int peer, std::span<const Slice> source, std::span<const StepId> after = {});
  StepId recv(int peer, std::span<const Slice> target, std::span<const StepId> after = {});
  StepId copy(std::span<const Slice> target, std::span<const Slice> source, std::span<const StepId> after = {});

  // target = left (op) right; each of them as many bytes. `target` may be exactly `left` or `right`.
  StepId reduce(std::span<const Slice> target, std::span<const Slice> left, std::span<const Slice> right,
                std::span<const StepId> after = {});
  // target = message (op) other where the message is the left operand, else other (op) message.
  StepId recv_operand(int peer, Operand message, std::span<const Slice> target, std::span<const Slice> other,
                      std::span<const StepId> after = {});

  // `target`: in the recv buffer or scratch of `peer`, which has a recv for it there, announced or not like this.
  StepId put(int peer, std::span<const Slice> source, Slice target, bool announced, std::span<const StepId> after = {});
  StepId announced_recv(int peer, std::span<const Slice> target, std::span<const StepId> after = {});
  StepId fence(std::span<const StepId> after = {});

  StepId send(int peer, Slice source, std::span<const StepId> after = {}) {
    return send(peer, std::span(&source, 1), after);
  }
  StepId recv(int peer, Slice target, std::span<const StepId> after = {}) {
    return recv(peer, std::span(&target, 1), after);
  }
  StepId copy(Slice target, Slice source, std::span<const StepId> after = {}) {
    return copy(std::span(&target, 1), std::span(&source, 1), after);
  }

  // An empty copy, which is done when all of `after` are. Edges then grow with the steps before and after it, and not
  // with their product.
  StepId join_steps(std::span<const StepId> after) { return append_step(StepKind::copy, -1, {}, {}, after); }

  // From here on every step waits for all steps so far, in addition to its own `after`: the literature's "wait all".
  void wait_all();

  // The finished program; the builder is spent.
  [[nodiscard]] Program finish() &&;

private:
  StepId append(StepKind kind, int peer, std::span<const Slice> source, std::span<const Slice> target,
                std::span<const StepId> after);
  StepId append_step(StepKind kind, int peer, std::span<const Slice> source, std::span<const Slice> target,
                     std::span<const StepId> after);
  Range append_slices(std::span<const Slice> slices);

  struct Edge {
    StepId before;
    StepId after;
  };

  Program program_;
  std::vector<Edge> edges_;
  std::vector<StepId> waiter_;   // of each step, the latest that waits for it; 0 if none does
  std::vector<StepId> many_;     // the latest long `after`
  std::optional<StepId> join_;   // of them
  std::vector<StepId> frontier_; // steps that every later one waits for
  StepId barrier_ = 0;           // steps before it are covered by frontier_
};

} // namespace stoker::algos
