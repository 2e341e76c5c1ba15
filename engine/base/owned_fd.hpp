// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <unistd.h>

namespace stoker::engine {

// A file descriptor, closed at the end. Negative: none.
class OwnedFd {
public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.release()) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  operator int() const { return fd_; } // NOLINT(google-explicit-constructor): it is one
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

private:
  int fd_ = -1;
};

} // namespace stoker::engine
