// SPDX-License-Identifier: BSD-3-Clause
// Compute kernels: see kernels.hpp.
#include "bench/lib/kernels.hpp"

#include "bench/lib/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <utility>

namespace stoker::bench {

void RegisterKernel::run(std::uint64_t units) {
  // Single variables, which the compiler keeps in registers. They tend to 1: neither overflow nor denormal numbers.
  double a = 0;
  double b = 2;
  double c = 3;
  double d = 4;
  for (std::uint64_t unit = 0; unit < units; ++unit) {
    a = a * 0.999 + 0.001;
    b = b * 0.999 + 0.001;
    c = c * 0.999 + 0.001;
    d = d * 0.999 + 0.001;
  }
  result_ += a + b + c + d;
}

MemoryKernel::MemoryKernel(std::size_t bytes) {
  const std::size_t elements = std::max<std::size_t>(1, bytes / (3 * sizeof(double)));
  a_.assign(elements, 0.0);
  b_.assign(elements, 1.0);
  c_.assign(elements, 2.0);
}

void MemoryKernel::run(std::uint64_t units) {
  while (units > 0) {
    const auto elements = static_cast<std::size_t>(std::min<std::uint64_t>(units, a_.size() - position_));
    double* a = a_.data() + position_;
    const double* b = b_.data() + position_;
    const double* c = c_.data() + position_;
    for (std::size_t i = 0; i < elements; ++i) {
      a[i] = b[i] + 3.0 * c[i];
    }
    position_ = (position_ + elements) % a_.size();
    units -= elements;
  }
}

void DeviceKernel::run(std::uint64_t units) {
  if (device_ != nullptr) {
    device_->compute(units);
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(units));
  }
}

std::unique_ptr<Kernel> make_kernel(const std::string& name, std::size_t memory_bytes, std::shared_ptr<Device> device) {
  if (name == "register") {
    return std::make_unique<RegisterKernel>();
  }
  if (name == "memory") {
    return std::make_unique<MemoryKernel>(memory_bytes);
  }
  if (name == "device") {
    return std::make_unique<DeviceKernel>(std::move(device));
  }
  throw std::invalid_argument("no such compute kernel: " + name + " (there are register, memory and device)");
}

std::uint64_t calibrate(MPI_Comm comm, Kernel& kernel, double target_us) {
  constexpr std::uint64_t first_guess = 1000;
  constexpr int refinements = 2; // by rate, then by what was aimed for
  std::uint64_t units = first_guess;
  for (int i = 0; i < refinements; ++i) {
    const double time = estimate_us(comm, [&] { kernel.run(units); });
    units = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::llround(static_cast<double>(units) * target_us / time)));
  }
  return units;
}

} // namespace stoker::bench
