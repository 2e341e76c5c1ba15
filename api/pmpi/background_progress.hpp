// SPDX-License-Identifier: BSD-3-Clause
// A thread of each process that calls the MPI library while there is a reason: messages of the application that are
// under way (STOKER_PMPI_P2P=1), or windows (STOKER_PMPI_RMA=1), make progress so while the application computes. It
// exists from the first reason on, and sleeps while there is none. It naps as a helper does, and goes to the helper's
// core if that is reserved for helpers.
#pragma once

#include <cstdint>
#include <functional>

namespace stoker::pmpi {

// Collective over MPI_COMM_WORLD, once MPI is initialised and the settings are agreed. `every_second`: called by the
// thread about so often while it is awake. Whether there can be such a thread, which takes MPI_THREAD_MULTIPLE.
[[nodiscard]] bool start_background_progress(std::function<void()> every_second);
// Before MPI is finalized.
void stop_background_progress();

// So many more reasons, or fewer, for the thread to be awake. Any thread. No effect before start and after stop.
void change_reasons(int change);
// While it is paused the thread sleeps, whatever reasons there are.
void pause_background_progress(bool paused);

struct BackgroundPolls {
  std::uint64_t polls = 0;
  std::uint64_t nanoseconds = 0; // in polls
};
[[nodiscard]] BackgroundPolls background_polls();

} // namespace stoker::pmpi
