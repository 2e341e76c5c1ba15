// SPDX-License-Identifier: BSD-3-Clause
// One-sided communication behind one interface: every rank has a piece of memory that all ranks reach, by stoker's
// global memory, by MPI's windows, by OpenSHMEM, or by plain loads and stores within a node. All calls go through the
// same virtual functions.
#pragma once

#include "bench/lib/session.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace stoker::bench {

class OneSided {
public:
  OneSided() = default;
  OneSided(const OneSided&) = delete;
  OneSided& operator=(const OneSided&) = delete;
  virtual ~OneSided() = default; // collective
  // What the reports call it: "engine" (stoker), "mpi-allocated", "mpi-created", "openshmem", "load-store".
  [[nodiscard]] virtual std::string name() const = 0;
  // Whether rank 0 reaches the target; the same answer on all ranks.
  [[nodiscard]] virtual bool reaches([[maybe_unused]] int target) const { return true; }
  [[nodiscard]] virtual bool is_mpi() const { return false; }
  // Whether it runs on the engine's helpers, which must then not be paused.
  [[nodiscard]] virtual bool needs_helpers() const { return false; }
  // This rank's part.
  [[nodiscard]] virtual std::byte* memory() = 0;

  // Blocking: complete at the target.
  virtual void put(int target, std::size_t offset, const void* local, std::size_t bytes) = 0;
  virtual void get(int target, std::size_t offset, void* local, std::size_t bytes) = 0;
  // `local` belongs to the transfer until complete(target).
  virtual void start_put(int target, std::size_t offset, const void* local, std::size_t bytes) = 0;
  virtual void start_get(int target, std::size_t offset, void* local, std::size_t bytes) = 0;
  // Atomic, on an aligned word; may be in progress until complete(target), as may `value` be in use.
  virtual void start_xor(int target, std::size_t offset, const std::uint64_t& value) = 0;
  virtual void complete(int target) = 0;
  // Makes atomic updates, which are complete on return.
  struct Update {
    int target = 0;
    std::size_t offset = 0;
    std::uint64_t value = 0;
  };
  virtual void xor_many(std::span<const Update> updates) {
    std::set<int> targets;
    for (const Update& update : updates) {
      start_xor(update.target, update.offset, update.value);
      targets.insert(update.target);
    }
    for (const int target : targets) {
      complete(target);
    }
  }
  virtual std::uint64_t fetch_add(int target, std::size_t offset, std::uint64_t value) = 0;

  // Stores a word that the target polls with `flag`; whoever sees it sees what this rank completed before, too.
  virtual void set_flag(int target, std::size_t offset, std::uint64_t value) = 0;
  // Starts a put and stores the flag once its data are there; both are complete after complete(target) at the latest.
  virtual void start_put_and_flag(int target, std::size_t offset, const void* local, std::size_t bytes,
                                  std::size_t flag, std::uint64_t value) {
    start_put(target, offset, local, bytes);
    flags_.push_back({target, flag, value});
  }
  void complete_and_flag(int target) {
    complete(target);
    std::erase_if(flags_,
                  [&](const Flag& f) { return f.target == target && (set_flag(f.target, f.place, f.value), true); });
  }
  // Waits until a word of this rank's part is `value`.
  virtual void await_flag(std::size_t offset, std::uint64_t value) = 0;
  // To be called after a barrier, so that loads from memory() see what others have completed; and before one, so that
  // others' gets see what was stored there.
  virtual void synchronise() = 0;

private:
  struct Flag {
    int target;
    std::size_t place;
    std::uint64_t value;
  };
  std::vector<Flag> flags_; // behind data that are not complete
};

// All ways of one-sided communication that work here, the MPI library's first, with at least so much memory on every
// rank, in whole pages. A way that the MPI library or stoker refuses is left out with a note. Collective.
class OneSidedWays {
public:
  // Ways beside MPI's windows and stoker's global memory.
  struct Further {
    bool load_store = false;
    bool openshmem = false;
  };
  OneSidedWays(Session& session, Engine& engine, std::size_t least, Further further);
  // Those that reach the target.
  [[nodiscard]] std::vector<OneSided*> reaching(int target) const;
  [[nodiscard]] const std::vector<std::unique_ptr<OneSided>>& all() const { return ways_; }

private:
  std::vector<std::unique_ptr<OneSided>> ways_;
};

// What the option for Further::openshmem says.
constexpr const char* openshmem_help =
    "also OpenSHMEM of the MPI library, where it has one; it takes part in the other ways' waits, too";

// A variant that runs `body` with helpers running exactly when `way` needs them, until all ranks are done with it,
// because a rank's helper carries the transfers of others. A null `way` is a computation. `enter` and `leave` are
// called before and after, outside the timed region.
Variant in_turn(
    MPI_Comm comm, HelperSwitch& helpers, const OneSided* way, std::function<void()> body,
    std::function<void()> enter = [] {}, std::function<void()> leave = [] {});

// Puts from rank 0, blocking and nonblocking, arrive at the target, and gets bring them back. Throws on all ranks if
// they do not. Collective.
void validate(OneSided& way, const Session& session, int target, std::size_t bytes);
// The same of atomics that fetch.
void validate_atomics(OneSided& way, const Session& session, int target);

} // namespace stoker::bench
