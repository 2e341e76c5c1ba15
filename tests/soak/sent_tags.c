// SPDX-License-Identifier: BSD-3-Clause
// The highest tag that the drop-in library sends with. Preloaded behind that library, which looks for the MPI library's
// functions from itself on, so this one stands in for the MPI library's.
#include "tests/soak/footprint.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int highest = 0;

int highest_sent_tag(void) { return atomic_exchange(&highest, 0); }

int PMPI_Isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  int known = atomic_load_explicit(&highest, memory_order_relaxed);
  while (tag != own_tag && tag > known && !atomic_compare_exchange_weak(&highest, &known, tag)) {
  }
  __typeof__(&PMPI_Isend) call = NULL;
  *(void**)&call = dlsym(RTLD_NEXT, "PMPI_Isend");
  return call(buf, count, datatype, dest, tag, comm, request);
}
