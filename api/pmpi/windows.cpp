// SPDX-License-Identifier: BSD-3-Clause
// The functions that make and free windows. While there are any, passive-target RMA makes progress in the background,
// if asked to (STOKER_PMPI_RMA=1).
#include "api/pmpi/alias.hpp"
#include "api/pmpi/background_progress.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/settings.hpp"
#include "api/pmpi/state.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace stoker::pmpi {
namespace {

int counted(int code, int change) {
  if (code == MPI_SUCCESS && settings().pmpi_rma) {
    change_reasons(change);
  }
  return code;
}

// Creates a window by the MPI library's function `create`. Open MPI 4.1 has no windows over Ethernet once threads were
// asked for, as this library does. A message says so, because nobody would look for the cause here.
template <class Create>
int create(MPI_Comm comm, Create&& create) {
  if (!raised_thread_level() || comm == MPI_COMM_NULL) {
    return counted(create(), 1);
  }
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(comm, &handler);
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int code = create();
  PMPI_Comm_set_errhandler(comm, handler);
  PMPI_Errhandler_free(&handler);
  if (code == MPI_SUCCESS) {
    return counted(code, 1);
  }
  fmt::print(stderr,
             "stoker: the MPI library refuses a window, perhaps because MPI_Init was raised to MPI_THREAD_MULTIPLE; "
             "executor=inline leaves it as it was\n");
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

} // namespace
} // namespace stoker::pmpi

using stoker::pmpi::counted;
using stoker::pmpi::create;
using stoker::pmpi::real;

extern "C" {

int MPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win) {
  return create(comm, [&] { return real().MPI_Win_allocate(size, disp_unit, info, comm, baseptr, win); });
}
int MPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win) {
  return create(comm, [&] { return real().MPI_Win_allocate_shared(size, disp_unit, info, comm, baseptr, win); });
}
int MPI_Win_create(void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return create(comm, [&] { return real().MPI_Win_create(base, size, disp_unit, info, comm, win); });
}
int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return create(comm, [&] { return real().MPI_Win_create_dynamic(info, comm, win); });
}
#if MPI_VERSION >= 4
int MPI_Win_allocate_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win) {
  return create(comm, [&] { return real().MPI_Win_allocate_c(size, disp_unit, info, comm, baseptr, win); });
}
int MPI_Win_allocate_shared_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                              MPI_Win* win) {
  return create(comm, [&] { return real().MPI_Win_allocate_shared_c(size, disp_unit, info, comm, baseptr, win); });
}
int MPI_Win_create_c(void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return create(comm, [&] { return real().MPI_Win_create_c(base, size, disp_unit, info, comm, win); });
}
#endif
int MPI_Win_free(MPI_Win* win) { return counted(real().MPI_Win_free(win), -1); }
}

ALIAS_PMPI(MPI_Win_allocate)
ALIAS_PMPI(MPI_Win_allocate_shared)
ALIAS_PMPI(MPI_Win_create)
ALIAS_PMPI(MPI_Win_create_dynamic)
ALIAS_PMPI(MPI_Win_free)
#if MPI_VERSION >= 4
ALIAS_PMPI(MPI_Win_allocate_c)
ALIAS_PMPI(MPI_Win_allocate_shared_c)
ALIAS_PMPI(MPI_Win_create_c)
#endif
