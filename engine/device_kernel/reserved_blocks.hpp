// SPDX-License-Identifier: BSD-3-Clause
// Room on a device for kernels that wait for those of other devices.
#pragma once

#include "engine/device/shared_memory.hpp"

#include <cstdint>
#include <utility>

namespace stoker::engine::device {

// Blocks that are set aside among those which a device can run at the same time, for as long as this lives. If each
// kernel that waits for others has such blocks on its device, all of them get onto their devices, whatever the order.
// Thread-safe.
class ReservedBlocks {
public:
  ReservedBlocks() = default;
  // `room`: for all such kernels of this process on that device. Throws Error(resource) if what is left is less.
  ReservedBlocks(const Device& device, std::uint32_t blocks, std::uint32_t room);
  ReservedBlocks(ReservedBlocks&& other) noexcept
      : context_number_(other.context_number_), blocks_(std::exchange(other.blocks_, 0)) {}
  ReservedBlocks& operator=(ReservedBlocks&& other) noexcept {
    std::swap(context_number_, other.context_number_);
    std::swap(blocks_, other.blocks_);
    return *this;
  }
  ~ReservedBlocks();

private:
  unsigned long long context_number_ = 0;
  std::uint32_t blocks_ = 0;
};

} // namespace stoker::engine::device
