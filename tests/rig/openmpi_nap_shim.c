// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into Open MPI jobs that share cores (libnap_shim.so). With mpi_yield_when_idle a rank that waits yields its
// core at each look, and so keeps one busy that another job could use. Here it sleeps after a while.
#include "nap.h"

#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

// Open MPI 4 returns nothing, which is passed on all the same.
int opal_progress(void);

static _Thread_local int in_opal_progress;
static _Thread_local unsigned times_in_vain;

// Looked up at the first call: an interpreter loads the MPI library long after this, and not for everybody.
static int (*next(void))(void) {
  static int (*_Atomic found)(void);
  if (found == NULL) {
    void* library = dlopen("libopen-pal.so.40", RTLD_LAZY | RTLD_NOLOAD); // Open MPI 4
    if (library == NULL) {
      library = dlopen("libopen-pal.so.80", RTLD_LAZY | RTLD_NOLOAD); // Open MPI 5
    }
    int (*function)(void) = NULL;
    *(void**)&function = dlsym(library, "opal_progress");
    found = function;
  }
  return found;
}

int opal_progress(void) {
  const unsigned before = times_in_vain;
  in_opal_progress = 1;
  const int moved = next()();
  in_opal_progress = 0;
  if (times_in_vain == before) { // it did not yield: something was done
    times_in_vain = 0;
  }
  return moved;
}

// Open MPI yields inside of opal_progress, where it has found nothing to do. Everybody else just yields.
int sched_yield(void) {
  if (in_opal_progress) {
    in_opal_progress = 0; // yield_or_nap comes here again
    yield_or_nap(++times_in_vain);
    return 0;
  }
  return (int)syscall(SYS_sched_yield);
}
