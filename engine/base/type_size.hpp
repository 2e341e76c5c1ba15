// SPDX-License-Identifier: BSD-3-Clause
// Sizes of datatypes and of what was received, which need not fit an int. MPI-4.1 deprecates the functions that MPI-3
// has for them; those that take their place came with MPI-4. Arguments and codes are MPI's.
#pragma once

#include <mpi.h>

namespace stoker::engine {

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
inline int get_size(MPI_Datatype type, MPI_Count* size) { return PMPI_Type_size_c(type, size); }
inline int get_extent(MPI_Datatype type, MPI_Count* lower, MPI_Count* extent) {
  return PMPI_Type_get_extent_c(type, lower, extent);
}
inline int get_true_extent(MPI_Datatype type, MPI_Count* lower, MPI_Count* extent) {
  return PMPI_Type_get_true_extent_c(type, lower, extent);
}
inline int get_elements(MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  return PMPI_Get_elements_c(status, type, count);
}
#else
inline int get_size(MPI_Datatype type, MPI_Count* size) { return PMPI_Type_size_x(type, size); }
inline int get_extent(MPI_Datatype type, MPI_Count* lower, MPI_Count* extent) {
  return PMPI_Type_get_extent_x(type, lower, extent);
}
inline int get_true_extent(MPI_Datatype type, MPI_Count* lower, MPI_Count* extent) {
  return PMPI_Type_get_true_extent_x(type, lower, extent);
}
inline int get_elements(MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  return PMPI_Get_elements_x(status, type, count);
}
#endif

} // namespace stoker::engine
