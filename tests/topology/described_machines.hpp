// SPDX-License-Identifier: BSD-3-Clause
// Machines that hwloc makes of a description.
#pragma once

namespace stoker::topology {

inline constexpr const char* one_numa = "core:4 pu:1";
inline constexpr const char* two_by_four = "package:2 [numa] core:4 pu:1";
inline constexpr const char* four_numa_smt = "package:2 numa:2 core:4 pu:2"; // CPUs 2k and 2k+1 share core k

} // namespace stoker::topology
