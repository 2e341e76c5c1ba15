// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/attached_memory.hpp"

#include "engine/base/owned_fd.hpp"
#include "engine/base/round_up.hpp"
#include "engine/shared/arena.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <limits>
#include <new>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace stoker::engine {
namespace {

std::uint64_t page_of(std::uint64_t address) { return address / page_size() * page_size(); }

std::atomic<std::size_t> ranges_of_process{0};

} // namespace

AccessPermit::AccessPermit(XpmemLibrary::SegmentId peer)
    : id_(own_xpmem().library.get(peer, XpmemLibrary::read_and_write, XpmemLibrary::permit_mode, nullptr)),
      error_(id_ == -1 ? errno : 0) {}

AccessPermit::~AccessPermit() {
  if (error_ == 0) {
    own_xpmem().library.release(id_);
  }
}

AttachedRange::AttachedRange(std::shared_ptr<const AccessPermit> permit, std::uint64_t address, std::uint64_t bytes)
    : permit_(std::move(permit)), begin_(page_of(address)), end_(round_up(address + bytes, page_size())),
      error_(permit_->error()) {
  if (error_ != 0) {
    return;
  }
  void* const base = own_xpmem().library.attach({permit_->id(), static_cast<off_t>(begin_)}, end_ - begin_, nullptr);
  if (base == MAP_FAILED) {
    error_ = errno;
  } else {
    base_ = static_cast<std::byte*>(base);
    ranges_of_process.fetch_add(1, std::memory_order_relaxed);
  }
}

AttachedRange::~AttachedRange() {
  if (error_ == 0) {
    own_xpmem().library.detach(base_);
    ranges_of_process.fetch_sub(1, std::memory_order_relaxed);
  }
}

std::shared_ptr<const AttachedRange> AttachedMemory::attach(std::uint64_t address, std::uint64_t bytes) try {
  if (bytes == 0 || bytes > most_bytes || address > std::numeric_limits<std::uint64_t>::max() - bytes - page_size()) {
    return nullptr;
  }
  std::shared_ptr<const AttachedRange> dropped; // is detached after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(kept_, [&](const auto& range) { return range->contains(address, bytes); });
  if (found != kept_.end()) {
    std::rotate(kept_.begin(), found, found + 1);
    return kept_.front();
  }
  const bool full = ranges_of_process.load(std::memory_order_relaxed) >= most_of_process;
  if (!kept_.empty() && (full || kept_.size() == most_kept)) {
    dropped = std::move(kept_.back());
    kept_.pop_back();
  }
  if (full) {
    return nullptr;
  }
  auto range = std::make_shared<const AttachedRange>(permit_, address, bytes);
  if (range->error() != 0) {
    return nullptr;
  }
  return *kept_.insert(kept_.begin(), std::move(range));
} catch (const std::bad_alloc&) {
  return nullptr;
}

// Through a pipe: where a load of this process's own would end it, a system call has an error.
int AttachedMemory::probe(std::uint64_t address, std::uint64_t expected) const {
  const AttachedRange range(permit_, address, sizeof expected);
  if (range.error() != 0) {
    return range.error();
  }
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return errno;
  }
  const OwnedFd reader(ends[0]);
  const OwnedFd writer(ends[1]);
  const auto pass = [&](const void* from, void* to) {
    constexpr auto word = static_cast<ssize_t>(sizeof expected);
    return ::write(writer, from, sizeof expected) == word && ::read(reader, to, sizeof expected) == word;
  };
  std::uint64_t value = 0;
  if (!pass(range.at(address), &value)) {
    return EFAULT;
  }
  if (value != expected) {
    return ESRCH; // it is not the process that we mean
  }
  return pass(&value, range.at(address)) ? 0 : EFAULT; // writes back what was read
}

} // namespace stoker::engine
