// SPDX-License-Identifier: BSD-3-Clause
// A persistent collective that the engine carries out, or the MPI library, or whichever of the two has been faster: see
// route_trials.hpp.
#pragma once

#include "engine/calls/call_under_way.hpp"
#include "engine/calls/mpi_request.hpp"
#include "engine/calls/put_off_starts.hpp"
#include "engine/calls/route_trials.hpp"
#include "engine/core/engine.hpp"
#include "engine/requests/request.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace stoker::engine {

// Must be inactive when it is destroyed.
class PersistentCall final : public CallUnderWay, private PutOff {
public:
  // Local. The requests are of the same call and inactive; one of them may be null. Both: both are tried, for which
  // MPI_THREAD_MULTIPLE has to be provided on all ranks. `engine`: whose inline requests go on while a thread waits;
  // null: none's.
  PersistentCall(std::shared_ptr<Engine> engine, std::unique_ptr<Request> by_engine,
                 std::unique_ptr<MpiRequest> by_mpi);

  [[nodiscard]] bool active() const { return active_; }
  // Local. The call may be put off until the ranks have decided on its route. `timed`: report() is wanted; else the call
  // is timed only if its time is compared. Throws Error: nothing is started then.
  void start(bool timed);
  [[nodiscard]] bool done() override;
  void wait() override;
  void look_around(std::uint64_t waited_ns) override;
  // For a call that is active and done: puts its results in place, which done() need not do. The call stays active.
  void settle();
  void finish() override;
  [[nodiscard]] Report report() const override { return report_; }

private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool tried() const { return by_engine_ != nullptr && by_mpi_ != nullptr; }
  // Tries to start the call, and returns whether that succeeded. Called by its own thread; or, while it is put off,
  // with the mutex of put-off starts. Errors are reported when the call is completed.
  [[nodiscard]] bool try_start();
  bool try_starts() override;
  [[nodiscard]] bool started();
  [[nodiscard]] bool look();
  template <class Attempt>
  void poll_until(Attempt&& attempt);

  [[nodiscard]] Clock::time_point now() const { return timed_ ? Clock::now() : Clock::time_point(); }
  void expose(Clock::time_point from);
  void note_if(bool complete);
  void take_times(Clock::time_point end);

  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Request> by_engine_;
  std::unique_ptr<MpiRequest> by_mpi_;
  RouteTrials trials_;
  RequestStatistics before_; // the latest call that is timed
  Report report_;
  std::uint64_t calls_ = 0;
  // The latest call.
  std::uint64_t number_ = 0;
  Route route_ = Route::engine;
  bool active_ = false;
  bool prompt_ = false; // not put off
  bool waited_ = false;
  bool settled_ = false;
  // True: everything here is guarded by the mutex of put-off starts; else it is its own thread's. Cleared with the
  // mutex once the call is started: released in try_starts(), acquired in started().
  std::atomic<bool> put_off_{false};
  std::optional<Error> failure_;
  bool timed_ = false;
  Clock::time_point begin_;
  Clock::duration exposed_{};
  std::optional<Clock::time_point> complete_; // when that was noticed
};

} // namespace stoker::engine
