/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of programs in docs/drop-in.md take for granted. */
#include <mpi.h>

#include <stdio.h>

extern int rank;
void compute(void);
