// SPDX-License-Identifier: BSD-3-Clause
// What calls of the C++ interface throw.
#pragma once

#include <stoker/stoker.h>
#include <stoker/stoker_error.hpp>

#include <functional>

namespace api_tests {

// STOKER_SUCCESS if it throws nothing.
inline int code_thrown_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const stoker::Error& error) {
    return error.code();
  }
  return STOKER_SUCCESS;
}

} // namespace api_tests
