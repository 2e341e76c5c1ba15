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
[[nodiscard]] AllocationFacts facts_of(const Driver& driver, const void* pointer);

// The context of the memory at an address, which these facts are about. Throws Error(access).
[[nodiscard]] Driver::Context context_of(const Driver& driver, const AllocationFacts& facts, const void* address);

// Throws Error(access), which names the driver's error, unless `code` is 0.
void check(const Driver& driver, int code, const char* call, const void* address);

// The calling thread's context for as long as this lives.
class CurrentContext {
public:
  CurrentContext(const Driver& driver, Driver::Context context)
      : driver_(driver), code_(driver.push_context(context)) {}
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext() {
    Driver::Context ignored = nullptr;
    if (code_ == 0) {
      driver_.pop_context(&ignored);
    }
  }
  [[nodiscard]] bool entered() const { return code_ == 0; }
  // Throws Error(access). `address`: the memory that it is for, if any.
  void check_entered(const void* address = nullptr) const { check(driver_, code_, "cuCtxPushCurrent", address); }

private:
  const Driver& driver_;
  int code_;
};

} // namespace stoker::engine
