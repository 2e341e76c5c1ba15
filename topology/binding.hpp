// SPDX-License-Identifier: BSD-3-Clause
// Reads and sets bindings of this process: where it may run, where a helper thread runs, and on which NUMA node memory
// lies. Only helper threads are ever bound; the application's threads and memory policy are left alone.
#pragma once

#include "topology/machine.hpp"

#include <cstddef>
#include <string>

namespace stoker::topology {

// Where the application's threads of this process may run: the union over all threads but stoker's helpers. On a
// machine that is not this system: all allowed CPUs. Throws TopologyError when the system does not tell.
[[nodiscard]] CpuSet process_binding(const Machine& machine);

struct ThreadBinding {
  CpuSet obtained;     // read back from the system
  std::string problem; // why `obtained` is not what was asked for; empty when it is
};

// Makes the calling thread, which must be one of stoker's own, known as a helper (its name, in top and ps) and binds it
// to `cpus`. Never throws for a binding that is refused: the thread then stays where it was, and the result says so.
ThreadBinding bind_helper_thread(const Machine& machine, const CpuSet& cpus);

struct MemoryPlacement {
  bool placed = false;
  std::string reason; // when it was not
};

// Asks the system to take the whole pages inside [memory, memory + bytes) from `numa`, or from elsewhere when that is
// full. The pages must not have been touched yet. A hint only: the memory is usable whatever the result.
MemoryPlacement place_memory(const Machine& machine, void* memory, std::size_t bytes, LogicalIndex numa);

} // namespace stoker::topology
