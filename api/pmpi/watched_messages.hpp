// SPDX-License-Identifier: BSD-3-Clause
// The application's long point-to-point messages that are under way, if they are to make progress in the background
// (STOKER_PMPI_P2P=1). While there is none, a call that starts or completes messages costs a look at one word.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stoker::pmpi {

namespace detail {
inline constinit std::atomic<bool> watching{false};
inline constinit std::atomic<std::uint64_t> watched{0};
inline constinit std::atomic<std::uint64_t> persistent{0};
void started(int count, const MPI_Request* requests);
void forget_persistent(MPI_Request request);
} // namespace detail

// Whether messages that are started now are watched at all.
[[nodiscard]] inline bool watching() { return detail::watching.load(std::memory_order_relaxed); }
// How many are under way. A thread that completes a message has heard of it from the one that has started it, so it
// sees at least that one.
[[nodiscard]] inline std::uint64_t watched_messages() { return detail::watched.load(std::memory_order_relaxed); }

// Once MPI is initialised, and there is a thread for progress in the background. `on`: whether to watch at all.
void start_watching(bool on);
// Messages that are started while it is paused are not watched.
void pause_watching(bool paused);
// What is still under way is forgotten.
void stop_watching();
// For that thread, now and then: gives up messages that have been under way for so long that nobody seems to complete
// them, as far as this library can see.
void give_up_old_messages();

// A request for a message of so many bytes has been started; or made, if it is persistent. It is ignored if the message
// is short. After the MPI library's call, when no other thread knows of the request.
void watch(MPI_Request request, std::uint64_t bytes);
void watch_persistent(MPI_Request request, std::uint64_t bytes);
// Requests have been started, of which those count that watch_persistent() was told of.
inline void watch_started(int count, const MPI_Request* requests) {
  if (detail::persistent.load(std::memory_order_relaxed) != 0 && watching()) [[unlikely]] {
    detail::started(count, requests);
  }
}
// A request will be freed now.
inline void forget_persistent(MPI_Request request) {
  if (detail::persistent.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    detail::forget_persistent(request);
  }
}

// A call of the application's that may complete requests.
//
// It takes the watched ones among them out before the MPI library's function, and puts those back that it did not
// complete. The MPI library may give the handle of a request that it has completed to another thread at once; by then
// the handle is out. A request that is not complete keeps its handle, so it can be put back.
class Completion {
public:
  enum class Kind : std::uint8_t {
    waits, // the thread stays in MPI until something is complete, and makes progress there itself
    tests,
  };
  Completion(Kind kind, int count, const MPI_Request* requests) {
    if (watched_messages() != 0) [[unlikely]] {
      take(kind, count, requests);
    }
  }
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  ~Completion() = default;

  // The call is over, and returns `code`. If that is an error, nothing else it says may be looked at. All of the call's
  // requests are complete:
  int all(int code) {
    if (!taken_.empty()) [[unlikely]] {
      settle([&](const Taken& /*each*/) { return code == MPI_SUCCESS; });
    }
    return code;
  }
  // They are if *flag is set.
  int all_if(int code, const int* flag) {
    if (!taken_.empty()) [[unlikely]] {
      settle([&](const Taken& /*each*/) { return code == MPI_SUCCESS && *flag != 0; });
    }
    return code;
  }
  // Those of so many of these places are. A negative count: none.
  int some(int code, const int* count, const int* places) {
    if (!taken_.empty()) [[unlikely]] {
      settle([&](const Taken& each) {
        return code == MPI_SUCCESS && *count > 0 && std::find(places, places + *count, each.place) != places + *count;
      });
    }
    return code;
  }

private:
  struct Taken {
    MPI_Request request;
    int place;
    std::uint64_t bytes;
    std::uint64_t begin_ns;
  };
  void take(Kind kind, int count, const MPI_Request* requests);
  // is_complete(taken): whether a request is complete whose handle is not null now.
  template <class IsComplete>
  void settle(IsComplete is_complete) {
    std::erase_if(taken_,
                  [&](const Taken& each) { return requests_[each.place] == MPI_REQUEST_NULL || is_complete(each); });
    put_back();
  }
  void put_back(); // the rest of taken_

  Kind kind_ = Kind::waits;
  const MPI_Request* requests_ = nullptr;
  std::size_t count_ = 0; // that were taken
  std::vector<Taken> taken_;
};

// Sums for the summary.
struct WatchedSums {
  std::uint64_t messages = 0;
  std::uint64_t unfinished = 0; // under way at present
  std::uint64_t given_up = 0;
};
[[nodiscard]] WatchedSums watched_sums();
void reset_watched_sums();

// What was learned of intervals that began with a message of at least so many bytes, a power of two, and less than
// twice as many.
struct LearnedHelp {
  std::uint64_t bytes = 0;
  std::uint64_t intervals = 0;
  std::uint64_t helped = 0;
  bool helps = false;
  double helped_seconds = 0; // an interval with help; 0: unknown
  double alone_seconds = 0;
};
[[nodiscard]] std::vector<LearnedHelp> learned_help();

} // namespace stoker::pmpi
