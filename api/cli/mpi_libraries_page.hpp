// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace stoker::cli {

// Prints docs/mpi-libraries.md.
void print_mpi_libraries_page();

} // namespace stoker::cli
