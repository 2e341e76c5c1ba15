// SPDX-License-Identifier: BSD-3-Clause
// A thread that exists from its first work on: while there is any, and a little longer, or for good.
#pragma once

#include "engine/base/own_thread.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace stoker::engine {

class OnDemandThread {
public:
  enum class Next : std::uint8_t { at_once, soon, when_woken };
  enum class Stay : std::uint8_t { a_while, for_good };

  // `work`: one piece of work. It is called with `mutex`, may give it up meanwhile, and returns when to call it again.
  OnDemandThread(std::mutex& mutex, std::function<Next(std::unique_lock<std::mutex>&)> work, Stay stay = Stay::a_while)
      : mutex_(mutex), work_(std::move(work)), stay_(stay) {}
  OnDemandThread(const OnDemandThread&) = delete;
  OnDemandThread& operator=(const OnDemandThread&) = delete;
  ~OnDemandThread() { end(); }

  // The thread is there for now, or for good (see Stay), unless this has ended. With the mutex. Throws Error(resource)
  // if there can be none.
  void have() {
    if (running_ || ended_) {
      return;
    }
    if (thread_.joinable()) {
      thread_.join(); // it has given the mutex back for the last time
    }
    thread_ = own_thread([this] { run(); });
    running_ = true;
  }

  // There is work. With the mutex. Throws what have() does.
  void wake() {
    woken_ = true;
    have();
    changed_.notify_one();
  }

  // Returns once nothing is left that is to be done at once; no work comes after that. Without the mutex.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_one();
    }
    if (thread_.joinable()) {
      thread_.join();
    }
  }

private:
  static constexpr std::chrono::microseconds look_interval{500};
  static constexpr std::chrono::seconds a_while{1};

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      woken_ = false;
      const Next next = work_(lock);
      if (next == Next::at_once) {
        continue;
      }
      if (ended_) {
        break;
      }
      if (next == Next::soon) {
        changed_.wait_for(lock, look_interval);
      } else if (stay_ == Stay::for_good) {
        changed_.wait(lock, [this] { return ended_ || woken_; });
      } else if (!changed_.wait_for(lock, a_while, [this] { return ended_ || woken_; })) {
        break;
      }
    }
    running_ = false;
  }

  std::mutex& mutex_; // guards what follows
  std::function<Next(std::unique_lock<std::mutex>&)> work_;
  Stay stay_;
  std::condition_variable changed_;
  bool woken_ = false;
  bool running_ = false;
  bool ended_ = false;
  std::thread thread_;
};

} // namespace stoker::engine
