// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/watched_messages.hpp"

#include "api/pmpi/background_progress.hpp"
#include "api/pmpi/followed_requests.hpp"
#include "api/pmpi/handle_table.hpp"
#include "api/pmpi/settings.hpp"
#include "engine/base/clock.hpp"
#include "engine/base/never_destroyed.hpp"
#include "engine/helper/help_trials.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

namespace stoker::pmpi {
namespace {

// How long a message may take: ten seconds, and its bytes at 10 MB/s.
constexpr std::uint64_t patience_ns = 10'000'000'000;
constexpr std::uint64_t patience_ns_per_byte = 100;

// Help in intervals that begin with messages of about the same length.
struct Learned {
  engine::HelpTrials trials;
  std::uint64_t intervals = 0;
  std::uint64_t helped = 0;
};

// An interval, in which some message is under way. There is one at a time.
class Interval {
public:
  void begin(std::uint64_t bytes, std::uint64_t now) {
    learned_ = &by_size_[static_cast<std::size_t>(std::bit_width(std::max<std::uint64_t>(bytes, 1))) - 1];
    helps_ = learned_->trials.start();
    begin_ns_ = outside_since_ns_ = now;
    beside_ns_ = 0;
    ++learned_->intervals;
    learned_->helped += helps_ ? 1 : 0;
  }
  // A thread begins to wait for some of the messages, or has done so.
  void wait_begins(std::uint64_t now) { beside_ns_ += waits_++ == 0 ? now - outside_since_ns_ : 0; }
  void wait_ends(std::uint64_t now) { outside_since_ns_ = --waits_ == 0 ? now : outside_since_ns_; }
  // All messages are complete.
  void end(std::uint64_t now) {
    if (waits_ == 0) {
      beside_ns_ += now - outside_since_ns_;
    }
    learned_->trials.finished(now - begin_ns_, beside_ns_);
  }
  [[nodiscard]] bool helps() const { return helps_; }

  static constexpr std::size_t sizes = 64;
  [[nodiscard]] const std::array<Learned, sizes>& by_size() const { return by_size_; }

private:
  std::array<Learned, sizes> by_size_;
  Learned* learned_ = nullptr;
  bool helps_ = false;
  int waits_ = 0;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t outside_since_ns_ = 0; // of waits
  std::uint64_t beside_ns_ = 0;
};

struct Watch final : Follower {
  bool on = false;  // written while the process has one thread in MPI
  std::mutex mutex; // guards what follows
  HandleTable<MPI_Request, Followed> messages;
  HandleTable<MPI_Request, std::uint64_t> persistent; // bytes
  std::uint64_t under_way = 0;                        // `messages`, and those that calls have taken out
  Interval interval;
  WatchedSums sums;

  void message_started(const MessageCall& call, MPI_Request request, std::uint64_t bytes) override;
  void message_made(const MessageCall& call, MPI_Request request, std::uint64_t bytes) override;
  void started(int count, const MPI_Request* requests, std::uint64_t begin_ns) override;
  void forget(MPI_Request request) override;
  std::uint64_t take(Completing kind, int count, const MPI_Request* requests, std::vector<Taken>& taken) override;
  void put_back(Completing kind, std::uint64_t begin_ns, const std::vector<Taken>& taken) override;

  void add(MPI_Request request, std::uint64_t bytes) {
    const std::uint64_t now = engine::now_ns();
    if (under_way == 0) {
      interval.begin(bytes, now);
    }
    ++sums.messages;
    // Where the MPI library completes messages at once, it may return the same handle for several of them.
    if (messages.insert(request, {bytes, now})) {
      change_under_way(1);
      want_progress(1);
    }
  }
  // So many more messages, or fewer, want progress in the background.
  void want_progress(std::ptrdiff_t change) const {
    if (interval.helps() && change != 0) {
      change_reasons(static_cast<int>(change));
    }
  }
  void change_under_way(std::ptrdiff_t change) {
    under_way += static_cast<std::uint64_t>(change);
    detail::followed.store(under_way, std::memory_order_relaxed);
  }
};
// Never destroyed: MPI_Finalize may be called by a destructor.
engine::NeverDestroyed<Watch> state_storage;
Watch& state = state_storage.object;

} // namespace

void start_watching(bool on) {
  state.on = on;
  detail::follower.store(&state, std::memory_order_relaxed);
  pause_watching(false);
}

void pause_watching(bool paused) { detail::following.store(state.on && !paused, std::memory_order_relaxed); }

void stop_watching() {
  state.on = false;
  pause_watching(false);
  detail::followed.store(0, std::memory_order_relaxed);
  detail::followed_persistent.store(0, std::memory_order_relaxed);
}

void give_up_old_messages() {
  const std::lock_guard lock(state.mutex);
  const std::uint64_t now = engine::now_ns();
  const std::size_t count = state.messages.take_if([&](const Followed& message) {
    return now > message.begin_ns + patience_ns + (message.bytes * patience_ns_per_byte);
  });
  state.sums.given_up += count;
  state.want_progress(-static_cast<std::ptrdiff_t>(count));
  state.change_under_way(-static_cast<std::ptrdiff_t>(count));
}

namespace {

void Watch::message_started(const MessageCall& /*call*/, MPI_Request request, std::uint64_t bytes) {
  if (bytes >= settings().pmpi_p2p_least_bytes && request != MPI_REQUEST_NULL) {
    const std::lock_guard lock(mutex);
    add(request, bytes);
  }
}

void Watch::message_made(const MessageCall& /*call*/, MPI_Request request, std::uint64_t bytes) {
  if (bytes >= settings().pmpi_p2p_least_bytes && request != MPI_REQUEST_NULL) {
    const std::lock_guard lock(mutex);
    persistent.insert(request, bytes);
    detail::followed_persistent.store(persistent.size(), std::memory_order_relaxed);
  }
}

void Watch::started(int count, const MPI_Request* requests, std::uint64_t /*begin_ns*/) {
  const std::lock_guard lock(mutex);
  for (int i = 0; i < count; ++i) {
    if (const std::uint64_t* const bytes = persistent.find(requests[i])) {
      add(requests[i], *bytes);
    }
  }
}

void Watch::forget(MPI_Request request) {
  const std::lock_guard lock(mutex);
  (void)persistent.take(request);
  detail::followed_persistent.store(persistent.size(), std::memory_order_relaxed);
}

std::uint64_t Watch::take(Completing kind, int count, const MPI_Request* requests, std::vector<Taken>& taken) {
  const std::lock_guard lock(mutex);
  for (int i = 0; i < count; ++i) {
    const std::optional<Followed> message = requests[i] == MPI_REQUEST_NULL ? std::nullopt : messages.take(requests[i]);
    if (message) {
      taken.push_back({requests[i], i, *message});
    }
  }
  if (!taken.empty() && kind == Completing::waits) {
    want_progress(-static_cast<std::ptrdiff_t>(taken.size()));
    interval.wait_begins(engine::now_ns());
  }
  return 0;
}

void Watch::put_back(Completing kind, std::uint64_t /*begin_ns*/, const std::vector<Taken>& taken) {
  const std::lock_guard lock(mutex);
  std::ptrdiff_t left = 0;
  for (const Taken& each : taken) {
    // A handle that several messages share (add()) may be there again: another thread has started one meanwhile.
    left += !each.complete && messages.insert(each.request, each.what) ? 1 : 0;
  }
  const auto ended = static_cast<std::ptrdiff_t>(taken.size()) - left;
  const bool waits = kind == Completing::waits;
  const std::uint64_t now = waits || ended > 0 ? engine::now_ns() : 0;
  if (waits) {
    interval.wait_ends(now);
  }
  want_progress(waits ? left : -ended);
  change_under_way(-ended);
  if (ended > 0 && under_way == 0) {
    interval.end(now);
  }
}

} // namespace

WatchedSums watched_sums() {
  const std::lock_guard lock(state.mutex);
  WatchedSums sums = state.sums;
  sums.unfinished = state.under_way;
  return sums;
}

WatchedSums reset_watched_sums() {
  const std::lock_guard lock(state.mutex);
  return std::exchange(state.sums, {});
}

std::vector<LearnedHelp> learned_help() {
  const std::lock_guard lock(state.mutex);
  std::vector<LearnedHelp> all;
  for (std::size_t i = 0; i < Interval::sizes; ++i) {
    const Learned& learned = state.interval.by_size()[i];
    if (learned.intervals > 0) {
      const auto seconds = [&](bool with_help) {
        return 1e-9 * static_cast<double>(learned.trials.median_ns(with_help).value_or(0));
      };
      all.push_back({std::uint64_t{1} << i, learned.intervals, learned.helped, learned.trials.helps(), seconds(true),
                     seconds(false)});
    }
  }
  return all;
}

} // namespace stoker::pmpi
