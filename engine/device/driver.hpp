// SPDX-License-Identifier: BSD-3-Clause
// The driver of the devices, CUDA's, where a process uses it: stoker never loads it, nor needs its headers. Memory of a
// device exists only in processes that have loaded the driver already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace stoker::engine {

// The functions that are used, as the CUDA driver API declares them: a CUresult is an int, handles are pointers, a
// CUdeviceptr is an address.
struct Driver {
  using Context = void*;
  using Stream = void*;
  using Address = std::uint64_t;

  int (*pointer_attributes)(unsigned count, int* attributes, void** values, Address pointer) = nullptr;
  int (*push_context)(Context) = nullptr;
  int (*pop_context)(Context*) = nullptr;
  int (*retain_primary_context)(Context*, int device) = nullptr;
  int (*create_stream)(Stream*, unsigned flags) = nullptr;
  int (*synchronize)(Stream) = nullptr;
  int (*copy_to_host)(void* target, Address source, std::size_t bytes, Stream) = nullptr;
  int (*copy_to_device)(Address target, const void* source, std::size_t bytes, Stream) = nullptr;
  int (*register_host)(void* address, std::size_t bytes, unsigned flags) = nullptr;
  int (*unregister_host)(void* address) = nullptr;
  int (*error_name)(int code, const char** text) = nullptr;

  [[nodiscard]] std::string name_of(int code) const;
};

// Null where the process has not loaded the driver, or one that lacks a function. Some 11 ns where nothing was loaded
// since the last call. Thread-safe.
[[nodiscard]] const Driver* loaded_driver();

} // namespace stoker::engine
