// SPDX-License-Identifier: BSD-3-Clause
#include "engine/core/live_engines.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/never_destroyed.hpp"
#include "engine/core/engine.hpp"

#include <spdlog/logger.h>

#include <list>
#include <mutex>

namespace stoker::engine {
namespace {

struct Engines {
  std::mutex mutex;
  std::list<Engine*> alive; // in the order of creation, which is the same on all ranks
  bool watching_finalize = false;
  bool finalizing = false;
};
// Never destroyed: destructors of the application's global objects may still come.
NeverDestroyed<Engines> engines_storage;
Engines& engines = engines_storage.object;

int destroy_left_over(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*extra*/) {
  {
    // From here on MPICH assumes that it is single-threaded: no other thread may call it.
    const std::lock_guard lock(engines.mutex);
    engines.finalizing = true;
    for (Engine* engine : engines.alive) {
      engine->take_helpers_place();
    }
  }
  for (;;) {
    Engine* engine = nullptr;
    {
      const std::lock_guard lock(engines.mutex);
      if (engines.alive.empty()) {
        return MPI_SUCCESS;
      }
      engine = engines.alive.front();
    }
    try {
      engine->destroy();
    } catch (const Error& error) {
      engine->log().error("{}", error.what());
    }
  }
}

} // namespace

void note_created(Engine& engine) {
  const std::lock_guard lock(engines.mutex);
  if (!engines.watching_finalize) {
    // MPI-4.1 section 11.2.4: attributes of MPI_COMM_SELF go first in MPI_Finalize, while MPI still works.
    int keyval = MPI_KEYVAL_INVALID;
    check_mpi(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, destroy_left_over, &keyval, nullptr),
              "MPI_Comm_create_keyval");
    check_mpi(PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr), "MPI_Comm_set_attr");
    engines.watching_finalize = true;
  }
  engines.alive.push_back(&engine);
}

void note_ending(Engine& engine) {
  const std::lock_guard lock(engines.mutex);
  engines.alive.remove(&engine);
}

std::vector<Engine*> left_over_engines() {
  const std::lock_guard lock(engines.mutex);
  return engines.finalizing ? std::vector<Engine*>(engines.alive.begin(), engines.alive.end()) : std::vector<Engine*>();
}

} // namespace stoker::engine
