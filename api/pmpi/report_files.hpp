// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

namespace stoker::pmpi {

// Collective: what STOKER_PMPI_SUMMARY and STOKER_PMPI_JOB_LINE ask for. Rank 0 writes.
void write_reports(MPI_Comm comm);
// Collective: the advice, where the summary would go. Rank 0 writes.
void write_advice(MPI_Comm comm);

} // namespace stoker::pmpi
