// SPDX-License-Identifier: BSD-3-Clause
// The job whose carrier the fault tests kill while its node's units put into each other's global memory, for ever. An
// error goes to DIR/error.R; a rank that has put 20 times writes its process id to DIR/R.
//
//   transfer_loop --folder DIR [--fill]
//       --fill    once DIR/stop exists, puts that nobody waits for: more than the ring to the helper holds
//
// Exit: 3, an error, which is what the test waits for.
#include <stoker/stoker_global.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

void check(int code, const std::filesystem::path& folder, int rank) {
  if (code != STOKER_SUCCESS) {
    std::ofstream(folder / ("error." + std::to_string(rank)))
        << "rank " << rank << ": code " << code << ", " << stoker_error_message() << "\n";
    std::_Exit(3); // MPI is missing a process
  }
}

} // namespace

int main(int argc, char** argv) {
  int provided = 0;
  int rank = 0;
  int ranks = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::filesystem::path folder = argc >= 3 ? argv[2] : ".";
  const bool fill = argc == 4 && std::string(argv[3]) == "--fill";
  const auto checked = [&](int code) { check(code, folder, rank); };
  stoker_engine engine = STOKER_ENGINE_NULL;
  stoker_global global = STOKER_GLOBAL_NULL;
  stoker_team team = STOKER_TEAM_NULL;
  stoker_gptr segment{};
  std::vector<char> local(100000);
  checked(stoker_engine_create(MPI_COMM_WORLD, nullptr, 0, &engine));
  checked(stoker_global_create(engine, 0, &global));
  checked(stoker_team_create(global, MPI_COMM_WORLD, &team));
  checked(stoker_team_allocate(team, local.size(), &segment));
  segment.unit = (rank + 1) % ranks;
  for (long round = 0;; ++round) {
    if (fill && round > 20) {
      checked(stoker_put_nb(global, segment, local.data(), local.size(), nullptr));
      continue;
    }
    stoker_transfer transfer = STOKER_TRANSFER_NULL;
    checked(stoker_put_nb(global, segment, local.data(), local.size(), &transfer));
    checked(stoker_transfer_wait(&transfer));
    if (round == 20) {
      const auto temporary = folder / (".pid" + std::to_string(rank));
      std::ofstream(temporary) << getpid();
      std::filesystem::rename(temporary, folder / std::to_string(rank));
      while (fill && !std::filesystem::exists(folder / "stop")) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }
  }
}
