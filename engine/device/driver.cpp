// SPDX-License-Identifier: BSD-3-Clause
#include "engine/device/driver.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <mutex>
#include <string_view>

namespace stoker::engine {
namespace {

// How many libraries were loaded since the process began.
unsigned long long libraries_loaded() {
  unsigned long long loaded = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* first, std::size_t, void* result) {
        *static_cast<unsigned long long*>(result) = first->dlpi_adds;
        return 1;
      },
      &loaded);
  return loaded;
}

// libcuda.so, libcuda.so.1, or with all of the driver's version: the name that it was opened by.
bool is_drivers(std::string_view path) {
  return path.substr(path.rfind('/') + 1).starts_with("libcuda.so"); // npos + 1 is 0
}

// Its full name, or nothing if it is not loaded: to ask dlopen() takes a search of all folders.
std::string loaded_library() {
  std::string found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        if (is_drivers(info->dlpi_name)) {
          *static_cast<std::string*>(result) = info->dlpi_name;
          return 1;
        }
        return 0;
      },
      &found);
  return found;
}

template <class Function>
void look_up(void* handle, const char* name, Function*& function, bool& complete) {
  function = reinterpret_cast<Function*>(dlsym(handle, name));
  complete = complete && function != nullptr;
}

void look_up_kernels(void* handle, Driver& driver) {
  Driver::Kernels& kernels = driver.kernels;
  bool& complete = driver.has_kernels = true;
  look_up(handle, "cuDeviceGetAttribute", kernels.device_attribute, complete);
  look_up(handle, "cuDeviceGetUuid_v2", kernels.device_uuid, complete);
  look_up(handle, "cuCtxGetId", kernels.context_id, complete);
  look_up(handle, "cuPointerSetAttribute", kernels.set_pointer_attribute, complete);
  look_up(handle, "cuMemAlloc_v2", kernels.allocate, complete);
  look_up(handle, "cuMemFree_v2", kernels.free, complete);
  look_up(handle, "cuIpcGetMemHandle", kernels.export_memory, complete);
  look_up(handle, "cuIpcOpenMemHandle_v2", kernels.import_memory, complete);
  look_up(handle, "cuIpcCloseMemHandle", kernels.close_imported, complete);
  look_up(handle, "cuMemHostGetDevicePointer_v2", kernels.address_of_registered, complete);
  look_up(handle, "cuModuleLoadData", kernels.load_module, complete);
  look_up(handle, "cuModuleGetFunction", kernels.function_of, complete);
  look_up(handle, "cuOccupancyMaxActiveBlocksPerMultiprocessor", kernels.blocks_at_a_time, complete);
  look_up(handle, "cuLaunchCooperativeKernel", kernels.launch_cooperative, complete);
  look_up(handle, "cuCtxGetStreamPriorityRange", kernels.stream_priorities, complete);
  look_up(handle, "cuStreamCreateWithPriority", kernels.create_stream, complete);
  look_up(handle, "cuStreamDestroy_v2", kernels.destroy_stream, complete);
  look_up(handle, "cuStreamQuery", kernels.query, complete);
  look_up(handle, "cuStreamIsCapturing", kernels.is_capturing, complete);
  look_up(handle, "cuStreamWriteValue64_v2", kernels.write_value, complete);
  look_up(handle, "cuStreamWaitValue64_v2", kernels.wait_value, complete);
}

const Driver* open(const std::string& name) {
  void* const handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD); // kept: the driver stays as long as the process
  if (handle == nullptr) {
    return nullptr;
  }
  static Driver driver; // once: see loaded_driver()
  bool complete = true;
  look_up(handle, "cuPointerGetAttributes", driver.pointer_attributes, complete);
  look_up(handle, "cuCtxPushCurrent_v2", driver.push_context, complete);
  look_up(handle, "cuCtxPopCurrent_v2", driver.pop_context, complete);
  look_up(handle, "cuDevicePrimaryCtxRetain", driver.retain_primary_context, complete);
  look_up(handle, "cuStreamCreate", driver.create_stream, complete);
  look_up(handle, "cuStreamSynchronize", driver.synchronize, complete);
  look_up(handle, "cuMemcpyDtoHAsync_v2", driver.copy_to_host, complete);
  look_up(handle, "cuMemcpyHtoDAsync_v2", driver.copy_to_device, complete);
  look_up(handle, "cuMemHostRegister_v2", driver.register_host, complete);
  look_up(handle, "cuMemHostUnregister", driver.unregister_host, complete);
  look_up(handle, "cuGetErrorName", driver.error_name, complete);
  bool optional = true;
  look_up(handle, "cuThreadExchangeStreamCaptureMode", driver.exchange_capture_mode, optional);
  look_up_kernels(handle, driver);
  return complete ? &driver : nullptr;
}

} // namespace

const Driver* loaded_driver() {
  static std::atomic<const Driver*> driver{nullptr};
  static std::atomic<unsigned long long> looked_at{0}; // libraries that had been loaded by then
  static std::mutex mutex;
  const Driver* known = driver.load(std::memory_order_acquire); // released below
  if (known != nullptr) {
    return known;
  }
  const unsigned long long loaded = libraries_loaded();
  if (loaded == looked_at.load(std::memory_order_relaxed)) {
    return nullptr;
  }
  const std::lock_guard lock(mutex);
  known = driver.load(std::memory_order_relaxed);
  if (known == nullptr) {
    if (const std::string name = loaded_library(); !name.empty()) {
      known = open(name);
    }
    driver.store(known, std::memory_order_release);
    looked_at.store(loaded, std::memory_order_relaxed);
  }
  return known;
}

std::string Driver::name_of(int code) const {
  const char* text = nullptr;
  return error_name(code, &text) == 0 && text != nullptr ? text : "error " + std::to_string(code);
}

} // namespace stoker::engine
