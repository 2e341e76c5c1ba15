// SPDX-License-Identifier: BSD-3-Clause
// Preloaded by tests/rig/mpirun into MPICH jobs with more ranks than cores. A rank of MPICH's that waits spins, and
// takes the core from the rank that it waits for until the scheduler's next slice. Here it gives the core away whenever
// UCX has found nothing to do, as ranks of Open MPI's do with mpi_yield_when_idle.
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

unsigned ucp_worker_progress(void* worker);

// Looked up at the first call: an interpreter loads the MPI library, and UCX with it, long after this.
static unsigned (*next(void))(void*) {
  static unsigned (*_Atomic found)(void*);
  if (found == NULL) {
    unsigned (*function)(void*) = NULL;
    *(void**)&function = dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_worker_progress");
    found = function;
  }
  return found;
}

unsigned ucp_worker_progress(void* worker) {
  const unsigned moved = next()(worker);
  if (moved == 0) {
    (void)sched_yield();
  }
  return moved;
}
