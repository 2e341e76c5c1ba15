// SPDX-License-Identifier: BSD-3-Clause
// The ways of one-sided communication: see one_sided.hpp.
#include "bench/lib/one_sided.hpp"
#include "bench/lib/native_rma.hpp"
#include "bench/lib/openshmem.hpp"

#include <stoker/stoker_global.h>

#include <fmt/core.h>

#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

namespace stoker::bench {

namespace {

std::uint64_t load_acquire(std::byte* word) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(word)).load(std::memory_order_acquire);
}

// There may be more ranks than cores.
template <class Ready>
void yield_until(Ready&& ready) {
  while (!ready()) {
    sched_yield();
  }
}

constexpr std::size_t page = 4096;

// Cleared.
class Pages {
public:
  explicit Pages(std::size_t whole) : memory_(static_cast<std::byte*>(std::aligned_alloc(page, whole))) {
    if (memory_ == nullptr) {
      throw std::bad_alloc();
    }
    std::memset(memory_, 0, whole);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { std::free(memory_); }
  [[nodiscard]] std::byte* get() const { return memory_; }

private:
  std::byte* memory_;
};

// MPI's windows, in one epoch of lock_all from beginning to end. Operations are completed by flushing single targets,
// which works wherever there are windows. Fences and flushes of all targets may hang on MPICH between hosts.
class MpiWindow : public OneSided {
public:
  MpiWindow(MPI_Comm comm, std::unique_ptr<Window> window) : comm_(comm), window_(std::move(window)) {
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    dirty_.resize(static_cast<std::size_t>(ranks), 0);
    MPI_Win_lock_all(0, win());
  }
  MpiWindow(const MpiWindow&) = delete;
  MpiWindow& operator=(const MpiWindow&) = delete;
  ~MpiWindow() override { MPI_Win_unlock_all(win()); }
  [[nodiscard]] bool is_mpi() const override { return true; }
  [[nodiscard]] std::byte* memory() override { return window_->memory(); }

  void put(int target, std::size_t offset, const void* local, std::size_t bytes) override {
    MPI_Put(local, static_cast<int>(bytes), MPI_BYTE, target, static_cast<MPI_Aint>(offset), static_cast<int>(bytes),
            MPI_BYTE, win());
    MPI_Win_flush(target, win());
  }
  void get(int target, std::size_t offset, void* local, std::size_t bytes) override {
    MPI_Get(local, static_cast<int>(bytes), MPI_BYTE, target, static_cast<MPI_Aint>(offset), static_cast<int>(bytes),
            MPI_BYTE, win());
    MPI_Win_flush(target, win());
  }
  void start_put(int target, std::size_t offset, const void* local, std::size_t bytes) override {
    MPI_Put(local, static_cast<int>(bytes), MPI_BYTE, target, static_cast<MPI_Aint>(offset), static_cast<int>(bytes),
            MPI_BYTE, win());
    dirty_[static_cast<std::size_t>(target)] = 1;
  }
  void start_get(int target, std::size_t offset, void* local, std::size_t bytes) override {
    MPI_Get(local, static_cast<int>(bytes), MPI_BYTE, target, static_cast<MPI_Aint>(offset), static_cast<int>(bytes),
            MPI_BYTE, win());
    dirty_[static_cast<std::size_t>(target)] = 1;
  }
  void start_xor(int target, std::size_t offset, const std::uint64_t& value) override {
    MPI_Accumulate(&value, 1, MPI_UINT64_T, target, static_cast<MPI_Aint>(offset), 1, MPI_UINT64_T, MPI_BXOR, win());
    dirty_[static_cast<std::size_t>(target)] = 1;
  }
  void complete(int target) override {
    if (std::exchange(dirty_[static_cast<std::size_t>(target)], 0) != 0) {
      MPI_Win_flush(target, win()); // at both ends; a request would say so of this one only
    }
  }
  std::uint64_t fetch_add(int target, std::size_t offset, std::uint64_t value) override {
    std::uint64_t before = 0;
    MPI_Fetch_and_op(&value, &before, MPI_UINT64_T, target, static_cast<MPI_Aint>(offset), MPI_SUM, win());
    MPI_Win_flush(target, win());
    return before;
  }
  void set_flag(int target, std::size_t offset, std::uint64_t value) override {
    MPI_Accumulate(&value, 1, MPI_UINT64_T, target, static_cast<MPI_Aint>(offset), 1, MPI_UINT64_T, MPI_REPLACE, win());
    MPI_Win_flush(target, win());
  }
  // A library that carries puts in messages delivers them inside MPI calls of the target only; in MPICH, a probe of
  // MPI_COMM_SELF is not one of those.
  void await_flag(std::size_t offset, std::uint64_t value) override {
    yield_until([&] {
      int found = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE);
      MPI_Win_sync(win());
      return load_acquire(memory() + offset) == value;
    });
  }
  void synchronise() override { MPI_Win_sync(win()); }

private:
  [[nodiscard]] MPI_Win win() const { return window_->get(); }

  MPI_Comm comm_;
  std::unique_ptr<Window> window_;
  std::vector<char> dirty_; // by target: to be flushed
};

class MpiAllocated final : public MpiWindow {
public:
  MpiAllocated(MPI_Comm comm, std::size_t bytes) : MpiWindow(comm, std::make_unique<Window>(comm, bytes)) {
    std::memset(memory(), 0, bytes);
    MPI_Barrier(comm);
  }
  [[nodiscard]] std::string name() const override { return "mpi-allocated"; }
};

// The memory is a base that outlives the window.
class MpiCreated final : private Pages, public MpiWindow {
public:
  MpiCreated(MPI_Comm comm, std::size_t bytes)
      : Pages(bytes), MpiWindow(comm, std::make_unique<Window>(comm, Pages::get(), bytes)) {}
  using MpiWindow::get;
  [[nodiscard]] std::string name() const override { return "mpi-created"; }
};

void check(int code) {
  if (code != STOKER_SUCCESS) {
    throw Error(code, stoker_error_message());
  }
}

class StokerMemory final : public OneSided {
public:
  StokerMemory(MPI_Comm comm, const Engine& engine, std::size_t bytes) {
    check(stoker_global_create(engine.handle(), 0, &global_));
    try {
      stoker_team team = STOKER_TEAM_NULL;
      check(stoker_team_create(global_, comm, &team));
      check(stoker_team_allocate(team, bytes, &base_));
      MPI_Comm_rank(comm, &rank_);
      int ranks = 0;
      MPI_Comm_size(comm, &ranks);
      dirty_.resize(static_cast<std::size_t>(ranks), 0);
      void* own = nullptr;
      check(stoker_global_address(global_, at(rank_, 0), bytes, &own));
      memory_ = static_cast<std::byte*>(own);
    } catch (...) { // of collective calls: on all ranks
      (void)stoker_global_free(&global_);
      throw;
    }
  }
  StokerMemory(const StokerMemory&) = delete;
  StokerMemory& operator=(const StokerMemory&) = delete;
  ~StokerMemory() override { (void)stoker_global_free(&global_); }
  [[nodiscard]] std::string name() const override { return "engine"; }
  [[nodiscard]] bool needs_helpers() const override { return true; }
  [[nodiscard]] std::byte* memory() override { return memory_; }

  void put(int target, std::size_t offset, const void* local, std::size_t bytes) override {
    check(stoker_put(global_, at(target, offset), local, bytes));
  }
  void get(int target, std::size_t offset, void* local, std::size_t bytes) override {
    check(stoker_get(global_, local, at(target, offset), bytes));
  }
  void start_put(int target, std::size_t offset, const void* local, std::size_t bytes) override {
    check(stoker_put_nb(global_, at(target, offset), local, bytes, &transfers_.emplace_back()));
  }
  void start_get(int target, std::size_t offset, void* local, std::size_t bytes) override {
    check(stoker_get_nb(global_, local, at(target, offset), bytes, &transfers_.emplace_back()));
  }
  void start_xor(int target, std::size_t offset, const std::uint64_t& value) override {
    check(stoker_accumulate_nb(global_, at(target, offset), MPI_UINT64_T, MPI_BXOR, &value, 1, nullptr));
    dirty_[static_cast<std::size_t>(target)] = 1;
  }
  void complete(int target) override {
    check(stoker_transfer_waitall(static_cast<int>(transfers_.size()), transfers_.data()));
    transfers_.clear();
    if (std::exchange(dirty_[static_cast<std::size_t>(target)], 0) != 0) {
      check(stoker_flush(global_, target));
    }
  }
  void xor_many(std::span<const Update> updates) override {
    targets_.clear();
    values_.clear();
    for (const Update& update : updates) {
      targets_.push_back(at(update.target, update.offset));
      values_.push_back(update.value);
    }
    check(stoker_accumulate_many(global_, targets_.data(), MPI_UINT64_T, MPI_BXOR, values_.data(), targets_.size()));
  }
  std::uint64_t fetch_add(int target, std::size_t offset, std::uint64_t value) override {
    std::uint64_t before = 0;
    check(stoker_fetch_and_op(global_, at(target, offset), MPI_UINT64_T, MPI_SUM, &value, &before));
    return before;
  }
  // Within a node a put is a store, which the fence keeps behind those of the data; between nodes data that are
  // complete are in the target's memory before the word sets out.
  void set_flag(int target, std::size_t offset, std::uint64_t value) override {
    std::atomic_thread_fence(std::memory_order_release);
    check(stoker_put(global_, at(target, offset), &value, sizeof value));
  }
  void start_put_and_flag(int target, std::size_t offset, const void* local, std::size_t bytes, std::size_t flag,
                          std::uint64_t value) override {
    check(stoker_put_signal_nb(global_, at(target, offset), local, bytes, at(target, flag), value,
                               &transfers_.emplace_back()));
  }
  void await_flag(std::size_t offset, std::uint64_t value) override {
    check(stoker_wait_until(global_, at(rank_, offset), STOKER_EQ, value));
  }
  void synchronise() override {} // a barrier orders loads and stores

  // Null on another node.
  [[nodiscard]] std::byte* address(int target, std::size_t bytes) const {
    void* address = nullptr;
    check(stoker_global_address(global_, at(target, 0), bytes, &address));
    return static_cast<std::byte*>(address);
  }

private:
  [[nodiscard]] stoker_gptr at(int unit, std::size_t offset) const {
    return {unit, base_.segment, base_.offset + offset};
  }

  int rank_ = 0;
  stoker_global global_ = STOKER_GLOBAL_NULL;
  stoker_gptr base_{};
  std::byte* memory_ = nullptr;
  std::vector<stoker_transfer> transfers_;
  std::vector<char> dirty_; // by target: to be flushed
  std::vector<stoker_gptr> targets_;
  std::vector<std::uint64_t> values_;
};

// Copies straight to and from the memory of the others on the node. Nothing can be faster.
class LoadStore final : public OneSided {
public:
  LoadStore(StokerMemory& owner, MPI_Comm comm, std::size_t bytes) : owner_(owner) {
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      parts_.push_back(owner.address(rank, bytes));
      reached_.push_back(parts_.back() != nullptr ? 1 : 0);
    }
    MPI_Bcast(reached_.data(), ranks, MPI_INT, 0, comm);
  }
  [[nodiscard]] std::string name() const override { return "load-store"; }
  [[nodiscard]] bool reaches(int target) const override { return reached_[static_cast<std::size_t>(target)] != 0; }
  [[nodiscard]] std::byte* memory() override { return owner_.memory(); }
  void put(int target, std::size_t offset, const void* local, std::size_t bytes) override {
    std::memcpy(at(target, offset), local, bytes);
  }
  void get(int target, std::size_t offset, void* local, std::size_t bytes) override {
    std::memcpy(local, at(target, offset), bytes);
  }
  void start_put(int target, std::size_t offset, const void* local, std::size_t bytes) override {
    put(target, offset, local, bytes);
  }
  void start_get(int target, std::size_t offset, void* local, std::size_t bytes) override {
    get(target, offset, local, bytes);
  }
  void start_xor(int target, std::size_t offset, const std::uint64_t& value) override {
    word(target, offset).fetch_xor(value, std::memory_order_relaxed);
  }
  void complete([[maybe_unused]] int target) override {}
  std::uint64_t fetch_add(int target, std::size_t offset, std::uint64_t value) override {
    return word(target, offset).fetch_add(value, std::memory_order_relaxed);
  }
  void set_flag(int target, std::size_t offset, std::uint64_t value) override {
    word(target, offset).store(value, std::memory_order_release);
  }
  void await_flag(std::size_t offset, std::uint64_t value) override {
    yield_until([&] { return load_acquire(memory() + offset) == value; });
  }
  void synchronise() override {}

private:
  [[nodiscard]] std::byte* at(int target, std::size_t offset) const {
    return parts_[static_cast<std::size_t>(target)] + offset;
  }
  [[nodiscard]] std::atomic_ref<std::uint64_t> word(int target, std::size_t offset) const {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at(target, offset)));
  }

  StokerMemory& owner_;
  std::vector<std::byte*> parts_;
  std::vector<int> reached_; // by rank 0
};

} // namespace

// Rounds up to whole pages. Windows that MPI allocates for a node lie one behind the other, and MPICH 4.0 puts to the
// wrong place if sizes are not multiples of 16.
OneSidedWays::OneSidedWays(Session& session, Engine& engine, std::size_t least, Further further) {
  const std::size_t bytes = (least + page - 1) / page * page;
  const auto leave_out = [&](const char* what, const std::exception& error) {
    session.report().note(fmt::format("left out: {}: {}", what, error.what()));
  };
  try {
    ways_.push_back(std::make_unique<MpiAllocated>(session.comm(), bytes));
  } catch (const std::runtime_error& error) {
    leave_out("windows that MPI allocates", error);
  }
  try {
    ways_.push_back(std::make_unique<MpiCreated>(session.comm(), bytes));
  } catch (const std::runtime_error& error) {
    leave_out("windows over memory that is there", error);
  }
  try {
    if (further.openshmem) {
      ways_.push_back(make_openshmem(session.comm(), bytes));
    }
  } catch (const std::runtime_error& error) {
    leave_out("OpenSHMEM", error);
  }
  try {
    auto ours = std::make_unique<StokerMemory>(session.comm(), engine, bytes);
    auto copies = further.load_store ? std::make_unique<LoadStore>(*ours, session.comm(), bytes) : nullptr;
    ways_.push_back(std::move(ours));
    if (copies != nullptr) {
      ways_.push_back(std::move(copies));
    }
  } catch (const Error& error) {
    if (error.code() != STOKER_ERR_UNSUPPORTED) {
      throw;
    }
    leave_out("stoker's global memory", error);
  }
}

std::vector<OneSided*> OneSidedWays::reaching(int target) const {
  std::vector<OneSided*> chosen;
  for (const auto& way : ways_) {
    if (way->reaches(target)) {
      chosen.push_back(way.get());
    }
  }
  return chosen;
}

Variant in_turn(MPI_Comm comm, HelperSwitch& helpers, const OneSided* way, std::function<void()> body,
                std::function<void()> enter, std::function<void()> leave) {
  const bool running = way != nullptr && way->needs_helpers();
  return {std::move(body),
          [&helpers, running, enter = std::move(enter)] {
            helpers.set(running);
            enter();
          },
          [comm, leave = std::move(leave)] {
            MPI_Barrier(comm);
            leave();
          }};
}

namespace {

void fill(std::vector<std::byte>& data, std::size_t seed) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<std::byte>((((i + 1) * 131) + (seed * 29)) >> 3U);
  }
}

} // namespace

void validate(OneSided& way, const Session& session, int target, std::size_t bytes) {
  std::vector<std::byte> expected(bytes);
  std::vector<std::byte> back(bytes);
  int wrong = 0;
  for (const std::size_t round : {1U, 2U}) { // blocking, nonblocking
    fill(expected, round);
    if (session.rank() == target) {
      std::memset(way.memory(), 0xee, bytes);
      way.synchronise();
    }
    MPI_Barrier(session.comm());
    if (session.rank() == 0 && round == 1) {
      way.put(target, 0, expected.data(), bytes);
      way.get(target, 0, back.data(), bytes);
    } else if (session.rank() == 0) {
      way.start_put(target, 0, expected.data(), bytes);
      way.complete(target);
      way.start_get(target, 0, back.data(), bytes);
      way.complete(target);
    }
    wrong += session.rank() == 0 && back != expected ? 1 : 0;
    MPI_Barrier(session.comm());
    if (session.rank() == target) {
      way.synchronise();
      wrong += std::memcmp(way.memory(), expected.data(), bytes) != 0 ? 1 : 0;
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, session.comm());
  if (wrong != 0) {
    throw std::runtime_error(fmt::format("wrong data: {}, {} bytes to rank {}", way.name(), bytes, target));
  }
}

void validate_atomics(OneSided& way, const Session& session, int target) {
  const std::vector<std::uint64_t> expected = {40, 41, 43}; // before each of the two additions, and after both
  std::vector<std::uint64_t> seen(expected.size());
  if (session.rank() == target) {
    std::memcpy(way.memory(), expected.data(), sizeof expected[0]);
    way.synchronise();
  }
  MPI_Barrier(session.comm());
  if (session.rank() == 0) {
    seen[0] = way.fetch_add(target, 0, 1);
    seen[1] = way.fetch_add(target, 0, 2);
    way.get(target, 0, &seen[2], sizeof seen[2]);
  }
  int wrong = session.rank() == 0 && seen != expected ? 1 : 0;
  MPI_Bcast(&wrong, 1, MPI_INT, 0, session.comm());
  if (wrong != 0) {
    throw std::runtime_error(fmt::format("wrong atomics: {}, to rank {}", way.name(), target));
  }
}

} // namespace stoker::bench
