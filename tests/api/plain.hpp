// SPDX-License-Identifier: BSD-3-Clause
// Checks for the test programs that cannot run under mpi_main.cpp, because how MPI is started or ended is their
// subject.
#pragma once

#include <stoker/stoker.h>

#include <cstdio>
#include <string>
#include <vector>

namespace api_tests {

inline int failures = 0;

inline void expect(bool condition, const std::string& what) {
  if (!condition) {
    std::fprintf(stderr, "FAILED: %s (last message: %s)\n", what.c_str(), stoker_error_message());
    ++failures;
  }
}

inline void expect_code(int code, int expected, const std::string& what) {
  expect(code == expected, what + ": expected " + stoker_error_string(expected) + ", got " + stoker_error_string(code));
}

inline int create_engine(MPI_Comm comm, const std::vector<stoker_setting>& settings, stoker_engine* engine) {
  return stoker_engine_create(comm, settings.data(), settings.size(), engine);
}

// Three epochs of an alltoall of one int per pair.
inline void expect_exchange_works(stoker_engine engine, MPI_Comm comm) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  std::vector<int> send(static_cast<std::size_t>(ranks)), recv(static_cast<std::size_t>(ranks));
  stoker_request request = STOKER_REQUEST_NULL;
  expect_code(
      stoker_alltoall_init(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, comm, MPI_INFO_NULL, engine, &request),
      STOKER_SUCCESS, "stoker_alltoall_init");
  for (int epoch = 0; epoch < 3 && request != STOKER_REQUEST_NULL; ++epoch) {
    for (std::size_t i = 0; i < send.size(); ++i) {
      send[i] = rank * 100 + static_cast<int>(i) + 10000 * epoch;
      recv[i] = -1;
    }
    expect_code(stoker_start(request), STOKER_SUCCESS, "stoker_start");
    expect_code(stoker_wait(request), STOKER_SUCCESS, "stoker_wait");
    for (std::size_t i = 0; i < recv.size(); ++i) {
      expect(recv[i] == static_cast<int>(i) * 100 + rank + 10000 * epoch, "element " + std::to_string(i));
    }
  }
  expect_code(stoker_request_free(&request), STOKER_SUCCESS, "stoker_request_free");
}

} // namespace api_tests
