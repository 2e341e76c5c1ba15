// SPDX-License-Identifier: BSD-3-Clause
// stoker: errors of the C++ interface, and ownership of handles. Included by stoker.hpp.
#pragma once

#include "stoker.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace stoker {

// The error of a stoker call. what() names the rank, the argument and what was expected; code() is one of the
// STOKER_ERR_* values.
class Error : public std::runtime_error {
public:
  Error(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

private:
  int code_;
};

namespace detail {
inline void check(int code) {
  if (code != STOKER_SUCCESS) {
    throw Error(code, stoker_error_message());
  }
}

// Owns a handle of the C interface: move-only, null after a move. `release` is not asked for its error.
template <class Handle, int (*release)(Handle*)>
class Owned {
public:
  Owned() noexcept = default;
  explicit Owned(Handle handle) noexcept : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    Owned old(std::move(other));
    std::swap(handle_, old.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != Handle{}) {
      (void)release(&handle_);
    }
  }
  operator Handle() const noexcept { return handle_; } // NOLINT(google-explicit-constructor): it stands for the handle
  [[nodiscard]] Handle* address() noexcept { return &handle_; }

private:
  Handle handle_{};
};
} // namespace detail

} // namespace stoker
