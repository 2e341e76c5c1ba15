/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiles when api/include/stoker/stoker_blocking.h needs nothing before it. Built as C99, as C11 and, by
 * header_alone_blocking.cpp, as C++. */
#include <stoker/stoker_blocking.h>
#include <stoker/stoker_blocking.h> /* and may be included twice */ /* NOLINT(readability-duplicate-include) */

int stoker_blocking_header_alone(void);
int stoker_blocking_header_alone(void) { return stoker_barrier(MPI_COMM_NULL, STOKER_ENGINE_NULL); }
