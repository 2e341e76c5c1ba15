// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/siblings.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>

namespace stoker::cli {
namespace {

constexpr unsigned patience_seconds = 10;
constexpr std::uint64_t arena_bytes = std::uint64_t{1} << 20;

class Pipe {
public:
  Pipe() {
    if (::pipe(ends_.data()) != 0) {
      throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  [[nodiscard]] int reading() {
    close_end(1);
    return ends_[0];
  }
  [[nodiscard]] int writing() {
    close_end(0);
    return ends_[1];
  }
  void close_end(std::size_t which) {
    if (ends_[which] >= 0) {
      ::close(ends_[which]);
      ends_[which] = -1;
    }
  }

private:
  std::array<int, 2> ends_{-1, -1};
};

// The form in which a child reports.
struct Report {
  int error = 0;
  std::array<char, 500> message{};
};

template <class Body>
pid_t in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(patience_seconds);
    int code = EXIT_FAILURE;
    try {
      body();
      code = EXIT_SUCCESS;
    } catch (const std::exception&) {
      // Seen by the parent as a missing report.
    }
    ::_exit(code); // the parent's exit handlers are not the child's
  }
  if (child < 0) {
    throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  }
  return child;
}

void offer(Pipe& offers, Pipe& done) {
#ifdef PR_SET_PTRACER
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); // as the engine does
#endif
  volatile std::uint64_t word = 0x73746f6b6572ULL + static_cast<std::uint64_t>(getpid());
  Offer mine;
  mine.pid = getpid();
  mine.address = reinterpret_cast<std::uint64_t>(&word);
  mine.word = word;
  mine.arena_stamp = 1;
  engine::Arena arena({.bytes = arena_bytes, .layout_stamp = mine.arena_stamp});
  mine.arena = arena.descriptor();
  mine.arena_offset = arena.allocate(sizeof mine.word);
  *arena.at<std::uint64_t>(mine.arena_offset) = mine.word;
  if (::write(offers.writing(), &mine, sizeof mine) != sizeof mine) {
    return;
  }
  char nothing = 0;
  (void)!::read(done.reading(), &nothing, 1); // until the other child has ended
}

void take(Pipe& offers, Pipe& reports, Outcome (*attempt)(const Offer&)) {
  Offer theirs;
  Report report;
  Outcome outcome;
  if (::read(offers.reading(), &theirs, sizeof theirs) != sizeof theirs) {
    outcome = {ENOMEM, "the process that should offer its memory could not (is shared memory exhausted?)"};
  } else {
    outcome = attempt(theirs);
  }
  report.error = outcome.error;
  outcome.message.copy(report.message.data(), report.message.size() - 1);
  (void)!::write(reports.writing(), &report, sizeof report);
}

} // namespace

Outcome between_siblings(Outcome (*attempt)(const Offer&)) {
  Pipe offers;
  Pipe reports;
  Pipe done;
  const pid_t first = in_child([&] {
    reports.close_end(0);
    reports.close_end(1);
    offer(offers, done);
  });
  const pid_t second = in_child([&] { take(offers, reports, attempt); });
  offers.close_end(0);
  offers.close_end(1);
  done.close_end(0);

  Report report;
  const bool reported = ::read(reports.reading(), &report, sizeof report) == sizeof report;
  int status = 0;
  ::waitpid(second, &status, 0);
  done.close_end(1); // the first child ends now
  ::waitpid(first, nullptr, 0);
  if (reported) {
    return {report.error, report.message.data()};
  }
  if (WIFSIGNALED(status)) {
    return {ECHILD, std::string("the process that tried it was ended by a signal: ") + strsignal(WTERMSIG(status))};
  }
  return {ECHILD, "the process that tried it ended without a report"};
}

} // namespace stoker::cli
