// SPDX-License-Identifier: BSD-3-Clause
// The stand-in's streams: copies, and words that streams wait for and write.
#include "tests/devices/stand_in.hpp"

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <utility>

namespace stand_in {

void Stream::add(Step step, bool asynchronous) {
  const std::lock_guard lock(mutex_);
  steps_.push_back(std::move(step));
  if (asynchronous && !worker_.joinable() && !ends_) {
    worker_ = std::thread([this] { work(); });
  }
  changed_.notify_all();
}

void Stream::work() {
  Driver::stack.push_back(context_);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !steps_.empty(); });
    if (ends_) {
      return;
    }
    const Step step = std::move(steps_.front());
    steps_.pop_front();
    busy_ = true;
    const bool skips = error_ != success;
    lock.unlock();
    const int code = skips ? success : step();
    lock.lock();
    busy_ = false;
    error_ = error_ == success ? code : error_;
    changed_.notify_all();
  }
}

int Stream::synchronize() {
  std::unique_lock lock(mutex_);
  if (worker_.joinable()) {
    changed_.wait(lock, [this] { return steps_.empty() && !busy_; });
    return error_;
  }
  const auto steps = std::exchange(steps_, {});
  lock.unlock();
  int first = success;
  for (const Step& step : steps) {
    first = first == success ? step() : first;
  }
  return first;
}

void Stream::settle() {
  std::unique_lock lock(mutex_);
  if (worker_.joinable()) {
    changed_.wait(lock, [this] { return ends_ || (steps_.empty() && !busy_); });
  }
}

int Stream::query() {
  const std::lock_guard lock(mutex_);
  return error_ != success ? error_ : steps_.empty() && !busy_ ? success : not_ready;
}

void Stream::end() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (worker_.joinable()) {
    worker_.join();
  }
}

bool Stream::ending() {
  const std::lock_guard lock(mutex_);
  return ends_;
}

namespace {

// The threads of streams that nobody has destroyed.
__attribute__((destructor)) void end_streams() {
  for (Stream& stream : driver().streams) {
    stream.end();
  }
}

// With the driver locked: whether `bytes` at the address are memory that the current context may copy.
int check_copy(Driver& d, Address address, std::size_t bytes) {
  const Allocation* const found = d.find(address, bytes);
  if (found == nullptr) {
    return invalid_value;
  }
  return Driver::current() != nullptr && Driver::current()->device == found->device ? success : invalid_context;
}

int enqueue(Address device, std::size_t bytes, void* stream, std::function<void()> copy) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  if (d.lost) {
    return device_lost;
  }
  if (const int code = check_copy(d, device, bytes); code != success) {
    return code;
  }
  Stream* const queue = d.stream(stream);
  if (queue == nullptr) {
    return invalid_handle;
  }
  queue->add(
      [&d, device, bytes, copy = std::move(copy)] {
        const std::lock_guard in_step(d.mutex);
        if (d.find(device, bytes) == nullptr) {
          return invalid_value; // freed meanwhile
        }
        copy();
        return success;
      },
      false);
  return success;
}

// A step for a word of the host's, which has to be registered, or of a device.
int enqueue_word(void* stream, Address word, std::function<int(std::atomic_ref<std::uint64_t>, Stream&)> step) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  if (d.lost) {
    return device_lost;
  }
  Stream* const queue = d.stream(stream);
  if (queue == nullptr || d.find(word, sizeof(std::uint64_t)) == nullptr || word % sizeof(std::uint64_t) != 0) {
    return queue == nullptr ? invalid_handle : invalid_value;
  }
  auto* const place = reinterpret_cast<std::uint64_t*>(d.reach(word));
  queue->add([place, queue, step = std::move(step)] { return step(std::atomic_ref(*place), *queue); }, true);
  return success;
}

int create(void** stream, unsigned flags) {
  Driver& d = driver();
  if (flags != 1 || Driver::current() == nullptr) { // one that waits for the default stream hides nothing
    return Driver::current() == nullptr ? invalid_context : invalid_value;
  }
  const std::lock_guard lock(d.mutex);
  *stream = &d.streams.emplace_back(Driver::current(), Driver::current()->resets);
  return success;
}

} // namespace
} // namespace stand_in

using namespace stand_in; // NOLINT(google-build-using-namespace)

// NOLINTBEGIN(readability-identifier-naming): names are CUDA's.
extern "C" {

int cuStreamCreate(void** stream, unsigned flags) { return create(stream, flags); }

int cuStreamCreateWithPriority(void** stream, unsigned flags, int /*priority*/) { return create(stream, flags); }

int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return success;
}

int cuStreamDestroy_v2(void* stream) {
  Driver& d = driver();
  static_cast<Stream*>(stream)->synchronize();
  static_cast<Stream*>(stream)->end();
  const std::lock_guard lock(d.mutex);
  d.streams.remove_if([stream](const Stream& one) { return &one == stream; });
  return success;
}

int cuStreamSynchronize(void* stream) {
  Driver& d = driver();
  const int code = static_cast<Stream*>(stream)->synchronize();
  const std::lock_guard lock(d.mutex);
  return d.lost ? device_lost : code;
}

int cuStreamQuery(void* stream) {
  Driver& d = driver();
  const int code = static_cast<Stream*>(stream)->query();
  const std::lock_guard lock(d.mutex);
  return d.lost ? device_lost : code;
}

int cuStreamIsCapturing(void* /*stream*/, int* status) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  *status = d.captures ? 1 : 0;
  return success;
}

int cuStreamWriteValue64_v2(void* stream, Address word, std::uint64_t value, unsigned /*flags*/) {
  return enqueue_word(stream, word, [value](std::atomic_ref<std::uint64_t> place, Stream& /*stream*/) {
    place.store(value, std::memory_order_release);
    return success;
  });
}

int cuStreamWaitValue64_v2(void* stream, Address word, std::uint64_t value, unsigned flags) {
  if (flags != 0) { // others than "no less"
    return invalid_value;
  }
  return enqueue_word(stream, word, [value](std::atomic_ref<std::uint64_t> place, Stream& queue) {
    while (static_cast<std::int64_t>(place.load(std::memory_order_acquire) - value) < 0) { // as cuda.h has it
      if (queue.ending()) {
        return device_lost;
      }
      usleep(20);
    }
    return success;
  });
}

int cuMemcpyDtoHAsync_v2(void* target, Address source, std::size_t bytes, void* stream) {
  return enqueue(source, bytes, stream, [=] { std::memcpy(target, driver().reach(source), bytes); });
}

int cuMemcpyHtoDAsync_v2(Address target, const void* source, std::size_t bytes, void* stream) {
  return enqueue(target, bytes, stream, [=] { std::memcpy(driver().reach(target), source, bytes); });
}

// For the tests, as they would with a real driver.
int cuMemcpyDtoH_v2(void* target, Address source, std::size_t bytes) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  const int code = check_copy(d, source, bytes);
  if (code == success) {
    std::memcpy(target, d.reach(source), bytes);
  }
  return code;
}

int cuMemcpyHtoD_v2(Address target, const void* source, std::size_t bytes) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  const int code = check_copy(d, target, bytes);
  if (code == success) {
    std::memcpy(d.reach(target), source, bytes);
  }
  return code;
}

} // extern "C"
// NOLINTEND(readability-identifier-naming)
