// SPDX-License-Identifier: BSD-3-Clause
// A progress thread: runs pollers for every rank of one domain. It lives in the process of the domain's carrier, whose
// own thread may take its place inside Wait (Assist).
#pragma once

#include "engine/helper/idle.hpp"
#include "engine/helper/poller.hpp"
#include "engine/helper/trace.hpp"
#include "engine/shared/node_memory.hpp"
#include "engine/transport/window.hpp"
#include "topology/binding.hpp"
#include "topology/reservation.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace stoker::engine {

struct HelperOptions {
  topology::HelperPlace place;
  std::uint64_t spin_us = 0;
  std::uint64_t nap_us = 0;
  std::size_t batch = 0; // submissions taken from a ring in one round
};

class Helper {
public:
  // `members`: arenas of the domain's ranks.
  Helper(const topology::Machine& machine, std::shared_ptr<NodeMemory> memory, std::vector<std::uint32_t> members,
         const HelperOptions& options, TraceLane* trace);
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  // Stops the thread. No request of the domain may be active.
  ~Helper() { stop(); }
  // Starts the thread and returns once it is bound. Throws Error(resource).
  void start();
  void stop();

  // From now on every round runs `poller`, too, and hands it what is submitted of that kind. MPI must still work when
  // the helper ends.
  void add(Submitted kind, std::unique_ptr<Poller> poller);
  // Calls `change`, which changes a poller, between two rounds.
  void change(const std::function<void()>& change);

  // One round of the helper's work: takes submissions, runs every poller once. Called by its thread, or by a thread of
  // the carrier's that holds an Assist. Returns whether anything moved.
  bool round();

  // Rounds by a thread of the carrier's that tests, or starts, a request. Return whether anything moved. There is none
  // while another thread is at it, nor for a test right behind another such round. As long as tests keep coming, the
  // helper's thread leaves the work to them.
  bool round_for_test();
  bool round_for_start();
  // Whether such rounds are wanted: where the helper's thread would have to take its core from somebody who computes.
  [[nodiscard]] bool shares_core() const { return !options_.place.reserved && options_.nap_us != 0; }
  // Whether tests keep coming, so that the thread need not be woken. A hint: nudge it nevertheless, it may have gone to
  // sleep for good since.
  [[nodiscard]] bool driven_by_tests() const { return driven_by_tests_.load(std::memory_order_relaxed); }

  // While one exists the helper's thread keeps out of the way: a round that it is in ends, and it does not begin
  // another.
  class Assist {
  public:
    explicit Assist(Helper& helper) : helper_(helper) { helper_.assistants_.fetch_add(1, std::memory_order_relaxed); }
    Assist(const Assist&) = delete;
    Assist& operator=(const Assist&) = delete;
    ~Assist();

  private:
    Helper& helper_;
  };

  // Returns a number by which blocks of requests name the window. Any thread of the process.
  [[nodiscard]] std::uint64_t add_window(std::shared_ptr<Window> window);
  // For pollers, in their rounds.
  [[nodiscard]] const std::vector<std::shared_ptr<Window>>& windows() const { return windows_; }

  [[nodiscard]] const topology::ThreadBinding& binding() const { return binding_; }
  [[nodiscard]] double cpu_seconds() const;

private:
  void run();
  bool work(bool look);            // a round, with mutex_; `look`: also at rings without a call
  std::optional<bool> try_round(); // nothing: there was none
  void hand_over();                // the work that a round of another thread has begun, without mutex_
  void note_state();               // of the pollers, with mutex_
  bool leaves_work_to_tests();     // if tests keep coming: naps, and returns true
  [[nodiscard]] bool has_submissions() const;
  [[nodiscard]] bool called() const; // for submissions that cannot wait
  [[nodiscard]] bool rests() const;  // it is paused, and no rank pleads
  [[nodiscard]] bool may_work() const;

  const topology::Machine& machine_;
  std::shared_ptr<NodeMemory> memory_;
  std::vector<std::uint32_t> members_;
  HelperOptions options_;
  TraceLane* trace_;
  RankRoot& root_;                                               // of the carrier
  std::mutex mutex_;                                             // guards windows_ and pollers_
  std::vector<std::shared_ptr<Window>> windows_;                 // the first is number 1
  std::array<std::unique_ptr<Poller>, submitted_kinds> pollers_; // by Submitted; null: none was added
  // The state of the pollers, for looks without the mutex.
  std::atomic<bool> active_{false};
  std::uint64_t rounds_ = 0;        // with mutex_
  std::uint64_t looked_ns_ = 0;     // likewise: when it last looked at rings without a call
  std::atomic<bool> urgent_{false}; // it should not even nap before it looks again
  std::atomic<bool> serving_{false};
  std::atomic<std::uint64_t> youngest_ns_{0};
  std::atomic<int> assistants_{0};
  std::atomic<std::uint64_t> tests_{0};
  std::atomic<std::uint64_t> latest_round_ns_{0}; // for a test or a start
  std::atomic<bool> driven_by_tests_{false};
  std::uint64_t tests_seen_ = 0; // by the helper's thread, and the nap that it takes next while they keep coming
  std::chrono::nanoseconds nap_beside_tests_{};
  std::atomic<bool> stop_{false};
  std::atomic<bool> bound_{false};
  topology::ThreadBinding binding_;
  clockid_t cpu_clock_ = 0;
  std::thread thread_;
};

} // namespace stoker::engine
