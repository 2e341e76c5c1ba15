// SPDX-License-Identifier: BSD-3-Clause
// Ways in which this library can be loaded wrongly. Each is named in one line on standard error.
#pragma once

#include <string>

namespace stoker::pmpi {

// The name of this library's file.
[[nodiscard]] std::string own_file();

// To be called before MPI_Init, which does not work with mixed libraries. A wrong order of libraries is found when the
// process begins, because MPI_Init does not reach this library then.
bool complain_of_mixed_libraries(); // whether there was a reason to

} // namespace stoker::pmpi
