// SPDX-License-Identifier: BSD-3-Clause
// Further names of functions that this library defines.
#pragma once

// NOLINTBEGIN(bugprone-macro-parentheses): names
#define ALIAS(other, name) extern "C" __typeof__(other) other __attribute__((alias(#name)));
// The name by which the profiling interface has it.
#define ALIAS_PMPI(name) ALIAS(P##name, name)
// NOLINTEND(bugprone-macro-parentheses)
