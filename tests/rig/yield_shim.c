// SPDX-License-Identifier: BSD-3-Clause
// Preloaded by tests/rig/mpirun into MPICH jobs with more ranks than cores. A rank of MPICH's that waits spins, and
// takes the core from the rank that it waits for until the scheduler's next slice. Here it gives the core away whenever
// UCX has found nothing to do, as ranks of Open MPI's do with mpi_yield_when_idle.
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

unsigned ucp_worker_progress(void* worker);

static unsigned (*next)(void*) = NULL;

__attribute__((constructor)) static void find_next(void) { *(void**)&next = dlsym(RTLD_NEXT, "ucp_worker_progress"); }

unsigned ucp_worker_progress(void* worker) {
  const unsigned moved = next(worker);
  if (moved == 0) {
    (void)sched_yield();
  }
  return moved;
}
