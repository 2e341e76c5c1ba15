// SPDX-License-Identifier: BSD-3-Clause
// Calls before MPI_Init and after MPI_Finalize are refused, and what outlived MPI can still be given back.
#include "tests/api/plain.hpp"

#include <cstring>

using namespace api_tests;

int main(int argc, char** argv) {
  stoker_engine engine = STOKER_ENGINE_NULL;
  expect(stoker_error_message() != nullptr, "a message exists before any call");
  expect_code(stoker_engine_create(MPI_COMM_WORLD, nullptr, 0, &engine), STOKER_ERR_STATE, "create before MPI_Init");
  expect(engine == STOKER_ENGINE_NULL, "no engine before MPI_Init");
  expect(std::strstr(stoker_error_message(), "MPI_Init") != nullptr, "the message says that MPI_Init is missing");
  expect(stoker_start(STOKER_REQUEST_NULL) != STOKER_SUCCESS, "start of null before MPI_Init");

  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  void* memory = nullptr;
  stoker_request request = STOKER_REQUEST_NULL;
  int send = 1, recv = 0;
  expect_code(create_engine(MPI_COMM_WORLD, {}, &engine), STOKER_SUCCESS, "create");
  expect_code(stoker_alloc(engine, 5000, &memory), STOKER_SUCCESS, "alloc");
  expect_code(
      stoker_alltoall_init(&send, 1, MPI_INT, &recv, 1, MPI_INT, MPI_COMM_SELF, MPI_INFO_NULL, engine, &request),
      STOKER_SUCCESS, "init");
  expect_code(stoker_engine_destroy(&engine), STOKER_SUCCESS, "destroy");
  MPI_Finalize();

  expect_code(stoker_engine_create(MPI_COMM_WORLD, nullptr, 0, &engine), STOKER_ERR_STATE, "create after MPI_Finalize");
  expect(std::strstr(stoker_error_message(), "finalized") != nullptr, "the message says that MPI is finalized");
  expect_code(stoker_start(request), STOKER_ERR_REQUEST, "start after MPI_Finalize");
  if (memory != nullptr) {
    std::memset(memory, 1, 5000);
  }
  expect_code(stoker_dealloc(memory), STOKER_SUCCESS, "dealloc after MPI_Finalize");
  expect_code(stoker_request_free(&request), STOKER_SUCCESS, "free after MPI_Finalize");
  return failures == 0 ? 0 : 1;
}
