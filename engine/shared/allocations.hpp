// SPDX-License-Identifier: BSD-3-Clause
// What the application has allocated in this rank's arenas. Memory may be given back after its engine is gone: each
// allocation keeps its arena mapped.
#pragma once

#include "engine/shared/node_memory.hpp"

#include <cstddef>
#include <memory>

namespace stoker::engine {

[[nodiscard]] void* allocate(const std::shared_ptr<NodeMemory>& memory, std::size_t bytes);
// Throws Error(argument) for anything that is not from allocate().
void deallocate(void* address);

} // namespace stoker::engine
