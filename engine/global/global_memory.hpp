// SPDX-License-Identifier: BSD-3-Clause
// Global memory as one unit (a rank of the engine) sees it. The unit reaches memory on its own node by loads and
// stores. For other memory it submits operations to the helper (global_access.hpp).
#pragma once

#include "engine/core/engine.hpp"
#include "engine/global/element.hpp"
#include "engine/global/global_operation.hpp"
#include "engine/global/global_service.hpp"
#include "engine/global/segment_table.hpp"
#include "engine/global/transfer_counters.hpp"
#include "engine/helper/waiting.hpp"
#include "engine/shared/free_list.hpp"
#include "engine/shared/node_memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stoker::engine {

class Team;

struct GlobalPointer {
  std::int32_t unit = -1;
  std::uint32_t segment = 0;
  std::uint64_t offset = 0;
};
[[nodiscard]] std::string text_of(const GlobalPointer& pointer);

class GlobalMemory final : public Dependent {
public:
  // Collective over the engine's communicator. Throws Error on every rank.
  GlobalMemory(std::shared_ptr<Engine> engine, std::uint64_t heap_bytes);
  GlobalMemory(const GlobalMemory&) = delete;
  GlobalMemory& operator=(const GlobalMemory&) = delete;
  ~GlobalMemory();

  // Collective. Completes transfers, and frees teams and memory. Later calls of other functions throw Error(request); a
  // second close() does nothing.
  void close();
  [[nodiscard]] bool closed() const { return closed_; }
  void close_before_engine_ends() override { close(); }

  [[nodiscard]] GlobalPointer allocate(std::uint64_t bytes);
  void deallocate(GlobalPointer pointer);

  // nullptr when it is on another node.
  [[nodiscard]] std::byte* address(GlobalPointer pointer, std::uint64_t bytes) const;

  void put(GlobalPointer target, const void* local, std::uint64_t bytes) {
    if (std::byte* place = reach(target, bytes); place != nullptr && local != nullptr) [[likely]] {
      counters_.add(TransferCounters::node_transfers, 1);
      counters_.add(TransferCounters::node_bytes, bytes);
      store_shared(place, local, bytes);
    } else {
      blocking_transfer(OperationKind::put, target, const_cast<void*>(local), bytes);
    }
  }
  void get(void* local, GlobalPointer source, std::uint64_t bytes) {
    if (const std::byte* place = reach(source, bytes); place != nullptr && local != nullptr) [[likely]] {
      counters_.add(TransferCounters::node_transfers, 1);
      counters_.add(TransferCounters::node_bytes, bytes);
      load_shared(local, place, bytes);
    } else {
      blocking_transfer(OperationKind::get, source, local, bytes);
    }
  }

  // A transfer under way, or complete and not released. It belongs to one thread at a time.
  struct Transfer;
  // Begins a transfer. Returns nullptr if it was complete at once. `detached`: only a flush will ask for it. `signal`:
  // the word that a put sets, on the same unit.
  struct Signal {
    GlobalPointer word;
    std::uint64_t value = 0;
  };
  [[nodiscard]] Transfer* begin(OperationKind kind, GlobalPointer pointer, void* local, std::uint64_t bytes,
                                bool detached, const std::optional<Signal>& signal = std::nullopt);
  // Waits until the word at `pointer`, on this unit's node, compares so with `value`. The data that were put before the
  // signal are visible then.
  enum class Comparison : std::uint8_t { equal, not_equal, greater, greater_equal, less, less_equal };
  void wait_until(GlobalPointer pointer, Comparison comparison, std::uint64_t value);
  // These may be called after close() too.
  [[nodiscard]] bool test(Transfer& transfer);
  void wait(Transfer& transfer);
  void release(Transfer& transfer); // complete it first. Throws the transfer's error
  // Completes the transfers from and to one unit, or all (-1). Throws the error of detached ones.
  void flush(int unit);
  // The same, but errors are kept for test() and wait().
  void complete(int unit);
  void complete_all() { complete(-1); }

  void fetch_and_op(GlobalPointer target, ElementType type, AtomicOp op, const void* operand, void* result);
  void compare_and_swap(GlobalPointer target, ElementType type, const void* expected, const void* desired,
                        void* result);
  void accumulate(GlobalPointer target, ElementType type, AtomicOp op, const void* operands, std::uint64_t count);
  // The same, nonblocking: as begin(). They set out when somebody waits for them, when there are many, or when the
  // helper looks by itself.
  [[nodiscard]] Transfer* begin_fetch_and_op(GlobalPointer target, ElementType type, AtomicOp op, const void* operand,
                                             void* result, bool detached);
  [[nodiscard]] Transfer* begin_compare_and_swap(GlobalPointer target, ElementType type, const void* expected,
                                                 const void* desired, void* result, bool detached);
  [[nodiscard]] Transfer* begin_accumulate(GlobalPointer target, ElementType type, AtomicOp op, const void* operands,
                                           std::uint64_t count, bool detached);
  // fetch_and_op, or accumulate of one element, on each target, with an operand each; blocking.
  void fetch_and_op_many(std::span<const GlobalPointer> targets, ElementType type, AtomicOp op, const void* operands,
                         void* results);
  void accumulate_many(std::span<const GlobalPointer> targets, ElementType type, AtomicOp op, const void* operands);

  [[nodiscard]] TransferCounters::Sums statistics() const { return counters_.sums(); }

  // Throws Error(request) once it is closed.
  void check_open() const;

  // For teams.
  [[nodiscard]] Engine& engine() { return *engine_; }
  void enlist(Team& team);
  void delist(Team& team);
  // This unit's part of a segment.
  struct Allocation {
    std::uint32_t segment = 0;
    std::uint64_t place = 0; // in the arena
    std::uint64_t bytes = 0;
  };
  // Collective over comm, whose ranks are `units`: a segment with memory of each, which messages call `name`.
  // `predefined`: segment 0, else a new number. Throws Error on every rank.
  [[nodiscard]] Allocation add_segment(MPI_Comm comm, std::span<const int> units, std::uint64_t bytes, const char* name,
                                       bool predefined = false);
  void remove_segment(const Allocation& allocation);

private:
  // Puts this unit's memory into the carriers' window, and takes it out. Returns its displacement; 0: there is no
  // window.
  [[nodiscard]] std::uint64_t expose(std::uint64_t place, std::uint64_t bytes);
  void conceal(std::uint64_t place, std::uint64_t bytes);

  [[nodiscard]] std::atomic<std::uint64_t>* word_of(const GlobalPointer& pointer, const char* name) const;

  [[nodiscard]] std::byte* reach(const GlobalPointer& pointer, std::uint64_t bytes) const noexcept {
    const Segment* segment = table_.find(pointer.segment);
    if (segment == nullptr || static_cast<std::uint32_t>(pointer.unit) >= segment->parts.size()) {
      return nullptr;
    }
    const SegmentPart& part = segment->parts[static_cast<std::uint32_t>(pointer.unit)];
    if (part.address == nullptr || pointer.offset > segment->bytes || bytes > segment->bytes - pointer.offset) {
      return nullptr;
    }
    return part.address + pointer.offset;
  }
  // Throws Error(argument) naming `name`.
  [[nodiscard]] SegmentPart located(const GlobalPointer& pointer, std::uint64_t bytes, const char* name) const;
  [[nodiscard]] SegmentPart located_element(const GlobalPointer& pointer, std::uint64_t count, ElementType type,
                                            const char* name = "target") const;
  void check_local(const void* local, std::uint64_t bytes, const char* name) const;
  void check_on_host(const void* local, std::uint64_t bytes, const char* name) const;
  [[nodiscard]] std::string self() const { return "rank " + std::to_string(engine_->rank()) + ": "; }

  // Blocking transfer to or from another node. Also called if put() and get() find something wrong, to report it.
  void blocking_transfer(OperationKind kind, GlobalPointer pointer, void* local, std::uint64_t bytes);
  // One operation after the other, of a bounded size each if the helper cannot reach `local`.
  void in_pieces(OperationKind kind, const GlobalPointer& pointer, SegmentPart part, void* local, std::uint64_t bytes,
                 ElementType type = ElementType::int32, AtomicOp op = AtomicOp::no_op);
  // An atomic on one element.
  struct Update {
    OperationKind kind = OperationKind::fetch_and_op;
    ElementType type = ElementType::int32;
    AtomicOp op = AtomicOp::no_op;
    const void* operand = nullptr; // or what is expected
    const void* desired = nullptr;
    void* result = nullptr;
  };
  // Checks it, and executes it if the target is near; else returns where the target is.
  [[nodiscard]] std::optional<SegmentPart> update_near(const GlobalPointer& target, const Update& update);
  [[nodiscard]] Transfer& take_update(const GlobalPointer& target, const SegmentPart& part, const Update& update,
                                      bool detached);
  void update(const GlobalPointer& target, const Update& update);
  [[nodiscard]] Transfer* begin_update(const GlobalPointer& target, const Update& update, bool detached);
  [[nodiscard]] SegmentPart checked_accumulate(const GlobalPointer& target, ElementType type, AtomicOp op,
                                               const void* operands, std::uint64_t count) const;
  class Many;
  // `results`: null if nobody wants them.
  void update_many(std::span<const GlobalPointer> targets, ElementType type, AtomicOp op, const void* operands,
                   void* results);
  [[nodiscard]] int endpoint_of(int unit) const; // of the carriers
  // How the helper reaches `local`; nothing when it cannot.
  [[nodiscard]] std::optional<BufferDescriptor> reachable(const void* local, std::uint64_t bytes) const;
  // Whether it need not go in pieces, through a buffer of bounded size.
  [[nodiscard]] bool fits_one_transfer(const void* local, std::uint64_t bytes) const;
  // Arena memory to copy `local` to where the helper cannot reach it; 0: not needed.
  [[nodiscard]] std::uint64_t staging_for(const void* local, std::uint64_t bytes);
  [[nodiscard]] Transfer& take_transfer(OperationKind kind, const GlobalPointer& pointer, const SegmentPart& part,
                                        std::uint64_t bytes, bool detached);
  // With its data, or the place for them.
  [[nodiscard]] Transfer& take_transfer(OperationKind kind, const GlobalPointer& pointer, const SegmentPart& part,
                                        void* local, std::uint64_t bytes, bool detached);
  void set_local(Transfer& transfer, void* local, std::uint64_t staging);
  void push(Transfer& transfer); // into the ring, without a call
  void submit(Transfer& transfer);
  void start(Transfer& transfer); // submits it so that it begins at once
  void leave(Transfer& transfer); // pushes it so that it sets out with others
  void call_helper();             // for what is in the ring
  // A wait in the helper's place, where it is this process's.
  template <class Done, class CallForHelp, class LookAround>
  void wait_with(Done done, WaitMeans means, CallForHelp call_for_help, LookAround look_around);
  void wait_for(Transfer& transfer, std::uint64_t epoch);
  void open_window();
  // Submits it, waits and releases it. `displacement`: that of an expose.
  void execute(Transfer& transfer, std::uint64_t* displacement = nullptr);
  void look_for_carrier(Transfer& transfer); // throws Error(peer_lost) when its process is gone
  [[noreturn]] void lose(Transfer& transfer, const Error& error);
  [[nodiscard]] bool is_stall(std::uint64_t waited_ns) const; // by the setting stall_seconds
  void report_stall(Transfer& transfer, std::uint64_t waited_ns);
  // With transfers_mutex_:
  void settle(Transfer& transfer); // once complete
  void free_transfer(Transfer& transfer);
  void sweep_detached();

  std::shared_ptr<Engine> engine_;
  GlobalService& service_; // the engine's: there as long as this is open
  std::shared_ptr<NodeMemory> memory_;
  OwnedComm comm_;
  std::shared_ptr<Window> window_;  // of the carriers, over what units expose; null: everything travels in messages
  std::uint64_t window_number_ = 0; // at this unit's helper
  Helper* helper_ = nullptr;        // in this process
  RankRoot* carrier_ = nullptr;
  int ranks_ = 0;
  SegmentTable table_;
  std::mutex table_mutex_; // for changes
  TransferCounters counters_;
  std::atomic<std::size_t> left_{0}; // records in the ring since the last call, or a few more
  bool access_open_ = false;
  bool closed_ = false;

  std::mutex heap_mutex_; // guards heap_
  FreeList heap_;
  std::uint64_t heap_place_ = 0;
  std::uint64_t heap_bytes_ = 0;

  mutable std::mutex transfers_mutex_; // guards what follows, and transfers as they say
  std::deque<Transfer> transfers_;
  std::vector<Transfer*> free_transfers_;
  std::vector<std::uint64_t> record_blocks_; // in the arena
  std::size_t detached_ = 0;                 // transfers
  std::map<int, Error> detached_errors_;     // the first of each unit, until a flush
  std::list<Team*> teams_;                   // in the order of their creation
};

// This unit's side of an operation's record. Its epoch, the record and what is asked for are constant while it is used,
// the rest is guarded by transfers_mutex_.
struct GlobalMemory::Transfer {
  GlobalOperation* operation = nullptr;
  OperationRequest request;
  std::uint64_t epoch = 0;
  bool used = false;
  bool detached = false;
  bool left = false;             // in the ring, perhaps without a call; by the thread that it belongs to
  bool settled = false;          // what is left to do after the helper has been done
  std::atomic<bool> lost{false}; // its helper is gone, and may have left the record in any state; code and text are set
  unsigned tests = 0;            // by the thread that it belongs to
  std::atomic<std::uint64_t> stalled_epoch{0}; // in which a wait was reported to take long
  void* copy_to = nullptr;                     // of what did not go straight to its place
  std::uint64_t staging = 0;                   // in the arena, to be given back; 0: none
  Plea plea;
  Code code = Code::success; // once settled
  std::string text;
};

template <class Done, class CallForHelp, class LookAround>
void GlobalMemory::wait_with(Done done, WaitMeans means, CallForHelp call_for_help, LookAround look_around) {
  if (done()) {
    return;
  }
  means.can_sleep = means.can_sleep && !engine_->drives_taken_helpers() && !engine_->has_inline();
  const auto make_progress = [this] {
    const bool moved = helper_ != nullptr && helper_->round();
    return engine_->advance() || moved;
  };
  const Waiter waiter(done, make_progress, means, call_for_help, look_around);
  if (helper_ != nullptr) {
    const Helper::Assist in_its_place(*helper_);
    wait_until_done(engine_->wait_site(), waiter);
  } else {
    wait_until_done(engine_->wait_site(), waiter);
  }
}

} // namespace stoker::engine
