// SPDX-License-Identifier: BSD-3-Clause
// The MPI library's own functions, found behind this library in the order in which the loader searches. What this
// library defines itself, the files of this folder call by `real()`, and no other way. The engine calls it by PMPI_*,
// which comes to the same (see own_calls.cpp).
#pragma once

#include <stoker/mpi4.h>

#include <mpi.h>
#ifdef OMPI_MAJOR_VERSION
#include <mpi-ext.h>
#endif

#include <atomic>

// MPI-4's, which the headers of older MPI libraries lack.
#if MPI_VERSION < 4
extern "C" {
int MPI_T_category_get_num_events(int cat_index, int* num_events);
int MPI_T_category_get_events(int cat_index, int len, int indices[]);
int PMPI_T_category_get_num_events(int cat_index, int* num_events);
int PMPI_T_category_get_events(int cat_index, int len, int indices[]);
}
#endif

namespace stoker::pmpi {

// One member for each function of functions.def, named like it; null where the MPI library has none.
// Use: real().MPI_Wait(&request, status)
struct Library {
  // NOLINTBEGIN(bugprone-macro-parentheses): names
#define STOKER_PMPI_FUNCTION(name, arity) decltype(&::name) name = nullptr;
#define STOKER_PMPI_VARIADIC(name) decltype(&::name) name = nullptr;
#include "api/pmpi/functions.def"
#undef STOKER_PMPI_FUNCTION
#undef STOKER_PMPI_VARIADIC
  // NOLINTEND(bugprone-macro-parentheses)
};

namespace detail {
extern std::atomic<bool> library_found;
extern Library library;
void find_library();
} // namespace detail

// Also from constructors that run before this library's own.
[[nodiscard]] inline const Library& real() {
  if (!detail::library_found.load(std::memory_order_acquire)) [[unlikely]] {
    detail::find_library();
  }
  return detail::library;
}

} // namespace stoker::pmpi
