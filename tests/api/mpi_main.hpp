// SPDX-License-Identifier: BSD-3-Clause
// GoogleTest on MPI ranks: mpi_main.cpp holds main(). Every rank runs every test, in the same order; after each test
// the ranks agree on its result, a failure on any rank fails the program, and a watchdog ends a test that hangs.
// The first argument is the file whose tests are run (see rig/of_one_file.hpp).
// STOKER_TEST_TIMEOUT: seconds a test may take (default 120). STOKER_TEST_FULL=1: larger matrices.
#pragma once

#include <mpi.h>

#include <string>

namespace api_tests {

[[nodiscard]] int world_rank();
[[nodiscard]] int world_size();
[[nodiscard]] bool full_run();

// What this rank is about to do; the watchdog quotes it.
void note(std::string what);

// Collective over all ranks, on a communicator of their own; they nap while they wait, because ranks share cores here.
void barrier();
[[nodiscard]] bool everywhere(bool value);

} // namespace api_tests
