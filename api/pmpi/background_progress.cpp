// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/background_progress.hpp"

#include "api/pmpi/library.hpp"
#include "api/pmpi/settings.hpp"
#include "api/pmpi/state.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"
#include "engine/base/never_destroyed.hpp"
#include "engine/base/own_comm.hpp"
#include "engine/base/own_thread.hpp"
#include "engine/core/engine.hpp"
#include "engine/helper/idle.hpp"
#include "engine/shared/doorbell.hpp"
#include "topology/binding.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace stoker::pmpi {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
// MPI does not tell whether a probe of an empty communicator has moved anything else. One that found nothing to do
// takes less than 3 us, one that moved data over TCP mostly more than 5.
constexpr std::uint64_t moved_ns = 5'000;

class BackgroundThread {
public:
  void start(std::function<void()> every_second) {
    every_second_ = std::move(every_second);
    // The thread has a communicator of its own, in which a probe finds nothing. In MPICH a probe of a communicator of
    // one rank makes no progress.
    comm_ = engine::OwnedComm::like(MPI_COMM_WORLD).release();
    on_.store(true, std::memory_order_relaxed);
  }

  void stop() {
    if (!on_.exchange(false, std::memory_order_relaxed)) {
      return;
    }
    doorbell_.ring(); // full fence: the thread sees the store, or the ring
    {
      const std::lock_guard lock(mutex_);
      if (thread_.joinable()) {
        thread_.join();
      }
    }
    real().MPI_Comm_free(&comm_);
  }

  void change_reasons(int change) {
    if (!on_.load(std::memory_order_relaxed)) {
      return;
    }
    const int before = reasons_.fetch_add(change, std::memory_order_relaxed);
    if (change <= 0) {
      return;
    }
    latest_ns_.store(engine::now_ns(), std::memory_order_relaxed);
    if (!has_thread_.load(std::memory_order_acquire)) { // released in make_thread()
      make_thread();
    }
    // The first reason cuts short the nap of a thread that has not noticed that there was none.
    before <= 0 ? doorbell_.ring() : doorbell_.nudge();
  }

  void pause(bool paused) {
    paused_.store(paused, std::memory_order_relaxed);
    doorbell_.nudge();
  }

  [[nodiscard]] BackgroundPolls polls() const {
    return {polls_.load(std::memory_order_relaxed), polled_ns_.load(std::memory_order_relaxed)};
  }

private:
  void make_thread() {
    const std::lock_guard lock(mutex_);
    if (!has_thread_.load(std::memory_order_relaxed)) {
      const auto failure = engine::attempt([this] { thread_ = engine::own_thread([this] { run(); }); });
      if (failure) {
        fmt::print(stderr, "stoker: no progress in the background: {}\n", failure->what());
      }
      has_thread_.store(true, std::memory_order_release); // acquired in change_reasons(); it is not tried again
    }
  }

  // Where the thread runs: on a core that is reserved for helpers, or wherever the process may.
  static engine::IdleLimits find_place() {
    const auto spin_us = static_cast<std::uint64_t>(settings().spin_us);
    const auto nap_us = static_cast<std::uint64_t>(settings().nap_us);
    engine::set_timer_slack(std::chrono::nanoseconds(1));
    engine::set_short_slice();
    if (the_engine() == nullptr || the_engine()->helper_facts().reserved == 0 ||
        the_engine()->helper_facts().core < 0) {
      return engine::IdleLimits::shared(spin_us, nap_us);
    }
    const topology::OsIndex core{the_engine()->helper_facts().core};
    (void)topology::bind_helper_thread(the_engine()->machine(), topology::CpuSet(core));
    return engine::IdleLimits::reserved(spin_us, nap_us);
  }

  [[nodiscard]] bool on() const { return on_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool needed() const {
    return reasons_.load(std::memory_order_relaxed) > 0 && !paused_.load(std::memory_order_relaxed);
  }

  void run() {
    engine::IdlePolicy policy(find_place());
    std::uint64_t awake_since = engine::now_ns();
    std::uint64_t next_second = awake_since + second_ns;
    while (on()) {
      if (!needed()) {
        doorbell_.sleep([this] { return !on() || needed(); }, std::nullopt);
        awake_since = engine::now_ns();
        continue;
      }
      const std::uint64_t begin = engine::now_ns();
      int flag = 0;
      PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &flag, MPI_STATUS_IGNORE);
      const std::uint64_t end = engine::now_ns();
      polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      polled_ns_.store(polled_ns_.load(std::memory_order_relaxed) + end - begin, std::memory_order_relaxed);
      if (end >= next_second) {
        every_second_();
        next_second = end + second_ns;
      }
      const std::uint64_t latest = latest_ns_.load(std::memory_order_relaxed);
      const engine::Action action =
          policy.next(end - begin > moved_ns, end, end > latest ? end - latest : 0, end - awake_since);
      engine::perform(action, doorbell_, [this] { return !on(); });
      if (action.kind == engine::Action::Kind::nap) {
        awake_since = engine::now_ns();
      }
    }
  }

  std::atomic<bool> on_{false};
  std::atomic<bool> paused_{false};
  std::atomic<int> reasons_{0};
  std::atomic<std::uint64_t> latest_ns_{0}; // when the latest of them came
  std::atomic<std::uint64_t> polls_{0};     // written by the thread alone, as is the next
  std::atomic<std::uint64_t> polled_ns_{0};
  std::atomic<bool> has_thread_{false}; // or there can be none
  engine::Doorbell doorbell_;
  std::function<void()> every_second_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::mutex mutex_; // guards what follows
  std::thread thread_;
};
// Never destroyed: the application may free its windows late.
engine::NeverDestroyed<BackgroundThread> background_storage;
BackgroundThread& background = background_storage.object;

} // namespace

bool start_background_progress(std::function<void()> every_second) {
  int level = MPI_THREAD_SINGLE;
  real().MPI_Query_thread(&level);
  if (!engine::on_all(MPI_COMM_WORLD, level >= MPI_THREAD_MULTIPLE)) { // programs of a job may ask for different ones
    return false;
  }
  background.start(std::move(every_second));
  return true;
}

void stop_background_progress() { background.stop(); }
void change_reasons(int change) { background.change_reasons(change); }
void pause_background_progress(bool paused) { background.pause(paused); }
BackgroundPolls background_polls() { return background.polls(); }

} // namespace stoker::pmpi
