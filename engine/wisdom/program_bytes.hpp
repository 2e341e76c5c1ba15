// SPDX-License-Identifier: BSD-3-Clause
// Compiled programs as bytes, to be kept in files.
#pragma once

#include "algos/schedule/schedule.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace stoker::engine {

// Member by member, so that equal programs give equal bytes whatever lies between members. In this machine's byte
// order.
[[nodiscard]] std::vector<std::byte> to_bytes(const algos::Program& program);

// The program that to_bytes() was given, whole and without a defect. Throws std::invalid_argument that says what is
// wrong with bytes that are not one.
[[nodiscard]] algos::Program program_from(std::span<const std::byte> bytes);

} // namespace stoker::engine
