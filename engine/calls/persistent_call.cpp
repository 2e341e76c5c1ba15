// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/persistent_call.hpp"

#include "engine/base/agreement.hpp"
#include "engine/helper/waiting.hpp"

#include <utility>

namespace stoker::engine {
namespace {

double seconds(std::chrono::steady_clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

} // namespace

PersistentCall::PersistentCall(std::shared_ptr<Engine> engine, std::unique_ptr<Request> by_engine,
                               std::unique_ptr<MpiRequest> by_mpi)
    : engine_(std::move(engine)), by_engine_(std::move(by_engine)), by_mpi_(std::move(by_mpi)), trials_(tried()) {
  if (by_engine_ != nullptr) {
    const RequestPlan& plan = by_engine_->plan();
    report_.bytes = plan.send.bytes() > 0 ? plan.send.bytes() : plan.recv.bytes();
  }
}

void PersistentCall::start(bool timed) {
  number_ = calls_++;
  timed_ = timed || trials_.times(number_);
  if (timed_ && by_engine_ != nullptr) {
    before_ = by_engine_->statistics();
  }
  begin_ = now();
  exposed_ = Clock::duration::zero();
  complete_.reset();
  waited_ = settled_ = prompt_ = false;
  constexpr int attempts_at_once = 20; // a question is nearly answered, mostly
  for (int i = 0; i < attempts_at_once && !prompt_; ++i) {
    prompt_ = try_start();
  }
  if (failure_) {
    throw *std::exchange(failure_, std::nullopt);
  }
  active_ = true;
  if (!prompt_) {
    PutOffStarts::of_process().add(*this, [this] { put_off_.store(true, std::memory_order_relaxed); });
  }
  expose(begin_);
}

bool PersistentCall::try_start() {
  if (tried()) {
    const auto route = by_mpi_->own().agreement.route_of(number_, trials_, by_mpi_->own().comm);
    if (!route) {
      return false;
    }
    route_ = *route;
  } else {
    route_ = by_engine_ != nullptr ? Route::engine : Route::mpi;
  }
  failure_ = attempt([&] { route_ == Route::engine ? by_engine_->start() : by_mpi_->start(); });
  return true;
}

bool PersistentCall::try_starts() {
  const bool is_started = try_start();
  if (is_started) {
    put_off_.store(false, std::memory_order_release); // acquired in started()
  }
  return is_started;
}

bool PersistentCall::started() {
  // The load acquires what try_starts() releases.
  return !put_off_.load(std::memory_order_acquire) || PutOffStarts::of_process().attempt(*this, [this] {
    return !put_off_.load(std::memory_order_relaxed) || try_starts();
  });
}

bool PersistentCall::look() {
  if (route_ == Route::mpi) {
    return by_mpi_->done();
  }
  bool complete = true; // an error ends the call, too
  failure_ = attempt([&] { complete = by_engine_->peek(); });
  return complete;
}

bool PersistentCall::done() {
  if (!active_) {
    return true;
  }
  const Clock::time_point from = now();
  const bool complete = started() && (failure_ || look());
  note_if(complete);
  expose(from);
  return complete;
}

template <class Attempt>
void PersistentCall::poll_until(Attempt&& attempt) {
  if (engine_ != nullptr) {
    engine_->wait_for_mpi(attempt);
  } else {
    wait_for_mpi(
        WaitSite{}, [] { return false; }, attempt);
  }
}

void PersistentCall::wait() {
  if (!active_) {
    return;
  }
  const Clock::time_point from = now();
  if (!started()) {
    poll_until([this] { return started(); });
  }
  if (!failure_ && route_ == Route::mpi) {
    poll_until([this] { return by_mpi_->done(); });
  } else if (!failure_ && !settled_) {
    failure_ = attempt([&] { by_engine_->await(); });
    waited_ = true;
  }
  note_if(true);
  expose(from);
}

void PersistentCall::look_around(std::uint64_t waited_ns) {
  if (!done() && started() && !failure_ && route_ == Route::engine) {
    failure_ = attempt([&] { by_engine_->look_around(waited_ns); });
  }
}

void PersistentCall::settle() {
  if (!active_ || settled_ || failure_ || route_ == Route::mpi) {
    return;
  }
  failure_ = attempt([&] {
    waited_ ? by_engine_->finish() : by_engine_->wait(); // which learns from where the request was found complete
  });
  settled_ = true;
}

void PersistentCall::finish() {
  const Clock::time_point from = now();
  settle();
  active_ = false;
  if (route_ == Route::mpi && !failure_) {
    failure_ = attempt([&] { by_mpi_->finish(); });
  }
  if (tried()) {
    by_mpi_->own().agreement.progress();
  }
  if (failure_) {
    throw *std::exchange(failure_, std::nullopt);
  }
  expose(from);
  if (timed_) {
    take_times(Clock::now());
  }
}

void PersistentCall::expose(Clock::time_point from) {
  if (timed_) {
    exposed_ += Clock::now() - from;
  }
}

void PersistentCall::note_if(bool complete) {
  if (timed_ && complete && !complete_) {
    complete_ = Clock::now();
  }
}

void PersistentCall::take_times(Clock::time_point end) {
  report_.by_mpi = route_ == Route::mpi;
  report_.on_trial = trials_.on_trial();
  if (prompt_) {
    trials_.add(number_, route_, seconds(end - begin_), seconds(end - begin_ - exposed_));
  }
  if (report_.by_mpi) {
    report_.algorithm = "mpi";
    report_.exchange_seconds = seconds(complete_.value_or(end) - begin_);
    report_.exposed_seconds = seconds(exposed_);
    return;
  }
  report_.algorithm = by_engine_->reported_choice();
  const RequestStatistics& so_far = by_engine_->statistics();
  report_.exchange_seconds = so_far.exchange_seconds - before_.exchange_seconds;
  report_.exposed_seconds = so_far.exposed_seconds - before_.exposed_seconds;
}

} // namespace stoker::engine
