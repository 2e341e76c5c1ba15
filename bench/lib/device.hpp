// SPDX-License-Identifier: BSD-3-Clause
// A CUDA device, by its driver, which is loaded where it is wanted: buffers in its memory, and a computation on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace stoker::bench {

class Device {
public:
  // The rank's device; ranks of a node take turns where there are several. Null where there is no driver, or no device.
  // STOKER_BENCH_DRIVER names another driver than libcuda.so.1.
  static std::shared_ptr<Device> find(int rank_on_node);
  virtual ~Device() = default;

  [[nodiscard]] virtual const std::string& name() const = 0; // the product's
  // All throw std::runtime_error with the driver's word. Those that copy, and compute(), return when that is done; the
  // thread sleeps meanwhile.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void free(std::byte* memory) = 0;
  virtual std::byte* allocate_pinned(std::size_t bytes) = 0; // of the host
  virtual void free_pinned(std::byte* memory) = 0;
  virtual void copy_to_device(std::byte* target, std::span<const std::byte> source) = 0;
  virtual void copy_to_host(std::span<std::byte> target, const std::byte* source) = 0;
  // Multiplies and adds in registers, `units` times in every thread of the whole device.
  virtual void compute(std::uint64_t units) = 0;
};

// A buffer on a device, with a copy in pinned memory of the host.
class DeviceArray {
public:
  DeviceArray() = default;
  DeviceArray(std::shared_ptr<Device> device, std::size_t bytes);
  DeviceArray(DeviceArray&& other) noexcept = default;
  DeviceArray& operator=(DeviceArray&& other) noexcept;
  ~DeviceArray() { release(); }

  [[nodiscard]] std::span<std::byte> memory() const { return {memory_, bytes_}; }
  [[nodiscard]] std::span<std::byte> copy() const { return {pinned_, bytes_}; }
  void upload() const; // the copy to the device, and back
  void download() const;

private:
  void release();

  std::shared_ptr<Device> device_;
  std::byte* memory_ = nullptr;
  std::byte* pinned_ = nullptr;
  std::size_t bytes_ = 0;
};

} // namespace stoker::bench
