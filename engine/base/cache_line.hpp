// SPDX-License-Identifier: BSD-3-Clause
// How far apart words must lie that different threads write, so that none waits for the other's cache line.
#pragma once

#include <cstddef>

namespace stoker::engine {

// The longest line of any processor of the kind, because one build serves them all. Of aarch64 that is A64FX's; Apple's
// have 128 bytes, most others 64. Too long a distance costs memory, and no time.
#if defined(__aarch64__)
inline constexpr std::size_t cache_line = 256;
#else
inline constexpr std::size_t cache_line = 64;
#endif

} // namespace stoker::engine
