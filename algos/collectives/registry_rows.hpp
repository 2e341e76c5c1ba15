// SPDX-License-Identifier: BSD-3-Clause
// The registry's rows, by the kind of problem, in the order of the collectives.
#pragma once

#include "algos/collectives/registry.hpp"

#include <array>
#include <span>

namespace stoker::algos {

[[nodiscard]] std::span<const Algorithm> alltoall_rows(); // neighborhoods' too
[[nodiscard]] std::span<const Algorithm> vector_rows();

template <const auto&... parameters>
constexpr std::array list_of{parameters...};

} // namespace stoker::algos
