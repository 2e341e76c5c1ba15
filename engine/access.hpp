// SPDX-License-Identifier: BSD-3-Clause
// How one process reaches the buffers of ranks of its node, and the copy between any two of them.
#pragma once

#include "algos/schedule.hpp"
#include "engine/block.hpp"

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stoker::engine {

// A buffer as this process reaches it: by pointer, or else by cross-memory attach.
struct BufferView {
  std::byte* direct = nullptr;
  pid_t pid = 0;
  std::uint64_t address = 0; // in process `pid`; used when direct is null
};
using BufferViews = std::array<BufferView, 3>; // indexed by algos::Buffer

// `own_process`: the calling process is the buffer's rank. `arena_base`: where that rank's arena is mapped here.
[[nodiscard]] BufferView view_of(const BufferDescriptor& descriptor, bool own_process, std::byte* arena_base);

// Copies the bytes of `source`, in order, to the places of `target`, in order; equal byte counts. Returns 0 or the errno of
// a refused cross-memory attach.
[[nodiscard]] int transfer(const BufferViews& target_views, std::span<const algos::Slice> target,
                           const BufferViews& source_views, std::span<const algos::Slice> source);

// The same to or from one contiguous place in this process.
[[nodiscard]] int gather(std::byte* target, const BufferViews& source_views, std::span<const algos::Slice> source);
[[nodiscard]] int scatter(const BufferViews& target_views, std::span<const algos::Slice> target, std::byte* source);

// The pointer to the bytes of `slices` if they are one contiguous run that this process can address, else nullptr.
[[nodiscard]] std::byte* contiguous(const BufferViews& views, std::span<const algos::Slice> slices);

// Really reads and writes `bytes` bytes at `address` of process `pid` (which must hold them for the purpose): the only
// sound way to find out whether cross-memory attach is allowed. Returns 0 or errno.
[[nodiscard]] int probe_cross_memory_attach(pid_t pid, std::uint64_t address, std::uint64_t expected);

} // namespace stoker::engine
