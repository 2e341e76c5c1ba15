// SPDX-License-Identifier: BSD-3-Clause
// The kernel of kernel.cu, as a driver launches it.
#pragma once

#include "engine/device/stream_words.hpp"
#include "engine/device_kernel/program_layout.hpp"

#include <cstdint>
#include <string>

namespace stoker::engine::device {

struct Kernel {
  void* function = nullptr;
  std::uint32_t most_blocks = 0; // that a device can run at the same time
};

// From a file, in a context of this process, where it stays loaded. Throws Error(unsupported) if the device or its
// driver cannot run it, Error(resource) if there is no such file. Thread-safe.
[[nodiscard]] Kernel kernel_in(const Device& device, const std::string& path);

// Puts a launch of so many blocks into a stream. Throws Error(access), which names the driver's error.
void launch(const Device& device, const Kernel& kernel, const OwnStream& stream, Launch arguments,
            std::uint32_t blocks);

} // namespace stoker::engine::device
