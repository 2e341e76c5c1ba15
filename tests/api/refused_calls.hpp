// SPDX-License-Identifier: BSD-3-Clause
// Has the MPI library refuse calls that the engine makes, in this process. The program's own calls are not concerned.
#pragma once

#include <atomic>

namespace api_tests {

extern std::atomic<bool> sends_fail;    // PMPI_Isend
extern std::atomic<bool> receives_fail; // PMPI_Irecv

} // namespace api_tests
