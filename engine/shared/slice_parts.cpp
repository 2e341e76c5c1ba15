// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/slice_parts.hpp"

#include <algorithm>

namespace stoker::engine {
namespace {

using algos::Slice;

// The bytes of one slice: the end of a block, whole blocks, the beginning of a block.
void cut_slice(const Slice& slice, std::uint64_t begin, std::uint64_t bytes, std::vector<Slice>& part) {
  std::uint64_t block = begin / slice.length;
  const auto add = [&](std::uint64_t within, std::uint64_t length, std::uint64_t count) {
    if (length > 0 && count > 0) {
      part.push_back({slice.buffer, slice.offset + (block * slice.stride) + within, length, slice.stride, count});
      block += count;
      bytes -= length * count;
    }
  };
  if (const std::uint64_t within = begin % slice.length; within > 0) {
    add(within, std::min(slice.length - within, bytes), 1);
  }
  add(0, slice.length, bytes / slice.length);
  add(0, bytes, 1);
}

} // namespace

void cut(std::span<const Slice> slices, std::uint64_t begin, std::uint64_t bytes, SlicePosition& near,
         std::vector<Slice>& part) {
  part.clear();
  if (begin < near.bytes_before) {
    near = {};
  }
  while (near.slice < slices.size() && near.bytes_before + slices[near.slice].bytes() <= begin) {
    near.bytes_before += slices[near.slice++].bytes();
  }
  std::uint64_t skipped = begin - near.bytes_before;
  for (std::size_t i = near.slice; i < slices.size() && bytes > 0; ++i) {
    if (const std::uint64_t taken = std::min(slices[i].bytes() - skipped, bytes); taken > 0) {
      cut_slice(slices[i], skipped, taken, part);
      bytes -= taken;
    }
    skipped = 0;
  }
}

} // namespace stoker::engine
