// SPDX-License-Identifier: BSD-3-Clause
// Where the drop-in libraries of this host are. Each was built for the ABI of one MPI library, or for the standard one;
// the latter is libstoker-pmpi_abi.so, the others libstoker-pmpi.so.
#pragma once

#include "api/cli/mpi_library.hpp"

#include <string>
#include <vector>

namespace stoker::cli {

struct DropIn {
  std::string file;
  MpiLibrary mpi; // that it loads
};

// Where one is looked for, in this order:
// - with this program: in the library folder of its prefix, or in its build folder;
// - in a prefix that has the same name but for the MPI implementation, as /opt/stoker/openmpi beside /opt/stoker/mpich,
//   or /opt/stoker/abi; in another one of the source tree's folders build/, build-openmpi/ and build-abi/;
// - below the prefix's library folder, in stoker/mpich, stoker/openmpi and stoker/abi, where packages have them;
// - in the folders of LD_LIBRARY_PATH.
[[nodiscard]] std::vector<std::string> places_of_drop_ins();

// Those that are there.
[[nodiscard]] std::vector<DropIn> find_drop_ins();

} // namespace stoker::cli
