// SPDX-License-Identifier: BSD-3-Clause
#include "engine/device/device_memory.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/error.hpp"
#include "engine/device/driver.hpp"

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace stoker::engine {
namespace {

// Values of cuda.h.
constexpr int context_attribute = 1;
constexpr int memory_type_attribute = 2;
constexpr int is_managed_attribute = 8;
constexpr int ordinal_attribute = 9;
constexpr int range_begin_attribute = 11;
constexpr int range_bytes_attribute = 12;
constexpr unsigned host_memory = 1;
constexpr unsigned device_memory = 2;
constexpr unsigned non_blocking = 1; // the stream does not wait for the application's default stream
constexpr int invalid_handle = 400;
constexpr int context_is_destroyed = 709;

Driver::Address address_of(const void* pointer) { return reinterpret_cast<Driver::Address>(pointer); }

struct Attributes {
  Driver::Context context = nullptr; // null for memory of a pool
  unsigned memory_type = 0;          // 0: the driver does not know it
  unsigned is_managed = 0;
  int device = 0;
  Driver::Address begin = 0; // of the allocation
  std::size_t bytes = 0;

  [[nodiscard]] bool contain(const DevicePiece& piece) const {
    const Driver::Address address = address_of(piece.device);
    return address >= begin && address - begin < bytes;
  }
};

Attributes attributes_of(const Driver& driver, const void* pointer) {
  Attributes found;
  int names[] = {context_attribute, memory_type_attribute, is_managed_attribute,
                 ordinal_attribute, range_begin_attribute, range_bytes_attribute};
  void* values[] = {&found.context, &found.memory_type, &found.is_managed, &found.device, &found.begin, &found.bytes};
  return driver.pointer_attributes(6, names, values, address_of(pointer)) == 0 ? found : Attributes{};
}

Error failure(const std::string& what, const void* address) {
  return {Code::access,
          "{} for the device memory at {}; expected memory that stays allocated while a request has it, "
          "of a device that works",
          what, address};
}

void check(const Driver& driver, int code, const char* call, const void* address) {
  if (code != 0) {
    throw failure(fmt::format("{} failed ({})", call, driver.name_of(code)), address);
  }
}

// The context of some memory, whose attributes these are. Throws Error(access).
Driver::Context context_of(const Driver& driver, const Attributes& attributes, const void* address) {
  Driver::Context context = attributes.context;
  if (attributes.memory_type == 0 && attributes.is_managed == 0) {
    throw failure("there is no allocation any more", address);
  }
  if (context == nullptr) { // memory of a pool. Never released: the CUDA runtime keeps it, too
    check(driver, driver.retain_primary_context(&context, attributes.device), "cuDevicePrimaryCtxRetain", address);
  }
  return context;
}

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
  [[nodiscard]] int code() const { return code_; } // 0, or the driver's error

private:
  const Driver& driver_;
  int code_;
};

// One stream for each context. They live as long as the process: the driver may be gone before static objects are.
class Streams {
public:
  // The current context's. Throws Error(access).
  Driver::Stream of(const Driver& driver, Driver::Context context, const void* address) {
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = streams_.try_emplace(context, nullptr);
    if (is_new) {
      const int code = driver.create_stream(&entry->second, non_blocking);
      if (code != 0) {
        streams_.erase(entry);
        check(driver, code, "cuStreamCreate", address);
      }
    }
    return entry->second;
  }
  void forget(Driver::Context context) {
    const std::lock_guard lock(mutex_);
    streams_.erase(context);
  }

private:
  std::mutex mutex_;
  std::map<Driver::Context, Driver::Stream> streams_;
};

Streams& streams() {
  static auto* const all = new Streams;
  return *all;
}

// Copies pieces in memory of one context.
template <class Copy>
void copy_in(const Driver& driver, Driver::Context context, const char* call, std::span<const DevicePiece> pieces,
             Copy copy) {
  const void* const address = pieces.front().device;
  const CurrentContext current(driver, context);
  check(driver, current.code(), "cuCtxPushCurrent", address);
  const auto attempt = [&] {
    const Driver::Stream stream = streams().of(driver, context, address);
    for (const DevicePiece& piece : pieces) {
      if (const int code = copy(driver, piece, stream); code != 0) {
        (void)driver.synchronize(stream); // nothing may go on copying
        return code;
      }
    }
    return driver.synchronize(stream);
  };
  int code = attempt();
  if (code == invalid_handle || code == context_is_destroyed) { // the device was reset, and its stream went with that
    streams().forget(context);
    code = attempt();
  }
  check(driver, code, call, address);
}

// `copy`: int(const Driver&, const DevicePiece&, Stream), which puts a copy into the stream.
template <class Copy>
void carry_out(const char* call, std::span<const DevicePiece> pieces, Copy copy) {
  while (!pieces.empty()) {
    const Driver& driver = *loaded_driver(); // there is device memory
    const void* const address = pieces.front().device;
    const Attributes allocation = attributes_of(driver, address);
    std::size_t count = 1;
    while (count < pieces.size() && allocation.contain(pieces[count])) {
      ++count;
    }
    copy_in(driver, context_of(driver, allocation, address), call, pieces.first(count), copy);
    pieces = pieces.subspan(count);
  }
}

} // namespace

Residence residence_of(const void* address) {
  const Driver* const driver = loaded_driver();
  if (driver == nullptr) {
    return Residence::host;
  }
  const Attributes attributes = attributes_of(*driver, address);
  if (attributes.is_managed != 0 || attributes.memory_type == device_memory) {
    return Residence::device;
  }
  return attributes.memory_type == host_memory ? Residence::pinned : Residence::host;
}

void copy_to_host(std::span<const DevicePiece> pieces) {
  carry_out("cuMemcpyDtoHAsync", pieces, [](const Driver& driver, const DevicePiece& piece, Driver::Stream stream) {
    return driver.copy_to_host(piece.host, address_of(piece.device), piece.bytes, stream);
  });
}

void copy_to_device(std::span<const DevicePiece> pieces) {
  carry_out("cuMemcpyHtoDAsync", pieces, [](const Driver& driver, const DevicePiece& piece, Driver::Stream stream) {
    return driver.copy_to_device(address_of(piece.device), piece.host, piece.bytes, stream);
  });
}

PinnedPages::PinnedPages(void* pages, std::size_t bytes, const void* of_device) {
  const Driver& driver = *loaded_driver();
  if (attempt([&] { context_ = context_of(driver, attributes_of(driver, of_device), of_device); })) {
    return;
  }
  const CurrentContext current(driver, context_);
  if (current.code() == 0 && driver.register_host(pages, bytes, 0) == 0) {
    pages_ = pages;
  }
}

PinnedPages::PinnedPages(PinnedPages&& other) noexcept
    : pages_(std::exchange(other.pages_, nullptr)), context_(other.context_) {}

PinnedPages& PinnedPages::operator=(PinnedPages&& other) noexcept {
  std::swap(pages_, other.pages_);
  std::swap(context_, other.context_);
  return *this;
}

PinnedPages::~PinnedPages() {
  if (pages_ != nullptr) {
    const Driver& driver = *loaded_driver();
    const CurrentContext current(driver, context_); // may be gone: so is what it pinned, then
    driver.unregister_host(pages_);
  }
}

} // namespace stoker::engine
