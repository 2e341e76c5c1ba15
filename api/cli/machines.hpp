// SPDX-License-Identifier: BSD-3-Clause
// The machine of --machine.
#pragma once

#include "algos/select/machine.hpp"

#include <string>

namespace stoker::cli {

// A file, or the name of one of docs/machines, which are installed with the program. Throws std::runtime_error that
// lists the names.
[[nodiscard]] algos::Machine find_machine(const std::string& file_or_name);

// The part of a machine that a job uses: so many ranks and domains of each node; 0: those of the machine. Domains are
// filled socket by socket. Throws std::invalid_argument for what does not fit.
[[nodiscard]] algos::Machine part_of(algos::Machine machine, int ranks_per_node, int domains);

} // namespace stoker::cli
