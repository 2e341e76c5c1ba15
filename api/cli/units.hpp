// SPDX-License-Identifier: BSD-3-Clause
// Sizes and times as people read them.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace stoker::cli {

// "8 B", "4 KiB", "1536 B".
[[nodiscard]] inline std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> units = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; bytes > 0 && bytes % 1024 == 0 && unit + 1 < units.size(); ++unit) {
    bytes /= 1024;
  }
  return fmt::format("{} {}", bytes, units[unit]);
}

struct TimeUnit {
  double seconds;
  std::string_view name;
};
// The one in which so many seconds are 1 or more.
[[nodiscard]] inline TimeUnit time_unit(double seconds) {
  return seconds >= 1 ? TimeUnit{1, "s"} : seconds >= 1e-3 ? TimeUnit{1e-3, "ms"} : TimeUnit{1e-6, "us"};
}

} // namespace stoker::cli
