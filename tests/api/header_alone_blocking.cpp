// SPDX-License-Identifier: BSD-3-Clause
// The C header of blocking collectives, alone in C++.
#include "tests/api/header_alone_blocking.c" // NOLINT(bugprone-suspicious-include): the same text in the other language
