// SPDX-License-Identifier: BSD-3-Clause
// OpenSHMEM as a way of one-sided communication: see openshmem.hpp.
#include "bench/lib/openshmem.hpp"

#include <stdexcept>

#ifdef STOKER_BENCH_OPENSHMEM

#include <dlfcn.h>
#include <shmem.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace stoker::bench {

namespace {

static_assert(std::is_same_v<std::uint64_t, unsigned long>); // of the calls that name their type

#define STOKER_BENCH_OPENSHMEM_CALLS(call)                                                                             \
  call(init_thread) call(finalize) call(align) call(free) call(putmem) call(getmem) call(putmem_nbi) call(getmem_nbi)  \
      call(fence) call(quiet) call(ulong_atomic_xor) call(ulong_atomic_fetch_add) call(ulong_atomic_set)               \
          call(ulong_wait_until)

// The calls of the library, by their names without "shmem_".
struct OpenShmemCalls {
#define STOKER_BENCH_DECLARE(name) decltype(&::shmem_##name) name = nullptr;
  STOKER_BENCH_OPENSHMEM_CALLS(STOKER_BENCH_DECLARE)
#undef STOKER_BENCH_DECLARE
  bool initialised = false;
  int level = SHMEM_THREAD_SINGLE; // of threads, once initialised

  // Whether all were found.
  bool load() {
    // Open MPI 4.1.4's shmem_finalize unloads this library, whose hook free() goes on calling: it has to stay.
    (void)dlopen("libmca_common_ucx.so.40", RTLD_NOW | RTLD_NODELETE);
    void* const library = dlopen("liboshmem.so.40", RTLD_NOW | RTLD_GLOBAL);
    bool found = library != nullptr;
#define STOKER_BENCH_FIND(name)                                                                                        \
  found = found && (name = reinterpret_cast<decltype(name)>(dlsym(library, "shmem_" #name))) != nullptr;
    STOKER_BENCH_OPENSHMEM_CALLS(STOKER_BENCH_FIND)
#undef STOKER_BENCH_FIND
    return found;
  }
};

OpenShmemCalls shmem; // of the process

// The thread level that MPI has: helpers of the engine call MPI, whose progress is OpenSHMEM's as well.
int thread_level() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE;
}

void initialise(MPI_Comm comm) {
  int found = shmem.load() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_MIN, comm);
  if (found == 0) {
    throw std::runtime_error("liboshmem.so.40 cannot be loaded");
  }
  shmem.init_thread(thread_level(), &shmem.level); // aborts the job if it fails
  shmem.initialised = true;
}

// Puts and atomics are completed by shmem_quiet, at all targets at once; a blocking get is complete when it returns.
class OpenShmem final : public OneSided {
public:
  explicit OpenShmem(std::size_t bytes) : memory_(static_cast<std::byte*>(shmem.align(4096, bytes))) {
    if (memory_ == nullptr) { // on all ranks
      throw std::runtime_error("the symmetric heap is too small: set SHMEM_SYMMETRIC_HEAP_SIZE");
    }
    std::memset(memory_, 0, bytes);
  }
  OpenShmem(const OpenShmem&) = delete;
  OpenShmem& operator=(const OpenShmem&) = delete;
  ~OpenShmem() override { shmem.free(memory_); }
  [[nodiscard]] std::string name() const override { return "openshmem"; }
  [[nodiscard]] std::byte* memory() override { return memory_; }

  void put(int target, std::size_t offset, const void* local, std::size_t bytes) override {
    shmem.putmem(memory_ + offset, local, bytes, target);
    shmem.quiet();
  }
  void get(int target, std::size_t offset, void* local, std::size_t bytes) override {
    shmem.getmem(local, memory_ + offset, bytes, target);
  }
  void start_put(int target, std::size_t offset, const void* local, std::size_t bytes) override {
    shmem.putmem_nbi(memory_ + offset, local, bytes, target);
    dirty_ = true;
  }
  void start_get(int target, std::size_t offset, void* local, std::size_t bytes) override {
    shmem.getmem_nbi(local, memory_ + offset, bytes, target);
    dirty_ = true;
  }
  void start_xor(int target, std::size_t offset, const std::uint64_t& value) override {
    shmem.ulong_atomic_xor(word(offset), value, target);
    dirty_ = true;
  }
  void complete([[maybe_unused]] int target) override {
    if (dirty_) {
      shmem.quiet();
      dirty_ = false;
    }
  }
  std::uint64_t fetch_add(int target, std::size_t offset, std::uint64_t value) override {
    return shmem.ulong_atomic_fetch_add(word(offset), value, target);
  }
  void set_flag(int target, std::size_t offset, std::uint64_t value) override {
    shmem.ulong_atomic_set(word(offset), value, target);
    shmem.quiet();
  }
  // The fence keeps the flag behind the data.
  void start_put_and_flag(int target, std::size_t offset, const void* local, std::size_t bytes, std::size_t flag,
                          std::uint64_t value) override {
    start_put(target, offset, local, bytes);
    shmem.fence();
    shmem.ulong_atomic_set(word(flag), value, target);
  }
  void await_flag(std::size_t offset, std::uint64_t value) override {
    shmem.ulong_wait_until(word(offset), SHMEM_CMP_EQ, value);
  }
  void synchronise() override {} // a barrier orders loads and stores

private:
  // Symmetric: the own address stands for the target's.
  [[nodiscard]] std::uint64_t* word(std::size_t offset) const {
    return reinterpret_cast<std::uint64_t*>(memory_ + offset);
  }

  std::byte* memory_;
  bool dirty_ = false; // to be completed
};

} // namespace

std::unique_ptr<OneSided> make_openshmem(MPI_Comm comm, std::size_t bytes) {
  if (!shmem.initialised) {
    initialise(comm);
  }
  if (shmem.level < thread_level()) {
    throw std::runtime_error("it does not provide the thread level that MPI has");
  }
  auto way = std::make_unique<OpenShmem>(bytes);
  MPI_Barrier(comm); // cleared everywhere
  return way;
}

// Open MPI's shmem_finalize finalises MPI, too; and it is called at the end of the process in any case, when it must not
// find that MPI was finalised before.
void finalize() { shmem.initialised ? shmem.finalize() : (void)MPI_Finalize(); }

} // namespace stoker::bench

#else

namespace stoker::bench {

std::unique_ptr<OneSided> make_openshmem(MPI_Comm /*comm*/, std::size_t /*bytes*/) {
  throw std::runtime_error("this MPI library came without shmem.h when stoker-bench was built");
}

void finalize() { MPI_Finalize(); }

} // namespace stoker::bench

#endif
