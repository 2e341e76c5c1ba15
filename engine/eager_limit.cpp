// SPDX-License-Identifier: BSD-3-Clause
#include "engine/eager_limit.hpp"

#include <mpi.h>

namespace stoker::engine {
namespace {

// Control variables exist for the parts of Open MPI that are in use; no other library has any of that name.
bool exists(const char* variable) {
  int index = 0;
  return MPI_T_cvar_get_index(variable, &index) == MPI_SUCCESS;
}

std::optional<std::uint64_t> value_of(const char* variable) {
  int index = 0;
  MPI_T_cvar_handle handle = nullptr;
  int count = 0;
  if (MPI_T_cvar_get_index(variable, &index) != MPI_SUCCESS ||
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) {
    return std::nullopt;
  }
  unsigned long value = 0; // a size_t there
  const bool read = count == 1 && MPI_T_cvar_read(handle, &value) == MPI_SUCCESS;
  MPI_T_cvar_handle_free(&handle);
  return read ? std::optional<std::uint64_t>(value) : std::nullopt;
}

} // namespace

std::optional<std::uint64_t> tcp_eager_limit() {
  // Open MPI 4.1 takes what is asked for here as the thread level of all of MPI: it must be the one that there is.
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  int provided = 0;
  if (MPI_T_init_thread(level, &provided) != MPI_SUCCESS) {
    return std::nullopt;
  }
  bool only_tcp = exists("pml_ob1_verbose");
  for (const char* other : {"btl_openib_eager_limit", "btl_uct_eager_limit", "btl_ofi_eager_limit",
                            "btl_usnic_eager_limit", "btl_ugni_eager_limit", "btl_portals4_eager_limit"}) {
    only_tcp = only_tcp && !exists(other);
  }
  const auto limit = only_tcp ? value_of("btl_tcp_eager_limit") : std::nullopt;
  MPI_T_finalize();
  return limit;
}

} // namespace stoker::engine
