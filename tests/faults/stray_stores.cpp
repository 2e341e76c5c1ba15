// SPDX-License-Identifier: BSD-3-Clause
// A job in which one rank writes random words to its own shared memory at random moments, while all exchange. Every
// other rank has an exchange with the others, too, which must stay right, and memory that nobody may touch.
//
//   stray_stores --folder DIR --seed N --victim R [KEY=VALUE...]
//
// A rank that reports an error ends its part in that exchange. An innocent rank that has come to its end writes
// DIR/intact.R; one that crashes writes DIR/crash.R, and one whose data are wrong DIR/wrong.R. The job is broken off at
// its end, whatever came of it.
#include <stoker/stoker.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr int epochs = 400; // of each exchange
int rank = 0;
int ranks = 1;
int victim = 1;
unsigned seed = 1;
std::string folder;
char crash_file[4096];

void note_crash(int number) {
  const int file = open(crash_file, O_CREAT | O_WRONLY, 0600);
  const char digits[] = {static_cast<char>('0' + (number / 10)), static_cast<char>('0' + (number % 10))};
  (void)!write(file, digits, sizeof digits);
  _exit(99);
}

void note(const char* what, const std::string& text) {
  std::ofstream(folder + "/" + what + "." + std::to_string(rank)) << text << "\n";
}

// The shared memory in front of `end`: the root of it, blocks, staging.
std::atomic<std::uint64_t>* begin_of_arena(const void* end) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &from, &to) == 2 && from <= reinterpret_cast<std::uint64_t>(end) &&
        reinterpret_cast<std::uint64_t>(end) < to) {
      return reinterpret_cast<std::atomic<std::uint64_t>*>(from); // NOLINT(performance-no-int-to-ptr)
    }
  }
  return nullptr;
}

// Until the job ends: bursts within a page, and single words anywhere.
void write_stray_words(std::atomic<std::uint64_t>* begin, const void* end) {
  std::mt19937_64 random(seed);
  constexpr std::size_t page = 4096 / sizeof(std::uint64_t);
  const auto words = static_cast<std::size_t>(static_cast<const std::atomic<std::uint64_t>*>(end) - begin);
  for (;;) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
    const bool burst = random() % 2 == 0;
    const std::size_t first = burst ? random() % (words / page) * page : 0;
    const std::size_t range = burst ? page : words;
    for (std::uint64_t left = 1 + (random() % 200); left > 0; --left) {
      reinterpret_cast<std::atomic<std::uint64_t>*>(begin)[first + (random() % range)].store(random(),
                                                                                             std::memory_order_relaxed);
    }
  }
}

// One alltoall or allreduce, until it fails.
class Exchange {
public:
  Exchange(stoker_engine engine, MPI_Comm comm, int elements, bool reduces) : elements_(elements), reduces_(reduces) {
    MPI_Comm_rank(comm, &mine_);
    MPI_Comm_size(comm, &size_);
    const auto length = static_cast<std::size_t>(elements) * static_cast<std::size_t>(reduces ? 1 : size_);
    send_.resize(length);
    recv_.resize(length);
    const int code = reduces ? stoker_allreduce_init(send_.data(), recv_.data(), elements, MPI_INT, MPI_SUM, comm,
                                                     MPI_INFO_NULL, engine, &request_)
                             : stoker_alltoall_init(send_.data(), elements, MPI_INT, recv_.data(), elements, MPI_INT,
                                                    comm, MPI_INFO_NULL, engine, &request_);
    if (code != STOKER_SUCCESS) {
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }

  void start() {
    if (alive_) {
      ++epoch_;
      for (std::size_t i = 0; i < send_.size(); ++i) {
        send_[i] = value(mine_, i);
        recv_[i] = -1;
      }
      accept(stoker_start(request_));
    }
  }
  void wait() {
    if (alive_) {
      accept(stoker_wait(request_));
    }
  }
  [[nodiscard]] bool alive() const { return alive_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  // Whether what came from all ranks but `without` is right.
  [[nodiscard]] bool right(int without) const {
    for (std::size_t i = 0; i < recv_.size() && alive_; ++i) {
      int expected = 0;
      if (reduces_) {
        for (int r = 0; r < size_; ++r) {
          expected += value(r, i);
        }
      } else {
        const auto block = static_cast<std::size_t>(elements_);
        const int source = static_cast<int>(i / block);
        expected =
            source == without ? recv_[i] : value(source, (static_cast<std::size_t>(mine_) * block) + (i % block));
      }
      if (recv_[i] != expected && !(reduces_ && without >= 0)) {
        return false;
      }
    }
    return true;
  }

private:
  [[nodiscard]] int value(int source, std::size_t position) const {
    return (source * 7919) + (epoch_ * 31) + static_cast<int>(position * 3);
  }
  void accept(int code) {
    if (code != STOKER_SUCCESS) {
      alive_ = false;
      error_ = std::to_string(code) + ": " + stoker_error_message();
    }
  }
  int elements_;
  bool reduces_;
  int mine_ = 0;
  int size_ = 1;
  int epoch_ = 0;
  bool alive_ = true;
  std::vector<int> send_;
  std::vector<int> recv_;
  std::string error_;
  stoker_request request_ = STOKER_REQUEST_NULL;
};

void run(stoker_engine engine, MPI_Comm others) {
  constexpr std::size_t guarded = 1 << 16;
  constexpr unsigned char pattern = 0xca;
  void* shared = nullptr;
  std::vector<Exchange> with_all;
  std::vector<Exchange> among_others;
  for (const bool reduces : {false, true}) {
    for (const int elements : {4, 5000}) {
      with_all.emplace_back(engine, MPI_COMM_WORLD, elements, reduces);
      if (others != MPI_COMM_NULL) {
        among_others.emplace_back(engine, others, elements, reduces);
      }
    }
  }
  if (stoker_alloc(engine, guarded, &shared) != STOKER_SUCCESS) {
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  std::memset(shared, pattern, guarded);
  std::vector<unsigned char> heap(guarded, pattern);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    if (epoch == 5 && rank == victim) {
      std::thread(write_stray_words, begin_of_arena(shared), shared).detach();
    }
    for (auto* group : {&with_all, &among_others}) {
      std::ranges::for_each(*group, [](Exchange& exchange) { exchange.start(); });
    }
    for (auto* group : {&among_others, &with_all}) {
      std::ranges::for_each(*group, [](Exchange& exchange) { exchange.wait(); });
    }
    if (rank != victim && !(std::ranges::all_of(with_all, [](const Exchange& e) { return e.right(victim); }) &&
                            std::ranges::all_of(among_others, [](const Exchange& e) { return e.right(-1); }))) {
      note("wrong", "epoch " + std::to_string(epoch));
    }
  }
  if (rank == victim) {
    pause(); // until the others are done
  }
  std::string errors;
  for (auto* group : {&with_all, &among_others}) {
    for (const Exchange& exchange : *group) {
      errors += exchange.alive() ? "" : (group == &among_others ? "OTHERS " : "") + exchange.error() + "\n";
    }
  }
  const auto* words = static_cast<const unsigned char*>(shared);
  if (std::any_of(words, words + guarded, [](unsigned char c) { return c != pattern; }) ||
      std::ranges::any_of(heap, [](unsigned char c) { return c != pattern; })) {
    note("wrong", "memory was written to");
  }
  note("intact", errors);
  MPI_Barrier(others);
  MPI_Abort(MPI_COMM_WORLD, 7);
}

} // namespace

int main(int argc, char** argv) {
  std::vector<stoker_setting> settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--folder") {
      folder = argv[++i];
    } else if (argument == "--seed") {
      seed = static_cast<unsigned>(std::atol(argv[++i]));
    } else if (argument == "--victim") {
      victim = std::atoi(argv[++i]);
    } else if (char* equals = std::strchr(argv[i], '=')) {
      *equals = '\0';
      settings.push_back({argv[i], equals + 1});
    }
  }
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::snprintf(crash_file, sizeof crash_file, "%s/crash.%d", folder.c_str(), rank);
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    std::signal(number, note_crash);
  }
  MPI_Comm others = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == victim ? MPI_UNDEFINED : 0, rank, &others);
  stoker_engine engine = STOKER_ENGINE_NULL;
  if (stoker_engine_create(MPI_COMM_WORLD, settings.data(), settings.size(), &engine) != STOKER_SUCCESS) {
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  run(engine, others);
  return 0;
}
