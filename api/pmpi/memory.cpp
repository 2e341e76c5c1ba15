// SPDX-License-Identifier: BSD-3-Clause
// MPI_Alloc_mem and MPI_Free_mem: memory from the arena, if asked for (STOKER_PMPI_ALLOC_MEM=1).
#include "api/pmpi/alias.hpp"
#include "api/pmpi/arena_memory.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/settings.hpp"
#include "engine/base/never_destroyed.hpp"

#include <cstddef>
#include <mutex>
#include <set>

namespace stoker::pmpi {
namespace {

// Null where the memory has to be the MPI library's. That alone knows what the keys of an info ask for.
void* allocate(MPI_Aint size, MPI_Info info) {
  const auto bytes = static_cast<std::size_t>(size);
  const bool wanted =
      settings().pmpi_alloc_mem && info == MPI_INFO_NULL && size > 0 && bytes >= settings().pmpi_least_bytes;
  return wanted ? arena_memory(bytes) : nullptr;
}

// What MPI_Alloc_mem has given of the arena, and nobody has freed. The MPI library's own function may give
// blocks of it, too, by malloc where the heap library is there, and has records of those.
struct Given {
  std::mutex mutex;
  std::set<void*> blocks;
};
engine::NeverDestroyed<Given> given_storage;
Given& given = given_storage.object;

void note(void* block) {
  const std::lock_guard lock(given.mutex);
  given.blocks.insert(block);
}

bool was_given(void* block) {
  const std::lock_guard lock(given.mutex);
  return given.blocks.erase(block) != 0;
}

} // namespace
} // namespace stoker::pmpi

using stoker::pmpi::real;

extern "C" {

int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) {
  void* const memory = baseptr != nullptr ? stoker::pmpi::allocate(size, info) : nullptr;
  if (memory == nullptr) {
    return real().MPI_Alloc_mem(size, info, baseptr);
  }
  stoker::pmpi::note(memory);
  *static_cast<void**>(baseptr) = memory;
  return MPI_SUCCESS;
}

// The MPI library has nothing to free in memory from the arena, but perhaps something to say: after MPI_Finalize.
int MPI_Free_mem(void* base) {
  const bool was_arena = stoker::pmpi::was_given(base) && stoker::pmpi::give_back(base);
  return real().MPI_Free_mem(was_arena ? nullptr : base);
}
}

ALIAS_PMPI(MPI_Alloc_mem)
ALIAS_PMPI(MPI_Free_mem)
