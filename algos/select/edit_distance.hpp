// SPDX-License-Identifier: BSD-3-Clause
// The distance between a name that was written and one that exists, for suggestions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace stoker::algos {

// Levenshtein's: insertions, deletions and replacements of a character.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);
// The nearest of the names that may have been meant; nothing where all are far.
[[nodiscard]] std::optional<std::string_view> nearest_name(std::string_view written,
                                                           std::span<const std::string_view> names);

} // namespace stoker::algos
