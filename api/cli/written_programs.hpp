// SPDX-License-Identifier: BSD-3-Clause
// Programs in files, as `stoker schedule --programs` prints them.
#pragma once

#include "algos/verify/whole_call.hpp"

#include <span>
#include <string>

namespace stoker::cli {

// Throws with path, line and reason.
[[nodiscard]] algos::WrittenCall read_call(const std::string& path);
// Throws with the first defect.
void verify_call(const algos::WholeCall& call, std::span<const algos::Program> programs);

// Under mpiexec, with as many ranks as there are programs: the engine carries them out, several times, and every byte
// of the result is checked. Returns the exit code.
int run_call(const std::string& path);

} // namespace stoker::cli
