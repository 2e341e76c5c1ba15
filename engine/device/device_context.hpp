// SPDX-License-Identifier: BSD-3-Clause
// What the driver knows about an address, and the context in which its calls concern that memory.
#pragma once

#include "engine/device/driver.hpp"

#include <cstddef>
#include <string>

namespace stoker::engine {

[[nodiscard]] inline Driver::Address address_of(const void* pointer) {
  return reinterpret_cast<Driver::Address>(pointer);
}

struct AllocationFacts {
  Driver::Context context = nullptr; // null for memory of a pool
  unsigned memory_type = 0;          // 0: the driver does not know it
  unsigned is_managed = 0;
  unsigned settles = 0; // synchronous calls of the driver's are complete when they return
  int device = 0;
  Driver::Address begin = 0;
  std::size_t bytes = 0;

  [[nodiscard]] bool contain(const void* pointer) const {
    const Driver::Address address = address_of(pointer);
    return address >= begin && address - begin < bytes;
  }
  [[nodiscard]] bool on_device() const; // or managed
  [[nodiscard]] bool pinned() const;
};
// Throws Error(access) where the device has failed for good: nothing can be said then.
[[nodiscard]] AllocationFacts facts_of(const Driver& driver, const void* pointer);

// From now on the driver's synchronous copies and fills of that memory are complete when they return. Returns the
// driver's code: it does not do so for all kinds of memory.
[[nodiscard]] int settle_synchronous_calls(const Driver& driver, Driver::Context context, const void* address);

// The context of the memory at an address, which these facts are about. Throws Error(access).
[[nodiscard]] Driver::Context context_of(const Driver& driver, const AllocationFacts& facts, const void* address);

// Throws Error(access), which names the driver's error, unless `code` is 0.
void check(const Driver& driver, int code, const char* call, const void* address);

// The calling thread's context for as long as this lives. Meanwhile another thread's capture of a stream, which
// forbids some calls to all threads, is no concern of this one's.
class CurrentContext {
public:
  CurrentContext(const Driver& driver, Driver::Context context) : driver_(driver), code_(driver.push_context(context)) {
    exchange_capture_mode();
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext() {
    exchange_capture_mode();
    Driver::Context ignored = nullptr;
    if (code_ == 0) {
      driver_.pop_context(&ignored);
    }
  }
  [[nodiscard]] bool entered() const { return code_ == 0; }
  // Throws Error(access). `address`: the memory that it is for, if any.
  void check_entered(const void* address = nullptr) const { check(driver_, code_, "cuCtxPushCurrent", address); }

private:
  void exchange_capture_mode() {
    if (driver_.exchange_capture_mode != nullptr) {
      driver_.exchange_capture_mode(&capture_mode_);
    }
  }

  const Driver& driver_;
  int code_;
  int capture_mode_ = Driver::relaxed; // or the thread's own, to be set again
};

} // namespace stoker::engine
