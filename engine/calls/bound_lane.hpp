// SPDX-License-Identifier: BSD-3-Clause
// A lane gets the request that was initialised for it.
#pragma once

#include "engine/base/error.hpp"
#include "engine/calls/shape.hpp"
#include "engine/requests/request.hpp"

#include <memory>
#include <optional>

namespace stoker::engine {

struct Bound {
  std::unique_ptr<Request> request;
  std::optional<Error> error; // on all ranks alike
};

// `stands_in`: for the MPI library, which has to do what the engine cannot.
void give(Lane& lane, Bound bound, bool stands_in);

} // namespace stoker::engine
