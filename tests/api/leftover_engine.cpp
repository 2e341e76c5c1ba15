// SPDX-License-Identifier: BSD-3-Clause
// Engines that the program forgets are destroyed inside MPI_Finalize, whatever state they are in: argv[1] says which,
// idle | active | paused | after (requests and memory are freed after MPI_Finalize) | exit (by a static destructor,
// after main) | global (with global memory over several nodes, and transfers under way while the helpers are paused).
#include "tests/api/plain.hpp"
#include <stoker/stoker_global.h>

#include <cstring>
#include <unistd.h>

using namespace api_tests;

namespace {

// A program that keeps its handles in global objects.
struct Global {
  stoker_request request = STOKER_REQUEST_NULL;
  void* memory = nullptr;
  ~Global() {
    if (request != STOKER_REQUEST_NULL &&
        (stoker_request_free(&request) != STOKER_SUCCESS || stoker_dealloc(memory) != STOKER_SUCCESS)) {
      std::fprintf(stderr, "FAILED: giving back after main: %s\n", stoker_error_message());
      _exit(1);
    }
  }
} global;

} // namespace

int main(int argc, char** argv) {
  const std::string state = argc > 1 ? argv[1] : "idle";
  int provided = 0, rank = 0, ranks = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  stoker_engine engine = STOKER_ENGINE_NULL, second = STOKER_ENGINE_NULL;
  expect_code(create_engine(MPI_COMM_WORLD, {}, &engine), STOKER_SUCCESS, "create");
  expect_code(create_engine(MPI_COMM_WORLD, {{"ranks_per_node", "1"}}, &second), STOKER_SUCCESS, "create");
  expect_exchange_works(engine, MPI_COMM_WORLD);
  expect_exchange_works(second, MPI_COMM_WORLD);

  constexpr int block = 20000;
  std::vector<int> send(static_cast<std::size_t>(ranks) * block, rank), recv(send.size(), -1);
  stoker_request request = STOKER_REQUEST_NULL;
  expect_code(stoker_alltoall_init(send.data(), block, MPI_INT, recv.data(), block, MPI_INT, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, engine, &request),
              STOKER_SUCCESS, "init");
  void* memory = nullptr;
  expect_code(stoker_alloc(engine, 100000, &memory), STOKER_SUCCESS, "alloc");
  if (state == "paused") {
    expect_code(stoker_pause(engine), STOKER_SUCCESS, "pause");
  }
  const bool started = state == "active" || state == "paused";
  if (started) {
    expect_code(stoker_start(request), STOKER_SUCCESS, "start");
  }
  stoker_global memories = STOKER_GLOBAL_NULL;
  stoker_team team = STOKER_TEAM_NULL;
  stoker_transfer transfer = STOKER_TRANSFER_NULL;
  if (state == "global") {
    stoker_gptr segment{};
    expect_code(stoker_global_create(second, 4096, &memories), STOKER_SUCCESS, "global_create");
    expect_code(stoker_team_create(memories, MPI_COMM_WORLD, &team), STOKER_SUCCESS, "team_create");
    expect_code(stoker_team_allocate(team, send.size() * sizeof(int), &segment), STOKER_SUCCESS, "team_allocate");
    expect_code(stoker_pause(second), STOKER_SUCCESS, "pause");
    segment.unit = (rank + 1) % ranks;
    expect_code(stoker_put_nb(memories, segment, send.data(), block * sizeof(int), &transfer), STOKER_SUCCESS,
                "put_nb");
    expect_code(stoker_put_nb(memories, segment, send.data(), 8, nullptr), STOKER_SUCCESS, "put_nb");
  }
  MPI_Finalize();

  if (state == "global") {
    expect_code(stoker_flush_all(memories), STOKER_ERR_REQUEST, "flush after MPI_Finalize");
    expect_code(stoker_transfer_wait(&transfer), STOKER_SUCCESS, "transfer_wait after MPI_Finalize");
    expect_code(stoker_team_free(&team), STOKER_SUCCESS, "team_free after MPI_Finalize");
    expect_code(stoker_global_free(&memories), STOKER_SUCCESS, "global_free after MPI_Finalize");
  }
  if (started) { // completed on the way
    for (std::size_t i = 0; i < recv.size(); ++i) {
      if (recv[i] != static_cast<int>(i / block)) {
        expect(false, "element " + std::to_string(i) + " of the exchange that was active in MPI_Finalize");
        break;
      }
    }
  }
  if (state == "after") {
    expect_code(stoker_start(request), STOKER_ERR_REQUEST, "start after MPI_Finalize");
    expect_code(stoker_request_free(&request), STOKER_SUCCESS, "free after MPI_Finalize");
    std::memset(memory, 1, 100000);
    expect_code(stoker_dealloc(memory), STOKER_SUCCESS, "dealloc after MPI_Finalize");
  }
  if (state == "exit") {
    global.request = request;
    global.memory = memory;
  }
  return failures == 0 ? 0 : 1;
}
