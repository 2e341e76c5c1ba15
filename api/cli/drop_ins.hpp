// SPDX-License-Identifier: BSD-3-Clause
// Where the drop-in libraries of this host are. All have one name, libstoker-pmpi.so; each was built for one MPI
// library.
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
// - in the prefix that has the same name but for the MPI implementation, as /opt/stoker/openmpi beside
//   /opt/stoker/mpich; in the other one of the source tree's folders build/ and build-openmpi/;
// - below the prefix's library folder, in stoker/mpich and stoker/openmpi, where packages have them;
// - in the folders of LD_LIBRARY_PATH.
[[nodiscard]] std::vector<std::string> places_of_drop_ins();

// Those that are there.
[[nodiscard]] std::vector<DropIn> find_drop_ins();

} // namespace stoker::cli
