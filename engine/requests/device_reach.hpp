// SPDX-License-Identifier: BSD-3-Clause
// Whether the kernels of devices can carry a request out, which ranks share a device, and where the buffers of all ranks
// are for this process's launches.
#pragma once

#include "engine/base/error.hpp"
#include "engine/core/engine.hpp"
#include "engine/device/shared_memory.hpp"
#include "engine/device_kernel/launcher.hpp"
#include "engine/requests/request.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace stoker::engine {

class DeviceReach {
public:
  struct Own {
    const std::byte* address = nullptr; // null: there are no data
    const char* argument = nullptr;
    DeviceBuffer buffer;
  };

  [[nodiscard]] const Device& device() const { return device_; } // of this rank's data
  [[nodiscard]] const device::Kernel& kernel() const { return kernel_; }
  // The device's address, in this process, of a rank's send or receive buffer; null where it has no data.
  [[nodiscard]] std::byte* address(int rank, algos::Buffer buffer) const {
    return addresses_[2 * static_cast<std::size_t>(rank) + static_cast<std::size_t>(buffer)];
  }
  // The devices of all ranks are numbered in the order of their lowest ranks.
  [[nodiscard]] std::size_t devices() const { return ranks_on_.size(); }
  [[nodiscard]] std::size_t device_of(int rank) const { return device_of_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const std::vector<int>& ranks_on(std::size_t device) const { return ranks_on_[device]; }
  // So many blocks of each rank run at the same time, on every device.
  [[nodiscard]] std::uint32_t most_blocks() const { return most_blocks_; }
  // So many blocks of all requests over several devices may be under way on this rank's device, as far as this process
  // is concerned. Half of what runs at the same time is left to others that wait for devices.
  [[nodiscard]] std::uint32_t room() const { return room_; }
  // Throws Error(access), which names the argument, if this rank's buffers are not allocated any more.
  void check_allocated() const;

private:
  friend class DeviceSearch;
  Device device_;
  device::Kernel kernel_;
  Own own_[2]; // by algos::Buffer: send, recv
  std::vector<ImportedMemory> imports_;
  std::vector<std::byte*> addresses_;
  std::vector<std::size_t> device_of_;
  std::vector<std::vector<int>> ranks_on_; // in their order
  std::uint32_t most_blocks_ = 0;
  std::uint32_t room_ = 0;
};

// On all ranks: the kernel was to carry the request out if possible, which it is not.
class KernelUnfit : public Error {
public:
  explicit KernelUnfit(const Error& reason) : Error(reason) {}
};

// What the caller wants.
[[nodiscard]] DeviceUse device_use(const Engine& engine, algos::Collective collective, MPI_Info info);

// Collective, once the plan has its buffers and the ranks agree on what is wanted: if kernels can carry the request
// out, its executor is the device, and its buffers need no paths. If not, and it is required, throws Error on all ranks,
// with the reason of the lowest rank that has one.
void take_device(Engine& engine, algos::Collective collective, RequestPlan& plan);

} // namespace stoker::engine
