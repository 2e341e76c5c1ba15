// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/point_runner.hpp"

#include "api/cli/outcome_json.hpp"
#include "engine/base/owned_fd.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <list>
#include <stdexcept>
#include <utility>

namespace stoker::cli {
namespace {

// What a process says of its point, a line each: 'p' and the share that is done; 'r' and the outcome; 'e' and the
// error.
void say(int fd, char kind, const std::string& text) {
  const std::string line = kind + text + '\n';
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t written = ::write(fd, line.data() + at, line.size() - at);
    if (written < 0 && errno != EINTR) {
      _exit(1); // nobody listens any more
    }
    at += static_cast<std::size_t>(std::max<ssize_t>(written, 0));
  }
}

[[noreturn]] void work(const Point& point, int fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    say(fd, 'r', packed(point.run([fd](double share) { say(fd, 'p', std::to_string(share)); })));
  } catch (const std::exception& error) {
    say(fd, 'e', error.what());
  }
  _exit(0);
}

// A process with a point, which ends with this object.
class Worker {
public:
  Worker(const Point& point, std::size_t index) : index_(index) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0 || (process_ = fork()) < 0) {
      throw std::runtime_error(
          fmt::format("no process for a simulation: {}", std::strerror(errno))); // NOLINT(concurrency-mt-unsafe)
    }
    engine::OwnedFd writer(ends[1]);
    reader_ = engine::OwnedFd(ends[0]);
    if (process_ == 0) {
      work(point, ends[1]);
    }
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
  }

  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] int fd() const { return reader_; }
  [[nodiscard]] double share() const { return share_; }

  // Takes what there is. False when the process has said everything.
  bool listen() {
    std::array<char, 1 << 16> bytes{};
    const ssize_t count = ::read(fd(), bytes.data(), bytes.size());
    if (count > 0) {
      heard_.append(bytes.data(), static_cast<std::size_t>(count));
      std::size_t end = 0;
      while (heard_[0] == 'p' && (end = heard_.find('\n')) != std::string::npos) {
        share_ = std::stod(heard_.substr(1, end - 1));
        heard_.erase(0, end + 1);
      }
    }
    return count > 0 || (count < 0 && errno == EINTR);
  }

  // After that.
  algos::Outcome outcome(const std::string& what) {
    int status = 0;
    waitpid(std::exchange(process_, -1), &status, 0);
    if (WIFSIGNALED(status)) {
      throw std::runtime_error(fmt::format("{}: the simulation was killed by signal {}{}", what, WTERMSIG(status),
                                           WTERMSIG(status) == SIGKILL ? ", as for too much memory" : ""));
    }
    if (heard_.empty() || heard_[0] != 'r') {
      throw std::runtime_error(
          fmt::format("{}: {}", what, heard_.empty() ? "no outcome" : heard_.substr(1, heard_.size() - 2)));
    }
    return unpacked(heard_.substr(1));
  }

private:
  std::size_t index_;
  pid_t process_ = -1;
  engine::OwnedFd reader_;
  std::string heard_;
  double share_ = 0;
};

class Bar {
public:
  Bar() : shown_(isatty(STDERR_FILENO) == 1) {}
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;
  ~Bar() {
    if (shown_) {
      fmt::print(stderr, "\r\033[K");
    }
  }
  void show(double done, std::size_t points, const std::string& what) const {
    if (!shown_) {
      return;
    }
    constexpr std::size_t width = 30;
    const double share = done / static_cast<double>(points);
    const auto full = static_cast<std::size_t>(share * width);
    fmt::print(stderr, "\r[{:#<{}}{:.<{}}] {:3.0f} % of {} simulations: {}\033[K", "", full, "", width - full,
               100 * share, points, what);
    (void)std::fflush(stderr);
  }

private:
  bool shown_;
};

} // namespace

std::vector<algos::Outcome> run_points(std::span<const Point> points, int jobs) {
  std::vector<algos::Outcome> outcomes(points.size());
  std::list<Worker> workers;
  std::size_t next = 0;
  std::size_t done = 0;
  const Bar bar;
  while (done < points.size()) {
    while (next < points.size() && workers.size() < static_cast<std::size_t>(jobs)) {
      workers.emplace_back(points[next], next);
      ++next;
    }
    double share = static_cast<double>(done);
    std::vector<pollfd> fds;
    for (const Worker& worker : workers) {
      share += worker.share();
      fds.push_back({worker.fd(), POLLIN, 0});
    }
    bar.show(share, points.size(), points[workers.front().index()].what);
    (void)poll(fds.data(), fds.size(), -1);
    auto fd = fds.begin();
    for (auto worker = workers.begin(); worker != workers.end(); ++fd) {
      if (fd->revents == 0 || worker->listen()) {
        ++worker;
        continue;
      }
      outcomes[worker->index()] = worker->outcome(points[worker->index()].what);
      worker = workers.erase(worker);
      ++done;
    }
  }
  return outcomes;
}

} // namespace stoker::cli
