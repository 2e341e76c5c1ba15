// SPDX-License-Identifier: BSD-3-Clause
// A CUDA driver without a device: the functions that stoker and its tests call, with memory that the host cannot touch,
// but for managed memory. stand_in_driver.cpp has contexts and memory, stand_in_streams.cpp streams, copies and words,
// stand_in_kernel.cpp kernels. Stricter than a real one: a copy happens when its stream is synchronized and not before,
// unless the stream also has kernels or words; memory takes no part in a copy while another device's context is current;
// a kernel's program and counters are in the memory of its own device; and freeing memory waits for all streams with
// kernels or words. It shows that each access is by the driver, and in the right order; it does not show how long
// anything takes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace stand_in {

// Results of cuda.h.
constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int invalid_context = 201;
constexpr int no_peer_access = 217;
constexpr int invalid_handle = 400;
constexpr int not_found = 500;
constexpr int not_ready = 600;
constexpr int illegal_address = 700;
constexpr int device_lost = 719;
constexpr int launch_too_large = 720;

using Address = std::uint64_t;

constexpr std::size_t arena_bytes = std::size_t{1} << 30U; // address space; memory is used for what is written
constexpr std::size_t page = 4096;
constexpr int devices = 2;
constexpr int multiprocessors = 4;
constexpr int blocks_of_each = 2; // at the same time

enum class Kind : std::uint8_t { device, pool, managed, pinned, registered, imported };

struct Allocation {
  Kind kind = Kind::device;
  std::size_t bytes = 0;
  int device = 0; // that reaches it
  std::uint64_t id = 0;
  unsigned imports = 0; // of imported memory: how often
  unsigned settles = 0; // see attribute 6
  int home = 0;         // of imported memory: the device that it is memory of
};

class Stream;

struct Context {
  int device = 0;
  int resets = 0; // streams of before are no good
};

using Step = std::function<int()>; // returns a result

// In order. Steps are done when somebody synchronizes; from the first one that is asynchronous on, by a thread.
class Stream {
public:
  Stream(Context* context, int resets) : context_(context), resets_(resets) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { end(); }

  [[nodiscard]] bool good(const Context* current) const { return context_ == current && resets_ == context_->resets; }
  void add(Step step, bool asynchronous);
  int synchronize();
  void settle(); // where a thread does the steps: waits for it
  int query();
  void end(); // what has not begun is left out
  [[nodiscard]] bool ending();

private:
  void work();

  Context* context_;
  int resets_;
  std::mutex mutex_; // guards the rest
  std::condition_variable changed_;
  std::deque<Step> steps_;
  bool busy_ = false;
  bool ends_ = false;
  int error_ = success; // the first one, which stays
  std::thread worker_;
};

// The memory of both devices: where programs are told that it is, nobody may look; the driver has it elsewhere.
struct Driver {
  Driver();

  // The allocation that a range lies in, or null.
  Allocation* find(Address address, std::size_t bytes = 1);
  Address beginning_of(Address address) { return std::prev(allocations.upper_bound(address))->first; }
  std::byte* reach(Address address) const;
  static Context* current() { return stack.empty() ? nullptr : stack.back(); }
  int add(Address* address, std::size_t bytes, Kind kind);
  // Null where it is none of this context; the default one for null.
  Stream* stream(void* handle);

  std::mutex mutex;
  int file = -1;
  std::byte* told = nullptr;
  std::byte* real = nullptr;
  std::size_t used = 0;
  std::uint64_t ids = 0;
  int questions = 0; // for attributes of pointers
  std::map<Address, Allocation> allocations;
  Context contexts[devices] = {{.device = 0}, {.device = 1}};
  bool lost = false;
  bool refuses_launches = false;
  bool captures = false;     // what is put into streams
  std::list<Stream> streams; // stoker keeps its own as long as the process lives
  static thread_local std::vector<Context*> stack;
};

Driver& driver();

// Whether the environment says so.
bool told_to(const char* name);

} // namespace stand_in
