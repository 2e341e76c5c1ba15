// SPDX-License-Identifier: BSD-3-Clause
// Where in the application a call comes from.
#pragma once

#include "engine/settings/settings.hpp"

#include <array>
#include <compare>
#include <string>
#include <vector>

namespace stoker::pmpi {

// Return addresses in the application's frames, the innermost first; null behind the last.
struct CallPath {
  std::array<const void*, engine::Settings::most_pmpi_depth> frames{};
  auto operator<=>(const CallPath&) const = default;
};

// Where the call comes from that this thread is in and that returns there: one frame of whatever called this library,
// or as many as STOKER_PMPI_DEPTH says of those that lie neither in this library nor in the MPI library. For the advice
// the one frame lies in neither, too.
[[nodiscard]] CallPath call_path(const void* return_address);

// In words that are the same in every process of a program.
[[nodiscard]] std::vector<std::string> names_of(const CallPath& path);

} // namespace stoker::pmpi
