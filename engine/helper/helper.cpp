// SPDX-License-Identifier: BSD-3-Clause
#include "engine/helper/helper.hpp"

#include "engine/base/clock.hpp"
#include "engine/base/own_thread.hpp"
#include "engine/helper/waiting.hpp"

#include <algorithm>
#include <chrono>
#include <pthread.h>
#include <utility>

namespace stoker::engine {
namespace {

// A helper with nothing to do looks for new submissions by itself for watch_ns after the latest one that it has seen,
// every watch_interval. So it picks up work whose rank never called Wait, at most one interval late. 50 looks of some
// 20 us each.
constexpr std::uint64_t watch_ns = 1'000'000'000;
constexpr std::chrono::nanoseconds watch_interval = std::chrono::milliseconds(20);

// While there are rounds, it looks at rings without a call this often, and not after each nap: ranks that carry out
// one epoch after the other by themselves always have an entry there. So it would never come to an end, on their
// cores. The clock is asked in one round of a few.
constexpr std::uint64_t look_interval_ns = 1'000'000;
constexpr std::uint64_t rounds_between_times = 16;

// Naps while tests keep coming: when they stop, the work lies for as long as one of them at most. A wake costs whoever
// computes on the thread's core some 20 us, so the longest cost half a percent.
constexpr std::chrono::nanoseconds first_nap_beside_tests = std::chrono::microseconds(250);
constexpr std::chrono::nanoseconds longest_nap_beside_tests = std::chrono::milliseconds(4);
// Naps get longer as long as the tests during the last one were, on average, no further apart than this.
constexpr std::chrono::nanoseconds longest_between_tests = std::chrono::microseconds(500);

// A round so short ago has seen what there is to see: several requests that are tested one after the other need one.
constexpr std::uint64_t just_now_ns = 1'000;

} // namespace

Helper::Helper(const topology::Machine& machine, std::shared_ptr<NodeMemory> memory, std::vector<std::uint32_t> members,
               const HelperOptions& options, TraceLane* trace)
    : machine_(machine), memory_(std::move(memory)), members_(std::move(members)), options_(options), trace_(trace),
      root_(memory_->root(memory_->self())) {}

void Helper::start() {
  thread_ = own_thread([this] { run(); });
  pthread_getcpuclockid(thread_.native_handle(), &cpu_clock_);
  bound_.wait(false, std::memory_order_acquire); // released in run()
}

void Helper::stop() {
  if (thread_.joinable()) {
    stop_.store(true, std::memory_order_relaxed);
    root_.helper.ring(); // full fence: the thread sees the store, or the ring
    thread_.join();
  }
}

double Helper::cpu_seconds() const {
  timespec t{};
  clock_gettime(cpu_clock_, &t);
  return static_cast<double>(t.tv_sec) + (1e-9 * static_cast<double>(t.tv_nsec));
}

void Helper::run() {
  binding_ = topology::bind_helper_thread(machine_, options_.place.cpus);
  set_timer_slack(std::chrono::nanoseconds(1));
  set_short_slice();
  bound_.store(true, std::memory_order_release); // acquired in start()
  bound_.notify_one();

  const IdleLimits limits = options_.place.reserved ? IdleLimits::reserved(options_.spin_us, options_.nap_us)
                                                    : IdleLimits::shared(options_.spin_us, options_.nap_us);
  IdlePolicy policy(limits);
  std::uint64_t awake_since = now_ns();
  std::uint64_t counted_until = awake_since;
  root_.counters.begin(awake_since);
  const auto stopped = [this] { return stop_.load(std::memory_order_relaxed); };
  const auto has_work = [this] { return active_.load(std::memory_order_relaxed) || called(); };
  bool look = false; // at rings without a call
  while (!stopped()) {
    if (leaves_work_to_tests()) {
      counted_until = awake_since = now_ns();
      continue;
    }
    if (!may_work() || !(look || has_work())) {
      if (const std::uint64_t now = now_ns(); policy.lingers(now) && !rests()) {
        sched_yield();
        root_.counters.count_idle(now - counted_until);
        counted_until = now;
        continue;
      }
      // For a while it looks by itself now and then: requests that are better off without a wake only nudge it, and
      // their rank may never call Wait.
      const bool lately =
          !rests() && (has_submissions() || now_ns() - youngest_ns_.load(std::memory_order_relaxed) < watch_ns);
      // Requests of other nodes may come while a thread of the carrier's is in its place, and after that thread has
      // left.
      const bool served = serving_.load(std::memory_order_relaxed) && !rests();
      const std::chrono::nanoseconds nap = std::chrono::microseconds(std::max<std::uint64_t>(options_.nap_us, 1));
      root_.helper.sleep(
          [&] { return stopped() || (may_work() && (has_work() || (!served && !lately && has_submissions()))); },
          served   ? std::optional(nap)
          : lately ? std::optional(watch_interval)
                   : std::nullopt);
      look = (served || lately) && has_submissions();
      counted_until = awake_since = now_ns();
      continue;
    }
    const std::uint64_t begin = now_ns();
    policy.work_begins(begin);
    bool moved = false;
    {
      const std::lock_guard lock(mutex_);
      // An Assist that began before this round is seen here: its thread has had the mutex since.
      moved = may_work() && work(look);
    }
    look = false;
    const std::uint64_t end = now_ns();
    root_.counters.count_idle(begin - counted_until);
    moved ? root_.counters.count_busy(end - begin) : root_.counters.count_idle(end - begin);
    counted_until = end;
    policy.work_ends(end);
    if (trace_ != nullptr) {
      trace_->add("progress", begin, end);
    }
    if (active_.load(std::memory_order_relaxed)) {
      const Action action =
          policy.next(moved, end, end - youngest_ns_.load(std::memory_order_relaxed), end - awake_since);
      perform(action, root_.helper, [&] { return stopped() || called(); });
      if (action.kind == Action::Kind::nap) {
        counted_until = awake_since = now_ns();
      }
    }
  }
}

bool Helper::round() {
  const std::lock_guard lock(mutex_);
  return work(false);
}

std::optional<bool> Helper::try_round() {
  bool moved = false;
  bool begins = false;
  {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
      return std::nullopt;
    }
    const bool was_active = active_.load(std::memory_order_relaxed);
    moved = work(false);
    begins = !was_active && active_.load(std::memory_order_relaxed);
    latest_round_ns_.store(now_ns(), std::memory_order_relaxed);
  }
  if (begins) {
    hand_over();
  }
  return moved;
}

// Between a round's look at the calls and its word that there is work now, the helper's thread finds neither, and may
// go to sleep, even for good. The fence pairs with the one in Doorbell::sleep(): the thread sees that word, or is seen
// to sleep (tests/models/round.pml). It also pairs with the one in ~Assist, which looks at that word after it has left.
void Helper::hand_over() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (may_work()) {
    driven_by_tests() ? root_.helper.nudge() : root_.helper.ring();
  }
}

bool Helper::round_for_test() {
  if (now_ns() - latest_round_ns_.load(std::memory_order_relaxed) < just_now_ns) {
    return false;
  }
  const std::optional<bool> moved = try_round();
  if (moved && !wait_goes_on) {
    tests_.fetch_add(1, std::memory_order_relaxed);
  }
  return moved.value_or(false);
}

bool Helper::round_for_start() { return try_round().value_or(false); }

// Tests do not find what lies in a ring without a call, so the thread looks at the rings itself.
bool Helper::leaves_work_to_tests() {
  const bool driven = driven_by_tests();
  const std::uint64_t tests = tests_.load(std::memory_order_relaxed);
  const std::uint64_t during_nap = tests - std::exchange(tests_seen_, tests);
  const bool keep_coming = during_nap > 0 || (driven && assistants_.load(std::memory_order_relaxed) > 0);
  if (!keep_coming || has_submissions()) {
    if (driven) {
      driven_by_tests_.store(false, std::memory_order_relaxed);
    }
    return false;
  }
  const bool often = driven && during_nap * longest_between_tests >= nap_beside_tests_;
  const std::chrono::nanoseconds longest =
      serving_.load(std::memory_order_relaxed) ? std::chrono::microseconds(options_.nap_us) : longest_nap_beside_tests;
  nap_beside_tests_ = std::min(often ? 2 * nap_beside_tests_ : first_nap_beside_tests, longest);
  driven_by_tests_.store(true, std::memory_order_relaxed);
  // A call that came after the look above finds nobody asleep whom it could wake.
  root_.helper.sleep([this] { return stop_.load(std::memory_order_relaxed) || called(); }, nap_beside_tests_);
  return true;
}

bool Helper::work(bool look) {
  if (++rounds_ % rounds_between_times == 0 || look) {
    const std::uint64_t now = now_ns();
    look |= now - looked_ns_ >= look_interval_ns;
    looked_ns_ = look ? now : looked_ns_;
  }
  std::size_t drained = 0;
  for (const std::uint32_t arena : members_) {
    SubmissionRing& ring = memory_->root(arena).ring;
    if (!ring.take_call() && !look) {
      continue;
    }
    // Bounded, so that one rank that starts many requests does not keep the others waiting.
    const std::optional<std::size_t> taken = ring.drain(
        [&](const Submission& submission) {
          pollers_[static_cast<std::size_t>(submission.what)]->adopt(arena, submission, now_ns());
        },
        options_.batch);
    if (!taken) {
      memory_->note_damage(arena, Damage::ring);
      continue;
    }
    if (taken == options_.batch) {
      ring.call(); // there may be more
    }
    drained += *taken;
  }
  bool moved = drained > 0;
  for (std::size_t kind = 0; kind < pollers_.size(); ++kind) {
    if (pollers_[kind] != nullptr) {
      const bool busy = pollers_[kind]->poll();
      root_.counters.count_round(static_cast<Submitted>(kind), busy);
      moved |= busy;
    }
  }
  note_state();
  return moved;
}

void Helper::note_state() {
  PollerState all;
  for (const std::unique_ptr<Poller>& poller : pollers_) {
    const PollerState state = poller != nullptr ? poller->state() : PollerState();
    all = {.active = all.active || state.active,
           .urgent = all.urgent || state.urgent,
           .serving = all.serving || state.serving,
           .youngest_ns = std::max(all.youngest_ns, state.youngest_ns)};
  }
  active_.store(all.active, std::memory_order_relaxed);
  urgent_.store(all.urgent, std::memory_order_relaxed);
  serving_.store(all.serving, std::memory_order_relaxed);
  youngest_ns_.store(all.youngest_ns, std::memory_order_relaxed);
}

void Helper::add(Submitted kind, std::unique_ptr<Poller> poller) {
  const std::lock_guard lock(mutex_);
  pollers_[static_cast<std::size_t>(kind)] = std::move(poller);
}

void Helper::change(const std::function<void()>& change) {
  {
    const std::lock_guard lock(mutex_);
    change();
    note_state();
  }
  root_.helper.ring(); // full fence: the thread sees that it is active, or the ring
}

std::uint64_t Helper::add_window(std::shared_ptr<Window> window) {
  const std::lock_guard lock(mutex_);
  windows_.push_back(std::move(window));
  return windows_.size();
}

bool Helper::has_submissions() const {
  return std::ranges::any_of(members_, [&](std::uint32_t arena) { return !memory_->root(arena).ring.empty(); });
}

bool Helper::called() const {
  return std::ranges::any_of(members_, [&](std::uint32_t arena) { return memory_->root(arena).ring.called(); });
}

bool Helper::rests() const {
  return root_.paused.load(std::memory_order_relaxed) != 0 && root_.waiting.load(std::memory_order_relaxed) == 0;
}

bool Helper::may_work() const { return assistants_.load(std::memory_order_relaxed) == 0 && !rests(); }

// The helper's thread takes over again what is left to do. Work that can wait for the end of a nap is not worth a wake,
// which may cost whoever runs on the thread's core more than the nap. While other nodes are served the thread sleeps no
// longer than a nap, beside tests as well, unless it is paused.
Helper::Assist::~Assist() {
  helper_.assistants_.fetch_sub(1, std::memory_order_relaxed);
  // The fence comes before the looks at pleas and rings. Whoever pleads or pushes later wakes the thread by itself, and
  // finds it free to work (tests/models/assist.pml). Pairs with the fences in Doorbell.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!helper_.may_work()) {
    return;
  }
  const bool active = helper_.active_.load(std::memory_order_relaxed);
  const bool can_wait =
      helper_.serving_.load(std::memory_order_relaxed) && !helper_.urgent_.load(std::memory_order_relaxed);
  if (!helper_.driven_by_tests() && ((active && !can_wait) || helper_.has_submissions())) {
    helper_.root_.helper.ring();
  } else if (active || helper_.has_submissions()) {
    helper_.root_.helper.nudge(); // it may have gone to sleep for good when it was paused and this thread in its place
  }
}

} // namespace stoker::engine
