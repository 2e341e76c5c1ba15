// SPDX-License-Identifier: BSD-3-Clause
// A part of the bytes that a list of slices holds, as slices.
#pragma once

#include "algos/schedule/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stoker::engine {

// Where a slice of a list begins, among the bytes that the list holds.
struct SlicePosition {
  std::size_t slice = 0;
  std::uint64_t bytes_before = 0;
};

// Writes to `part` the slices of `bytes` bytes, from byte `begin` on, of those that `slices` hold. Looks for them from
// `near` on, or from the beginning if they come before that, and leaves there where they begin.
void cut(std::span<const algos::Slice> slices, std::uint64_t begin, std::uint64_t bytes, SlicePosition& near,
         std::vector<algos::Slice>& part);

} // namespace stoker::engine
