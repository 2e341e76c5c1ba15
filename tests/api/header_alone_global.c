/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiles when api/include/stoker/stoker_global.h needs nothing before it. Built as C99, as C11 and, by
 * header_alone_global.cpp, as C++. */
#include <stoker/stoker_global.h>
#include <stoker/stoker_global.h> /* and may be included twice */ /* NOLINT(readability-duplicate-include) */

int stoker_global_header_alone(void);
int stoker_global_header_alone(void) {
  stoker_gptr pointer = {STOKER_GPTR_NULL_UNIT, 0, 0};
  stoker_global_statistics statistics;
  statistics.size = sizeof statistics;
  return pointer.unit + (int)statistics.size;
}
