// SPDX-License-Identifier: BSD-3-Clause
// libstoker-heap.so: malloc and its like. Long allocations come from the drop-in library's source once there is one.
// All others go to the next library that has these functions, as if this one were not there.
#include "api/heap/heap_source.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <dlfcn.h>
#include <malloc.h>

namespace {

// The functions behind this library. The first call of any looks for them; there are no other threads yet, because
// starting one takes a call.
struct Next {
  decltype(&::malloc) malloc;
  decltype(&::calloc) calloc;
  decltype(&::realloc) realloc;
  decltype(&::aligned_alloc) aligned_alloc;
  decltype(&::memalign) memalign;
  decltype(&::posix_memalign) posix_memalign;
  decltype(&::valloc) valloc;
  decltype(&::free) free;
  decltype(&::malloc_usable_size) malloc_usable_size;
};
constinit Next found{};

// Set while this thread is in the source, whose own allocations are not the application's, or looks for functions.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool inside = false;
class Inside {
public:
  Inside() = default;
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() {
    inside = before_;
    errno = error_;
  }

private:
  bool before_ = std::exchange(inside, true);
  int error_ = errno;
};

template <class Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

const Next& next() {
  if (found.malloc_usable_size == nullptr) [[unlikely]] {
    const Inside guard;
    find(found.malloc, "malloc");
    find(found.calloc, "calloc");
    find(found.realloc, "realloc");
    find(found.aligned_alloc, "aligned_alloc");
    find(found.memalign, "memalign");
    find(found.posix_memalign, "posix_memalign");
    find(found.valloc, "valloc");
    find(found.free, "free");
    find(found.malloc_usable_size, "malloc_usable_size");
  }
  return found;
}

// What older C libraries allocate while they look for functions. It is never given back.
struct Early {
  static constexpr std::size_t unit = alignof(std::max_align_t);
  alignas(unit) std::byte bytes[4096];
  std::size_t used;

  [[nodiscard]] bool contains(const void* memory) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(memory) - bytes) < sizeof bytes;
  }
  void* take(std::size_t size) {
    const std::size_t at = std::exchange(used, used + (size + unit - 1) / unit * unit);
    return size <= sizeof bytes && used <= sizeof bytes ? bytes + at : nullptr;
  }
};
constinit Early early{};
[[nodiscard]] bool is_early() { return inside && found.malloc_usable_size == nullptr; }

constinit std::atomic<const StokerHeapSource*> the_source{nullptr};

[[nodiscard]] const StokerHeapSource* source() { return the_source.load(std::memory_order_acquire); }

// Null: the allocation is a short one, or the source has none.
[[nodiscard]] void* long_block(std::size_t bytes) {
  const StokerHeapSource* const from = source();
  if (from == nullptr || bytes < from->least_bytes || inside) {
    return nullptr;
  }
  const Inside guard;
  return from->allocate(bytes);
}

[[nodiscard]] void* aligned_long_block(std::size_t alignment, std::size_t bytes) {
  constexpr std::size_t page = 4096; // the shortest of any system
  return std::has_single_bit(alignment) && alignment <= page ? long_block(bytes) : nullptr;
}

[[nodiscard]] bool is_long_block(const void* memory) {
  const StokerHeapSource* const from = source();
  return from != nullptr && static_cast<std::size_t>(static_cast<const std::byte*>(memory) - from->begin) < from->bytes;
}

[[nodiscard]] std::size_t bytes_of_long_block(void* memory) {
  const Inside guard;
  return source()->bytes_of(memory);
}

// To another place. The old one stays as it is if there is no room for the new one.
[[nodiscard]] void* moved(void* memory, std::size_t old_bytes, void* to, std::size_t bytes) {
  if (to != nullptr) {
    std::memcpy(to, memory, std::min(old_bytes, bytes));
    std::free(memory);
  }
  return to;
}

} // namespace

extern "C" {

void stoker_heap_use(const StokerHeapSource* source) { the_source.store(source, std::memory_order_release); }

void* malloc(std::size_t size) noexcept {
  if (void* const block = long_block(size)) {
    return block;
  }
  return is_early() ? early.take(size) : next().malloc(size);
}

void* calloc(std::size_t nmemb, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (!__builtin_mul_overflow(nmemb, size, &bytes)) {
    if (void* const block = long_block(bytes)) {
      return std::memset(block, 0, bytes);
    }
    if (is_early()) {
      return early.take(bytes);
    }
  }
  return next().calloc(nmemb, size);
}

void free(void* ptr) noexcept {
  if (is_long_block(ptr)) {
    const Inside guard;
    source()->deallocate(ptr);
  } else if (!early.contains(ptr)) {
    next().free(ptr);
  }
}

// A block changes sides if its length does. A long one that the source had no room for stays where it is.
void* realloc(void* ptr, std::size_t size) noexcept {
  if (ptr == nullptr) {
    return malloc(size);
  }
  if (is_long_block(ptr)) {
    if (size == 0) {
      free(ptr);
      return nullptr;
    }
    const std::size_t old_size = bytes_of_long_block(ptr);
    return size == old_size ? ptr : moved(ptr, old_size, malloc(size), size);
  }
  const StokerHeapSource* const from = source();
  if (from != nullptr && size >= from->least_bytes) {
    const std::size_t old_size = next().malloc_usable_size(ptr);
    void* const block = old_size < from->least_bytes ? long_block(size) : nullptr;
    if (block != nullptr) {
      return moved(ptr, old_size, block, size);
    }
  }
  return next().realloc(ptr, size);
}

void* reallocarray(void* ptr, std::size_t nmemb, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(nmemb, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(ptr, bytes);
}

int posix_memalign(void** memptr, std::size_t alignment, std::size_t size) noexcept {
  void* const block = alignment % sizeof(void*) == 0 ? aligned_long_block(alignment, size) : nullptr;
  if (block == nullptr) {
    return next().posix_memalign(memptr, alignment, size);
  }
  *memptr = block;
  return 0;
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  void* const block = aligned_long_block(alignment, size);
  return block != nullptr ? block : next().aligned_alloc(alignment, size);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  void* const block = aligned_long_block(alignment, size);
  return block != nullptr ? block : next().memalign(alignment, size);
}

void* valloc(std::size_t size) noexcept {
  void* const block = long_block(size);
  return block != nullptr ? block : next().valloc(size);
}

std::size_t malloc_usable_size(void* ptr) noexcept {
  return is_long_block(ptr) ? bytes_of_long_block(ptr) : next().malloc_usable_size(ptr);
}
}
