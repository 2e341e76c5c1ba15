// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/allocations.hpp"

#include "engine/base/error.hpp"

#include <map>
#include <mutex>

#include <unistd.h>

namespace stoker::engine {
namespace {

struct Allocations {
  struct Entry {
    std::shared_ptr<NodeMemory> memory;
    std::uint64_t offset;
  };
  std::mutex mutex;
  std::map<void*, Entry> entries;
};
// Never destroyed: destructors of the application's global objects may still come.
Allocations& allocations = *new Allocations;

} // namespace

void* allocate(const std::shared_ptr<NodeMemory>& memory, std::size_t bytes) {
  const std::uint64_t offset = memory->arena().allocate(bytes, static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  void* address = memory->arena().base() + offset;
  const std::lock_guard lock(allocations.mutex);
  allocations.entries[address] = {memory, offset};
  return address;
}

void deallocate(void* address) {
  Allocations::Entry entry;
  {
    const std::lock_guard lock(allocations.mutex);
    const auto found = allocations.entries.find(address);
    if (found == allocations.entries.end()) {
      throw Error(Code::argument, "memory is not (or no longer) from stoker_alloc");
    }
    entry = found->second;
    allocations.entries.erase(found);
  }
  entry.memory->arena().deallocate(entry.offset);
}

} // namespace stoker::engine
