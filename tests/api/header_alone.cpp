// SPDX-License-Identifier: BSD-3-Clause
// Compiles when api/include/stoker/stoker.h is C++ as well and needs nothing before it.
#include "tests/api/header_alone.c" // NOLINT(bugprone-suspicious-include): the same text in the other language
