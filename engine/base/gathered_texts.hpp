// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace stoker::engine {

// Collective. At rank 0 the texts of all ranks, in their order; nothing elsewhere.
[[nodiscard]] std::vector<std::string> gathered_texts(const std::string& mine, MPI_Comm comm);

} // namespace stoker::engine
