// SPDX-License-Identifier: BSD-3-Clause
// What the drop-in library gives libstoker-heap.so: where long allocations come from. It finds the other library by the
// name of a function.
#pragma once

#include <cstddef>

struct StokerHeapSource {
  std::size_t least_bytes; // of an allocation that the source is asked for
  const std::byte* begin;  // all memory that it gives lies in [begin, begin + bytes)
  std::size_t bytes;
  void* (*allocate)(std::size_t bytes);  // begins with a page, is not cleared; null: there is none
  void (*deallocate)(void* memory);      // at any time, until the process ends
  std::size_t (*bytes_of)(void* memory); // as asked for
};

// To be called once. `source` stays where it is.
extern "C" void stoker_heap_use(const StokerHeapSource* source);
