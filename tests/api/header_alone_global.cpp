// SPDX-License-Identifier: BSD-3-Clause
// The C header of global memory, alone in C++.
#include "tests/api/header_alone_global.c" // NOLINT(bugprone-suspicious-include): the same text in the other language
