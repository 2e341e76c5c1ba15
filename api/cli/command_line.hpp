// SPDX-License-Identifier: BSD-3-Clause
// The MPI library of a command: of the program that it runs directly, through wrappers (env, numactl, a script that
// ends with exec "$@"), or as the interpreter of a script.
#pragma once

#include "api/cli/mpi_library.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace stoker::cli {

// Why a command cannot be run with the drop-in library. The codes are those of env, nohup and timeout.
class CannotRun : public std::runtime_error {
public:
  static constexpr int not_found = 127;
  static constexpr int not_executable = 126;
  static constexpr int other = 125;
  CannotRun(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] int code() const { return code_; }

private:
  int code_;
};

struct MpiOfCommand {
  std::string abi;    // as in MpiLibrary; empty: unknown
  std::string soname; // of the MPI library; empty if only its ABI is known
  std::string reason; // how that, or that nothing, was found out
};

// Throws CannotRun where no library can be preloaded, whatever the MPI library is. `is_known`: the caller knows
// which one it is, so nothing is thrown that is only a guess. In this order:
// - the first word of the command that names a program which loads an MPI library, as the program's loader says. The
//   interpreter of a script stands before the script;
// - the variables that launchers set;
// - where a word is an interpreter of Python: the MPI library of its mpi4py.
[[nodiscard]] MpiOfCommand mpi_of_command(const std::vector<std::string>& words, bool is_known);

// The rank of this process, as its launcher says; empty: no launcher has started it.
[[nodiscard]] std::string rank_in_job();

} // namespace stoker::cli
