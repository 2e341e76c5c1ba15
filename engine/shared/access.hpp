// SPDX-License-Identifier: BSD-3-Clause
// How one process reaches the buffers of ranks of its node: the copy between any two of them, and the combination of
// any two into a third.
#pragma once

#include "algos/schedule/schedule.hpp"
#include "engine/data/operation.hpp"
#include "engine/shared/block.hpp"

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stoker::engine {

// A buffer as this process reaches it: by pointer, or else by cross-memory attach.
struct BufferView {
  std::byte* direct = nullptr;
  pid_t pid = 0;             // not 0: it is not this process's own memory, nor an arena
  std::uint64_t address = 0; // in process `pid`; used when direct is null
};
using BufferViews = std::array<BufferView, 3>; // indexed by algos::Buffer

// The bytes of `slices`, one behind the other.
struct Place {
  const BufferViews& views;
  std::span<const algos::Slice> slices;
};

// Combines elements for those steps of a request that combine operands.
struct Combiner {
  OperationCode code;
  std::uint64_t element_bytes = 1;
  const Operation* operation = nullptr; // the request's, in its own process; needed for ReduceOp::user only

  // target = left (op) right; the target may be exactly one of the operands.
  void operator()(std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t bytes) const;
};

// `pid`: the process of the buffer's rank; `own_process`: it is the calling one. `arena_base`: where that rank's arena
// is mapped here.
[[nodiscard]] BufferView view_of(const BufferDescriptor& descriptor, pid_t pid, bool own_process,
                                 std::byte* arena_base);

// Copies the bytes of `source`, in order, to the places of `target`, in order; equal byte counts. Returns 0, the
// errno of a refused cross-memory attach, or ENOMEM for a buffer of Path::none.
[[nodiscard]] int transfer(const BufferViews& target_views, std::span<const algos::Slice> target,
                           const BufferViews& source_views, std::span<const algos::Slice> source);

// The same to or from one contiguous place in this process.
[[nodiscard]] int gather(std::byte* target, const BufferViews& source_views, std::span<const algos::Slice> source);
[[nodiscard]] int scatter(const BufferViews& target_views, std::span<const algos::Slice> target, std::byte* source);

// target = left (op) right, where the target may be exactly one of the operands; equal byte counts, cut into slices
// between elements only. Returns what transfer() does.
[[nodiscard]] int combine(const Combiner& combiner, const Place& target, const Place& left, const Place& right);

// A whole contiguous place in this process as the only slice of a Place.
class Contiguous {
public:
  Contiguous(std::byte* bytes, std::uint64_t count) : views_{BufferView{.direct = bytes}}, whole_{.length = count} {}
  [[nodiscard]] Place place() const { return {views_, {&whole_, 1}}; }

private:
  BufferViews views_;
  algos::Slice whole_;
};

// Whether they are one run of bytes, or none at all.
[[nodiscard]] bool is_contiguous(std::span<const algos::Slice> slices);

// The pointer to the bytes of `slices` if they are one contiguous run that MPI can be given, else nullptr: networks can
// register what this process can address, but for what is attached by XPMEM.
[[nodiscard]] std::byte* contiguous(const BufferViews& views, std::span<const algos::Slice> slices);

// Finds out whether cross-memory attach to process `pid` is allowed. It really reads and writes a word at `address`,
// which that process must hold for the purpose; nothing else tells for sure. Returns 0 or errno.
[[nodiscard]] int probe_cross_memory_attach(pid_t pid, std::uint64_t address, std::uint64_t expected);

} // namespace stoker::engine
