// SPDX-License-Identifier: BSD-3-Clause
#include "engine/device/shared_memory.hpp"

#include "engine/base/error.hpp"
#include "engine/device/device_context.hpp"

namespace stoker::engine {
namespace {

// Values of cuda.h.
constexpr int buffer_id_attribute = 7;
constexpr int ipc_capable_attribute = 10;
constexpr int mps_attribute = 133;
constexpr unsigned enable_peer_access = 1;
constexpr unsigned portable = 1;
constexpr unsigned device_map = 2;

template <class T>
T pointer_attribute(const Driver& driver, int name, const void* address) {
  T value{};
  void* place = &value;
  return driver.pointer_attributes(1, &name, &place, address_of(address)) == 0 ? value : T{};
}

} // namespace

int Device::attribute(int name) const {
  int value = 0;
  return driver->kernels.device_attribute(&value, name, ordinal) == 0 ? value : 0;
}

unsigned long long Device::context_number() const {
  unsigned long long number = 0;
  check(*driver, driver->kernels.context_id(context, &number), "cuCtxGetId", nullptr);
  return number;
}

bool Device::runs_processes_together() const { return attribute(mps_attribute) != 0; }

DeviceBuffer shared_buffer(const void* address, std::uint64_t bytes) {
  const Driver& driver = *loaded_driver(); // there is device memory
  const AllocationFacts facts = facts_of(driver, address);
  const bool within = facts.contain(address) && bytes <= facts.bytes - (address_of(address) - facts.begin);
  if (facts.is_managed != 0 || !within || pointer_attribute<unsigned>(driver, ipc_capable_attribute, address) == 0) {
    throw Error(Code::access, "other processes cannot map it; expected memory of cudaMalloc");
  }
  DeviceBuffer buffer{.device = {&driver, context_of(driver, facts, address), facts.device},
                      .id = pointer_attribute<std::uint64_t>(driver, buffer_id_attribute, address),
                      .offset = address_of(address) - facts.begin};
  const CurrentContext current(driver, buffer.device.context);
  current.check_entered(address);
  check(driver, driver.kernels.export_memory(&buffer.handle, facts.begin), "cuIpcGetMemHandle", address);
  return buffer;
}

void settle_synchronous_calls(const DeviceBuffer& buffer, const void* address) {
  const Driver& driver = *buffer.device.driver;
  check(driver, settle_synchronous_calls(driver, buffer.device.context, address), "cuPointerSetAttribute", address);
}

bool is_allocated(const DeviceBuffer& buffer, const void* address) {
  return pointer_attribute<std::uint64_t>(*buffer.device.driver, buffer_id_attribute, address) == buffer.id;
}

DeviceAllocation::DeviceAllocation(const Device& device, std::size_t bytes) : device_(device) {
  const CurrentContext current(*device.driver, device.context);
  current.check_entered();
  if (const int code = device.driver->kernels.allocate(&address_, bytes); code != 0) {
    throw Error(Code::resource, "cuMemAlloc of {} bytes failed ({})", bytes, device.driver->name_of(code));
  }
}

DeviceAllocation::~DeviceAllocation() {
  if (address_ != 0) {
    const CurrentContext current(*device_.driver, device_.context);
    if (current.entered()) { // else it is gone, with all its memory
      device_.driver->kernels.free(address_);
    }
  }
}

MemoryHandle DeviceAllocation::handle() const {
  MemoryHandle handle{};
  const CurrentContext current(*device_.driver, device_.context);
  current.check_entered();
  check(*device_.driver, device_.driver->kernels.export_memory(&handle, address_), "cuIpcGetMemHandle", address());
  return handle;
}

ImportedMemory::ImportedMemory(const Device& device, const MemoryHandle& handle) : device_(device) {
  const CurrentContext current(*device.driver, device.context);
  current.check_entered();
  const int code = device.driver->kernels.import_memory(&address_, handle, enable_peer_access);
  if (code != 0) {
    throw Error(Code::access,
                "cuIpcOpenMemHandle of another process's memory failed ({}); expected processes that share "
                "their PID namespace, and a device, or devices that reach each other's memory",
                device.driver->name_of(code));
  }
}

ImportedMemory::~ImportedMemory() {
  if (address_ != 0) {
    const CurrentContext current(*device_.driver, device_.context);
    if (current.entered()) {
      device_.driver->kernels.close_imported(address_);
    }
  }
}

MappedPages::MappedPages(const Device& device, void* pages, std::size_t bytes) : device_(device) {
  const Driver& driver = *device.driver;
  const CurrentContext current(driver, device.context);
  current.check_entered();
  check(driver, driver.register_host(pages, bytes, portable | device_map), "cuMemHostRegister", pages);
  pages_ = pages;
  if (const int code = driver.kernels.address_of_registered(&mapped_, pages, 0); code != 0) {
    driver.unregister_host(std::exchange(pages_, nullptr)); // no destructor runs
    check(driver, code, "cuMemHostGetDevicePointer", pages);
  }
}

MappedPages::~MappedPages() {
  if (pages_ != nullptr) {
    const CurrentContext current(*device_.driver, device_.context);
    device_.driver->unregister_host(pages_);
  }
}

} // namespace stoker::engine
