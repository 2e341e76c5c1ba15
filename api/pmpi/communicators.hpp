// SPDX-License-Identifier: BSD-3-Clause
// What this library keeps for each of the application's communicators, as an attribute of it.
//
// Calls of MPI_I* may not wait for other ranks, so what they need is made, collectively, by the functions that make
// communicators (creation.cpp). A communicator that came from elsewhere is known from its first call on, and its
// nonblocking calls are MPI's.
//
// That takes communicators of the MPI library's, for which there is a budget. Programs make many that they hardly use,
// so a third of it is kept for those that communicate: what had no room in the rest gets what it needs in a blocking
// call that waits for all ranks anyway, and persistent requests take what they need when they are made.
// Communicators with a distributed graph share what their neighborhood collectives need; what other calls on them need
// they get in such a blocking call, too.
#pragma once

#include "api/pmpi/state.hpp"
#include "engine/calls/calls.hpp"
#include "engine/calls/graph_family.hpp"
#include "engine/calls/private_comms.hpp"

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace stoker::pmpi {

// The keys of an info object that are this library's, in an info object of its own.
class OwnInfo {
public:
  OwnInfo() = default;
  // Keys of `stronger` count before those of `weaker`; either may be MPI_INFO_NULL.
  OwnInfo(MPI_Info weaker, MPI_Info stronger);
  OwnInfo(OwnInfo&& other) noexcept : info_(std::exchange(other.info_, MPI_INFO_NULL)) {}
  OwnInfo& operator=(OwnInfo&& other) noexcept {
    std::swap(info_, other.info_);
    return *this;
  }
  ~OwnInfo();
  [[nodiscard]] MPI_Info get() const { return info_; } // MPI_INFO_NULL where there is none of them
  [[nodiscard]] bool off() const;                      // stoker_off=1
  [[nodiscard]] bool names_how() const;                // an algorithm or an executor

private:
  MPI_Info info_ = MPI_INFO_NULL;
};

// Whether this process may take so many more communicators from the MPI library, from those for communicators that
// communicate or for any. Local.
enum class Budget : std::uint8_t { of_any, of_used };
[[nodiscard]] bool has_room_for_comms(int count, Budget budget = Budget::of_used);

// A call under way on a communicator, which is closed after it.
class Outstanding {
public:
  // Inside MPI_Finalize. Its results are in place, and it is delisted, when this returns.
  virtual void complete_early() = 0;

protected:
  ~Outstanding() = default;
};

class Communicator : public std::enable_shared_from_this<Communicator> {
public:
  explicit Communicator(MPI_Comm comm);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() = default;

  [[nodiscard]] MPI_Comm handle() const { return handle_; } // not valid any more once the communicator is freed
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int rank() const { return rank_; }
  // All of its ranks are the engine's and it is no intercommunicator.
  [[nodiscard]] bool inherits() const { return inherits_; }
  [[nodiscard]] const OwnInfo& info() const { return info_; }
  [[nodiscard]] engine::Executor executor() const { return executor_; } // of nonblocking calls
  // For calls of this collective. Null where `reason` says why.
  [[nodiscard]] engine::Calls* calls(Collective collective) const {
    return shares_lanes(collective) ? graph_calls_.get() : calls_.get();
  }
  [[nodiscard]] Reason reason(Collective collective) const {
    return algos::pattern_of(collective) == algos::Pattern::neighborhood ? graph_reason_.value_or(reason_) : reason_;
  }
  [[nodiscard]] bool off() const { return off_; }
  // What the application asserts of the buffers of its calls.
  [[nodiscard]] engine::MemoryKinds memory() const { return memory_; }
  // Communicators for persistent requests that the MPI library carries out.
  [[nodiscard]] engine::PrivateComms& private_comms() { return private_comms_; }

  // Local. Values that are not accepted are reported and ignored.
  void use(OwnInfo info);
  // Local. Takes the assertion in `info`, if there is one. It is no key of ours: MPI says where it holds.
  void use_assertion(MPI_Info info);
  // Collective, where this is inherits() and has no calls yet.
  void cover(Budget budget = Budget::of_any);
  // Collective over this communicator, a new one with a distributed graph made from `parent`. Returns whether it shares
  // what its neighborhood collectives need, or is to do without; else it needs cover().
  [[nodiscard]] bool join_graphs_of(Communicator& parent);
  // There was no room for it. Then, collectively, when the ranks make a blocking call that waits for all of them.
  [[nodiscard]] bool waits_for_use() const { return waits_for_use_; }
  void note_use();
  // Whether a persistent request of the engine's can be initialised on it, as far as this process knows. Local.
  [[nodiscard]] bool has_context_or_room() const;
  // Collective where there are calls. Completes what is under way.
  void close();
  // Local. The application has freed it: returns whether close() need not wait, neither for calls of this rank's nor
  // for other ranks. Else its calls go on, as MPI has it, and close() is called later.
  [[nodiscard]] bool leave();
  [[nodiscard]] bool can_be_closed();
  // Whose handler gets errors of its calls: its own, or, once it is freed, one that does what that did as far as that
  // was MPI_ERRORS_RETURN.
  [[nodiscard]] MPI_Comm comm_for_errors();
  // That of its name in reports, or of the last that it had.
  [[nodiscard]] std::uint32_t number_of_name();
  // Called when the communicator is freed.
  void free_private_comms() { private_comms_.free_unused(); }

  void enlist(Outstanding& call);
  void delist(Outstanding& call);

private:
  [[nodiscard]] bool shares_lanes(Collective collective) const {
    return graph_calls_ != nullptr && algos::pattern_of(collective) == algos::Pattern::neighborhood &&
           (calls_ == nullptr || !info_.names_how());
  }
  // Null where there is none for communicators made from this one, which is the same on all ranks.
  [[nodiscard]] std::shared_ptr<engine::GraphFamily> family_with(const Communicator& graph);
  [[nodiscard]] Outstanding* first_outstanding(); // null: there is none
  void wait_for_use();
  void move_behind_those_with_calls();
  MPI_Comm handle_;
  int size_ = 0;
  int rank_ = 0;
  bool inherits_ = false;
  bool off_ = false;
  engine::MemoryKinds memory_ = engine::MemoryKinds::any;
  bool waits_for_use_ = false; // the same on all ranks
  std::uint32_t uses_ = 0;     // since then
  Reason reason_ = Reason::unwatched;
  OwnInfo info_;
  engine::Executor executor_ = engine::Executor::inline_;
  std::unique_ptr<engine::Calls> calls_;
  std::shared_ptr<engine::GraphFamily> graphs_; // made from this communicator
  bool graphs_are_apart_ = false;               // there can be no family
  std::unique_ptr<engine::Calls> graph_calls_;  // of neighborhood collectives, where this is such a graph
  std::optional<Reason> graph_reason_;          // against them
  engine::PrivateComms private_comms_;
  std::mutex mutex_; // guards what follows
  MPI_Comm comm_for_errors_;
  std::optional<std::uint32_t> last_name_; // once it is freed
  std::list<Outstanding*> outstanding_;
};

namespace detail {
// Changes whenever a communicator is freed, because its handle may be used again for another one.
inline constinit std::atomic<std::uint64_t> generation{1};
struct LastCommunicator {
  MPI_Comm comm{};
  std::uint64_t generation = 0; // before the first: nobody's
  Communicator* communicator = nullptr;
};
[[gnu::tls_model("initial-exec")]] inline constinit thread_local LastCommunicator last_communicator{};
[[nodiscard]] Communicator* look_up(MPI_Comm comm);
} // namespace detail

// What is kept for the communicator; made now if it is new. Null for MPI_COMM_NULL, and while MPI does not work.
[[nodiscard]] inline Communicator* communicator_of(MPI_Comm comm) {
  const detail::LastCommunicator& last = detail::last_communicator;
  if (last.comm == comm && last.generation == detail::generation.load(std::memory_order_relaxed)) [[likely]] {
    return last.communicator;
  }
  return detail::look_up(comm);
}
// Makes what the nonblocking calls of a new communicator need. Collective over it. `info`: the application's. `parent`:
// which it was made from, if it has a distributed graph.
void adopt(MPI_Comm comm, MPI_Info info, MPI_Comm parent = MPI_COMM_NULL);
// The application frees a communicator: it is forgotten, and for this thread not known again as long as this lives.
// Collective over it, as that is.
class BeingFreed {
public:
  explicit BeingFreed(MPI_Comm comm);
  BeingFreed(const BeingFreed&) = delete;
  BeingFreed& operator=(const BeingFreed&) = delete;
  ~BeingFreed();
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] const BeingFreed* outer() const { return outer_; } // in which this one is freed

private:
  MPI_Comm comm_;
  const BeingFreed* outer_;
};
// Closes all that are known. Collective over the engine's ranks.
void forget_communicators();

} // namespace stoker::pmpi
