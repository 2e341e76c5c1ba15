// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/attached_memory.hpp"

#include "engine/base/owned_fd.hpp"
#include "engine/base/round_up.hpp"
#include "engine/shared/arena.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace stoker::engine {
namespace {

std::uint64_t page_of(std::uint64_t address) { return address / page_size() * page_size(); }

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
  }
}

AttachedRange::~AttachedRange() {
  if (error_ == 0) {
    own_xpmem().library.detach(base_);
  }
}

std::shared_ptr<const AttachedRange> AttachedMemory::attach(std::uint64_t address, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(kept_, [&](const auto& range) { return range->contains(address, bytes); });
  if (found != kept_.end()) {
    std::rotate(kept_.begin(), found, found + 1);
    return kept_.front();
  }
  auto range = std::make_shared<const AttachedRange>(permit_, address, bytes);
  if (range->error() != 0) {
    return nullptr;
  }
  if (kept_.size() == most_kept) {
    kept_.pop_back();
  }
  return *kept_.insert(kept_.begin(), std::move(range));
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
    return write(writer, from, sizeof expected) == word && read(reader, to, sizeof expected) == word;
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
