// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/allocations.hpp"

#include "engine/base/never_destroyed.hpp"
#include "engine/base/owned_fd.hpp"
#include "engine/base/round_up.hpp"
#include "engine/shared/memory_limits.hpp"

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace stoker::engine {
namespace {

struct Allocations {
  struct Entry {
    std::shared_ptr<NodeMemory> memory;
    std::uint64_t offset;
    std::size_t bytes;
  };
  std::mutex mutex;
  std::map<void*, Entry> entries;
  bool are_copies = false; // in a child
};
// Never destroyed: destructors of the application's global objects may still come.
NeverDestroyed<Allocations> allocations_storage;
Allocations& allocations = allocations_storage.object;

// This thread is in fork(), and has the lock: other handlers of the fork may allocate, too.
thread_local bool forks = false;
std::unique_lock<std::mutex> lock_allocations() {
  return forks ? std::unique_lock<std::mutex>() : std::unique_lock(allocations.mutex);
}

// A pipe that only the child can write to, and never does: the parent finds its end when the child has its copies, or
// is gone, or was never there. Without a pipe the parent does not wait.
struct ForkUnderWay {
  OwnedFd reader;
  OwnedFd writer;
  bool fits = true;     // there is memory for copies
  int cancel_state = 0; // of the thread, which is not cancelled meanwhile
};
NeverDestroyed<ForkUnderWay> fork_under_way_storage;
ForkUnderWay& fork_under_way = fork_under_way_storage.object;

void before_fork() {
  int cancel_state = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  allocations.mutex.lock();
  fork_under_way.cancel_state = cancel_state;
  forks = true;
  if (allocations.entries.empty() || allocations.are_copies) {
    return;
  }
  std::uint64_t bytes = 0;
  for (const auto& [begin, entry] : allocations.entries) {
    const std::size_t whole = round_up(entry.bytes, page_size());
    bytes += whole;
    // A network's library may have advised the opposite, lest a child's pages take those that the network
    // writes to. That does not happen to shared ones, and the child has to read them.
    madvise(begin, whole, MADV_DOFORK);
  }
  // The system grants a mapping that it has no memory for, and kills somebody when it is written to.
  fork_under_way.fits = bytes <= available_memory();
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) == 0) {
    fork_under_way.reader = OwnedFd(ends[0]);
    fork_under_way.writer = OwnedFd(ends[1]);
  }
}

void end_fork() {
  fork_under_way.writer = OwnedFd();
  fork_under_way.reader = OwnedFd();
  const int cancel_state = fork_under_way.cancel_state;
  forks = false;
  allocations.mutex.unlock();
  pthread_setcancelstate(cancel_state, nullptr);
}

void after_fork_in_parent() {
  fork_under_way.writer = OwnedFd();
  char nothing = 0;
  while (fork_under_way.reader >= 0 && ::read(fork_under_way.reader, &nothing, 1) < 0 && errno == EINTR) {
  }
  end_fork();
}

// The address stays taken: it lies within the mapping of an arena.
void leave_empty(void* begin, std::size_t bytes) {
  mmap(begin, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

// Without room for a copy there is nothing, rather than the parent's memory.
void become_copy(void* begin, std::size_t bytes) {
  void* const copy = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy != MAP_FAILED) {
    std::memcpy(copy, begin, bytes);
    // Not by mremap(): UCX takes that over, and drops the address.
    if (syscall(SYS_mremap, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, begin) != -1) {
      return;
    }
  }
  leave_empty(begin, bytes);
}

void after_fork_in_child() {
  if (!allocations.are_copies) {
    for (const auto& [begin, entry] : allocations.entries) {
      const std::size_t bytes = round_up(entry.bytes, page_size());
      fork_under_way.fits ? become_copy(begin, bytes) : leave_empty(begin, bytes);
    }
  }
  allocations.are_copies = true;
  end_fork();
}

} // namespace

void* allocate(const std::shared_ptr<NodeMemory>& memory, std::size_t bytes) {
  const std::uint64_t offset = memory->arena().allocate(bytes, page_size());
  void* address = memory->arena().base() + offset;
  const auto lock = lock_allocations();
  allocations.entries[address] = {memory, offset, bytes};
  return address;
}

bool deallocate(void* address) {
  Allocations::Entry entry;
  {
    const auto lock = lock_allocations();
    const auto found = allocations.entries.find(address);
    if (found == allocations.entries.end()) {
      return false;
    }
    entry = found->second;
    allocations.entries.erase(found);
  }
  if (allocations.are_copies) {
    leave_empty(address, round_up(entry.bytes, page_size()));
  } else {
    entry.memory->arena().deallocate(entry.offset);
  }
  return true;
}

std::size_t bytes_of(void* address) {
  const auto lock = lock_allocations();
  const auto found = allocations.entries.find(address);
  return found == allocations.entries.end() ? 0 : found->second.bytes;
}

void copy_at_fork() { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

} // namespace stoker::engine
