// SPDX-License-Identifier: BSD-3-Clause
#include "engine/device_kernel/reserved_blocks.hpp"

#include "engine/base/error.hpp"

#include <algorithm>
#include <map>
#include <mutex>

namespace stoker::engine::device {
namespace {

std::mutex reserved_mutex;                                             // guards what follows
std::map<unsigned long long, std::uint32_t>& reserved() {              // by the number of the context
  static auto& all = *new std::map<unsigned long long, std::uint32_t>; // requests may outlive main()
  return all;
}

} // namespace

ReservedBlocks::ReservedBlocks(const Device& device, std::uint32_t blocks, std::uint32_t room)
    : context_number_(device.context_number()), blocks_(blocks) {
  const std::lock_guard lock(reserved_mutex);
  std::uint32_t& taken = reserved()[context_number_];
  if (blocks > room - std::min(room, taken)) {
    throw Error(Code::resource,
                "requests over several devices have {} of the {} blocks that there is room for on the device, and this "
                "one needs {}; expected fewer such requests at a time",
                taken, room, blocks);
  }
  taken += blocks;
}

ReservedBlocks::~ReservedBlocks() {
  if (blocks_ != 0) {
    const std::lock_guard lock(reserved_mutex);
    reserved()[context_number_] -= blocks_;
  }
}

} // namespace stoker::engine::device
