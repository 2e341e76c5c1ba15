// SPDX-License-Identifier: BSD-3-Clause
#include "engine/device_kernel/reserved_blocks.hpp"

#include "engine/base/error.hpp"

#include <algorithm>
#include <map>
#include <mutex>

namespace stoker::engine::device {
namespace {

std::mutex reserved_mutex; // guards what follows
std::map<Driver::Context, std::uint32_t>& reserved() {
  static auto& all = *new std::map<Driver::Context, std::uint32_t>; // requests may outlive main()
  return all;
}

} // namespace

ReservedBlocks::ReservedBlocks(const Device& device, std::uint32_t blocks, std::uint32_t most)
    : context_(device.context), blocks_(blocks) {
  const std::lock_guard lock(reserved_mutex);
  std::uint32_t& taken = reserved()[context_];
  if (blocks > most - std::min(most, taken)) {
    throw Error(Code::resource,
                "requests over several devices have {} of the {} blocks that the device runs at a time, and this one "
                "needs {}; expected fewer such requests at a time",
                taken, most, blocks);
  }
  taken += blocks;
}

ReservedBlocks::~ReservedBlocks() {
  if (blocks_ != 0) {
    const std::lock_guard lock(reserved_mutex);
    reserved()[context_] -= blocks_;
  }
}

} // namespace stoker::engine::device
