/* SPDX-License-Identifier: BSD-3-Clause */
/* Which MPI library a test runs with: the one that is loaded, as the standard ABI leaves it open until
   then. Any thread may ask, also before MPI_Init and after MPI_Finalize. */
#ifndef STOKER_TESTS_MPI_LIBRARY_H
#define STOKER_TESTS_MPI_LIBRARY_H

#include <mpi.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Its version: 402 for 4.2 of that name; 0 if it is another library. `said`: what comes before the number. */
static inline int mpi_library_version(const char* said) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  PMPI_Get_library_version(text, &length);
  const char* const at = strstr(text, said);
  int major = 0;
  int minor = 0;
  return at != NULL && sscanf(at + strlen(said), " %d.%d", &major, &minor) == 2 ? 100 * major + minor : 0;
}

#if !defined(MPICH_VERSION) && !defined(OPEN_MPI)
#define STOKER_TESTS_STANDARD_ABI
/* The library for C of the standard ABI leaves handles of Fortran to another one, and has integers of its own. */
#define MPI_Comm_c2f MPI_Comm_toint
#define MPI_Request_c2f MPI_Request_toint
#define MPI_Request_f2c MPI_Request_fromint
#endif

static inline int mpich_version(void) { return mpi_library_version("MPICH Version:"); }
static inline bool is_mpich(void) { return mpich_version() != 0; }
static inline bool is_mpich_before(int version) {
  const int is = mpich_version();
  return is != 0 && is < version;
}
static inline int open_mpi_version(void) { return mpi_library_version("Open MPI v"); }
static inline bool is_open_mpi(void) { return open_mpi_version() != 0; }
static inline bool is_open_mpi_before(int version) {
  const int is = open_mpi_version();
  return is != 0 && is < version;
}

/* The standard ABI of MPICH 5.0.2 and of Open MPI 6.0.0rc2 takes MPI_T_PVAR_ALL_HANDLES for a handle's address, and
   crashes. */
static inline bool mpi_knows_all_handles(void) {
#ifdef STOKER_TESTS_STANDARD_ABI
  return false;
#else
  return true;
#endif
}

#endif
