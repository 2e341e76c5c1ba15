// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into MPICH jobs that share cores. A rank of MPICH's that waits spins, and takes the core from the rank that
// it waits for until the scheduler's next slice. Here it gives the core away whenever UCX has found nothing to do.
//
// Built as two libraries. libyield_shim.so yields the core, as ranks of Open MPI's do with mpi_yield_when_idle.
// libnap_shim.so (NAPS) sleeps after a while, so that a core is left for another job; tests/rig/mpirun preloads it.
#include "nap.h"

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

static void wait_a_little(unsigned times_in_vain) {
#ifdef NAPS
  yield_or_nap(times_in_vain);
#else
  (void)times_in_vain;
  (void)sched_yield();
#endif
}

unsigned ucp_worker_progress(void* worker) {
  static _Thread_local unsigned times_in_vain;
  const unsigned moved = next()(worker);
  if (moved == 0) {
    wait_a_little(++times_in_vain);
  } else {
    times_in_vain = 0;
  }
  return moved;
}
