// SPDX-License-Identifier: BSD-3-Clause
// Sizes of datatypes and of what was received, which need not fit an int. MPI-4.1 deprecates the functions that MPI-3
// has for them; those that take their place came with MPI-4. Arguments and codes are MPI's.
#pragma once

#include <mpi.h>

namespace stoker::engine {

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
inline constexpr auto get_size = PMPI_Type_size_c;
inline constexpr auto get_extent = PMPI_Type_get_extent_c;
inline constexpr auto get_true_extent = PMPI_Type_get_true_extent_c;
inline constexpr auto get_elements = PMPI_Get_elements_c;
#else
inline constexpr auto get_size = PMPI_Type_size_x;
inline constexpr auto get_extent = PMPI_Type_get_extent_x;
inline constexpr auto get_true_extent = PMPI_Type_get_true_extent_x;
inline constexpr auto get_elements = PMPI_Get_elements_x;
#endif

} // namespace stoker::engine
