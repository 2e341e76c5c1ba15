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
  static constexpr int relaxed = 2;           // a mode of capturing streams, in which a thread may call anything
  static constexpr unsigned non_blocking = 1; // a stream that does not wait for the application's default stream

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
  int (*exchange_capture_mode)(int* mode) = nullptr; // of the thread; null in older drivers

  // What kernels need, and memory that several processes share.
  struct IpcHandle {
    char bytes[64];
  };
  struct Kernels {
    int (*device_attribute)(int* value, int attribute, int device) = nullptr;
    int (*device_uuid)(void* uuid, int device) = nullptr; // 16 bytes
    int (*context_id)(Context, unsigned long long* id) = nullptr;
    int (*set_pointer_attribute)(const void* value, int attribute, Address pointer) = nullptr;
    int (*allocate)(Address*, std::size_t bytes) = nullptr;
    int (*free)(Address) = nullptr;
    int (*export_memory)(IpcHandle*, Address) = nullptr;
    int (*import_memory)(Address*, IpcHandle, unsigned flags) = nullptr;
    int (*close_imported)(Address) = nullptr;
    int (*address_of_registered)(Address*, void* host, unsigned flags) = nullptr;
    int (*load_module)(void** module, const void* image) = nullptr;
    int (*function_of)(void** function, void* module, const char* name) = nullptr;
    int (*blocks_at_a_time)(int* blocks, void* function, int threads, std::size_t shared_bytes) = nullptr;
    int (*launch_cooperative)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                              unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream,
                              void** arguments) = nullptr;
    int (*stream_priorities)(int* least, int* greatest) = nullptr;
    int (*create_stream)(Stream*, unsigned flags, int priority) = nullptr;
    int (*destroy_stream)(Stream) = nullptr;
    int (*query)(Stream) = nullptr;
    int (*is_capturing)(Stream, int* status) = nullptr; // 0: it is not
    int (*write_value)(Stream, Address, std::uint64_t value, unsigned flags) = nullptr;
    int (*wait_value)(Stream, Address, std::uint64_t value, unsigned flags) = nullptr;
  };
  Kernels kernels;
  bool has_kernels = false; // all of them; older drivers lack some

  [[nodiscard]] std::string name_of(int code) const;
};

// Null where the process has not loaded the driver, or one that lacks a function. Some 11 ns where nothing was loaded
// since the last call. Thread-safe.
[[nodiscard]] const Driver* loaded_driver();

} // namespace stoker::engine
