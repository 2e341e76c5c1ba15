// SPDX-License-Identifier: BSD-3-Clause
// Reads programs in the form of print.hpp. They may be written by hand:
//
//   - what follows a # is a comment; empty lines do not matter;
//   - the number of steps in a heading, and the bytes of a step, may be left out. Where they stand they must be right.
#pragma once

#include "algos/schedule/schedule.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace stoker::algos {

// The programs of all ranks, which may come in any order; the result is in rank order, and each program is free of
// defects (find_defect). Throws std::invalid_argument: line, what stands there, what was expected. `first_line`: the
// number of the text's first line in its file.
[[nodiscard]] std::vector<Program> parse_programs(std::string_view text, std::size_t first_line = 1);

// The next line of `text`, without a comment; `text` loses it.
[[nodiscard]] std::string_view take_line(std::string_view& text);

} // namespace stoker::algos
