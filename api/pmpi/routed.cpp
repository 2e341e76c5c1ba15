// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/routed.hpp"

#include "api/pmpi/polling.hpp"
#include "api/pmpi/settings.hpp"
#include "engine/base/agreement.hpp"
#include "engine/calls/route_agreement.hpp"
#include "engine/calls/route_trials.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace stoker::pmpi {
namespace {

using engine::Error;
using engine::Route;
using engine::RouteTrials;
using Clock = std::chrono::steady_clock;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

class Routed;

// Starts that are put off because the ranks have not yet decided on their route. They must not depend on the
// application to ask for them: it may wait for something else, which another rank reaches only after this one has
// started them. So a thread looks after them. It exists while there are any, and a little longer.
// tests/models/put_off.pml proves the hand-over.
class PutOffStarts {
public:
  void add(Routed& request);
  // One attempt by the thread of a request that has been put off. Returns whether it is started.
  [[nodiscard]] bool attempt(Routed& request);
  void end();

private:
  static constexpr std::chrono::microseconds look_interval{500};
  static constexpr std::chrono::seconds stay{1};

  [[nodiscard]] static bool start(Routed& request); // with the mutex
  void run();

  std::mutex mutex_; // guards what follows, and requests that are put off
  std::condition_variable changed_;
  std::vector<Routed*> waiting_;
  bool running_ = false;
  bool ended_ = false;
  std::thread thread_;
};
// Never destroyed: programs may leave without MPI_Finalize.
PutOffStarts& put_off_starts = *new PutOffStarts;

class Routed final : public Request {
public:
  Routed(std::unique_ptr<Request> engine, std::unique_ptr<ByMpi> mpi, const CallRecord& of_mpi)
      : Request(engine->comm()), engine_(std::move(engine)), mpi_(std::move(mpi)), of_mpi_(of_mpi) {
    of_mpi_.by_mpi = true;
    of_mpi_.algorithm = "mpi";
  }
  Routed(const Routed&) = delete;
  Routed& operator=(const Routed&) = delete;
  ~Routed() override = default; // inactive

  [[nodiscard]] bool persistent() const override { return true; }
  [[nodiscard]] bool active() const override { return active_; }

  void start() override {
    number_ = calls_++;
    timed_ = trials_.times(number_) || !settings().pmpi_summary.empty();
    begin_ = timed_ ? Clock::now() : Clock::time_point();
    exposed_ = Clock::duration::zero();
    complete_.reset();
    if (trials_.asks(number_)) {
      mpi_->own().agreement.ask(mpi_->own().comm, trials_.findings());
    }
    prompt_ = false;
    for (int i = 0; i < attempts_at_once && !prompt_; ++i) {
      prompt_ = try_start();
    }
    if (failure_) {
      throw *std::exchange(failure_, std::nullopt);
    }
    if (!prompt_) {
      put_off_starts.add(*this);
    }
    active_ = true;
    expose(begin_);
  }

  [[nodiscard]] bool done() override {
    if (!active_) {
      return true;
    }
    const Clock::time_point from = now();
    const bool complete = started() && (failure_ || current_->done());
    note_if(complete);
    expose(from);
    return complete;
  }

  void wait() override {
    if (!active_) {
      return;
    }
    const Clock::time_point from = now();
    if (!started()) {
      poll_until([this] { return started(); });
    }
    if (!failure_) {
      current_->wait();
    }
    note_if(true);
    expose(from);
  }

  void settle() override {
    if (active_ && !failure_) {
      current_->settle();
    }
  }

  void finish() override {
    const Clock::time_point from = now();
    active_ = false;
    if (failure_) {
      throw *std::exchange(failure_, std::nullopt);
    }
    current_->finish();
    if (mpi_->own().agreement.asked()) {
      mpi_->own().agreement.progress();
    }
    expose(from);
    if (timed_) {
      take_times(Clock::now());
    }
  }

  // Tries to start the call, and returns whether that succeeded. Called by its own thread; or, while it is put off, by
  // another one that holds the mutex of put-off starts. Errors are reported when the call is completed.
  [[nodiscard]] bool try_start() {
    if (trials_.decides(number_)) {
      const auto found = mpi_->own().agreement.answer();
      if (!found) {
        return false;
      }
      trials_.decide(*found);
    }
    current_ = trials_.route() == Route::engine ? engine_.get() : mpi_.get();
    failure_ = engine::attempt([&] { current_->start(); });
    return true;
  }
  void note_put_off() { put_off_.store(true, std::memory_order_relaxed); }  // with the mutex of put-off starts
  void note_started() { put_off_.store(false, std::memory_order_release); } // acquired in put_off()
  // False: everything here is its own thread's.
  [[nodiscard]] bool put_off() const { return put_off_.load(std::memory_order_acquire); } // released in note_started()

private:
  static constexpr int attempts_at_once = 20; // a question is nearly answered, mostly

  [[nodiscard]] bool started() { return !put_off() || put_off_starts.attempt(*this); }

  [[nodiscard]] Clock::time_point now() const { return timed_ ? Clock::now() : Clock::time_point(); }
  void expose(Clock::time_point from) {
    if (timed_) {
      exposed_ += Clock::now() - from;
    }
  }
  void note_if(bool complete) {
    if (timed_ && complete && !complete_) {
      complete_ = Clock::now();
    }
  }

  void take_times(Clock::time_point end) {
    const bool by_mpi = current_ == mpi_.get();
    const double whole = seconds(end - begin_);
    const double exposed = seconds(exposed_);
    if (prompt_) {
      trials_.add(number_, by_mpi ? Route::mpi : Route::engine, whole, whole - exposed);
    }
    if (by_mpi) {
      of_mpi_.exchange_seconds = seconds(complete_.value_or(end) - begin_);
      of_mpi_.exposed_seconds = exposed;
      record(of_mpi_);
    }
  }

  std::unique_ptr<Request> engine_;
  std::unique_ptr<ByMpi> mpi_;
  CallRecord of_mpi_;
  RouteTrials trials_{true};
  std::uint64_t calls_ = 0;
  // The latest call.
  std::uint64_t number_ = 0;
  Request* current_ = nullptr; // who carries it out
  bool active_ = false;
  bool prompt_ = false; // not put off
  std::atomic<bool> put_off_{false};
  std::optional<Error> failure_; // of its start
  bool timed_ = false;
  Clock::time_point begin_;
  Clock::duration exposed_{};
  std::optional<Clock::time_point> complete_; // when that was noticed
};

void PutOffStarts::add(Routed& request) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(&request);
  request.note_put_off();
  if (running_) {
    changed_.notify_one();
    return;
  }
  if (thread_.joinable()) {
    thread_.join(); // it has given the mutex back for the last time
  }
  try {
    thread_ = std::thread([this] { run(); });
    running_ = true;
  } catch (const std::exception&) { // then its own thread has to ask for it
  }
}

bool PutOffStarts::start(Routed& request) {
  const bool started = request.try_start();
  if (started) {
    request.note_started();
  }
  return started;
}

bool PutOffStarts::attempt(Routed& request) {
  const std::lock_guard lock(mutex_);
  if (!request.put_off()) {
    return true;
  }
  const bool started = start(request);
  if (started) {
    std::erase(waiting_, &request);
  }
  return started;
}

void PutOffStarts::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void PutOffStarts::run() {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    std::erase_if(waiting_, [](Routed* request) { return start(*request); });
    if (!waiting_.empty()) {
      changed_.wait_for(lock, look_interval);
    } else if (!changed_.wait_for(lock, stay, [this] { return ended_ || !waiting_.empty(); })) {
      break;
    }
  }
  running_ = false;
}

} // namespace

std::unique_ptr<Request> make_routed(std::unique_ptr<Request> engine, std::unique_ptr<ByMpi> mpi,
                                     const CallRecord& of_mpi) {
  return std::make_unique<Routed>(std::move(engine), std::move(mpi), of_mpi);
}

void end_put_off_starts() { put_off_starts.end(); }

} // namespace stoker::pmpi
