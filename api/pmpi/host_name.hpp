// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <array>
#include <string>

namespace stoker::pmpi {

// What MPI calls the machine of this process.
[[nodiscard]] inline std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME + 1> name{};
  int length = 0;
  PMPI_Get_processor_name(name.data(), &length);
  return name.data();
}

} // namespace stoker::pmpi
