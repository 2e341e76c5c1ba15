// SPDX-License-Identifier: BSD-3-Clause
// The file with the kernel for devices, which the build leaves beside the libraries where there was a compiler for it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stoker::engine {

// Where it is: `setting` is a path, or "auto": beside the library or program that this code is in, or in the build tree.
// Empty: there is none.
[[nodiscard]] std::string kernel_file(const std::string& setting);

// What is in it; a zero behind it. Throws Error(resource).
[[nodiscard]] std::vector<std::byte> kernel_image(const std::string& path);

} // namespace stoker::engine
