// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/access.hpp"

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

constexpr pid_t no_memory = -1; // in the view of a buffer that nobody reaches

using AttachCall = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

// Collects pairs of equally long runs for one remote process and moves them with few system calls.
class AttachBatch {
public:
  explicit AttachBatch(AttachCall call) : call_(call) {}

  [[nodiscard]] int add(std::byte* here, pid_t pid, std::uint64_t there, std::uint64_t bytes) {
    if (pid == no_memory) {
      return ENOMEM;
    }
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
  std::array<iovec, 64> local_; // filled as far as counted
  std::array<iovec, 64> remote_;
};

// Moves one run.
int move_run(AttachCall call, std::byte* here, pid_t pid, std::uint64_t there, std::uint64_t bytes) {
  AttachBatch batch(call);
  const int error = batch.add(here, pid, there, bytes);
  return error != 0 ? error : batch.flush();
}

// Between two foreign processes there is no single call: pass through a buffer that stays in the cache.
int relay(pid_t target_pid, std::uint64_t target, pid_t source_pid, std::uint64_t source, std::uint64_t bytes) {
  static constexpr std::uint64_t chunk = std::uint64_t{64} * 1024;
  thread_local std::vector<std::byte> buffer(chunk);
  for (std::uint64_t done = 0; done < bytes; done += chunk) {
    const std::uint64_t part = std::min(chunk, bytes - done);
    if (const int error = move_run(process_vm_readv, buffer.data(), source_pid, source + done, part)) {
      return error;
    }
    if (const int error = move_run(process_vm_writev, buffer.data(), target_pid, target + done, part)) {
      return error;
    }
  }
  return 0;
}

// Between places of which this process cannot address at least one.
int transfer_attached(Cursor to, Cursor from) {
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

std::uint64_t total_bytes(std::span<const Slice> slices) {
  std::uint64_t bytes = 0;
  for (const Slice& slice : slices) {
    bytes += slice.bytes();
  }
  return bytes;
}

// Memory that this process cannot address is fetched and combined in chunks of this size. That is long enough for the
// system calls, and still in the second-level cache when it is combined. With 4 MiB, chunks of 32 KiB took 1.3 times as
// long, and one chunk 1.1 times.
constexpr std::uint64_t chunk_bytes = std::uint64_t{128} * 1024;

std::uint64_t chunk_of(std::uint64_t element_bytes) {
  return std::max<std::uint64_t>(chunk_bytes / element_bytes, 1) * element_bytes;
}

// One for each operand and one for the result; grows for elements larger than a chunk.
std::byte* chunk(std::size_t which, std::uint64_t bytes) {
  thread_local std::array<std::vector<std::byte>, 3> chunks;
  if (chunks[which].size() < bytes) {
    chunks[which].resize(bytes);
  }
  return chunks[which].data();
}

// How many bytes from the cursor on, `most` at most, this process cannot address.
std::uint64_t remote_bytes(Cursor cursor, std::uint64_t most) {
  std::uint64_t bytes = 0;
  while (bytes < most && !cursor.done() && cursor.view().direct == nullptr) {
    const std::uint64_t run = std::min(cursor.run(), most - bytes);
    bytes += run;
    cursor.advance(run);
  }
  return bytes;
}

// Reads or writes the next `bytes` bytes of the cursor, none of which this process can address.
int move_chunk(AttachCall call, Cursor& cursor, std::byte* here, std::uint64_t bytes) {
  AttachBatch batch(call);
  while (bytes > 0) {
    const BufferView& view = cursor.view();
    const std::uint64_t run = std::min(cursor.run(), bytes);
    if (const int error = batch.add(here, view.pid, view.address + cursor.offset(), run)) {
      return error;
    }
    here += run;
    bytes -= run;
    cursor.advance(run);
  }
  return batch.flush();
}

// A place as runs that this process can address: its own, or chunks.
class Runs {
public:
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  void advance(std::uint64_t bytes) {
    data_ += bytes;
    bytes_ -= bytes;
  }

protected:
  Runs(const Place& place, std::uint64_t element_bytes, std::size_t which)
      : cursor_(place.views, place.slices), element_bytes_(element_bytes), which_(which) {}

  // Goes on to the next run, behind the cursor. Returns whether it is a chunk, in front of the cursor.
  bool take() {
    if (const BufferView& view = cursor_.view(); view.direct != nullptr) {
      data_ = view.direct + cursor_.offset();
      bytes_ = cursor_.run();
      cursor_.advance(bytes_);
      return false;
    }
    const std::uint64_t most = chunk_of(element_bytes_);
    data_ = chunk(which_, most);
    bytes_ = remote_bytes(cursor_, most);
    return true;
  }

  Cursor cursor_;

private:
  std::uint64_t element_bytes_;
  std::size_t which_;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

class OperandRuns : public Runs {
public:
  OperandRuns(const Place& place, std::uint64_t element_bytes, std::size_t which) : Runs(place, element_bytes, which) {}

  // Goes on to the next run if this one is used up; there is one. Returns 0 or errno.
  [[nodiscard]] int next() {
    return bytes() == 0 && take() ? move_chunk(process_vm_readv, cursor_, data(), bytes()) : 0;
  }
};

// The place of the result, where a chunk is written to its place once it is used up.
class ResultRuns : public Runs {
public:
  ResultRuns(const Place& place, std::uint64_t element_bytes) : Runs(place, element_bytes, 2) {}

  // As above, but at the end bytes() is 0.
  [[nodiscard]] int next() {
    if (bytes() > 0) {
      return 0;
    }
    if (unwritten_ > 0) {
      if (const int error = move_chunk(process_vm_writev, cursor_, data() - unwritten_, unwritten_)) {
        return error;
      }
      unwritten_ = 0;
    }
    if (!cursor_.done() && take()) {
      unwritten_ = bytes();
    }
    return 0;
  }

private:
  std::uint64_t unwritten_ = 0; // of the chunk
};

} // namespace

BufferView view_of(const BufferDescriptor& descriptor, pid_t pid, bool own_process, std::byte* arena_base) {
  switch (descriptor.path) {
  case Path::mapped:
  case Path::staged:
    return {.direct = arena_base + descriptor.offset};
  case Path::none:
    return {.pid = no_memory};
  case Path::own:
  case Path::attached:
    break;
  }
  if (own_process) {
    return {.direct = reinterpret_cast<std::byte*>(descriptor.address)}; // NOLINT(performance-no-int-to-ptr)
  }
  return {.pid = pid, .address = descriptor.address};
}

int transfer(const BufferViews& target_views, std::span<const Slice> target, const BufferViews& source_views,
             std::span<const Slice> source) {
  Cursor to(target_views, target);
  Cursor from(source_views, source);
  while (!to.done() && !from.done()) {
    const BufferView& t = to.view();
    const BufferView& f = from.view();
    if (t.direct == nullptr || f.direct == nullptr) {
      return transfer_attached(to, from);
    }
    const std::uint64_t bytes = std::min(to.run(), from.run());
    std::memcpy(t.direct + to.offset(), f.direct + from.offset(), bytes);
    to.advance(bytes);
    from.advance(bytes);
  }
  return 0;
}

int gather(std::byte* target, const BufferViews& source_views, std::span<const Slice> source) {
  const Contiguous here(target, total_bytes(source));
  return transfer(here.place().views, here.place().slices, source_views, source);
}

int scatter(const BufferViews& target_views, std::span<const Slice> target, std::byte* source) {
  const Contiguous here(source, total_bytes(target));
  return transfer(target_views, target, here.place().views, here.place().slices);
}

void Combiner::operator()(std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t bytes) const {
  if (code.op == ReduceOp::user) {
    operation->combine(target, left, right, bytes);
  } else {
    engine::combine(code, target, left, right, bytes);
  }
}

int combine(const Combiner& combiner, const Place& target, const Place& left, const Place& right) {
  ResultRuns to(target, combiner.element_bytes);
  OperandRuns first(left, combiner.element_bytes, 0);
  OperandRuns second(right, combiner.element_bytes, 1);
  for (;;) {
    if (const int error = to.next()) {
      return error;
    }
    if (to.bytes() == 0) {
      return 0;
    }
    if (const int error = first.next()) {
      return error;
    }
    if (const int error = second.next()) {
      return error;
    }
    const std::uint64_t bytes = std::min({to.bytes(), first.bytes(), second.bytes()});
    combiner(to.data(), first.data(), second.data(), bytes);
    to.advance(bytes);
    first.advance(bytes);
    second.advance(bytes);
  }
}

bool is_contiguous(std::span<const Slice> slices) {
  return slices.empty() || (slices.size() == 1 && (slices[0].count == 1 || slices[0].stride == slices[0].length));
}

std::byte* contiguous(const BufferViews& views, std::span<const Slice> slices) {
  if (slices.empty() || !is_contiguous(slices)) {
    return nullptr;
  }
  const BufferView& view = views[static_cast<std::size_t>(slices[0].buffer)];
  return view.direct != nullptr && view.pid == 0 ? view.direct + slices[0].offset : nullptr;
}

int probe_cross_memory_attach(pid_t pid, std::uint64_t address, std::uint64_t expected) {
  std::uint64_t value = 0;
  auto* here = reinterpret_cast<std::byte*>(&value);
  if (const int error = move_run(process_vm_readv, here, pid, address, sizeof value)) {
    return error;
  }
  if (value != expected) {
    return ESRCH; // a process with that number exists, but it is not the one that we mean
  }
  return move_run(process_vm_writev, here, pid, address, sizeof value); // writes back what was read
}

} // namespace stoker::engine
