// SPDX-License-Identifier: BSD-3-Clause
// The bytes of an instruction in chunks of 16. Copying and combining go chunk by chunk, for every type's size divides
// 16 and no slice cuts an element.
#pragma once

#include "engine/device_kernel/both_compilers.hpp"
#include "engine/device_kernel/program_layout.hpp"

namespace stoker::engine::device {

struct alignas(16) Chunk {
  std::uint32_t words[4];
};
inline constexpr std::uint32_t chunk_bytes = sizeof(Chunk);

template <class Word>
STOKER_DEVICE void copy_words(std::byte* target, const std::byte* source, std::uint32_t bytes) {
  for (std::uint32_t at = 0; at < bytes; at += sizeof(Word)) {
    __builtin_memcpy(__builtin_assume_aligned(target + at, sizeof(Word)),
                     __builtin_assume_aligned(source + at, sizeof(Word)), sizeof(Word));
  }
}

// By the widest words, of at most 8 bytes, that suit both addresses and the length. Apart, so that chunks stay in
// registers where they are loaded and stored whole.
[[gnu::noinline]] STOKER_DEVICE void copy_part(std::byte* target, const std::byte* source, std::uint32_t bytes) {
  const std::uint64_t together =
      reinterpret_cast<std::uint64_t>(target) | reinterpret_cast<std::uint64_t>(source) | bytes;
  if (together % 8 == 0) {
    copy_words<std::uint64_t>(target, source, bytes);
  } else if (together % 4 == 0) {
    copy_words<std::uint32_t>(target, source, bytes);
  } else {
    copy_words<std::uint8_t>(target, source, bytes);
  }
}
[[gnu::noinline]] STOKER_DEVICE Chunk load_part(const std::byte* source, std::uint32_t bytes) {
  Chunk chunk{};
  copy_part(reinterpret_cast<std::byte*>(&chunk), source, bytes);
  return chunk;
}
[[gnu::noinline]] STOKER_DEVICE void store_part(std::byte* target, Chunk chunk, std::uint32_t bytes) {
  copy_part(target, reinterpret_cast<const std::byte*>(&chunk), bytes);
}

STOKER_DEVICE bool whole(const std::byte* address, std::uint32_t bytes) {
  return bytes == chunk_bytes && reinterpret_cast<std::uint64_t>(address) % chunk_bytes == 0;
}

// What lies behind the bytes is 0.
STOKER_DEVICE Chunk load(const std::byte* source, std::uint32_t bytes) {
  if (!whole(source, bytes)) {
    return load_part(source, bytes);
  }
  Chunk chunk;
  __builtin_memcpy(&chunk, __builtin_assume_aligned(source, chunk_bytes), chunk_bytes);
  return chunk;
}

STOKER_DEVICE void store(std::byte* target, const Chunk& chunk, std::uint32_t bytes) {
  if (whole(target, bytes)) {
    __builtin_memcpy(__builtin_assume_aligned(target, chunk_bytes), &chunk, chunk_bytes);
  } else {
    store_part(target, chunk, bytes);
  }
}

// Bytes that lie one behind the other.
struct Run {
  std::byte* address;
  std::uint64_t bytes;
};

// Where the bytes of a list of slices are, asked for in ascending order.
class Cursor {
public:
  STOKER_DEVICE Cursor(const Slice* slices, std::byte* const* buffers) : slice_(slices), buffers_(buffers) {}

  // The run that begins with that byte, which is one of the list's.
  STOKER_DEVICE Run at(std::uint64_t byte) {
    while (byte - begin_ >= slice_->length * slice_->count) {
      begin_ += slice_->length * slice_->count;
      ++slice_;
    }
    std::byte* const first = buffers_[slice_->buffer] + slice_->offset;
    const std::uint64_t place = byte - begin_;
    if (slice_->count == 1) {
      return {first + place, slice_->length - place};
    }
    const std::uint64_t block = place / slice_->length;
    const std::uint64_t within = place - block * slice_->length;
    return {first + block * slice_->stride + within, slice_->length - within};
  }

private:
  const Slice* slice_;
  std::byte* const* buffers_;
  std::uint64_t begin_ = 0; // the slice's first byte, in the list
};

// A block's share of so many bytes: chunks [begin, end).
struct Share {
  std::uint64_t begin;
  std::uint64_t end;
};
STOKER_DEVICE Share share_of(std::uint64_t bytes, std::uint32_t worker, std::uint32_t workers) {
  const std::uint64_t chunks = (bytes + chunk_bytes - 1) / chunk_bytes;
  return {chunks / workers * worker + chunks % workers * worker / workers,
          chunks / workers * (worker + 1) + chunks % workers * (worker + 1) / workers};
}

} // namespace stoker::engine::device
