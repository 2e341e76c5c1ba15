// SPDX-License-Identifier: BSD-3-Clause
// Without MPI_THREAD_MULTIPLE: executor=auto runs inline and says so in one line on stderr; executor=engine is refused;
// executor=inline is served silently. argv[1]: the level that the application asks for, single | funneled | serialized.
#include "tests/api/plain.hpp"

#include <cstring>
#include <sstream>
#include <unistd.h>

using namespace api_tests;

namespace {

// What this process writes to stderr while in scope.
class Stderr {
public:
  Stderr() : file_(std::tmpfile()), before_(dup(STDERR_FILENO)) {
    std::fflush(stderr);
    dup2(fileno(file_), STDERR_FILENO);
  }
  ~Stderr() { std::fclose(file_); }
  // Ends the capture.
  std::string text() {
    std::fflush(stderr);
    dup2(before_, STDERR_FILENO);
    close(before_);
    std::string result;
    std::rewind(file_);
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) {
      result += static_cast<char>(c);
    }
    return result;
  }

private:
  std::FILE* file_;
  int before_;
};

// Lines about the thread level; the library may have something to say about other matters.
int lines(const std::string& text) {
  std::istringstream stream(text);
  int count = 0;
  for (std::string line; std::getline(stream, line);) {
    count += line.find("MPI_THREAD_MULTIPLE") != std::string::npos ? 1 : 0;
  }
  return count;
}

} // namespace

int main(int argc, char** argv) {
  const std::string level = argc > 1 ? argv[1] : "single";
  int provided = 0, rank = 0;
  if (level == "single") {
    MPI_Init(&argc, &argv);
  } else {
    MPI_Init_thread(&argc, &argv, level == "funneled" ? MPI_THREAD_FUNNELED : MPI_THREAD_SERIALIZED, &provided);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Query_thread(&provided);
  if (provided == MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    std::fprintf(stderr, "skipped: this MPI library provides MPI_THREAD_MULTIPLE unasked\n");
    return 77;
  }

  stoker_engine engine = STOKER_ENGINE_NULL;
  expect_code(create_engine(MPI_COMM_WORLD, {{"executor", "engine"}}, &engine), STOKER_ERR_THREAD_LEVEL,
              "executor=engine");
  expect(std::strstr(stoker_error_message(), "MPI_THREAD_MULTIPLE") != nullptr, "the message names the level");
  expect(engine == STOKER_ENGINE_NULL, "no engine");

  for (const char* executor : {"auto", "inline"}) {
    Stderr capture;
    const int code = create_engine(MPI_COMM_WORLD, {{"executor", executor}}, &engine);
    const std::string text = capture.text();
    expect_code(code, STOKER_SUCCESS, std::string("executor=") + executor);
    const int expected = std::strcmp(executor, "auto") == 0 ? 1 : 0;
    int mine = lines(text), all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(all == expected, std::string("executor=") + executor + " writes " + std::to_string(expected) +
                                " line(s) for the whole job, got " + std::to_string(all) + ": " + text);
    stoker_engine_facts facts{};
    facts.size = sizeof facts;
    expect_code(stoker_engine_get_facts(engine, &facts), STOKER_SUCCESS, "facts");
    expect(facts.helpers == 0, "no helper");
    expect_exchange_works(engine, MPI_COMM_WORLD);
    expect_code(stoker_engine_destroy(&engine), STOKER_SUCCESS, "destroy");
  }
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
