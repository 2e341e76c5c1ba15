// SPDX-License-Identifier: BSD-3-Clause
// main() of programs with the tests of many files, without MPI: PROGRAM [FILE] [GoogleTest's options]
#include "tests/rig/of_one_file.hpp"

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return rig::only_tests_of_one_file(argc, argv) ? RUN_ALL_TESTS() : 2;
}
