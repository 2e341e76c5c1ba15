// SPDX-License-Identifier: BSD-3-Clause
// Lets passive-target RMA of the application make progress while the target computes, if asked to (STOKER_PMPI_RMA=1):
// a thread calls the MPI library now and then while there is a window.
#pragma once

namespace stoker::pmpi {

// Once MPI is initialised and the settings are agreed.
void start_rma_progress_if_wanted();
// Before MPI is finalized.
void stop_rma_progress();

} // namespace stoker::pmpi
