// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/device_epochs.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/round_up.hpp"
#include "engine/device/device_memory.hpp"
#include "engine/device_kernel/both_compilers.hpp"
#include "engine/wisdom/program_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <list>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

namespace stoker::engine {

using algos::Buffer;

struct DeviceEpochs::Words {
  alignas(cache_line) std::atomic<std::uint64_t> launched{0};
  alignas(cache_line) std::atomic<std::uint32_t> users{0};
  std::atomic<std::uint32_t> failed{0}; // 1: somebody writes the text; 2: it is there
  char failure[256] = {};
};

struct DeviceEpochs::RankWords {
  alignas(cache_line) device::Control control;
  alignas(cache_line) std::atomic<std::uint64_t> called{0};
};

// What rank 0 has allocated.
struct DeviceEpochs::Owned {
  std::shared_ptr<NodeMemory> memory;
  DeviceAllocation on_device;
  std::uint64_t pages = 0; // in its arena

  Owned(std::shared_ptr<NodeMemory> of, DeviceAllocation allocation, std::uint64_t bytes)
      : memory(std::move(of)), on_device(std::move(allocation)), pages(memory->arena().allocate(bytes, page_size())) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { memory->arena().deallocate(pages); }
  [[nodiscard]] Words& words() const { return *memory->arena().at<Words>(pages); }
};

// What others may still use.
class DeviceEpochs::Leftovers {
public:
  void add(std::unique_ptr<Owned> owned) {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(owned));
  }
  void sweep() {
    const std::lock_guard lock(mutex_);
    all_.remove_if([](const auto& owned) { return owned->words().users.load(std::memory_order_acquire) == 0; });
  }

private:
  std::mutex mutex_; // guards all_
  std::list<std::unique_ptr<Owned>> all_;
};

// Where things are in rank 0's memory on the device: equal on all ranks.
struct DeviceEpochs::Layout {
  static constexpr std::uint64_t unit = 256;
  std::uint64_t bytes = 0;
  std::uint64_t words_begin = 0;
  std::uint64_t words_end = 0;
  std::vector<std::uint64_t> words;   // of each rank
  std::vector<std::uint64_t> scratch; // likewise; 0: it has none

  Layout(const device::DeviceProgram& program, std::span<const algos::Program> programs)
      : bytes(round_up(program.bytes().size(), unit)), words_begin(bytes) {
    for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
      words.push_back(take(program.words(rank) * sizeof(std::uint64_t)));
    }
    words_end = bytes;
    for (const algos::Program& one : programs) {
      scratch.push_back(one.scratch_bytes == 0 ? 0 : take(one.scratch_bytes));
    }
  }
  std::uint64_t take(std::uint64_t length) { return std::exchange(bytes, bytes + round_up(length, unit)); }
};

namespace {

// No epoch's number. Streams compare words with a sign.
constexpr std::uint64_t never = std::numeric_limits<std::int64_t>::max();

void upload(std::byte* to, const void* from, std::size_t bytes) {
  const DevicePiece piece{static_cast<std::byte*>(const_cast<void*>(from)), to, bytes};
  copy_to_device(std::span(&piece, 1));
}

// Collective: those of all ranks.
std::vector<algos::Program> gathered_programs(MPI_Comm comm, const algos::Program& own) {
  const std::vector<std::byte> bytes = to_bytes(own);
  const std::vector<int> counts = gathered(comm, static_cast<int>(bytes.size()));
  std::vector<int> places(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  std::vector<std::byte> all(static_cast<std::size_t>(places.back()) + static_cast<std::size_t>(counts.back()));
  check_mpi(PMPI_Allgatherv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, all.data(), counts.data(),
                            places.data(), MPI_BYTE, comm),
            "MPI_Allgatherv");
  std::vector<algos::Program> programs;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    programs.push_back(program_from(
        std::span(all).subspan(static_cast<std::size_t>(places[rank]), static_cast<std::size_t>(counts[rank]))));
  }
  return programs;
}

// What rank 0 tells the others.
struct Announcement {
  MemoryHandle handle{};
  std::uint64_t pages = 0;
};

} // namespace

DeviceEpochs::RankWords& DeviceEpochs::of(int rank) const {
  return reinterpret_cast<RankWords*>(pages_ + sizeof(Words))[rank];
}

std::uint64_t DeviceEpochs::pages_bytes() const {
  return round_up(sizeof(Words) + static_cast<std::size_t>(ranks_) * sizeof(RankWords), page_size());
}

DeviceEpochs::DeviceEpochs(Engine& engine, const RequestPlan& plan, const algos::Program& program)
    : engine_(engine), context_(plan.context), memory_(engine.memory()), reach_(plan.device), rank_(context_->rank()),
      ranks_(context_->ranks()), has_stream_words_(engine::has_stream_words(reach_->device())) {
  const MPI_Comm comm = context_->comm();
  engine.attachments().get<Leftovers>()->sweep();
  const std::vector<algos::Program> programs = gathered_programs(comm, program);
  std::optional<device::DeviceProgram> made;
  std::optional<Layout> layout;
  Announcement announced;
  attempt_on_all(comm, [&] {
    const device::ProgramOptions usual;
    const std::uint32_t most = reach_->kernel().most_blocks / static_cast<std::uint32_t>(ranks_);
    made.emplace(programs, device::ProgramOptions{.operation = plan.operation.code(),
                                                  .most_blocks = std::min(usual.most_blocks, most)});
    layout.emplace(*made, programs);
    if (rank_ == 0) {
      own(*made, *layout);
      announced = {owned_->on_device.handle(), owned_->pages};
    }
  });
  check_mpi(PMPI_Bcast(&announced, sizeof announced, MPI_BYTE, 0, comm), "MPI_Bcast");
  arguments_.blocks = made->header().blocks;
  attempt_on_all(comm, [&] {
    if (rank_ == 0) {
      shared_ = owned_->on_device.address();
    } else {
      shared_ = imported_.emplace(reach_->device(), announced.handle).address();
    }
    pages_ = memory_->base(engine.arena_of(context_->engine_rank(0))) + announced.pages;
    mapped_ = MappedPages(reach_->device(), pages_, pages_bytes());
    fill_tables(*layout);
    stream_ = std::make_unique<OwnStream>(reach_->device());
  });
}

void DeviceEpochs::own(const device::DeviceProgram& program, const Layout& layout) {
  owned_ = std::make_unique<Owned>(memory_, DeviceAllocation(reach_->device(), layout.bytes), pages_bytes());
  std::byte* const place = memory_->arena().base() + owned_->pages;
  new (place) Words;
  owned_->words().users.store(static_cast<std::uint32_t>(ranks_), std::memory_order_relaxed); // MPI's messages follow
  for (int rank = 0; rank < ranks_; ++rank) {
    new (place + sizeof(Words) + static_cast<std::size_t>(rank) * sizeof(RankWords)) RankWords;
  }
  upload(owned_->on_device.address(), program.bytes().data(), program.bytes().size());
  const std::vector<std::byte> zeros(layout.words_end - layout.words_begin);
  upload(owned_->on_device.address() + layout.words_begin, zeros.data(), zeros.size());
}

void DeviceEpochs::fill_tables(const Layout& layout) {
  const auto n = static_cast<std::size_t>(ranks_);
  // 3 buffers of each rank, then its words, then its control; behind them the ranks of a launch: all.
  std::vector<std::uint64_t> table;
  for (int rank = 0; rank < ranks_; ++rank) {
    for (const Buffer buffer : {Buffer::send, Buffer::recv}) {
      table.push_back(reinterpret_cast<std::uint64_t>(reach_->address(rank, buffer)));
    }
    const std::uint64_t scratch = layout.scratch[static_cast<std::size_t>(rank)];
    table.push_back(scratch == 0 ? 0 : reinterpret_cast<std::uint64_t>(shared_ + scratch));
  }
  for (const std::uint64_t place : layout.words) {
    table.push_back(reinterpret_cast<std::uint64_t>(shared_ + place));
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    table.push_back(mapped_.of_device(&of(rank).control));
  }
  std::vector<std::uint32_t> launched(n);
  std::iota(launched.begin(), launched.end(), 0U);
  const std::size_t bytes = table.size() * sizeof(std::uint64_t);
  tables_ = DeviceAllocation(reach_->device(), bytes + launched.size() * sizeof(std::uint32_t));
  std::byte* const begin = tables_.address();
  upload(begin, table.data(), bytes);
  upload(begin + bytes, launched.data(), launched.size() * sizeof(std::uint32_t));
  arguments_.program = reinterpret_cast<const device::ProgramHeader*>(shared_);
  arguments_.buffers = reinterpret_cast<std::byte**>(begin);
  arguments_.words = reinterpret_cast<std::uint64_t**>(begin + 3 * n * sizeof(std::uint64_t));
  arguments_.controls = reinterpret_cast<device::Control**>(begin + 4 * n * sizeof(std::uint64_t));
  arguments_.launched = reinterpret_cast<const std::uint32_t*>(begin + bytes);
}

DeviceEpochs::~DeviceEpochs() {
  stream_.reset(); // no launch of this process uses anything any more
  tables_ = {};
  mapped_ = {};
  imported_.reset();
  if (pages_ == nullptr || engine_.destroyed()) {
    return;
  }
  const bool last = words().users.fetch_sub(1, std::memory_order_acq_rel) == 1;
  if (owned_ != nullptr && !last) {
    engine_.attachments().get<Leftovers>()->add(std::move(owned_));
  }
}

void DeviceEpochs::start(std::uint64_t epoch) {
  reach_->check_allocated();
  device::SystemWord(of(rank_).control.started).store(epoch, device::release);
  of(rank_).called.store(epoch);
  launch_what_can_be();
}

void DeviceEpochs::start_on(Driver::Stream stream, std::uint64_t epoch) {
  reach_->check_allocated();
  check_stream(stream);
  wait_on(stream, epoch - 1);
  write_word(reach_->device(), stream, of_device(of(rank_).control.started), epoch);
  of(rank_).called.store(epoch);
  launch_what_can_be();
}

void DeviceEpochs::wait_on(Driver::Stream stream, std::uint64_t epoch) const {
  if (!reached(epoch)) {
    await_word(reach_->device(), stream, of_device(of(rank_).control.completed), epoch);
  }
}

bool DeviceEpochs::reached(std::uint64_t epoch) const {
  return device::SystemWord(of(rank_).control.completed).load(device::acquire) >= epoch;
}

void DeviceEpochs::launch_what_can_be() {
  std::atomic<std::uint64_t>& launched = words().launched;
  for (std::uint64_t epoch = launched.load();;) {
    for (int rank = 0; rank < ranks_; ++rank) {
      if (of(rank).called.load() <= epoch) {
        return;
      }
    }
    if (launched.compare_exchange_strong(epoch, epoch + 1)) { // else it is what somebody else has made it
      launch(++epoch);
    }
  }
}

void DeviceEpochs::launch(std::uint64_t epoch) {
  const auto failure = attempt([&] {
    for (int rank = 0; rank < ranks_; ++rank) {
      std::uint64_t& started = of(rank).control.started;
      if (device::SystemWord(started).load(device::acquire) < epoch) {
        await_word(reach_->device(), stream_->handle(), of_device(started), epoch);
      }
    }
    arguments_.epoch = epoch;
    device::launch(reach_->device(), reach_->kernel(), *stream_, arguments_,
                   static_cast<std::uint32_t>(ranks_) * arguments_.blocks);
  });
  if (failure) {
    fail("rank " + std::to_string(rank_) + ", which launches the kernel: " + failure->what());
  }
}

void DeviceEpochs::fail(const std::string& text) const {
  std::uint32_t none = 0;
  if (words().failed.compare_exchange_strong(none, 1)) {
    std::memcpy(words().failure, text.c_str(), std::min(text.size() + 1, sizeof words().failure - 1));
    words().failed.store(2, std::memory_order_release);
    for (int rank = 0; rank < ranks_; ++rank) {
      device::SystemWord(of(rank).control.completed).store(never, device::release);
    }
  }
}

void DeviceEpochs::note_failure() const {
  if (const int code = stream_->error(); code != 0) {
    fail(fmt::format("the device fails ({}), as rank {} sees; expected one that works",
                     reach_->device().driver->name_of(code), rank_));
  }
}

void DeviceEpochs::check_launches() const {
  if (words().failed.load(std::memory_order_acquire) == 2) {
    // A kernel that was under way has written its epoch's number since.
    device::SystemWord(of(rank_).control.completed).store(never, device::release);
    throw Error(Code::access, std::string(words().failure, strnlen(words().failure, sizeof words().failure)));
  }
}

std::string DeviceEpochs::missing(std::uint64_t epoch) const {
  std::string text;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (device::SystemWord(of(rank).control.started).load(device::acquire) < epoch) {
      text += (text.empty() ? "rank " : ", rank ") + std::to_string(rank);
    }
  }
  return text;
}

} // namespace stoker::engine
