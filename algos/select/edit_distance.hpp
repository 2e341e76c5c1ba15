// SPDX-License-Identifier: BSD-3-Clause
// For suggestions: how far a name that was written is from one that exists.
#pragma once

#include <cstddef>
#include <string_view>

namespace stoker::algos {

// Levenshtein's: insertions, deletions and replacements of a character.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

} // namespace stoker::algos
