// SPDX-License-Identifier: BSD-3-Clause
// XPMEM (the project hpc/xpmem), a kernel module with a device and a library, as far as it is used: the ranges of a
// peer's address space that a process attaches become mappings of its own. Neither the library nor its header is needed
// to build: where it is asked for, the library is opened when the first engine of the process is created.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <sys/types.h>

namespace stoker::engine {

// The functions that are used, as xpmem.h declares them. They return -1 if they fail, with errno.
struct XpmemLibrary {
  using SegmentId = std::int64_t;
  using AccessId = std::int64_t;
  struct Address {
    AccessId access;
    off_t offset; // in the segment
  };

  static constexpr int permit_mode = 1;    // XPMEM_PERMIT_MODE: the value is that of a file
  static constexpr int read_and_write = 2; // XPMEM_RDWR

  int (*version)() = nullptr; // opens the device
  SegmentId (*make)(void* address, std::size_t bytes, int permit_type, void* permit_value) = nullptr;
  AccessId (*get)(SegmentId, int flags, int permit_type, void* permit_value) = nullptr;
  int (*release)(AccessId) = nullptr;
  void* (*attach)(Address, std::size_t bytes, void* address) = nullptr; // whole pages
  int (*detach)(void* address) = nullptr; // and nothing else: munmap() of an attachment kills the process
};

// What this process has of it.
struct Xpmem {
  XpmemLibrary library;
  XpmemLibrary::SegmentId segment = -1; // its whole address space, for processes of the same user
  std::string refusal;                  // why there is none; empty: there is one
};

// Looked for once. The segment stays for as long as the process: the kernel removes it then.
[[nodiscard]] const Xpmem& own_xpmem();

} // namespace stoker::engine
