// SPDX-License-Identifier: BSD-3-Clause
// The engines of this process, so that those left over end inside MPI_Finalize.
#pragma once

#include <vector>

namespace stoker::engine {

class Engine;

// The first call has to come while MPI works. Throws Error(mpi).
void note_created(Engine& engine);
void note_ending(Engine& engine);
// Those that the thread in MPI_Finalize drives, all at once; none before that.
[[nodiscard]] std::vector<Engine*> left_over_engines();

} // namespace stoker::engine
