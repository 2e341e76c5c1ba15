// SPDX-License-Identifier: BSD-3-Clause
// The last step of every init: the program goes into a block in this rank's arena, and the peers get to know it.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/requests/request.hpp"
#include "engine/wisdom/recall.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace stoker::engine {

// How a request's buffers are reached.
struct Paths {
  Path send = Path::own;
  Path recv = Path::own;
};

// Collective: decides whether the puts of the plan's algorithm, if it has any, go through a window; else they are
// messages. A receive buffer that its carrier could not expose is staged then. Throws Error(unsupported) on all ranks
// if the settings demand a window that is not possible.
void decide_on_window(Engine& engine, RequestPlan& plan, Paths& paths);

// Collective: compiles and places the program, and makes the request known to the peers. The plan must be complete but
// for the results of that. `begin_ns`: when init began.
[[nodiscard]] std::unique_ptr<Request> make_request(const std::shared_ptr<Engine>& engine, RequestPlan plan,
                                                    const Paths& paths,
                                                    const std::function<CompiledProgram(const algos::Choice&)>& compile,
                                                    std::uint64_t begin_ns);

} // namespace stoker::engine
