// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/watched_messages.hpp"

#include "api/pmpi/background_progress.hpp"
#include "api/pmpi/handle_table.hpp"
#include "api/pmpi/settings.hpp"
#include "engine/base/clock.hpp"
#include "engine/helper/help_trials.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <mutex>
#include <optional>

namespace stoker::pmpi {
namespace {

struct Message {
  std::uint64_t bytes = 0;
  std::uint64_t begin_ns = 0;
};

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

struct Watch {
  bool on = false;  // written while the process has one thread in MPI
  std::mutex mutex; // guards what follows
  HandleTable<MPI_Request, Message> messages;
  HandleTable<MPI_Request, std::uint64_t> persistent; // bytes
  std::uint64_t under_way = 0;                        // `messages`, and those that calls have taken out
  Interval interval;
  WatchedSums sums;

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
    detail::watched.store(under_way, std::memory_order_relaxed);
  }
};
// Never destroyed: MPI_Finalize may be called by a destructor.
Watch& state = *new Watch;

} // namespace

void start_watching(bool on) {
  state.on = on;
  pause_watching(false);
}

void pause_watching(bool paused) { detail::watching.store(state.on && !paused, std::memory_order_relaxed); }

void stop_watching() {
  start_watching(false);
  detail::watched.store(0, std::memory_order_relaxed);
  detail::persistent.store(0, std::memory_order_relaxed);
}

void give_up_old_messages() {
  const std::lock_guard lock(state.mutex);
  const std::uint64_t now = engine::now_ns();
  const std::size_t count = state.messages.take_if([&](const Message& message) {
    return now > message.begin_ns + patience_ns + (message.bytes * patience_ns_per_byte);
  });
  state.sums.given_up += count;
  state.want_progress(-static_cast<std::ptrdiff_t>(count));
  state.change_under_way(-static_cast<std::ptrdiff_t>(count));
}

void watch(MPI_Request request, std::uint64_t bytes) {
  if (bytes >= settings().pmpi_p2p_least_bytes && request != MPI_REQUEST_NULL) {
    const std::lock_guard lock(state.mutex);
    state.add(request, bytes);
  }
}

void watch_persistent(MPI_Request request, std::uint64_t bytes) {
  if (bytes >= settings().pmpi_p2p_least_bytes && request != MPI_REQUEST_NULL) {
    const std::lock_guard lock(state.mutex);
    state.persistent.insert(request, bytes);
    detail::persistent.store(state.persistent.size(), std::memory_order_relaxed);
  }
}

void detail::started(int count, const MPI_Request* requests) {
  const std::lock_guard lock(state.mutex);
  for (int i = 0; i < count; ++i) {
    if (const std::uint64_t* const bytes = state.persistent.find(requests[i])) {
      state.add(requests[i], *bytes);
    }
  }
}

void detail::forget_persistent(MPI_Request request) {
  const std::lock_guard lock(state.mutex);
  (void)state.persistent.take(request);
  persistent.store(state.persistent.size(), std::memory_order_relaxed);
}

void Completion::take(Kind kind, int count, const MPI_Request* requests) {
  if (requests == nullptr) {
    return;
  }
  kind_ = kind;
  requests_ = requests;
  const std::lock_guard lock(state.mutex);
  for (int i = 0; i < count; ++i) {
    const std::optional<Message> message =
        requests[i] == MPI_REQUEST_NULL ? std::nullopt : state.messages.take(requests[i]);
    if (message) {
      taken_.push_back({requests[i], i, message->bytes, message->begin_ns});
    }
  }
  count_ = taken_.size();
  if (count_ > 0 && kind == Kind::waits) {
    state.want_progress(-static_cast<std::ptrdiff_t>(count_));
    state.interval.wait_begins(engine::now_ns());
  }
}

void Completion::put_back() {
  const std::lock_guard lock(state.mutex);
  std::ptrdiff_t left = 0;
  for (const Taken& each : taken_) {
    // A handle that several messages share (Watch::add) may be there again: another thread has started one meanwhile.
    left += state.messages.insert(each.request, {each.bytes, each.begin_ns}) ? 1 : 0;
  }
  const auto ended = static_cast<std::ptrdiff_t>(count_) - left;
  const std::uint64_t now = kind_ == Kind::waits || ended > 0 ? engine::now_ns() : 0;
  if (kind_ == Kind::waits) {
    state.interval.wait_ends(now);
  }
  state.want_progress(kind_ == Kind::waits ? left : -ended);
  state.change_under_way(-ended);
  if (ended > 0 && state.under_way == 0) {
    state.interval.end(now);
  }
}

WatchedSums watched_sums() {
  const std::lock_guard lock(state.mutex);
  WatchedSums sums = state.sums;
  sums.unfinished = state.under_way;
  return sums;
}

void reset_watched_sums() {
  const std::lock_guard lock(state.mutex);
  state.sums = {};
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
