// SPDX-License-Identifier: BSD-3-Clause
// Requests of the MPI library that a follower follows from their start to their completion: messages that make progress
// in the background (watched_messages.hpp), or calls that the advice is about (advice.hpp). While none is followed, a
// call that starts or completes requests costs a look at one word.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stoker::reports {
struct AdvisedSums;
}

namespace stoker::pmpi {

// A function of the MPI library that starts or makes a request for a message.
struct MessageCall {
  const char* function;
  const void* site; // return address of the application's call
  std::uint64_t begin_ns;
};

// What a follower knows of a request.
struct Followed {
  std::uint64_t bytes = 0;
  std::uint64_t begin_ns = 0;             // on a clock of the follower's
  reports::AdvisedSums* advice = nullptr; // to add to
};

// A followed request that a call of the application's may complete.
struct Taken {
  MPI_Request request;
  int place; // in the call's array
  Followed what;
  bool complete = false;
};

// What the application's thread does in a call that may complete requests.
enum class Completing : std::uint8_t {
  waits, // it stays in MPI until something is complete, and makes progress there itself
  tests,
};

// Any thread calls it.
class Follower {
public:
  // The MPI library has started a message with this request, or made a persistent request for it.
  virtual void message_started(const MessageCall& call, MPI_Request request, std::uint64_t bytes) = 0;
  virtual void message_made(const MessageCall& call, MPI_Request request, std::uint64_t bytes) = 0;
  // Requests have been started since then, of which those count that were made before the follower's eyes.
  virtual void started(int count, const MPI_Request* requests, std::uint64_t begin_ns) = 0;
  // A persistent request will be freed now.
  virtual void forget(MPI_Request request) = 0;
  // A call begins that may complete these: the followed ones among them are no longer followed. Returns when it began,
  // or 0 if put_back() does without.
  virtual std::uint64_t take(Completing kind, int count, const MPI_Request* requests, std::vector<Taken>& taken) = 0;
  // It is over: those that are not complete are followed again.
  virtual void put_back(Completing kind, std::uint64_t begin_ns, const std::vector<Taken>& taken) = 0;

protected:
  ~Follower() = default;
};

namespace detail {
inline constinit std::atomic<bool> following{false};
inline constinit std::atomic<std::uint64_t> followed{0};
inline constinit std::atomic<std::uint64_t> followed_persistent{0};
// There is one at most. Written while the process has one thread in MPI.
inline constinit std::atomic<Follower*> follower{nullptr};
} // namespace detail

// Whether messages that are started now are followed at all.
[[nodiscard]] inline bool following() { return detail::following.load(std::memory_order_relaxed); }
[[nodiscard]] inline Follower& follower() { return *detail::follower.load(std::memory_order_relaxed); }
// How many requests are followed. A thread that completes a request has heard of it from the one that has started it,
// so it sees at least that one.
[[nodiscard]] inline std::uint64_t followed_requests() { return detail::followed.load(std::memory_order_relaxed); }

// A request will be freed now.
inline void forget_persistent(MPI_Request request) {
  if (detail::followed_persistent.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    follower().forget(request);
  }
}

// A call of the application's that starts requests.
class Starting {
public:
  Starting(int count, const MPI_Request* requests) : count_(count) {
    if (detail::followed_persistent.load(std::memory_order_relaxed) != 0 && following()) [[unlikely]] {
      look_at(requests);
    }
  }
  // The MPI library has returned `code`.
  [[nodiscard]] int done(int code) const {
    if (code == MPI_SUCCESS && requests_ != nullptr) [[unlikely]] {
      follower().started(count_, requests_, begin_ns_);
    }
    return code;
  }

private:
  void look_at(const MPI_Request* requests);

  int count_;
  const MPI_Request* requests_ = nullptr; // null: of no interest
  std::uint64_t begin_ns_ = 0;
};

// A call of the application's that may complete requests.
//
// It takes the followed ones among them out before the MPI library's function, and puts those back that it did not
// complete. The MPI library may give the handle of a request that it has completed to another thread at once; by then
// the handle is out. A request that is not complete keeps its handle, so it can be put back.
class Completion {
public:
  Completion(Completing kind, int count, const MPI_Request* requests) : kind_(kind), requests_(requests) {
    if (followed_requests() != 0 && requests != nullptr) [[unlikely]] {
      begin_ns_ = follower().take(kind, count, requests, taken_);
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
  // is_complete(taken): whether a request is complete whose handle is not null now.
  template <class IsComplete>
  void settle(IsComplete is_complete) {
    for (Taken& each : taken_) {
      each.complete = requests_[each.place] == MPI_REQUEST_NULL || is_complete(each);
    }
    follower().put_back(kind_, begin_ns_, taken_);
  }

  Completing kind_;
  const MPI_Request* requests_;
  std::uint64_t begin_ns_ = 0;
  std::vector<Taken> taken_;
};

} // namespace stoker::pmpi
