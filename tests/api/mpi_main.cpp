// SPDX-License-Identifier: BSD-3-Clause
// main() of the tests that need MPI ranks; see mpi_main.hpp.
#include "tests/api/mpi_main.hpp"

#include "tests/rig/of_one_file.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace api_tests {
namespace {

int rank_of_world = 0;
int size_of_world = 1;
MPI_Comm agreement = MPI_COMM_NULL;

void nap_until_done(MPI_Request& request) {
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  while (done == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

// Ends the job when one test takes too long, after every rank had time to say where it is.
class Watchdog {
public:
  explicit Watchdog(int seconds) : limit_(seconds), thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void begin(std::string test) {
    const std::lock_guard lock(mutex_);
    test_ = std::move(test);
    note_.clear();
    deadline_ = std::chrono::steady_clock::now() + limit_;
    changed_.notify_all();
  }
  void note(std::string what) {
    const std::lock_guard lock(mutex_);
    note_ = std::move(what);
  }

private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      if (changed_.wait_until(lock, deadline_) == std::cv_status::timeout && !ending_ &&
          std::chrono::steady_clock::now() >= deadline_) {
        std::fprintf(stderr, "rank %d: WATCHDOG: %s has not ended within %lld s; last noted: %s\n", rank_of_world,
                     test_.c_str(), static_cast<long long>(limit_.count()), note_.c_str());
        std::fflush(stderr);
        std::this_thread::sleep_for(std::chrono::seconds(3));
        MPI_Abort(MPI_COMM_WORLD, 86);
        _exit(86);
      }
    }
  }

  std::chrono::seconds limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + limit_;
  std::string test_ = "start-up";
  std::string note_;
  bool ending_ = false;
  std::thread thread_; // last: it uses the members above
};

Watchdog* watchdog = nullptr;

// Agrees on each test's result, so that rank 0's summary counts failures of all ranks.
class Agreement : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& test) override {
    watchdog->begin(std::string(test.test_suite_name()) + "." + test.name());
  }
  void OnTestEnd(const ::testing::TestInfo& test) override {
    note("the end of the test");
    const int failed = test.result()->Failed() ? 1 : 0;
    std::vector<int> all(static_cast<std::size_t>(size_of_world));
    MPI_Request request;
    MPI_Iallgather(&failed, 1, MPI_INT, all.data(), 1, MPI_INT, agreement, &request);
    nap_until_done(request);
    std::string ranks;
    for (std::size_t r = 1; r < all.size(); ++r) {
      ranks += all[r] != 0 ? " " + std::to_string(r) : "";
    }
    if (rank_of_world == 0 && !ranks.empty()) {
      ADD_FAILURE() << "failed on ranks" << ranks;
    }
  }
};

// The output of ranks other than 0.
class FailuresOnly : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name(); // GoogleTest holds its lock during the other event
  }
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.failed()) {
      std::fprintf(stderr, "rank %d: %s: %s:%d: %s\n", rank_of_world, test_.c_str(),
                   result.file_name() != nullptr ? result.file_name() : "?", result.line_number(), result.message());
    }
  }
  std::string test_;
};

int seconds_from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr && std::atoi(text) > 0 ? std::atoi(text) : otherwise;
}

} // namespace

int world_rank() { return rank_of_world; }
int world_size() { return size_of_world; }
bool full_run() {
  const char* text = std::getenv("STOKER_TEST_FULL");
  return text != nullptr && std::string(text) == "1";
}
void note(std::string what) { watchdog->note(std::move(what)); }

void barrier() { (void)everywhere(true); }

bool everywhere(bool value) {
  const int mine = value ? 1 : 0;
  int all = 0;
  MPI_Request request;
  MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MIN, agreement, &request);
  nap_until_done(request);
  return all != 0;
}

} // namespace api_tests

int main(int argc, char** argv) {
  using namespace api_tests;
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_world);
  MPI_Comm_size(MPI_COMM_WORLD, &size_of_world);
  if (provided < MPI_THREAD_MULTIPLE) {
    if (rank_of_world == 0) {
      std::fprintf(stderr, "skipped: this MPI library does not provide MPI_THREAD_MULTIPLE\n");
    }
    MPI_Finalize();
    return 77;
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &agreement);

  ::testing::InitGoogleTest(&argc, argv);
  const bool chosen = rig::only_tests_of_one_file(argc, argv);
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (rank_of_world != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly);
  }
  listeners.Append(new Agreement);

  int failed = 0;
  {
    Watchdog guard(seconds_from_environment("STOKER_TEST_TIMEOUT", 120));
    watchdog = &guard;
    failed = chosen ? RUN_ALL_TESTS() : 1;
    guard.begin("the end of the program");
    failed = everywhere(failed == 0) ? 0 : 1;
    MPI_Comm_free(&agreement);
    MPI_Finalize();
  }
  return failed;
}
