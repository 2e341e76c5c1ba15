// SPDX-License-Identifier: BSD-3-Clause
// The computations that communication is overlapped with. They make no MPI call, and their work is counted in units, so
// that every way of communicating is given exactly the same work, not the same time.
#pragma once

#include "bench/lib/device.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stoker::bench {

class Kernel {
public:
  virtual ~Kernel() = default;
  virtual void run(std::uint64_t units) = 0;
};

// Multiply-add chains in registers: needs the core and nothing else.
class RegisterKernel final : public Kernel {
public:
  void run(std::uint64_t units) override;

private:
  double result_ = 0; // keeps the chains from being optimised away
};

// STREAM's triad, a = b + s * c, round and round through `bytes` of memory: needs memory bandwidth. One unit is one
// element; each call goes on where the last one stopped.
class MemoryKernel final : public Kernel {
public:
  explicit MemoryKernel(std::size_t bytes);
  void run(std::uint64_t units) override;

private:
  std::vector<double> a_, b_, c_;
  std::size_t position_ = 0;
};

// An accelerator computes, and the core is free: see Device::compute. Where there is no device the rank's thread sleeps
// instead, and one unit is one microsecond.
class DeviceKernel final : public Kernel {
public:
  explicit DeviceKernel(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  void run(std::uint64_t units) override;

private:
  std::shared_ptr<Device> device_;
};

// "register", "memory" or "device". `device`: may be null.
std::unique_ptr<Kernel> make_kernel(const std::string& name, std::size_t memory_bytes, std::shared_ptr<Device> device);

// Units, the same on all ranks, that take `target_us` when all ranks compute at the same time. Collective.
std::uint64_t calibrate(MPI_Comm comm, Kernel& kernel, double target_us);

} // namespace stoker::bench
