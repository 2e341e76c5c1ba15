// SPDX-License-Identifier: BSD-3-Clause
// Names of places in the program, where it has debug information and libdw (elfutils) is installed.
#pragma once

#include <string>

namespace stoker::pmpi {

// "function (file:line)" of the call that returns to `address`; empty if that is not known.
[[nodiscard]] std::string source_of(const void* address);

} // namespace stoker::pmpi
