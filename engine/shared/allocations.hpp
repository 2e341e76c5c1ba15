// SPDX-License-Identifier: BSD-3-Clause
// What the application has allocated in this rank's arenas. Memory may be given back after its engine is gone: each
// allocation keeps its arena mapped.
#pragma once

#include "engine/shared/node_memory.hpp"

#include <cstddef>
#include <memory>

namespace stoker::engine {

// Memory begins with a page.
[[nodiscard]] void* allocate(const std::shared_ptr<NodeMemory>& memory, std::size_t bytes);
// Whether it was from allocate(): if not, nothing happens.
[[nodiscard]] bool deallocate(void* address);
// As asked for; 0 for anything that is not from allocate().
[[nodiscard]] std::size_t bytes_of(void* address);

// From now on forked children have copies of what is allocated, as of private memory, instead of sharing it. fork()
// takes as long as the copies do. To be called once.
void copy_at_fork();

} // namespace stoker::engine
