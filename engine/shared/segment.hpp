// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/base/owned_fd.hpp"

#include <cstdint>

namespace stoker::engine {

// A memfd that can be sealed, and that no process can execute. Throws Error(resource).
[[nodiscard]] OwnedFd new_segment(const char* name);

// Bytes. What makes a segment larger than that is killed by SIGXFSZ.
[[nodiscard]] std::uint64_t file_size_limit();

} // namespace stoker::engine
