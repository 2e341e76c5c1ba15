// SPDX-License-Identifier: BSD-3-Clause
// What the init functions of the C door share: the way from an engine's handle to a request's, and arguments as wide as the engine
// takes them.
#pragma once

#include "api/c/guarded.hpp"
#include <stoker/stoker.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace stoker::engine {
class Request;
}

namespace stoker::api {

// Takes ownership. Throws engine::Error(resource) when there are too many.
[[nodiscard]] stoker_request keep(std::unique_ptr<engine::Request> request);

// `make` gets the engine.
template <class Make>
void init(stoker_engine engine, stoker_request* request, Make&& make) {
  check_pointer(request, "request");
  *request = STOKER_REQUEST_NULL;
  *request = keep(make(live(engine)));
}

[[nodiscard]] inline std::size_t size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return static_cast<std::size_t>(size);
}

// Counts and displacements of the calls that have int. Null stays null.
struct WideArrays {
  WideArrays(const int* given_counts, const int* given_displs, std::size_t blocks)
      : wide_counts(widened<MPI_Count>(given_counts, blocks)), wide_displs(widened<MPI_Aint>(given_displs, blocks)),
        counts(given_counts == nullptr ? nullptr : wide_counts.data()),
        displs(given_displs == nullptr ? nullptr : wide_displs.data()) {}
  std::vector<MPI_Count> wide_counts;
  std::vector<MPI_Aint> wide_displs;
  const MPI_Count* counts;
  const MPI_Aint* displs;

private:
  template <class To>
  static std::vector<To> widened(const int* values, std::size_t count) {
    return values == nullptr ? std::vector<To>() : std::vector<To>(values, values + count);
  }
};

} // namespace stoker::api
