// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace stoker::engine {

// What has to end before its engine does: Engine::destroy completes all of them first and then closes them, in the
// order in which they were enlisted.
class Dependent {
public:
  // Local.
  virtual void complete_before_engine_ends() {}
  // Collective over the engine's ranks.
  virtual void close_before_engine_ends() {}

protected:
  ~Dependent() = default;
};

} // namespace stoker::engine
