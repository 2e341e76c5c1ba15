// SPDX-License-Identifier: BSD-3-Clause
// A peer's ordinary memory as this process addresses it, by XPMEM, and a cache of the ranges that were attached last.
//
// The cache needs nobody to tell it what the peer has unmapped. XPMEM looks a page of an attachment up, and pins it, when
// it is touched first, and lets go of it when a thread of the peer unmaps, moves or discards that memory, or forks
// (its MMU notifier, kernel/xpmem_mmu_notifier.c). So what the peer maps at an address later is what is seen there later.
// What must not be touched is an address where the peer has nothing: that ends the process with SIGBUS. Attaching and
// detaching touch nothing. Executors touch bytes of a buffer only, a sender's between `ready` and `taken` of a message,
// their rank's while it has an epoch; MPI forbids the application to free a buffer in that time. There remain peers that
// die, or that give an epoch up with an error and then free its buffers, while others go on with it: cross-memory attach
// has an error for that, XPMEM has SIGBUS. That is one reason why XPMEM has to be asked for.
//
// Networks cannot register attached pages, so MPI is given none of them (contiguous() in engine/shared/access.hpp).
#pragma once

#include "engine/shared/xpmem.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace stoker::engine {

// The right to attach a peer's memory.
class AccessPermit {
public:
  explicit AccessPermit(XpmemLibrary::SegmentId peer);
  AccessPermit(const AccessPermit&) = delete;
  AccessPermit& operator=(const AccessPermit&) = delete;
  ~AccessPermit();
  [[nodiscard]] XpmemLibrary::AccessId id() const { return id_; }
  [[nodiscard]] int error() const { return error_; } // errno; 0: it is granted

private:
  XpmemLibrary::AccessId id_;
  int error_;
};

// The whole pages of a peer that hold some bytes, attached for as long as it lives.
class AttachedRange {
public:
  AttachedRange(std::shared_ptr<const AccessPermit> permit, std::uint64_t address, std::uint64_t bytes);
  AttachedRange(const AttachedRange&) = delete;
  AttachedRange& operator=(const AttachedRange&) = delete;
  ~AttachedRange();

  [[nodiscard]] int error() const { return error_; } // errno; 0: it is attached
  // Addresses are the peer's.
  [[nodiscard]] bool contains(std::uint64_t address, std::uint64_t bytes) const {
    return address >= begin_ && address - begin_ <= end_ - begin_ && bytes <= end_ - address;
  }
  [[nodiscard]] std::byte* at(std::uint64_t address) const { return base_ + (address - begin_); }

private:
  std::shared_ptr<const AccessPermit> permit_;
  std::uint64_t begin_;
  std::uint64_t end_;
  std::byte* base_ = nullptr;
  int error_;
};

// Any thread may use it: the helper's and those in Wait of several requests look ranges up at the same time.
class AttachedMemory {
public:
  // Each range is one of the 65530 mappings that a process may have, and holds the pages that were touched in memory.
  static constexpr std::size_t most_kept = 128;
  static constexpr std::size_t most_of_process = 8192;                 // with those that are in use
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 38U; // of one: XPMEM counts pages in an int

  explicit AttachedMemory(XpmemLibrary::SegmentId peer) : permit_(std::make_shared<AccessPermit>(peer)) {}

  // A range with all of these bytes; null if it is refused, if it is longer than a range may be, or if this process has
  // as many as it may: then there is cross-memory attach. Of those that are kept the one that was not asked for for
  // the longest time makes room; whoever has it goes on using it. That user's last access happens before the detach:
  // a shared_ptr's counter releases and acquires.
  [[nodiscard]] std::shared_ptr<const AttachedRange> attach(std::uint64_t address, std::uint64_t bytes);

  // Really reads and writes a word at `address`, which the peer must hold for the purpose. Returns 0 or errno.
  [[nodiscard]] int probe(std::uint64_t address, std::uint64_t expected) const;

private:
  std::shared_ptr<const AccessPermit> permit_;
  std::mutex mutex_;                                       // guards kept_
  std::vector<std::shared_ptr<const AttachedRange>> kept_; // the one that was asked for last comes first
};

} // namespace stoker::engine
