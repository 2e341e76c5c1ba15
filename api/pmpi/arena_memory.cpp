// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/arena_memory.hpp"

#include "api/heap/heap_source.hpp"
#include "engine/base/agreement.hpp"
#include "engine/shared/allocations.hpp"

#include <dlfcn.h>

#include <atomic>
#include <memory>

namespace stoker::pmpi {
namespace {

// Never given up: a thread may allocate while another finalises MPI.
std::shared_ptr<engine::NodeMemory>& memory = *new std::shared_ptr<engine::NodeMemory>;
constinit std::atomic<bool> is_open{false};

StokerHeapSource& heap_source = *new StokerHeapSource;

// Half of an arena stays for the engine.
bool has_room(const engine::Arena& arena, std::uint64_t bytes) {
  const std::uint64_t most = arena.bytes() / 2;
  return bytes <= most && arena.bytes_in_use() <= most - bytes;
}

} // namespace

void open_arena_memory(engine::Engine& engine) {
  memory = engine.memory();
  engine::copy_at_fork();
  is_open.store(true, std::memory_order_release);
}

void close_arena_memory() { is_open.store(false, std::memory_order_relaxed); }

void* arena_memory(std::size_t bytes) {
  void* block = nullptr;
  if (is_open.load(std::memory_order_acquire) && has_room(memory->arena(), bytes)) {
    (void)engine::attempt([&] { block = engine::allocate(memory, bytes); });
  }
  return block;
}

bool serve_heap(std::size_t least_bytes) {
  const auto use = reinterpret_cast<decltype(&stoker_heap_use)>(dlsym(RTLD_DEFAULT, "stoker_heap_use"));
  if (use == nullptr) {
    return false;
  }
  heap_source = {.least_bytes = least_bytes,
                 .begin = memory->arena().base(),
                 .bytes = memory->arena().bytes(),
                 .allocate = arena_memory,
                 .deallocate = [](void* block) { (void)engine::deallocate(block); },
                 .bytes_of = engine::bytes_of};
  use(&heap_source);
  return true;
}

} // namespace stoker::pmpi
