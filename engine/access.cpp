// SPDX-License-Identifier: BSD-3-Clause
#include "engine/access.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace stoker::engine {
namespace {

using algos::Slice;

// Walks the contiguous runs of a slice list.
class Cursor {
public:
  Cursor(const BufferViews& views, std::span<const Slice> slices) : views_(views), slices_(slices) { settle(); }

  [[nodiscard]] bool done() const { return slice_ == slices_.size(); }
  [[nodiscard]] std::uint64_t run() const { return slices_[slice_].length - within_; }
  [[nodiscard]] const BufferView& view() const { return views_[static_cast<std::size_t>(slices_[slice_].buffer)]; }
  // Offset of the current run in its buffer.
  [[nodiscard]] std::uint64_t offset() const {
    const Slice& s = slices_[slice_];
    return s.offset + (block_ * s.stride) + within_;
  }
  void advance(std::uint64_t bytes) {
    within_ += bytes;
    settle();
  }

private:
  // Moves past finished blocks and empty slices.
  void settle() {
    while (slice_ < slices_.size() && (within_ == slices_[slice_].length || block_ == slices_[slice_].count)) {
      within_ = 0;
      if (++block_ >= slices_[slice_].count || slices_[slice_].length == 0) {
        block_ = 0;
        ++slice_;
      }
    }
  }

  const BufferViews& views_;
  std::span<const Slice> slices_;
  std::size_t slice_ = 0;
  std::uint64_t block_ = 0;
  std::uint64_t within_ = 0;
};

using AttachCall = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

// Collects pairs of equally long runs for one remote process and moves them with few system calls.
class AttachBatch {
public:
  explicit AttachBatch(AttachCall call) : call_(call) {}

  [[nodiscard]] int add(std::byte* here, pid_t pid, std::uint64_t there, std::uint64_t bytes) {
    if (count_ == local_.size() || (count_ > 0 && pid != pid_)) {
      if (const int error = flush()) {
        return error;
      }
    }
    pid_ = pid;
    local_[count_] = {here, bytes};
    remote_[count_] = {reinterpret_cast<void*>(there),
                       bytes}; // NOLINT(performance-no-int-to-ptr): another process's address
    ++count_;
    return 0;
  }

  [[nodiscard]] int flush() {
    std::size_t first = 0;
    while (first < count_) {
      const ssize_t moved = call_(pid_, &local_[first], count_ - first, &remote_[first], count_ - first, 0);
      if (moved <= 0) {
        return moved < 0 ? errno : EFAULT;
      }
      // A short count is legal: go on behind what was moved.
      auto left = static_cast<std::size_t>(moved);
      while (first < count_ && left >= local_[first].iov_len) {
        left -= local_[first].iov_len;
        ++first;
      }
      if (left > 0) {
        for (iovec* v : {&local_[first], &remote_[first]}) {
          v->iov_base = static_cast<std::byte*>(v->iov_base) + left;
          v->iov_len -= left;
        }
      }
    }
    count_ = 0;
    return 0;
  }

private:
  AttachCall call_;
  pid_t pid_ = 0;
  std::size_t count_ = 0;
  std::array<iovec, 64> local_{};
  std::array<iovec, 64> remote_{};
};

// Between two foreign processes there is no single call: pass through a buffer that stays in the cache.
int relay(pid_t target_pid, std::uint64_t target, pid_t source_pid, std::uint64_t source, std::uint64_t bytes) {
  static constexpr std::uint64_t chunk = std::uint64_t{64} * 1024;
  thread_local std::vector<std::byte> buffer(chunk);
  AttachBatch read(process_vm_readv);
  AttachBatch write(process_vm_writev);
  for (std::uint64_t done = 0; done < bytes; done += chunk) {
    const std::uint64_t part = std::min(chunk, bytes - done);
    if (const int error = read.add(buffer.data(), source_pid, source + done, part)) {
      return error;
    }
    if (const int error = read.flush()) {
      return error;
    }
    if (const int error = write.add(buffer.data(), target_pid, target + done, part)) {
      return error;
    }
    if (const int error = write.flush()) {
      return error;
    }
  }
  return 0;
}

} // namespace

BufferView view_of(const BufferDescriptor& descriptor, bool own_process, std::byte* arena_base) {
  switch (descriptor.path) {
  case Path::mapped:
  case Path::staged:
    return {.direct = arena_base + descriptor.offset};
  case Path::own:
  case Path::cma:
    break;
  }
  if (own_process) {
    return {.direct = reinterpret_cast<std::byte*>(descriptor.address)}; // NOLINT(performance-no-int-to-ptr)
  }
  return {.pid = descriptor.pid, .address = descriptor.address};
}

int transfer(const BufferViews& target_views, std::span<const Slice> target, const BufferViews& source_views,
             std::span<const Slice> source) {
  Cursor to(target_views, target);
  Cursor from(source_views, source);
  AttachBatch reads(process_vm_readv);
  AttachBatch writes(process_vm_writev);
  while (!to.done() && !from.done()) {
    const std::uint64_t bytes = std::min(to.run(), from.run());
    const BufferView& t = to.view();
    const BufferView& f = from.view();
    int error = 0;
    if (t.direct != nullptr && f.direct != nullptr) {
      std::memcpy(t.direct + to.offset(), f.direct + from.offset(), bytes);
    } else if (t.direct != nullptr) {
      error = reads.add(t.direct + to.offset(), f.pid, f.address + from.offset(), bytes);
    } else if (f.direct != nullptr) {
      error = writes.add(f.direct + from.offset(), t.pid, t.address + to.offset(), bytes);
    } else {
      error = relay(t.pid, t.address + to.offset(), f.pid, f.address + from.offset(), bytes);
    }
    if (error != 0) {
      return error;
    }
    to.advance(bytes);
    from.advance(bytes);
  }
  if (const int error = reads.flush()) {
    return error;
  }
  return writes.flush();
}

int gather(std::byte* target, const BufferViews& source_views, std::span<const Slice> source) {
  std::uint64_t bytes = 0;
  for (const Slice& s : source) {
    bytes += s.bytes();
  }
  const BufferViews here{BufferView{.direct = target}};
  const Slice whole{algos::Buffer::send, 0, bytes, 0, 1};
  return transfer(here, std::span(&whole, 1), source_views, source);
}

int scatter(const BufferViews& target_views, std::span<const Slice> target, std::byte* source) {
  std::uint64_t bytes = 0;
  for (const Slice& s : target) {
    bytes += s.bytes();
  }
  const BufferViews here{BufferView{.direct = source}};
  const Slice whole{algos::Buffer::send, 0, bytes, 0, 1};
  return transfer(target_views, target, here, std::span(&whole, 1));
}

std::byte* contiguous(const BufferViews& views, std::span<const Slice> slices) {
  if (slices.size() != 1) {
    return nullptr;
  }
  const Slice& s = slices.front();
  const BufferView& view = views[static_cast<std::size_t>(s.buffer)];
  if (view.direct == nullptr || (s.count != 1 && s.stride != s.length)) {
    return nullptr;
  }
  return view.direct + s.offset;
}

int probe_cross_memory_attach(pid_t pid, std::uint64_t address, std::uint64_t expected) {
  std::uint64_t value = 0;
  AttachBatch read(process_vm_readv);
  AttachBatch write(process_vm_writev);
  auto* here = reinterpret_cast<std::byte*>(&value);
  int error = read.add(here, pid, address, sizeof value);
  error = error != 0 ? error : read.flush();
  if (error != 0) {
    return error;
  }
  if (value != expected) {
    return ESRCH; // somebody answers to that number, but not the process that we mean
  }
  error = write.add(here, pid, address, sizeof value); // writes back what was read
  return error != 0 ? error : write.flush();
}

} // namespace stoker::engine
