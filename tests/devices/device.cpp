// SPDX-License-Identifier: BSD-3-Clause
#include "tests/devices/device.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace device_tests {
namespace {

using Address = std::uint64_t;

[[noreturn]] void end(const char* what, int code) {
  std::fprintf(stderr, "device: %s failed: %d\n", what, code);
  std::abort();
}

void* driver() {
  static void* const handle = [] {
    const char* const name = std::getenv("STOKER_TEST_DRIVER");
    void* const opened = dlopen(name != nullptr ? name : "libcuda.so.1", RTLD_NOW);
    if (opened == nullptr) {
      std::fprintf(stderr, "device: %s\n", dlerror());
      std::abort();
    }
    return opened;
  }();
  return handle;
}

// Ends the process where the call fails.
template <class... Arguments>
void call(const char* name, Arguments... arguments) {
  auto* const function = reinterpret_cast<int (*)(Arguments...)>(driver_function(name));
  const int code = function != nullptr ? function(arguments...) : -1;
  if (code != 0) {
    end(name, code);
  }
}

class InPrimaryContext {
public:
  explicit InPrimaryContext(int ordinal) {
    load_driver();
    int device = 0;
    void* context = nullptr;
    call<int*, int>("cuDeviceGet", &device, ordinal);
    call<void**, int>("cuDevicePrimaryCtxRetain", &context, device);
    call<void*>("cuCtxPushCurrent_v2", context);
  }
  InPrimaryContext(const InPrimaryContext&) = delete;
  InPrimaryContext& operator=(const InPrimaryContext&) = delete;
  ~InPrimaryContext() {
    void* ignored = nullptr;
    call<void**>("cuCtxPopCurrent_v2", &ignored);
  }
};

int usual = 0;

} // namespace

int usual_device() { return usual; }
void set_usual_device(int ordinal) { usual = ordinal; }

void* driver_function(const char* name) { return dlsym(driver(), name); }

int questions() {
  auto* const asked = reinterpret_cast<int (*)()>(driver_function("stand_in_questions"));
  return asked != nullptr ? asked() : 0;
}

void load_driver() { call<unsigned>("cuInit", 0U); }

DeviceMemory::DeviceMemory(std::size_t bytes, Kind kind, int device) : kind_(kind), device_(device) {
  const InPrimaryContext in(device);
  Address address = 0;
  void* pointer = nullptr;
  switch (kind) {
  case Kind::device:
    call<Address*, std::size_t>("cuMemAlloc_v2", &address, bytes);
    break;
  case Kind::pool:
    call<Address*, std::size_t, void*>("cuMemAllocAsync", &address, bytes, nullptr);
    break;
  case Kind::managed:
    call<Address*, std::size_t, unsigned>("cuMemAllocManaged", &address, bytes, 1U); // whichever stream
    break;
  case Kind::pinned:
    call<void**, std::size_t, unsigned>("cuMemHostAlloc", &pointer, bytes, 0U);
    break;
  }
  address_ = kind == Kind::pinned ? static_cast<unsigned char*>(pointer) : reinterpret_cast<unsigned char*>(address);
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), kind_(other.kind_), device_(other.device_) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(kind_, other.kind_);
  std::swap(device_, other.device_);
  return *this;
}

void DeviceMemory::upload(const void* from, std::size_t bytes) const {
  if (bytes == 0) {
    return;
  }
  if (kind_ == Kind::pinned) {
    std::memcpy(address_, from, bytes);
    return;
  }
  const InPrimaryContext in(device_);
  call<Address, const void*, std::size_t>("cuMemcpyHtoD_v2", reinterpret_cast<Address>(address_), from, bytes);
}

void DeviceMemory::download(void* to, std::size_t bytes) const {
  if (bytes == 0) {
    return;
  }
  if (kind_ == Kind::pinned) {
    std::memcpy(to, address_, bytes);
    return;
  }
  const InPrimaryContext in(device_);
  call<void*, Address, std::size_t>("cuMemcpyDtoH_v2", to, reinterpret_cast<Address>(address_), bytes);
}

Stream::Stream(int device) : device_(device) {
  const InPrimaryContext in(device);
  call<void**, unsigned>("cuStreamCreate", &stream_, 1U); // apart from the default stream
}

Stream::~Stream() {
  const InPrimaryContext in(device_);
  call<void*>("cuStreamDestroy_v2", stream_);
}

void Stream::upload(const DeviceMemory& to, const void* from, std::size_t bytes) const {
  const InPrimaryContext in(device_);
  call<Address, const void*, std::size_t, void*>("cuMemcpyHtoDAsync_v2", reinterpret_cast<Address>(to.address()), from,
                                                 bytes, stream_);
}

void Stream::download(void* to, const DeviceMemory& from, std::size_t bytes) const {
  const InPrimaryContext in(device_);
  call<void*, Address, std::size_t, void*>("cuMemcpyDtoHAsync_v2", to, reinterpret_cast<Address>(from.address()), bytes,
                                           stream_);
}

void Stream::synchronize() const {
  const InPrimaryContext in(device_);
  call<void*>("cuStreamSynchronize", stream_);
}

void DeviceMemory::free() {
  if (address_ == nullptr) {
    return;
  }
  const InPrimaryContext in(device_);
  if (kind_ == Kind::pinned) {
    call<void*>("cuMemFreeHost", address_);
  } else {
    call<Address>("cuMemFree_v2", reinterpret_cast<Address>(address_));
  }
  address_ = nullptr;
}

} // namespace device_tests
