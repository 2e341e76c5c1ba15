// SPDX-License-Identifier: BSD-3-Clause
// What the MPI library tells of itself through its tools interface.
#pragma once

#include <cstdint>
#include <optional>

namespace stoker::engine {

// Longest message in bytes, headers included, that the library sends between hosts without asking the receiver first, where it
// moves all of them over TCP. Nothing where it does not say, or has other ways. MPI must be initialised.
[[nodiscard]] std::optional<std::uint64_t> tcp_eager_limit();

} // namespace stoker::engine
