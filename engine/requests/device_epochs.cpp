// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/device_epochs.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/round_up.hpp"
#include "engine/device/device_memory.hpp"
#include "engine/device_kernel/both_compilers.hpp"
#include "engine/wisdom/program_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace stoker::engine {

using algos::Buffer;

// A device's; those of its ranks follow.
struct DeviceEpochs::Words {
  alignas(cache_line) std::atomic<std::uint64_t> launched{0};
  alignas(cache_line) std::atomic<std::uint32_t> users{0};
  // The first device's are for all.
  std::atomic<std::uint32_t> failed{0}; // 1: somebody writes what follows; 2: it is there
  Code failure = Code::access;
  char text[256] = {};
};

struct DeviceEpochs::RankWords {
  alignas(cache_line) device::Control control;
  alignas(cache_line) std::atomic<std::uint64_t> called{0};
  std::atomic<std::uint64_t> done{0}; // of abandoned epochs: `completed` before
};

// What the lowest rank of a device has allocated.
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

// Where things are in that memory on the device: equal on all ranks.
struct DeviceEpochs::Layout {
  static constexpr std::uint64_t unit = 256;
  std::uint64_t bytes = 0;
  std::uint64_t words_begin = 0;
  std::uint64_t words_end = 0;
  std::vector<std::uint64_t> words;   // by rank, of those on the device
  std::vector<std::uint64_t> scratch; // likewise; 0: it has none

  Layout(const device::DeviceProgram& program, std::span<const algos::Program> programs, std::span<const int> ranks)
      : bytes(round_up(program.bytes().size(), unit)), words_begin(bytes), words(programs.size()),
        scratch(programs.size()) {
    for (const int rank : ranks) {
      words[static_cast<std::size_t>(rank)] =
          take(program.words(static_cast<std::uint32_t>(rank)) * sizeof(std::uint64_t));
    }
    words_end = bytes;
    for (const int rank : ranks) {
      const std::uint64_t needed = programs[static_cast<std::size_t>(rank)].scratch_bytes;
      scratch[static_cast<std::size_t>(rank)] = needed == 0 ? 0 : take(needed);
    }
  }
  std::uint64_t take(std::uint64_t length) { return std::exchange(bytes, bytes + round_up(length, unit)); }
};

// What a device's ranks use, as this process reaches it.
struct DeviceEpochs::Place {
  std::optional<ImportedMemory> imported; // none: this process owns it
  std::byte* memory = nullptr;            // on the device
  std::byte* pages = nullptr;
  MappedPages mapped;
  [[nodiscard]] Words& words() const { return *reinterpret_cast<Words*>(pages); }
};

namespace {

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

// What the lowest rank of a device tells the others.
struct Announcement {
  MemoryHandle handle{};
  std::uint64_t pages = 0;
};

} // namespace

Driver::Address DeviceEpochs::of_device(int rank, const void* place) const {
  return places_[reach_->device_of(rank)].mapped.of_device(place);
}

std::uint64_t DeviceEpochs::pages_bytes(std::size_t device) const {
  return round_up(sizeof(Words) + reach_->ranks_on(device).size() * sizeof(RankWords), page_size());
}

DeviceEpochs::DeviceEpochs(Engine& engine, const RequestPlan& plan, const algos::Program& program)
    : engine_(engine), context_(plan.context), memory_(engine.memory()), reach_(plan.device), rank_(context_->rank()),
      ranks_(context_->ranks()), has_stream_words_(engine::has_stream_words(reach_->device())),
      words_of_(static_cast<std::size_t>(ranks_)) {
  const MPI_Comm comm = context_->comm();
  engine.attachments().get<Leftovers>()->sweep();
  const std::vector<algos::Program> programs = gathered_programs(comm, program);
  std::optional<device::DeviceProgram> made;
  std::vector<Layout> layouts;
  Announcement mine;
  attempt_on_all(comm, [&] {
    const device::ProgramOptions usual;
    made.emplace(programs, device::ProgramOptions{.operation = plan.operation.code(),
                                                  .most_blocks = std::min(usual.most_blocks, reach_->most_blocks())});
    for (std::size_t device = 0; device < reach_->devices(); ++device) {
      layouts.emplace_back(*made, programs, reach_->ranks_on(device));
    }
    if (reach_->ranks_on(own_device()).front() == rank_) {
      own(*made, layouts[own_device()]);
      mine = {owned_->on_device.handle(), owned_->pages};
    }
  });
  const std::vector<Announcement> announced = gathered(comm, mine);
  arguments_.blocks = made->header().blocks;
  try {
    attempt_on_all(comm, [&] {
      for (std::size_t device = 0; device < reach_->devices(); ++device) {
        const Announcement& of_owner = announced[static_cast<std::size_t>(reach_->ranks_on(device).front())];
        find(device, of_owner.handle, of_owner.pages);
      }
      fill_tables(layouts);
      if (reach_->devices() > 1) {
        give_back_room_of_abandoned();
        reserved_ = device::ReservedBlocks(reach_->device(), blocks_of_launch(), reach_->room());
      }
      stream_ = std::make_unique<OwnStream>(reach_->device(), reach_->devices() > 1);
    });
  } catch (...) {
    places_.clear();
    PMPI_Barrier(comm); // nobody has imported what this rank owns any more
    throw;
  }
}

void DeviceEpochs::own(const device::DeviceProgram& program, const Layout& layout) {
  const std::size_t device = own_device();
  owned_ = std::make_unique<Owned>(memory_, DeviceAllocation(reach_->device(), layout.bytes), pages_bytes(device));
  std::byte* const place = memory_->arena().base() + owned_->pages;
  new (place) Words;
  owned_->words().users.store(static_cast<std::uint32_t>(ranks_), std::memory_order_relaxed); // MPI's messages follow
  for (std::size_t i = 0; i < reach_->ranks_on(device).size(); ++i) {
    new (place + sizeof(Words) + i * sizeof(RankWords)) RankWords;
  }
  upload(owned_->on_device.address(), program.bytes().data(), program.bytes().size());
  const std::vector<std::byte> zeros(layout.words_end - layout.words_begin);
  upload(owned_->on_device.address() + layout.words_begin, zeros.data(), zeros.size());
}

void DeviceEpochs::find(std::size_t device, const MemoryHandle& memory, std::uint64_t pages) {
  const int owner = reach_->ranks_on(device).front();
  Place& place = places_.emplace_back();
  place.memory =
      owner == rank_ ? owned_->on_device.address() : place.imported.emplace(reach_->device(), memory).address();
  place.pages = memory_->base(engine_.arena_of(context_->engine_rank(owner))) + pages;
  place.mapped = MappedPages(reach_->device(), place.pages, pages_bytes(device));
  auto* words = reinterpret_cast<RankWords*>(place.pages + sizeof(Words));
  for (const int rank : reach_->ranks_on(device)) {
    words_of_[static_cast<std::size_t>(rank)] = words++;
  }
}

void DeviceEpochs::fill_tables(std::span<const Layout> layouts) {
  const auto n = static_cast<std::size_t>(ranks_);
  const auto address_of = [&](int rank, std::uint64_t place) {
    return reinterpret_cast<std::uint64_t>(places_[reach_->device_of(rank)].memory + place);
  };
  // 3 buffers of each rank, then its words, then its control; behind them the ranks of a launch.
  std::vector<std::uint64_t> table;
  for (int rank = 0; rank < ranks_; ++rank) {
    for (const Buffer buffer : {Buffer::send, Buffer::recv}) {
      table.push_back(reinterpret_cast<std::uint64_t>(reach_->address(rank, buffer)));
    }
    const std::uint64_t scratch = layouts[reach_->device_of(rank)].scratch[static_cast<std::size_t>(rank)];
    table.push_back(scratch == 0 ? 0 : address_of(rank, scratch));
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    table.push_back(address_of(rank, layouts[reach_->device_of(rank)].words[static_cast<std::size_t>(rank)]));
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    table.push_back(of_device(rank, &of(rank).control));
  }
  const std::vector<int>& own_ranks = reach_->ranks_on(own_device());
  const std::vector<std::uint32_t> launched(own_ranks.begin(), own_ranks.end());
  const std::size_t bytes = table.size() * sizeof(std::uint64_t);
  tables_ = DeviceAllocation(reach_->device(), bytes + launched.size() * sizeof(std::uint32_t));
  std::byte* const begin = tables_.address();
  upload(begin, table.data(), bytes);
  upload(begin + bytes, launched.data(), launched.size() * sizeof(std::uint32_t));
  arguments_.program = reinterpret_cast<const device::ProgramHeader*>(places_[own_device()].memory);
  arguments_.buffers = reinterpret_cast<std::byte**>(begin);
  arguments_.words = reinterpret_cast<std::uint64_t**>(begin + 3 * n * sizeof(std::uint64_t));
  arguments_.controls = reinterpret_cast<device::Control**>(begin + 4 * n * sizeof(std::uint64_t));
  arguments_.launched = reinterpret_cast<const std::uint32_t*>(begin + bytes);
}

DeviceEpochs::~DeviceEpochs() {
  stream_.reset(); // no launch of this process uses anything any more
  tables_ = {};
  for (std::size_t device = 0; device < places_.size(); ++device) {
    Place& place = places_[device];
    place.mapped = {};
    place.imported.reset();
    if (engine_.destroyed()) {
      continue;
    }
    const bool last = place.words().users.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (owned_ != nullptr && device == own_device() && !last) {
      engine_.attachments().get<Leftovers>()->add(std::move(owned_));
    }
  }
}

void DeviceEpochs::start(std::uint64_t epoch) {
  reach_->check_allocated();
  std::uint64_t before = epoch - 1;
  device::SystemWord(of(rank_).control.started).compare_exchange_strong(before, epoch); // else the epoch is abandoned
  of(rank_).called.store(epoch);
  launch_what_can_be();
}

void DeviceEpochs::start_on(Driver::Stream stream, std::uint64_t epoch) {
  reach_->check_allocated();
  check_stream(stream);
  wait_on(stream, epoch - 1);
  write_word(reach_->device(), stream, of_device(rank_, &of(rank_).control.started), epoch);
  of(rank_).called.store(epoch);
  launch_what_can_be();
}

void DeviceEpochs::wait_on(Driver::Stream stream, std::uint64_t epoch) const {
  if (!reached(epoch)) {
    await_word(reach_->device(), stream, of_device(rank_, &of(rank_).control.completed), epoch);
  }
}

bool DeviceEpochs::reached(std::uint64_t epoch) const {
  return device::SystemWord(of(rank_).control.completed).load(device::acquire) >= epoch;
}

void DeviceEpochs::launch_what_can_be() {
  std::atomic<std::uint64_t>& launched = places_[own_device()].words().launched;
  for (std::uint64_t epoch = launched.load();;) {
    for (const int rank : reach_->ranks_on(own_device())) {
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
  arguments_.waited = 0;
  const auto failure = attempt([&] {
    for (int rank = 0; rank < ranks_; ++rank) {
      std::uint64_t& started = of(rank).control.started;
      const std::uint64_t number = device::SystemWord(started).load(device::acquire);
      if (number < epoch || number == device::Control::never) {
        arguments_.waited = 1;
      }
      if (number < epoch) {
        await_word(reach_->device(), stream_->handle(), of_device(rank, &started), epoch);
      }
    }
    arguments_.epoch = epoch;
    device::launch(reach_->device(), reach_->kernel(), *stream_, arguments_, blocks_of_launch());
  });
  if (failure) {
    fail(Error(failure->code(), "rank {}, which launches the kernel: {}", rank_, failure->what()));
  }
}

void DeviceEpochs::fail(const Error& failure) const {
  Words& words = places_.front().words();
  std::uint32_t none = 0;
  if (words.failed.compare_exchange_strong(none, 1)) {
    words.failure = failure.code();
    const std::string text = failure.what();
    std::memcpy(words.text, text.c_str(), std::min(text.size() + 1, sizeof words.text - 1));
    words.failed.store(2, std::memory_order_release);
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    abandon(rank);
  }
}

void DeviceEpochs::abandon(int rank) const {
  RankWords& words = of(rank);
  device::Control& control = words.control;
  const std::uint64_t number = device::SystemWord(control.completed).load(device::acquire);
  if (number != device::Control::never) {
    words.done.store(number, std::memory_order_release);
  }
  device::SystemWord(control.abandoned).store(1, device::release);
  device::fence();
  device::SystemWord(control.started).store(device::Control::never, device::release);
  device::SystemWord(control.completed).store(device::Control::never, device::release);
}

void DeviceEpochs::note_failure() const {
  if (const int code = stream_->error(); code != 0) {
    fail(Error(Code::access, "the device fails ({}), as rank {} sees; expected one that works",
               reach_->device().driver->name_of(code), rank_));
  }
}

void DeviceEpochs::check_failure(std::uint64_t epoch) const {
  RankWords& own = of(rank_);
  if (device::SystemWord(own.control.abandoned).load(device::acquire) == 0 ||
      own.done.load(std::memory_order_acquire) >= epoch) {
    return;
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    abandon(rank); // a stream may have written since that a rank has started
  }
  const Words& words = places_.front().words();
  if (words.failed.load(std::memory_order_acquire) != 2) {
    throw Error(Code::peer_lost, "another rank has abandoned it, and does not say why");
  }
  throw Error(words.failure, std::string(words.text, strnlen(words.text, sizeof words.text)));
}

namespace {

// Of requests that are broken. Others may still use what is there: it stays as long as the process.
struct Abandoned {
  std::mutex mutex; // guards all
  std::vector<std::unique_ptr<DeviceEpochs>> all;
};
Abandoned& abandoned() {
  static auto& one = *new Abandoned;
  return one;
}

} // namespace

void DeviceEpochs::abandon(std::unique_ptr<DeviceEpochs> epochs) {
  const std::lock_guard lock(abandoned().mutex);
  abandoned().all.push_back(std::move(epochs));
}

void DeviceEpochs::give_back_room_of_abandoned() {
  const std::lock_guard lock(abandoned().mutex);
  for (const auto& epochs : abandoned().all) {
    if (epochs->stream_->idle()) {
      epochs->reserved_ = {};
    }
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
