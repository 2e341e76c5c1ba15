// SPDX-License-Identifier: BSD-3-Clause
// Memory that the stand-in for XPMEM can attach, and what the tests ask the stand-in.
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <span>
#include <utility>

namespace xpmem_tests {

// Ordinary memory, but for being mapped shared.
class SharedDoubles {
public:
  explicit SharedDoubles(std::size_t count)
      : bytes_(count * sizeof(double)),
        base_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (base_ == MAP_FAILED) {
      throw std::bad_alloc();
    }
  }
  SharedDoubles(SharedDoubles&& other) noexcept : bytes_(other.bytes_), base_(std::exchange(other.base_, MAP_FAILED)) {}
  SharedDoubles& operator=(SharedDoubles&&) = delete;
  ~SharedDoubles() {
    if (base_ != MAP_FAILED) {
      munmap(base_, bytes_);
    }
  }
  [[nodiscard]] double* data() const { return static_cast<double*>(base_); }
  [[nodiscard]] std::span<double> span() const { return {data(), bytes_ / sizeof(double)}; }

private:
  std::size_t bytes_;
  void* base_;
};

// How many ranges this process has attached.
[[nodiscard]] inline std::size_t attachments() {
  void* const library = dlopen("libxpmem.so.0", RTLD_LAZY | RTLD_NOLOAD);
  auto* const count = reinterpret_cast<std::size_t (*)()>(dlsym(library, "xpmem_stand_in_attachments"));
  dlclose(library);
  return count();
}

} // namespace xpmem_tests
