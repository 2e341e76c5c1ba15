// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace stoker::pmpi {

// A path's last component.
[[nodiscard]] inline std::string_view file_name_of(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

} // namespace stoker::pmpi
