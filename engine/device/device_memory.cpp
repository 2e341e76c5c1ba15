// SPDX-License-Identifier: BSD-3-Clause
#include "engine/device/device_memory.hpp"

#include "engine/base/agreement.hpp"
#include "engine/device/device_context.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace stoker::engine {
namespace {

// Values of cuda.h.
constexpr int invalid_handle = 400;
constexpr int context_is_destroyed = 709;

// One stream for each context. They live as long as the process: the driver may be gone before static objects are.
class Streams {
public:
  // The current context's. Throws Error(access).
  Driver::Stream of(const Driver& driver, Driver::Context context, const void* address) {
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = streams_.try_emplace(context, nullptr);
    if (is_new) {
      const int code = driver.create_stream(&entry->second, Driver::non_blocking);
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
  current.check_entered(address);
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
    const AllocationFacts allocation = facts_of(driver, address);
    std::size_t count = 1;
    while (count < pieces.size() && allocation.contain(pieces[count].device)) {
      ++count;
    }
    copy_in(driver, context_of(driver, allocation, address), call, pieces.first(count), copy);
    pieces = pieces.subspan(count);
  }
}

} // namespace

MemoryKinds kinds_in(std::string_view list) {
  bool host = !list.empty();
  while (!list.empty()) {
    const std::string_view kind = list.substr(0, list.find(','));
    const std::string_view name = kind.substr(0, kind.find(':')); // restrictors follow
    host = host && (name == "system" || name == "mpi");
    list.remove_prefix(std::min(kind.size() + 1, list.size()));
  }
  return host ? MemoryKinds::host : MemoryKinds::any;
}

Residence residence_of(const void* address, MemoryKinds kinds) {
  const Driver* const driver = kinds == MemoryKinds::any ? loaded_driver() : nullptr;
  if (driver == nullptr) {
    return Residence::host;
  }
  const AllocationFacts facts = facts_of(*driver, address);
  if (facts.on_device() && facts.is_managed == 0 && facts.settles == 0 && driver->has_kernels) {
    // The copies go through a stream of their own, which waits for none of the application's. Where that is
    // refused, or the memory is about to go, the application's calls are what they are.
    (void)attempt([&] { (void)settle_synchronous_calls(*driver, context_of(*driver, facts, address), address); });
  }
  return facts.on_device() ? Residence::device : facts.pinned() ? Residence::pinned : Residence::host;
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
  if (attempt([&] { context_ = context_of(driver, facts_of(driver, of_device), of_device); })) {
    return;
  }
  const CurrentContext current(driver, context_);
  if (current.entered() && driver.register_host(pages, bytes, 0) == 0) {
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
