// SPDX-License-Identifier: BSD-3-Clause
// Threads of the engine's in a process that is the application's.
#pragma once

#include <functional>
#include <thread>

namespace stoker::engine {

// Starts a thread that takes no signal of the application's: neither its handlers nor the default action of one that it
// waits for with sigwait() ever meet this thread. Faults of the thread's own instructions stay what they are, because
// an application may handle them (write barriers of checkpoints). Tools show it as "stoker". Throws Error(resource) if
// there can be no thread.
[[nodiscard]] std::thread own_thread(std::function<void()> run);

} // namespace stoker::engine
