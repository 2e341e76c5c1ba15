// SPDX-License-Identifier: BSD-3-Clause
// From a C handle to the engine behind it: for stoker's own tools, which show what the public interface does not.
#pragma once

#include <stoker/stoker.h>

#include <memory>

namespace stoker::engine {
class Engine;
}

namespace stoker::api {

// Throws engine::Error(request) unless the handle is live.
[[nodiscard]] std::shared_ptr<engine::Engine> engine_of(stoker_engine handle);

} // namespace stoker::api
