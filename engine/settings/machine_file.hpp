// SPDX-License-Identifier: BSD-3-Clause
// Machines as TOML files, in the units of data sheets: microseconds, GB/s (10^9 bytes), bytes. docs/simulation.md
// explains the keys; docs/machines has files.
#pragma once

#include "algos/select/machine.hpp"

#include <string>

namespace stoker::engine {

// Throws std::runtime_error that names the file, the line, the key and what was expected.
[[nodiscard]] algos::Machine read_machine(const std::string& path);
// The same for the text of a file, which errors call `path`.
[[nodiscard]] algos::Machine parse_machine(const std::string& text, const std::string& path);
// What read_machine reads as the same machine.
[[nodiscard]] std::string machine_text(const algos::Machine& machine);

} // namespace stoker::engine
