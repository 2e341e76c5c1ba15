// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/networks.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

namespace stoker::engine {
namespace {

bool is_empty(const char* folder) {
  std::error_code error;
  return std::filesystem::directory_iterator(folder, error) == std::filesystem::directory_iterator();
}

} // namespace

bool has_only_tcp() {
  constexpr std::array devices{"/sys/class/infiniband", "/sys/class/cxi", "/sys/class/ugni", "/sys/class/bxi"};
  return std::ranges::all_of(devices, is_empty);
}

} // namespace stoker::engine
