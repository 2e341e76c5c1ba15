// SPDX-License-Identifier: BSD-3-Clause
// The job that the fault tests injure: an alltoall and an alltoallv between all ranks, started together, checked in
// every epoch. Prints one line "rank R: ok, N epochs, access SEND/RECV" per rank, or "rank R: CODE TEXT: MESSAGE" for
// an error.
//
//   exchange_loop [--epochs N] [--block BYTES] [--folder DIR] [KEY=VALUE...]
//
// Without --epochs it runs until a file DIR/stop appears. A rank that has run 20 epochs writes its process id to DIR/R.
// An error goes to DIR/error.R, too: a launcher may lose the last words of a job that breaks.
// Exit: 0 all right, 1 wrong data, 2 an error on creation or init (on every rank), 3 an error later.
#include <stoker/stoker.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace {

int rank = 0;
std::filesystem::path folder;

bool good(int code) {
  if (code != STOKER_SUCCESS) {
    const std::string line = "rank " + std::to_string(rank) + ": code " + std::to_string(code) + ", " +
                             stoker_error_string(code) + ": " + stoker_error_message() + "\n";
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
    if (!folder.empty()) {
      std::ofstream(folder / ("error." + std::to_string(rank))) << line;
    }
  }
  return code == STOKER_SUCCESS;
}

struct Options {
  long epochs = -1;
  int elements = 1024; // per block
  std::vector<stoker_setting> settings;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--epochs" && i + 1 < argc) {
      options.epochs = std::atol(argv[++i]);
    } else if (argument == "--block" && i + 1 < argc) {
      options.elements = std::atoi(argv[++i]) / 4;
    } else if (argument == "--folder" && i + 1 < argc) {
      folder = argv[++i];
    } else if (char* equals = const_cast<char*>(std::char_traits<char>::find(argv[i], argument.size(), '=')); equals) {
      *equals = '\0';
      options.settings.push_back({argv[i], equals + 1});
    } else {
      std::fprintf(stderr, "exchange_loop: unknown argument %s\n", argv[i]);
      std::exit(64);
    }
  }
  return options;
}

int value(int source, int destination, long epoch, int position) {
  return source * 7919 + destination * 104729 + static_cast<int>(epoch) * 31 + position * 3;
}

int run(const Options& options, stoker_engine engine, int ranks) {
  // The first element of every block says whether its sender wants another epoch; rank 0's counts.
  const auto block = static_cast<std::size_t>(options.elements);
  std::vector<int> send(block * static_cast<std::size_t>(ranks));
  std::vector<int> recv[2] = {std::vector<int>(send.size()), std::vector<int>(send.size())};
  std::vector<int> counts(static_cast<std::size_t>(ranks), options.elements), displs;
  for (int peer = 0; peer < ranks; ++peer) {
    displs.push_back(peer * options.elements);
  }
  stoker_request requests[2] = {STOKER_REQUEST_NULL, STOKER_REQUEST_NULL};
  if (!good(stoker_alltoall_init(send.data(), options.elements, MPI_INT, recv[0].data(), options.elements, MPI_INT,
                                 MPI_COMM_WORLD, MPI_INFO_NULL, engine, &requests[0])) ||
      !good(stoker_alltoallv_init(send.data(), counts.data(), displs.data(), MPI_INT, recv[1].data(), counts.data(),
                                  displs.data(), MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, engine, &requests[1]))) {
    return 2;
  }
  long epoch = 0;
  for (bool more = true; more; ++epoch) {
    const bool go_on = options.epochs >= 0 ? epoch + 1 < options.epochs : !std::filesystem::exists(folder / "stop");
    for (std::size_t i = 0; i < send.size(); ++i) {
      const int position = static_cast<int>(i % block);
      send[i] = position == 0 ? (go_on ? 1 : 0) : value(rank, static_cast<int>(i / block), epoch, position);
      recv[0][i] = recv[1][i] = -1;
    }
    if (!good(stoker_startall(2, requests)) || !good(stoker_waitall(2, requests))) {
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
    more = recv[0][0] == 1;
    for (std::size_t i = 0; i < send.size(); ++i) {
      const int position = static_cast<int>(i % block);
      const int source = static_cast<int>(i / block);
      const int expected = value(source, rank, epoch, position);
      if (position != 0 && (recv[0][i] != expected || recv[1][i] != expected)) {
        std::fprintf(stderr, "rank %d: epoch %ld: wrong element %d from rank %d\n", rank, epoch, position, source);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
    if (epoch == 20 && !folder.empty()) {
      const auto temporary = folder / (".pid" + std::to_string(rank));
      std::ofstream(temporary) << getpid();
      std::filesystem::rename(temporary, folder / std::to_string(rank));
    }
  }
  stoker_statistics statistics{};
  statistics.size = sizeof statistics;
  good(stoker_request_statistics(requests[0], &statistics));
  std::printf("rank %d: ok, %ld epochs, access %s/%s\n", rank, epoch, statistics.send_access, statistics.recv_access);
  return good(stoker_request_free(&requests[0])) && good(stoker_request_free(&requests[1])) ? 0 : 3;
}

} // namespace

int main(int argc, char** argv) {
  int provided = 0, ranks = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Options options = parse(argc, argv);
  stoker_engine engine = STOKER_ENGINE_NULL;
  int result = 2;
  if (good(stoker_engine_create(MPI_COMM_WORLD, options.settings.data(), options.settings.size(), &engine))) {
    result = run(options, engine, ranks);
    if (!good(stoker_engine_destroy(&engine))) {
      result = 3;
    }
  }
  MPI_Finalize();
  return result;
}
