// SPDX-License-Identifier: BSD-3-Clause
// Files that a command writes when its work is done.
#pragma once

#include <string>

namespace stoker::cli {

// Work may take minutes or hours, so a file that cannot be written is told before. Throws
// std::invalid_argument, which names the option. Empty paths are none.
void check_writable(const std::string& option, const std::string& path);

// Writes the text to the path that the option names, or to standard output if there is none. Where it cannot,
// the text goes to standard output, and std::runtime_error is thrown.
void write_output(const std::string& option, const std::string& path, const std::string& text);

} // namespace stoker::cli
