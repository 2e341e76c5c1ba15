// SPDX-License-Identifier: BSD-3-Clause
// stoker: requests of the C++ interface. Included by stoker.hpp.
#pragma once

#include "stoker.h"
#include "stoker_error.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stoker {

namespace detail {
inline int wait_and_free(stoker_request* request) {
  (void)stoker_wait(*request);
  return stoker_request_free(request);
}
} // namespace detail

// A persistent collective request, owned. Destroying an active one waits for it first, and ignores its error.
class Request {
public:
  Request() noexcept = default;
  explicit Request(stoker_request handle) noexcept : handle_(handle) {} // takes ownership

  // Starts an epoch. The request must be inactive. Local.
  void start() { detail::check(stoker_start(live())); }
  // In the order of a stream of a device, a CUstream or cudaStream_t: the epoch begins when the stream gets there.
  void start_on(void* stream) { detail::check(stoker_start_on(live(), stream)); }
  // Returns whether the request is complete, and makes it inactive then. Local; never waits. Throws the epoch's error,
  // once.
  [[nodiscard]] bool test() { return detail::result_of<int>(stoker_test, live()) != 0; }
  // Waits until the request is complete and makes it inactive. Throws the epoch's error, once.
  void wait() { detail::check(stoker_wait(live())); }
  // What is put into the stream from now on comes after the epoch. The request is inactive once the stream can go on.
  void wait_on(void* stream) { detail::check(stoker_wait_on(live(), stream)); }
  // What the request did since init; strings in it are valid until the request is destroyed.
  [[nodiscard]] stoker_statistics statistics() const {
    return detail::sized_result_of<stoker_statistics>(stoker_request_statistics, live());
  }
  // Whether this is not empty.
  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != STOKER_REQUEST_NULL; }
  // The C handle, which this keeps; STOKER_REQUEST_NULL if empty.
  [[nodiscard]] stoker_request handle() const noexcept { return handle_; }

private:
  [[nodiscard]] stoker_request live() const {
    if (handle_ == STOKER_REQUEST_NULL) {
      throw Error(STOKER_ERR_REQUEST, "this stoker::Request is empty (default-constructed or moved from)");
    }
    return handle_;
  }
  detail::Owned<stoker_request, detail::wait_and_free> handle_;
};

namespace detail {
inline std::vector<stoker_request> handles_of(std::span<Request> requests) {
  std::vector<stoker_request> handles;
  handles.reserve(requests.size());
  for (const Request& r : requests) {
    handles.push_back(r.handle());
  }
  return handles;
}
} // namespace detail

// Starts all requests in their order. At the first error the later ones are not started.
inline void start_all(std::span<Request> requests) {
  for (Request& r : requests) {
    r.start();
  }
}
// Waits until all requests are complete; empty and inactive ones are. Throws the first error, after all are complete.
inline void wait_all(std::span<Request> requests) {
  const auto handles = detail::handles_of(requests);
  detail::check(stoker_waitall(static_cast<int>(handles.size()), handles.data()));
}
// Returns whether all requests are complete, and makes all inactive then; else changes none. Throws the first error.
[[nodiscard]] inline bool test_all(std::span<Request> requests) {
  const auto handles = detail::handles_of(requests);
  return detail::result_of<int>(stoker_testall, static_cast<int>(handles.size()), handles.data()) != 0;
}
// Waits until one of the active requests is complete, makes it inactive and returns its index; nothing if none is
// active. Throws that request's error.
[[nodiscard]] inline std::optional<std::size_t> wait_any(std::span<Request> requests) {
  const auto handles = detail::handles_of(requests);
  const int index = detail::result_of<int>(stoker_waitany, static_cast<int>(handles.size()), handles.data());
  return index == MPI_UNDEFINED ? std::nullopt : std::optional(static_cast<std::size_t>(index));
}

} // namespace stoker
