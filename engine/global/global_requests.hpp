// SPDX-License-Identifier: BSD-3-Clause
// What helpers of different nodes send each other for global memory, and how a rank's local buffer is read and written.
#pragma once

#include "engine/global/bundle.hpp"
#include "engine/global/global_access.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace stoker::engine {

inline constexpr std::uint64_t bounce_bytes = 512 * 1024; // a piece whose local buffer is in another process

inline constexpr std::uint32_t reply_kind = 0x100; // none of OperationKind

// The two directions between two endpoints must not share tags: a piece is numbered by the origin.
inline int put_tag(std::uint32_t number) { return static_cast<int>(2 * number); }
inline int get_tag(std::uint32_t number) { return static_cast<int>((2 * number) + 1); }

// Between a rank's buffer and this process's memory; 0 or an errno.
inline int read_local(std::byte* here, const BufferView& local, std::uint64_t offset, std::uint64_t bytes) {
  const algos::Slice slice{algos::Buffer::send, offset, bytes, 0, 1};
  return gather(here, {local}, std::span(&slice, 1));
}
inline int write_local(const BufferView& local, std::uint64_t offset, std::byte* here, std::uint64_t bytes) {
  const algos::Slice slice{algos::Buffer::send, offset, bytes, 0, 1};
  return scatter({local}, std::span(&slice, 1), here);
}

// Whether an operation to another node goes in bundles.
inline bool is_short(const OperationRequest& operation) {
  const bool transfer = operation.kind == OperationKind::put || operation.kind == OperationKind::get;
  return !transfer || (operation.bytes <= longest_in_bundle && operation.displacement == 0);
}
// How much room it takes there, roughly.
inline std::uint64_t bytes_as_items(const OperationRequest& operation) { return operation.bytes + sizeof(BundleItem); }

// A signal is a put of its word, behind the data.
inline void add_signal(BundleWriter& items, const OperationRequest& operation) {
  items.add({.kind = OperationKind::put,
             .arena = operation.arena,
             .place = operation.signal_place,
             .bytes = sizeof operation.signal_value},
            &operation.signal_value);
}

struct GlobalAccess::Header {
  std::uint32_t kind = 0;           // OperationKind: bundle, or a long put or get; or reply_kind
  std::uint32_t piece = 0;          // the origin's
  std::int32_t error = MPI_SUCCESS; // of a reply
  std::uint64_t bytes = 0;          // of target memory; in a bundle or reply: of what follows
  // A long put or get has these, too:
  std::uint32_t arena = 0;
  std::uint64_t place = 0;
  std::uint64_t signal_place = 0; // 0: none
  std::uint64_t signal_value = 0;
};

} // namespace stoker::engine
