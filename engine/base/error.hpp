// SPDX-License-Identifier: BSD-3-Clause
// The one exception type of the engine. The C interface turns it into a return code, the C++ interface into
// stoker::Error.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace stoker::engine {

// The numbers are those of STOKER_ERR_* in api/include/stoker/stoker.h (which this header does not include because it
// needs mpi.h); api/ asserts that they agree.
enum class Code : int {
  success = 0,
  argument = 1,
  request = 2,
  state = 3,
  unsupported = 4,
  mismatch = 5,
  resource = 6,
  setting = 7,
  thread_level = 8,
  mpi = 9,
  access = 10,
  peer_lost = 11,
};

// what() names the rank, the argument and what was expected.
class Error : public std::runtime_error {
public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  template <class... Arguments>
  requires(sizeof...(Arguments) > 0)
      Error(Code code, fmt::format_string<Arguments...> message, Arguments&&... arguments)
      : Error(code, fmt::format(message, std::forward<Arguments>(arguments)...)) {}
  // What the MPI library has refused, with its code.
  Error(Code code, int mpi_code, const std::string& message)
      : std::runtime_error(message), code_(code), mpi_code_(mpi_code) {}
  [[nodiscard]] Code code() const noexcept { return code_; }
  [[nodiscard]] int mpi_code() const noexcept { return mpi_code_; } // 0 (MPI_SUCCESS) where there is none

private:
  Code code_;
  int mpi_code_ = 0;
};

} // namespace stoker::engine
