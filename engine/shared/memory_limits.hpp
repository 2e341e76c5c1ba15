// SPDX-License-Identifier: BSD-3-Clause
// How much memory this process may have: of the machine's, and of what its control groups allow. The kernel enforces
// their limits by killing. Containers and batch systems set them.
#pragma once

#include <cstdint>
#include <filesystem>

namespace stoker::engine {

// In bytes. `root`: where /proc and /sys are.
[[nodiscard]] std::uint64_t memory_limit(const std::filesystem::path& root = "/");
// What could be had now without swapping. File caches count as had.
[[nodiscard]] std::uint64_t available_memory(const std::filesystem::path& root = "/");

} // namespace stoker::engine
