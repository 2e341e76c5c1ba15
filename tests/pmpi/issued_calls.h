/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that reach the MPI library: MPI_Allreduce and MPI_Iallreduce of one length, which nothing of stoker's own
 * has. */
#ifndef STOKER_TESTS_ISSUED_CALLS_H
#define STOKER_TESTS_ISSUED_CALLS_H

enum { watched_count = 8192 };

/* Since the process began. Not there unless the library that counts is preloaded. */
__attribute__((weak)) int issued_blocking(void);
__attribute__((weak)) int issued_nonblocking(void);

#endif
