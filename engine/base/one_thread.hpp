// SPDX-License-Identifier: BSD-3-Clause
// What belongs to one thread at a time says so with a member OneThread, and its functions with a OneThread::Use. Unless
// NDEBUG is defined, a second thread that comes in meanwhile ends the process with a line that names both threads.
#pragma once

#include <pthread.h>

#include <atomic>

namespace stoker::engine {

#ifdef NDEBUG
inline constexpr bool check_threads = false;
#else
inline constexpr bool check_threads = true;
#endif

class OneThread {
public:
  // `what` has static storage.
  explicit OneThread(const char* what) : what_(what) {}

  // While one exists, the object is this thread's. They may be nested.
  class Use {
  public:
    explicit Use(OneThread& of) : of_(of) {
      if constexpr (check_threads) {
        self_ = pthread_self();
        const pthread_t user = of_.user_.load(std::memory_order_relaxed);
        if (user == nobody) {
          // Plain loads and stores cost next to nothing, but let two threads in at the same moment: then the destructor
          // tells.
          of_.user_.store(self_, std::memory_order_relaxed);
          outermost_ = true;
        } else if (user != self_) {
          fail(of_.what_, user);
        }
      }
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() {
      if (check_threads && outermost_) {
        const pthread_t user = of_.user_.load(std::memory_order_relaxed);
        if (user != self_) {
          fail(of_.what_, user);
        }
        of_.user_.store(nobody, std::memory_order_relaxed);
      }
    }

  private:
    OneThread& of_;
    pthread_t self_ = nobody;
    bool outermost_ = false;
  };

  // A look instead of a Use, for what is called so often that even a Use is felt: whoever calls it has a Use of
  // something else. Finds a Use by another thread.
  void check() const {
    if constexpr (check_threads) {
      const pthread_t user = user_.load(std::memory_order_relaxed);
      if (user != nobody && user != pthread_self()) {
        fail(what_, user);
      }
    }
  }

private:
  static constexpr pthread_t nobody = 0;
  // Does not return.
  static void fail(const char* what, pthread_t other);

  const char* what_;
  std::atomic<pthread_t> user_{nobody};
};

} // namespace stoker::engine
