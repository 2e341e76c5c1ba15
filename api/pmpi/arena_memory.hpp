// SPDX-License-Identifier: BSD-3-Clause
// Memory for the application from this rank's arena, where other ranks of the node reach it without an intermediate
// copy. It stays valid until it is given back, also after MPI_Finalize.
#pragma once

#include "engine/core/engine.hpp"

#include <cstddef>

namespace stoker::pmpi {

// From now on there is some. To be called once.
void open_arena_memory(engine::Engine& engine);
// There is no more.
void close_arena_memory();
// Once the engine is gone. This process keeps its own arena only.
void leave_other_arenas();
// There is no more in this child, whose other threads have not come along.
void forget_arena_memory();

// Null if there is none. Any thread.
[[nodiscard]] void* arena_memory(std::size_t bytes);
// Whether it was such memory: if not, nothing happens. Any thread, at any time.
[[nodiscard]] bool give_back(void* block);

// Has libstoker-heap.so take allocations of `least_bytes` and more from here. Whether that library is loaded.
[[nodiscard]] bool serve_heap(std::size_t least_bytes);

} // namespace stoker::pmpi
