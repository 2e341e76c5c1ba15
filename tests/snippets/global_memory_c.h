/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of programs in docs/global-memory.md take for granted. */
#include <stoker/stoker_global.h>

#include <stdint.h>

extern stoker_engine engine;
extern stoker_global global;
extern stoker_gptr flag, halo, *bins;
extern int n, rank, right;
extern int64_t one, task, *ones, *before;
extern uint64_t step;
extern double result, row[1000];
void compute(void);
