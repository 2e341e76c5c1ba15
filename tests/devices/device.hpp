// SPDX-License-Identifier: BSD-3-Clause
// Memory of a device, as a test has it. STOKER_TEST_DRIVER names the driver: a stand-in for it (stand_in.hpp),
// or, if it is not set, that of a real device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace device_tests {

enum class Kind : std::uint8_t { device, pool, managed, pinned };

// That which memory and streams are of where none is named.
[[nodiscard]] int usual_device();
void set_usual_device(int ordinal);

class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(std::size_t bytes, Kind kind = Kind::device,
               int device = usual_device()); // ends the process where there is none
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory() { free(); }

  [[nodiscard]] unsigned char* address() const { return address_; } // null: there is none
  void upload(const void* from, std::size_t bytes) const;
  void download(void* to, std::size_t bytes) const;
  void free();
  void forget() { address_ = nullptr; } // what is gone already

private:
  unsigned char* address_ = nullptr;
  Kind kind_ = Kind::device;
  int device_ = 0;
};

// A stream of a device, as an application has one.
class Stream {
public:
  explicit Stream(int device = usual_device());
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  [[nodiscard]] void* handle() const { return stream_; }
  // In its order. The bytes of the host must stay until the stream is synchronized.
  void upload(const DeviceMemory& to, const void* from, std::size_t bytes) const;
  void download(void* to, const DeviceMemory& from, std::size_t bytes) const;
  void synchronize() const;

private:
  void* stream_ = nullptr;
  int device_;
};

// Loads the driver, as a program does that uses a device. Ends the process where there is none.
void load_driver();
// A function of it.
[[nodiscard]] void* driver_function(const char* name); // null: there is no such
// How often it was asked where memory is; 0 always for a real one.
[[nodiscard]] int questions();

} // namespace device_tests
