/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiles when api/include/stoker/stoker.h needs nothing before it. Built as C99, as C11 and, by header_alone.cpp, as
 * C++. */
#include <stoker/stoker.h>
#include <stoker/stoker.h> /* and may be included twice */ /* NOLINT(readability-duplicate-include) */

int stoker_header_alone(void);
int stoker_header_alone(void) {
  stoker_setting setting = {"executor", "auto"};
  stoker_statistics statistics;
  stoker_engine_facts facts;
  statistics.size = sizeof statistics;
  facts.size = sizeof facts;
  return setting.key != NULL && statistics.size + facts.size > 0 ? STOKER_SUCCESS : STOKER_ERR_ARGUMENT;
}
