// SPDX-License-Identifier: BSD-3-Clause
// What the drop-in library has to know of the settings before there is an engine, and without one.
#pragma once

#include "engine/settings/settings.hpp"

#include <mpi.h>

namespace stoker::pmpi {

// Before MPI is initialised. Whether the settings are acceptable: if not, the defaults stay, and no engine can be
// created, which names the reason.
[[nodiscard]] bool read_settings();
// Says on standard error which values of this library's settings are not accepted, and which variables are no settings.
void complain_of_settings(bool of_unknown_ones);
// Collective: of the settings whose keys begin with pmpi_ rank 0's count.
void take_settings_of_rank_0(MPI_Comm comm);
[[nodiscard]] engine::Settings& settings();
// Whether finished calls are to be recorded. Equal on all ranks once rank 0's settings count.
[[nodiscard]] bool reports_are_wanted();

} // namespace stoker::pmpi
