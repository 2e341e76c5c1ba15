// SPDX-License-Identifier: BSD-3-Clause
// Shared memory of one rank, and its mapping in the processes of the same node. The segment is a memfd: it has no name
// in any file system, and goes with the last process that maps it, however that process ends.
//
// The mapping is as long as the segment may ever become, the file only as long as what was ever allocated in it. Core
// dumps leave it out, which would fill its holes. Forked children inherit their parent's own segment, because the
// application's buffers may lie in it, and not those of peers.
#pragma once

#include "engine/base/cache_line.hpp"
#include "engine/base/owned_fd.hpp"
#include "engine/shared/free_list.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <sys/types.h>
#include <type_traits>
#include <utility>

namespace stoker::engine {

// First bytes of every segment; a peer verifies all of it before it uses anything behind it.
struct ArenaHeader {
  static constexpr std::uint64_t magic_value = 0x616e657261746b73; // "sktarena"
  static constexpr std::uint32_t current_version = 1;

  std::uint64_t magic = magic_value;
  std::uint32_t version = current_version;
  std::int32_t pid = 0;
  std::uint64_t layout_stamp = 0; // of the types within, so that processes of different builds refuse each other
  std::uint64_t bytes = 0;        // of the segment
  std::uint64_t identity = 0;     // random: tells it from another segment behind the same numbers
};

// What a peer needs in order to attach. Plain data, to be sent as bytes.
struct ArenaDescriptor {
  std::int32_t pid = 0;
  std::int32_t fd = -1; // in process `pid`
  std::uint64_t bytes = 0;
  std::uint64_t identity = 0;
};
static_assert(std::is_trivially_copyable_v<ArenaDescriptor> &&
              std::has_unique_object_representations_v<ArenaDescriptor>);

// A shared mapping, unmapped at the end. Where it lies differs between processes; offsets mean the same in all of them.
class Mapping {
public:
  Mapping() = default;
  Mapping(void* base, std::uint64_t bytes) : base_(static_cast<std::byte*>(base)), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Whether all of [pointer, pointer + length) lies within.
  [[nodiscard]] bool contains(const void* pointer, std::uint64_t length) const;
  // The offset of a pointer into the mapping.
  [[nodiscard]] std::uint64_t offset_of(const void* pointer) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(pointer) - base_);
  }
  template <class T>
  [[nodiscard]] T* at(std::uint64_t offset) const {
    return reinterpret_cast<T*>(base_ + offset);
  }

private:
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
};

[[nodiscard]] std::uint64_t page_size(); // of the system, in bytes

// How long arenas are by default, of which each of `ranks` processes maps as many: the memory that the process may
// have, but together no more than a quarter of the address space. The rest stays for other engines and the application.
[[nodiscard]] std::uint64_t default_arena_bytes(std::uint64_t memory, std::uint64_t address_space, std::uint64_t ranks);
// How much address space this process can still have.
[[nodiscard]] std::uint64_t address_space_left();

struct ArenaOptions {
  std::uint64_t bytes = 0; // address space; memory is used only for what is allocated
  std::uint64_t layout_stamp = 0;
  int numa_node = -1; // -1: wherever it is touched first
};

// The owner's side. Several threads may call allocate and deallocate. The free list is private to the process, so a
// forked child, which has a copy of it, gets nothing and gives nothing back.
class Arena : public Mapping {
public:
  // Takes less address space than asked for, down to 64 MiB, when the process cannot have more; bytes() says how much.
  // Throws Error(resource).
  explicit Arena(const ArenaOptions& options);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // `alignment` is a power of two, at most a page. Returns the offset, never 0; the memory is there (no SIGBUS later)
  // but not cleared. No two blocks share a cache line. Throws Error(resource) when it is exhausted.
  [[nodiscard]] std::uint64_t allocate(std::uint64_t bytes, std::uint64_t alignment = cache_line);
  // Large blocks go back to the system at once.
  void deallocate(std::uint64_t offset);

  // Whether the system accepted the NUMA node that the options name.
  [[nodiscard]] bool on_numa_node() const { return on_numa_node_; }
  [[nodiscard]] std::uint64_t bytes_in_use() const;

  [[nodiscard]] ArenaDescriptor descriptor() const;
  // Called after the last peer has attached. Nobody can attach from then on; allocation goes on as before.
  void close_descriptor() { published_ = OwnedFd(); }

private:
  void extend(std::uint64_t end); // the file, with mutex_. Throws Error(resource).
  // An application that closes descriptors that it does not know may have a file of its own behind the number.
  [[nodiscard]] bool owns_file() const;
  [[nodiscard]] bool in_child() const;

  pid_t owner_ = -1;
  OwnedFd file_;
  OwnedFd published_; // the same, for peers
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::uint64_t file_bytes_ = 0;
  bool on_numa_node_ = false;
  mutable std::mutex mutex_; // guards list_
  FreeList list_;
};

// A peer's side: maps the segment of another process of this machine, through /proc/PID/fd, and verifies its header.
// Throws Error(access) when it may not be opened, Error(peer_lost) when it is not there any more, Error(mismatch) when
// it is not what the descriptor says.
[[nodiscard]] Mapping attach_arena(const ArenaDescriptor& descriptor, std::uint64_t layout_stamp);

} // namespace stoker::engine
