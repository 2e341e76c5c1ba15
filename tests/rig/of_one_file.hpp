// SPDX-License-Identifier: BSD-3-Clause
// Tests of many files are one program, which is built in less time; each file is a run of its own.
#pragma once

namespace rig {

// Leaves GoogleTest, which has read the arguments, only the tests that are written in the file argv[1] (its name without folders),
// if there is such an argument; of these only what --gtest_filter takes. Returns false, and says so, if none are left.
[[nodiscard]] bool only_tests_of_one_file(int argc, char** argv);

} // namespace rig
