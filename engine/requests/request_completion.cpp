// SPDX-License-Identifier: BSD-3-Clause
// How a request comes to its end: Test, Wait, and what these threads do for it meanwhile.
#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/execute/executor.hpp"
#include "engine/helper/waiting.hpp"
#include "engine/requests/request.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace stoker::engine {
namespace {

// A Wait that comes later than this to an epoch that was left to it has kept other ranks waiting. It is less than the
// interval of the helper's own looks.
constexpr std::uint64_t late_wait_ns = 5'000'000;

// Start copies no more than this within a fraction of WakePolicy::prompt_ns.
constexpr std::uint64_t most_bytes_at_once = 4 * 1024;
// While a rank of the node copies a long message nothing else moves, and a helper could only disturb it. To copy so
// many bytes takes about 50 us. A wait polls as much longer before it calls a helper, up to a limit.
constexpr std::uint64_t bytes_in_50_us = std::uint64_t{192} << 10U;
constexpr std::uint64_t most_copying_ns = 2'000'000;

} // namespace

void Request::wake_helper() {
  if (test_drives() && helper_->driven_by_tests()) {
    helper_->round_for_start();
    carrier_->helper.nudge();
  } else {
    carrier_->helper.ring();
  }
}

void Request::call_helper() {
  if (ring_deferred_) {
    ring_deferred_ = false;
    memory_->root(memory_->self()).ring.call();
    wake_helper();
  }
  if (carrier_->paused.load(std::memory_order_relaxed) != 0) {
    plea_.make(*carrier_);
  }
}

bool Request::test() { return peek() && (wait(), true); }

bool Request::peek_all(std::span<Request* const> requests) {
  const auto incomplete = [](const Request* r) { return r != nullptr && r->state_ == State::active && !r->reached(); };
  const Engine* advanced = nullptr;
  for (Request* request : requests) {
    if (request != nullptr) {
      request->check_engine();
    }
    if (!incomplete(request)) {
      continue;
    }
    if (request->carrier_ != nullptr) {
      request->call_for_test();
      if (request->test_drives()) {
        request->helper_->round_for_test();
      }
    }
    if (std::exchange(advanced, request->engine_.get()) != request->engine_.get()) {
      request->engine_->advance(); // peers may need an inline request of this rank's, whatever it tests
    }
  }
  return std::ranges::none_of(requests, incomplete);
}

void Request::call_for_test() {
  if (ring_deferred_) {
    wake_policy_.missed();
  }
  call_helper();
}

void Request::bring_on() {
  engine_->advance();
  if (carrier_ != nullptr && !reached()) {
    call_for_test();
  }
}

void Request::wait() {
  await();
  if (state_ == State::active) {
    finish();
  }
}

void Request::await() {
  check_engine();
  if (state_ == State::inactive) {
    return;
  }
  if (state_ == State::broken) {
    throw Error(
        Code::peer_lost,
        "the request was broken by a lost process, or by a message that the MPI library refused; it can only be freed");
  }
  // A look at the clock takes as long as a short message: what this thread completes ends when that is published.
  const bool was_complete = reached();
  if (by_itself() && is_short() && !was_complete && (assist(), reached())) {
    ended_ns_ = block_->completed_at;
    note_wait(ended_ns_);
    return;
  }
  const std::uint64_t begin = clock();
  ended_ns_ = begin;
  if (by_itself() || !was_complete || !ring_deferred_) {
    note_wait(begin);
  } else {
    // The helper found the epoch before this Wait.
    begin - started_ns_ > late_wait_ns ? wake_policy_.missed() : wake_policy_.slept();
  }
  if (!was_complete) {
    Request* const self = this;
    std::optional<Helper::Assist> in_its_place;
    if (takes_helpers_place()) {
      in_its_place.emplace(*helper_);
    }
    wait_for_one(std::span(&self, 1));
    ended_ns_ = by_itself() ? std::max(begin, block_->completed_at) : clock(); // another may have completed it
    exposed_ns_ += ended_ns_ - begin;
  }
}

bool Request::is_short() const { return plan_.bytes_node <= most_bytes_at_once; }

std::uint64_t Request::copying_ns() const {
  if (lowered_.has_wire != 0 || lowered_.any_sizes != 0) {
    return 0;
  }
  const std::uint64_t bytes = std::max(plan_.bytes_node, plan_.bytes_from_node);
  if (bytes <= lowered_.eager_bytes) {
    return 0; // a sender is done when its copy is
  }
  return std::min(bytes / bytes_in_50_us * 50'000, most_copying_ns);
}

// What lies between Start and a prompt Wait for an epoch that was kept hides nothing.
void Request::note_wait(std::uint64_t now) {
  const std::uint64_t after_start = now - started_ns_ - exposed_ns_;
  wake_policy_.waited(after_start);
  if (kept_ && after_start < WakePolicy::prompt_ns) {
    exposed_ns_ += after_start;
  }
}

bool Request::are_inline_and_of_several_engines(std::span<Request* const> requests) {
  const Engine* first = nullptr;
  bool several = false;
  bool some_inline = false;
  for (const Request* request : requests) {
    if (request != nullptr) {
      first = first == nullptr ? request->engine_.get() : first;
      several = several || request->engine_.get() != first;
      some_inline = some_inline || request->lowered_.exclusive != 0;
    }
  }
  return several && some_inline;
}

int Request::wait_any(std::span<Request* const> requests) {
  std::vector<Request*> active;
  for (Request* request : requests) {
    if (request != nullptr && request->active()) {
      request->check_engine();
      active.push_back(request);
    }
  }
  if (active.empty()) {
    return -1;
  }
  const auto complete = [&] {
    return std::ranges::find_if(requests, [](Request* r) { return r != nullptr && r->complete(); });
  };
  auto found = complete();
  if (found == requests.end()) {
    std::vector<std::unique_ptr<Helper::Assist>> in_their_place; // one for each engine of which this rank is a carrier
    for (Request* request : active) {
      if (request->takes_helpers_place()) {
        in_their_place.push_back(std::make_unique<Helper::Assist>(*request->helper_));
      }
    }
    wait_for_one(active);
    found = complete();
  }
  return static_cast<int>(found - requests.begin());
}

// In a helper's round nobody knows that this rank has time for the receivers of its long messages.
bool Request::make_progress() {
  if (carrier_ == nullptr) {
    return false;
  }
  if (takes_helpers_place()) {
    return helper_->round() || (task_.program.has_pieces() && assist());
  }
  return assist();
}

bool Request::assist() {
  if (!block_->ownership.try_acquire(rank_executor)) {
    return false;
  }
  bool moved = false;
  bool damaged = false;
  if (!reached()) {
    try {
      moved = advance(task_.program, epoch_, rank_executor);
      publish_if_complete(task_.program, epoch_, Publisher::waiting_rank);
    } catch (const std::exception&) { // Error, or std::bad_alloc in the middle of a step
      damaged = true;
    }
  }
  block_->ownership.release();
  if (damaged) {
    give_up_damaged(engine_->rank());
  }
  return moved;
}

void Request::wait_for_one(std::span<Request* const> active) {
  const auto any_reached = [&] { return std::ranges::any_of(active, [](const Request* r) { return r->reached(); }); };
  const auto make_progress = [&] {
    bool moved = false;
    const Engine* advanced = nullptr;
    for (Request* request : active) {
      moved |= request->make_progress();
      if (std::exchange(advanced, request->engine_.get()) != request->engine_.get()) {
        moved |= request->engine_->advance();
      }
    }
    return moved;
  };
  const auto calls_helper = [](const Request* r) { // else nobody but this rank brings it on
    return r->carrier_ != nullptr && !r->takes_helpers_place();
  };
  const auto call_helpers = [&] {
    for (Request* request : active) {
      if (!calls_helper(request)) {
        continue;
      }
      // A helper could only have brought on what was started.
      if (request->ring_deferred_ && !request->waits_for_late_ranks()) {
        request->wake_policy_.slept();
      }
      request->call_helper();
    }
  };
  const auto asks_mpi = [](const Request* r) {
    return r->lowered_.has_wire != 0 && (r->carrier_ == nullptr || r->takes_helpers_place());
  };
  // A rank that has nothing to drive but its own node steps can sleep: its helper rings the bell.
  const Engine& engine = *active.front()->engine_;
  const auto rings_bell = [&](const Request* r) { return r->engine_.get() == &engine && calls_helper(r); };
  const bool polls_longer = engine.wait_site().spin_ns > 0 && std::ranges::any_of(active, calls_helper);
  std::uint64_t copying_ns = polls_longer ? most_copying_ns : 0;
  for (const Request* request : active) { // whichever needs a helper first
    copying_ns = calls_helper(request) ? std::min(copying_ns, request->copying_ns()) : copying_ns;
  }
  const WaitMeans means{.asks_mpi = std::ranges::any_of(active, asks_mpi),
                        .can_sleep = !engine.drives_taken_helpers() && !engine.has_inline() &&
                                     std::ranges::all_of(active, rings_bell),
                        .copying_ns = copying_ns};
  const auto look_around = [&](std::uint64_t waited_ns) {
    for (Request* request : active) {
      request->look_around(waited_ns);
    }
  };
  wait_until_done(engine.wait_site(), Waiter(any_reached, make_progress, means, call_helpers, look_around));
}

} // namespace stoker::engine
