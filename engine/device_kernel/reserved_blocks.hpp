// SPDX-License-Identifier: BSD-3-Clause
// Room on a device for kernels that wait for those of other devices.
#pragma once

#include "engine/device/shared_memory.hpp"

#include <cstdint>
#include <utility>

namespace stoker::engine::device {

// Blocks that are set aside among those which a device runs at the same time for this process, for as long as this
// lives. If each kernel that waits for others has such blocks on its device, all of them get onto their devices,
// whatever the order. Thread-safe.
class ReservedBlocks {
public:
  ReservedBlocks() = default;
  // `most`: what the device runs at the same time for this process. Throws Error(resource) if they are not left.
  ReservedBlocks(const Device& device, std::uint32_t blocks, std::uint32_t most);
  ReservedBlocks(ReservedBlocks&& other) noexcept
      : context_(other.context_), blocks_(std::exchange(other.blocks_, 0)) {}
  ReservedBlocks& operator=(ReservedBlocks&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(blocks_, other.blocks_);
    return *this;
  }
  ~ReservedBlocks();

private:
  Driver::Context context_ = nullptr;
  std::uint32_t blocks_ = 0;
};

} // namespace stoker::engine::device
