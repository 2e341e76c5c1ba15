// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/arena_memory.hpp"

#include "api/heap/heap_source.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/never_destroyed.hpp"
#include "engine/shared/allocations.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

namespace stoker::pmpi {
namespace {

// Never given up: a thread may allocate while another finalises MPI.
engine::NeverDestroyed<std::shared_ptr<engine::NodeMemory>> memory_storage;
std::shared_ptr<engine::NodeMemory>& memory = memory_storage.object;
constinit std::atomic<bool> arena_is_open{false};

engine::NeverDestroyed<StokerHeapSource> heap_source_storage;
StokerHeapSource& heap_source = heap_source_storage.object;

// Blocks that were given back last. Programs ask for the same lengths again and again, and memory that is in place
// costs much less than memory that the system has to provide. Any thread; who would have to wait does without, because
// handlers of fork() come here, too.
class Spares {
public:
  // One that is not much longer than `bytes`, or null.
  void* take(std::size_t bytes) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) {
      return nullptr;
    }
    const auto fits = std::ranges::find_if(
        spares_, [bytes](const Spare& one) { return one.bytes >= bytes && one.bytes <= bytes + bytes / 4; });
    if (fits == spares_.end()) {
      return nullptr;
    }
    void* const block = fits->block;
    bytes_ -= fits->bytes;
    spares_.erase(fits);
    return block;
  }

  // What there is too much of then goes to the arena, the oldest first.
  void keep(void* block, std::size_t bytes) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || bytes > most_bytes) {
      (void)engine::deallocate(block);
      return;
    }
    spares_.push_back({block, bytes});
    bytes_ += bytes;
    shrink(most_blocks, most_bytes);
  }

  void release() {
    const std::lock_guard lock(mutex_);
    shrink(0, 0);
  }

private:
  struct Spare {
    void* block;
    std::size_t bytes;
  };
  static constexpr std::size_t most_blocks = 32;
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;

  void shrink(std::size_t blocks, std::size_t bytes) {
    while (spares_.size() > blocks || bytes_ > bytes) {
      (void)engine::deallocate(spares_.front().block);
      bytes_ -= spares_.front().bytes;
      spares_.pop_front();
    }
  }

  std::mutex mutex_;
  std::deque<Spare> spares_; // the oldest first
  std::size_t bytes_ = 0;
};
engine::NeverDestroyed<Spares> spares_storage;
Spares& spares = spares_storage.object;

// Half of an arena stays for the engine.
bool has_room(const engine::Arena& arena, std::uint64_t bytes) {
  const std::uint64_t most = arena.bytes() / 2;
  return bytes <= most && arena.bytes_in_use() <= most - bytes;
}

} // namespace

void open_arena_memory(engine::Engine& engine) {
  memory = engine.memory();
  engine::copy_at_fork();
  arena_is_open.store(true, std::memory_order_release);
}

void close_arena_memory() {
  if (arena_is_open.exchange(false)) {
    spares.release();
  }
}

void leave_other_arenas() {
  if (memory != nullptr) {
    memory->detach();
  }
}

void forget_arena_memory() { arena_is_open.store(false); }

void* arena_memory(std::size_t bytes) {
  if (!arena_is_open.load(std::memory_order_acquire)) {
    return nullptr;
  }
  void* block = spares.take(bytes);
  if (block == nullptr && has_room(memory->arena(), bytes)) {
    (void)engine::attempt([&] { block = engine::allocate(memory, bytes); });
  }
  return block;
}

bool give_back(void* block) {
  if (!arena_is_open.load(std::memory_order_acquire)) {
    return engine::deallocate(block);
  }
  const std::size_t bytes = engine::bytes_of(block);
  if (bytes != 0) {
    spares.keep(block, bytes);
  }
  return bytes != 0;
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
                 .deallocate = [](void* block) { (void)give_back(block); },
                 .bytes_of = engine::bytes_of};
  use(&heap_source);
  return true;
}

} // namespace stoker::pmpi
