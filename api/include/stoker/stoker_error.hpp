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

// What a C function writes to the address that it gets behind `arguments`.
template <class Result, class Function, class... Arguments>
[[nodiscard]] Result result_of(Function* function, const Arguments&... arguments) {
  Result result{};
  check(function(arguments..., &result));
  return result;
}
// The same for a struct that says its size.
template <class Result, class Function, class Handle>
[[nodiscard]] Result sized_result_of(Function* function, const Handle& handle) {
  Result result{};
  result.size = sizeof result;
  check(function(handle, &result));
  return result;
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
