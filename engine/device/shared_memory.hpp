// SPDX-License-Identifier: BSD-3-Clause
// Memory that a device and several processes reach: the application's and this library's own on the device, and pages
// of the host that processes share. All throw Error(access), which names the driver's error; none is thread-safe.
#pragma once

#include "engine/device/driver.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace stoker::engine {

// A device as this process sees it.
struct Device {
  const Driver* driver = nullptr;
  Driver::Context context = nullptr;
  int ordinal = 0;

  [[nodiscard]] int attribute(int name) const; // 0 where the driver does not know it
  // No other context of this process ever has the number, at whichever address. Throws Error(access).
  [[nodiscard]] unsigned long long context_number() const;
  // By CUDA's MPS; else processes have it in turn.
  [[nodiscard]] bool runs_processes_together() const;
};

using MemoryHandle = Driver::IpcHandle; // of a whole allocation, for other processes

// What the kernel needs to know of a buffer of the application's.
struct DeviceBuffer {
  Device device;
  std::uint64_t id = 0; // of the allocation: another one at the same address has another
  MemoryHandle handle{};
  std::uint64_t offset = 0; // in the allocation
};
// Describes a buffer whose lowest byte in use is at `address`. Throws Error(access) that says what was expected if other
// processes cannot have it.
[[nodiscard]] DeviceBuffer shared_buffer(const void* address, std::uint64_t bytes);
// From now on the driver's synchronous copies of that memory are complete when they return. Throws Error(access).
void settle_synchronous_calls(const DeviceBuffer& buffer, const void* address);
// Whether the allocation is still there.
[[nodiscard]] bool is_allocated(const DeviceBuffer& buffer, const void* address);

class DeviceAllocation {
public:
  DeviceAllocation() = default;
  DeviceAllocation(const Device& device, std::size_t bytes);
  DeviceAllocation(DeviceAllocation&& other) noexcept
      : device_(other.device_), address_(std::exchange(other.address_, 0)) {}
  DeviceAllocation& operator=(DeviceAllocation&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    return *this;
  }
  ~DeviceAllocation();

  [[nodiscard]] std::byte* address() const { return reinterpret_cast<std::byte*>(address_); }
  [[nodiscard]] MemoryHandle handle() const;

private:
  Device device_;
  Driver::Address address_ = 0;
};

// Another process's allocation. The driver counts how often a process has one.
class ImportedMemory {
public:
  ImportedMemory(const Device& device, const MemoryHandle& handle);
  ImportedMemory(ImportedMemory&& other) noexcept
      : device_(other.device_), address_(std::exchange(other.address_, 0)) {}
  ImportedMemory& operator=(ImportedMemory&&) = delete;
  ~ImportedMemory();

  [[nodiscard]] std::byte* address() const { return reinterpret_cast<std::byte*>(address_); }

private:
  Device device_;
  Driver::Address address_ = 0;
};

// Whole pages of the host that a device reads and writes.
class MappedPages {
public:
  MappedPages() = default;
  MappedPages(const Device& device, void* pages, std::size_t bytes);
  MappedPages(MappedPages&& other) noexcept
      : device_(other.device_), pages_(std::exchange(other.pages_, nullptr)), mapped_(other.mapped_) {}
  MappedPages& operator=(MappedPages&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(pages_, other.pages_);
    std::swap(mapped_, other.mapped_);
    return *this;
  }
  ~MappedPages();

  // The device's address of a place in the pages.
  [[nodiscard]] Driver::Address of_device(const void* place) const {
    return mapped_ +
           static_cast<Driver::Address>(static_cast<const std::byte*>(place) - static_cast<const std::byte*>(pages_));
  }

private:
  Device device_;
  void* pages_ = nullptr;
  Driver::Address mapped_ = 0;
};

} // namespace stoker::engine
