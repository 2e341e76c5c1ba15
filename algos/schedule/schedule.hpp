// SPDX-License-Identifier: BSD-3-Clause
// The schedule: what every algorithm produces and every executor consumes. A program is one rank's part of a schedule,
// a directed acyclic graph of steps over that rank's own three buffers; the only way data moves between ranks is a
// send/recv or put/recv pair. Flat arrays of plain structs: a program can be copied into shared memory as it is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stoker::algos {

// `send` is never written. `scratch` belongs to the program: undefined before the first step of every epoch.
enum class Buffer : std::uint8_t { send, recv, scratch };

// `count` blocks of `length` bytes, the first at `offset` from the buffer's start, each next one `stride` bytes on.
// All in bytes; stride is ignored when count is 1, and at least the length otherwise.
struct Slice {
  Buffer buffer = Buffer::send;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t stride = 0;
  std::uint64_t count = 1;

  [[nodiscard]] std::uint64_t bytes() const { return length * count; }
  bool operator==(const Slice&) const = default;
};

enum class StepKind : std::uint8_t {
  send, // hand `source` to `peer`; done when source may be overwritten
  recv, // fill `target` with what `peer` sends or puts; done when target may be read
  copy, // target = source, both in this rank's buffers, which must not overlap
  // Write `source` to `target`, a place in the peer's recv buffer or scratch for which the peer has a recv. That recv
  // must have started by then. When the next fence is done the data are at their target, and the source may be
  // overwritten. Only a fence may wait for a put, or for its recv.
  put,
  // A meeting of all ranks, which all have the same number of fences. It is done when all have come to it, and all data
  // that they put before are at their targets.
  fence,
  // target = left operand (op) right operand, which are the first and the second half of `source`, in this rank's
  // buffers. The target may take the place of an operand: where the two share bytes they are the same ones of each.
  reduce,
};

// How a recv uses its message. `none`: target = message. Else the message is one operand of a reduction and `source`
// the other: target = message (op) source, or source (op) message. The target may take the place of the source,
// likewise.
enum class Operand : std::uint8_t { none, left, right };

// Part of one of a program's flat arrays.
struct Range {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

// The n-th send or put from a to b in a's step order meets the n-th recv from a in b's step order, whenever each of
// them starts to run; the two have equal byte counts but may be cut into slices differently.
struct Step {
  StepKind kind = StepKind::copy;
  std::int32_t peer = -1;          // rank in the schedule's communicator; -1 for copy, reduce and fence
  Operand message = Operand::none; // recv only
  Range source;                    // slices read, in order (send, put, copy, reduce; recv of an operand)
  Range target;                    // slices written, in order (recv, copy, reduce; put: in the peer's buffer)
  Range successors;                // steps that wait for this one
  std::uint32_t predecessors = 0;  // how many steps this one waits for
  std::uint64_t bytes = 0;         // payload; reduce: of the target
  bool announced = false; // recv: tells its put when it starts; put: waits for that. Else fences have to see to it.
};

// A step that combines operands.
[[nodiscard]] constexpr bool combines(const Step& step) {
  return step.kind == StepKind::reduce || step.message != Operand::none;
}

// A step that hands bytes to another rank.
[[nodiscard]] constexpr bool delivers(StepKind kind) { return kind == StepKind::send || kind == StepKind::put; }

using StepId = std::uint32_t;

struct Program {
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
  std::uint64_t send_bytes = 0; // sizes of the three buffers: no slice reaches beyond
  std::uint64_t recv_bytes = 0;
  std::uint64_t scratch_bytes = 0;
  std::uint64_t element_bytes = 1; // what is reduced consists of elements of that size: none is cut
  std::vector<Step> steps;         // in a topological order
  std::vector<Slice> slices;
  std::vector<StepId> successors;

  [[nodiscard]] std::span<const Slice> sources(const Step& step) const {
    return std::span(slices).subspan(step.source.begin, step.source.count);
  }
  [[nodiscard]] std::span<const Slice> targets(const Step& step) const {
    return std::span(slices).subspan(step.target.begin, step.target.count);
  }
  [[nodiscard]] std::span<const StepId> successors_of(const Step& step) const {
    return std::span(successors).subspan(step.successors.begin, step.successors.count);
  }
};

// The two operands of a reduce.
struct Operands {
  std::span<const Slice> left;
  std::span<const Slice> right;
};
[[nodiscard]] Operands operands(const Program& program, const Step& step);

// Checks one program whole before it is used: ranges inside their arrays, slices inside their buffers, `send` never
// written, byte counts consistent, elements that are reduced whole, peers in range and not the rank itself, step order
// topological, predecessor counts right, and no two unordered steps of which one writes what the other touches. Returns
// the first defect in words, or an empty string. The verifier checks pairs of programs.
[[nodiscard]] std::string find_defect(const Program& program);

} // namespace stoker::algos
