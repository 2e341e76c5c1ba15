// SPDX-License-Identifier: BSD-3-Clause
// The life of a request after init: Start, Test, Wait, free. The states are those of api/include/stoker/stoker.h.
#pragma once

#include "algos/select/choice.hpp"
#include "engine/core/engine.hpp"
#include "engine/data/bound_data.hpp"
#include "engine/data/datatype.hpp"
#include "engine/data/operation.hpp"
#include "engine/device/device_memory.hpp"
#include "engine/execute/progress.hpp"
#include "engine/helper/waiting.hpp"
#include "engine/helper/wake_policy.hpp"
#include "engine/shared/block.hpp"
#include "engine/wisdom/recall.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace stoker::engine {

class ByteBlocks;
class DeviceEpochs;
class DeviceReach;
class EpochBinding;
class EpochMemory;
struct Readers;

enum class Executor : std::uint8_t { engine, inline_, device };
[[nodiscard]] constexpr const char* name_of(Executor executor) {
  constexpr const char* names[] = {"engine", "inline", "device"};
  return names[static_cast<std::size_t>(executor)];
}

// Whether the kernel of a device carries a request out.
enum class DeviceUse : std::uint8_t { none, if_possible, required };

// The results of init.
struct RequestPlan {
  std::shared_ptr<CommContext> context;
  algos::Choice choice;
  std::string choice_text;
  std::string chosen_by = "cost model"; // who named the algorithm, in words
  std::uint64_t starts = 0;             // announced by the caller; 0: not known
  Executor executor = Executor::inline_;
  DeviceUse device_use = DeviceUse::none;    // what is wanted
  bool without_kernel = false;               // nevertheless, because it turned out not to be possible
  std::shared_ptr<const DeviceReach> device; // where the executor is one
  int root = 0;
  bool deterministic = false; // combines in an order that depends on the number of ranks alone
  std::uint64_t block = 0;    // offset in this rank's arena
  UserBuffer send;            // empty when in place
  UserBuffer recv;
  std::uint64_t send_staging = 0; // offsets in this rank's arena; 0: the buffer is not staged
  std::uint64_t recv_staging = 0;
  std::uint64_t scratch = 0; // likewise, of a program whose scratch a window is over; 0: it lies in the block
  std::uint64_t scratch_bytes = 0;
  bool in_place = false;
  Operation operation;          // of collectives that combine; inline only if it is the user's
  std::uint64_t bytes_wire = 0; // sent by this rank per epoch, to other nodes and within its own
  std::uint64_t bytes_node = 0;
  std::uint64_t bytes_from_node = 0; // received by this rank per epoch from ranks of its node,
  std::uint64_t bytes_from_wire = 0; // and from other nodes
  std::uint64_t vector_bytes = 0;    // of all ranks' blocks together; 0: an exchange
  double init_seconds = 0;
  double mpi_seconds = 0;      // of the MPI library's own blocking call; 0 where it was not measured
  bool from_wisdom = false;    // the program; else it was compiled
  bool through_window = false; // its puts; else they are messages
  bool timed = false;          // statistics have times; else they may not
  bool rebindable = false;     // send and recv stay empty: every epoch brings its own
  bool any_sizes = false;      // likewise: one message to and from every rank, whose sizes every epoch brings
  // For copies of an epoch's buffers; null: memory of the request's own.
  std::shared_ptr<EpochMemory> send_memory;
  std::shared_ptr<EpochMemory> recv_memory;
  std::shared_ptr<const PutWindow> window;
  std::shared_ptr<const ByteBlocks> byte_blocks; // of collectives whose blocks have types of their own
};

// How equal blocks lie in the memory of a request that expects longer ones. They are copied then.
struct Spacing {
  std::uint64_t block = 0;  // the data of each
  std::uint64_t stride = 0; // the place of each, whose rest is zeros; as long: there is nothing to fill
};

// The buffers of one epoch of a rebindable request.
struct EpochBuffers {
  BoundData send;
  BoundData recv;           // empty: results are not wanted, or there are none
  bool copies_send = false; // although the program may reach it; needed where results will lie in the same place
  bool copies_recv = false;
  bool in_place = false; // the program's operand is in recv
  Spacing send_spacing;
  Spacing recv_spacing;
};

struct RequestStatistics {
  std::uint64_t starts = 0;
  double exchange_seconds = 0;
  double exposed_seconds = 0;
  double hidden_seconds = 0;
  double before_wire_seconds = 0;
  double wire_seconds = 0;
};

class Request final : public Dependent {
public:
  Request(std::shared_ptr<Engine> engine, RequestPlan plan);
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  // Local. The request must be inactive, or its engine destroyed.
  ~Request();

  // All throw Error(request) once the engine is destroyed.
  void start(); // Error(state) when active
  bool test();  // true: complete, now inactive. Throws the epoch's error, once.
  // The same as start() and wait() in the order of a stream of a device, of CUDA's: the epoch begins when the stream gets
  // there, and what follows in the stream comes after it. Where the device cannot do that alone, the host waits instead.
  // After wait_on() the request is active until the stream has got there; start_on() takes it before that.
  void start_on(void* stream);
  void wait_on(void* stream);
  // Like test, but leave the requests complete rather than inactive. Null entries count as complete.
  bool peek() {
    Request* const self = this;
    return peek_all(std::span(&self, 1));
  }
  static bool peek_all(std::span<Request* const> requests);
  // For an active request that somebody else waits for: does what it takes to bring it on, but makes no test of it.
  void bring_on();
  void wait();
  // The two halves of wait(). await() returns once the request is complete or inactive, and leaves it so. finish()
  // makes it inactive and throws the epoch's error.
  void await();
  void finish();
  void complete_before_engine_ends() override { wait(); }
  [[nodiscard]] bool complete() const { return state_ == State::active && reached(); } // only looks
  // In a long wait: throws Error(peer_lost), and the request is broken, if a process is gone that it needs; logs a
  // request that stalls.
  void look_around(std::uint64_t waited_ns);
  // Waits until one of the active requests is complete and returns its index; -1 when none is active. Null entries
  // count as inactive.
  [[nodiscard]] static int wait_any(std::span<Request* const> requests);
  // Some of them inline. Null entries count for nothing.
  [[nodiscard]] static bool are_inline_and_of_several_engines(std::span<Request* const> requests);
  // For an inactive request with an operation of the application: uses another one from now on, on elements of the same
  // size.
  void use(Operation operation) { plan_.operation = std::move(operation); }
  // Called once for a rebindable request, before it is started: see EpochBinding. Throws Error(resource).
  void take_binding(const Engine& engine, const BufferSizes& sizes, const Readers& send_readers,
                    const Readers& recv_readers);
  // Called once for a request whose executor is a device, before it is started.
  void take_device_epochs(std::unique_ptr<DeviceEpochs> epochs);
  // Starts a rebindable request. Throws what EpochBinding::bind() does, too: this rank's part is missing then.
  void start(EpochBuffers buffers);
  [[nodiscard]] bool active() const { return state_ == State::active && !(on_stream_ && reached()); }
  [[nodiscard]] bool broken() const { return state_ == State::broken; }
  [[nodiscard]] bool engine_destroyed() const { return engine_->destroyed(); }
  [[nodiscard]] const char* access_name(algos::Buffer buffer) const; // static storage
  [[nodiscard]] const char* puts_name() const;                       // static storage
  // The choice of an algorithm as reports have it: a one-sided one is followed by what carries out its puts.
  [[nodiscard]] const std::string& reported_choice() const { return reported_choice_; }
  // As in api/include/stoker/stoker.h.
  [[nodiscard]] std::int64_t break_even() const;

  [[nodiscard]] const RequestPlan& plan() const { return plan_; }
  [[nodiscard]] const RequestStatistics& statistics() const { return statistics_; }
  [[nodiscard]] const Block& block() const { return *block_; }

private:
  enum class State : std::uint8_t { inactive, active, broken };

  // Between the application's buffer and its place in the arena.
  void stage(const UserBuffer& buffer, std::uint64_t place);
  void unstage(const UserBuffer& buffer, std::uint64_t place);
  [[nodiscard]] PinnedPages pinned(const UserBuffer& buffer, std::uint64_t staging) const;
  void choose_paths();
  [[nodiscard]] bool has_staging(algos::Buffer buffer) const;
  [[nodiscard]] bool is_staged(algos::Buffer buffer) const; // in this epoch
  void submit(bool wake);
  void note_wait(std::uint64_t now); // that it has come
  void call_helper(); // if it would not come by itself: Start let it sleep, or kept the epoch, or it is paused
  [[nodiscard]] bool reached() const;
  bool make_progress(); // one attempt in the helper's place, or at its own node steps; returns whether anything moved
  bool assist();        // node steps of this request
  // In Wait: this process drives its whole domain, rather than this request alone.
  [[nodiscard]] bool by_itself() const { return kept_ && ring_deferred_; }
  [[nodiscard]] bool is_short() const;
  // How long ranks of the node may copy an epoch's messages to or from this one; 0 where other nodes take part, or
  // where sizes are not known.
  [[nodiscard]] std::uint64_t copying_ns() const;
  [[nodiscard]] bool takes_helpers_place() const { return helper_ != nullptr && !kept_; }
  // Test does a round in the helper's place.
  [[nodiscard]] bool test_drives() const {
    return takes_helpers_place() && lowered_.has_wire != 0 && helper_->shares_core();
  }
  void wake_helper();
  void call_for_test();
  // Until one of them is complete.
  static void wait_for_one(std::span<Request* const> active);
  class Hold;
  [[nodiscard]] bool waits_for_late_rank(const LoweredStep& step) const;
  // Whether all that it waits for are ranks of its node that have not started the epoch. No if that is not known.
  [[nodiscard]] bool waits_for_late_ranks() const;
  [[nodiscard]] std::string describe_stall() const;
  // Break the request and throw Error(peer_lost).
  [[noreturn]] void give_up(const std::string& reason);
  [[noreturn]] void give_up_damaged(int rank); // of the engine
  [[nodiscard]] std::uint64_t clock() const;
  void check_engine() const;
  void check_inactive() const;
  // Where a device is the executor.
  template <class Start>
  void start_by_kernel(Start&& start);
  void start_on_device();
  void finish_on_device();
  void look_at_device();                      // in a long wait
  void look_for_failure(std::uint64_t epoch); // throws if the epoch cannot complete
  void abandon_device_epochs();               // launches may be under way: what they use stays as long as the process
  void leave_stream();                        // inactive, if a stream that waits for the epoch has got there
  void await_stream(void* stream) const;

  std::shared_ptr<Engine> engine_;
  RequestPlan plan_;
  std::string reported_choice_;
  std::shared_ptr<NodeMemory> memory_;
  Block* block_;
  Task task_;                     // this process's view
  const LoweredProgram& lowered_; // its copy of what the block says
  PinnedPages send_pages_;        // of staging, where the buffer is on a device
  PinnedPages recv_pages_;
  std::unique_ptr<EpochBinding> binding_; // of a rebindable request
  std::unique_ptr<DeviceEpochs> device_;  // null: another executor than a device
  Helper* helper_;                        // in this process: this rank is the carrier
  RankRoot* carrier_;                     // root of the domain's carrier; null for the inline executor
  State state_ = State::inactive;
  bool on_stream_ = false; // while active: a stream waits for the epoch
  bool timed_;
  bool may_keep_; // Start may leave it to Wait
  Plea plea_;
  bool ring_deferred_ = false;
  bool kept_ = false;   // this epoch is left to Wait: the helper looks for it now and then
  bool direct_ = false; // this epoch does without staging where that is possible
  WakePolicy wake_policy_;
  std::uint64_t epoch_ = 0;
  std::uint64_t started_ns_ = 0;
  std::uint64_t exposed_ns_ = 0;    // of this epoch
  std::uint64_t ended_ns_ = 0;      // likewise: when await() found it complete
  std::uint64_t stalled_epoch_ = 0; // the latest that was reported
  RequestStatistics statistics_;
};

} // namespace stoker::engine
