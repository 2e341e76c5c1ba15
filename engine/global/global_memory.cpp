// SPDX-License-Identifier: BSD-3-Clause
#include "engine/global/global_memory.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/error.hpp"
#include "engine/global/team.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <unistd.h>

namespace stoker::engine {
namespace {

constexpr std::uint64_t heap_alignment = FreeList::granularity;

std::uint64_t page_size() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

} // namespace

std::string text_of(const GlobalPointer& pointer) {
  return "{unit " + std::to_string(pointer.unit) + ", segment " + std::to_string(pointer.segment) + ", offset " +
         std::to_string(pointer.offset) + "}";
}

GlobalMemory::GlobalMemory(std::shared_ptr<Engine> engine, std::uint64_t heap_bytes)
    : engine_(std::move(engine)), service_(*engine_->attachments().get<GlobalService>(*engine_)),
      memory_(engine_->memory()), helper_(engine_->helper()), ranks_(engine_->layout().ranks()),
      heap_bytes_(heap_bytes) {
  if (engine_->layout().nodes() > 1 && !engine_->has_helpers()) { // the same on all ranks
    throw Error(
        Code::unsupported,
        self() + "global memory over " + std::to_string(engine_->layout().nodes()) +
            " nodes needs helpers, which carry everything between them; expected an engine with executor=engine or "
            "auto, and MPI_THREAD_MULTIPLE");
  }
  if (engine_->has_helpers()) {
    carrier_ = &memory_->root(engine_->arena_of(engine_->carrier()));
  }
  comm_ = OwnedComm::duplicate_of(engine_->control());

  struct Part {
    std::uint64_t place = 0;
    std::uint64_t bytes = 0;
    std::uint64_t displacement = 0;
  };
  Part mine{.bytes = heap_bytes};
  Arena& arena = memory_->arena();
  const auto failure = attempt([&] { mine.place = arena.allocate(heap_bytes, page_size()); });
  std::vector<Part> parts(static_cast<std::size_t>(ranks_));
  try {
    agree(comm_, failure ? std::optional(Error(failure->code(), self() + failure->what())) : std::nullopt);
    check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, parts.data(), sizeof mine, MPI_BYTE, comm_), "MPI_Allgather");
    for (std::size_t r = 1; r < parts.size(); ++r) {
      if (parts[r].bytes != parts[0].bytes) {
        throw Error(Code::mismatch, "rank " + std::to_string(r) + ": heap_bytes is " + std::to_string(parts[r].bytes) +
                                        " and " + std::to_string(parts[0].bytes) +
                                        " on rank 0; expected the same on all ranks");
      }
    }
    service_.open();
    access_open_ = true;
    open_window();
    agree(comm_, attempt([&] { mine.displacement = expose(mine.place, heap_bytes); }));
    check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, parts.data(), sizeof mine, MPI_BYTE, comm_), "MPI_Allgather");
  } catch (const Error&) { // on all ranks
    if (window_ != nullptr) {
      window_->free();
    }
    if (access_open_) {
      service_.close();
    }
    if (mine.place != 0) {
      arena.deallocate(mine.place);
    }
    throw;
  }
  heap_place_ = mine.place;
  heap_ = FreeList(0, heap_bytes / FreeList::granularity * FreeList::granularity);
  std::vector<int> units;
  std::vector<SegmentPart> segment;
  for (int unit = 0; unit < ranks_; ++unit) {
    const Part& part = parts[static_cast<std::size_t>(unit)];
    units.push_back(unit);
    segment.push_back({.address = nullptr, .place = part.place, .displacement = part.displacement});
  }
  insert_segment(0, heap_bytes, units, segment);
  engine_->enlist(*this);
}

// There is a window only if it is demanded: over a network without RDMA the MPI library makes messages of puts, and was
// slower.
void GlobalMemory::open_window() {
  if (engine_->settings().rma != RmaChoice::window || engine_->layout().nodes() == 1) {
    return;
  }
  window_ = Window::dynamic(comm_);
  if (window_ == nullptr) {
    throw Error(Code::unsupported, self() +
                                       "rma=window, but the MPI library has no one-sided communication between the "
                                       "engine's ranks; expected rma=auto, or another transport (see stoker doctor)");
  }
  const std::uint64_t mine = helper_ != nullptr ? helper_->add_window(window_) : 0;
  std::vector<std::uint64_t> numbers(static_cast<std::size_t>(ranks_));
  check_mpi(MPI_Allgather(&mine, 1, MPI_UINT64_T, numbers.data(), 1, MPI_UINT64_T, comm_), "MPI_Allgather");
  window_number_ = numbers[static_cast<std::size_t>(engine_->carrier())];
}

std::uint64_t GlobalMemory::expose(std::uint64_t place, std::uint64_t bytes) {
  if (window_ == nullptr || bytes == 0) {
    return 0;
  }
  Slot& slot = take_slot(OperationKind::expose, {.unit = engine_->rank()}, {.place = place}, bytes, false);
  std::uint64_t displacement = 0;
  execute(slot, &displacement);
  return displacement;
}

void GlobalMemory::conceal(std::uint64_t place, std::uint64_t bytes) {
  if (window_ == nullptr || bytes == 0 || closed_) { // released as a whole, then
    return;
  }
  execute(take_slot(OperationKind::conceal, {.unit = engine_->rank()}, {.place = place}, bytes, false));
}

GlobalMemory::~GlobalMemory() {
  if (!closed_ && access_open_) {
    engine_->delist(*this); // its release failed
  }
}

void GlobalMemory::close() {
  if (closed_) {
    return;
  }
  auto failure = attempt([&] { complete_all(); });
  engine_->meet(comm_); // nobody's transfers are under way then
  closed_ = true;
  std::list<Team*> teams;
  {
    const std::lock_guard lock(slots_mutex_);
    teams = teams_;
  }
  for (Team* team : teams) { // in the order of creation, which suits all members
    team->close();
  }
  table_.clear();
  bool lost = false;
  {
    const std::lock_guard lock(slots_mutex_);
    for (Slot& slot : slots_) {
      if (slot.used && !slot.lost) {
        settle(slot);
      }
      lost |= slot.lost;
    }
  }
  if (!lost) { // else the memory is not used again
    for (const std::uint64_t block : record_blocks_) {
      memory_->arena().deallocate(block);
    }
  }
  if (window_ != nullptr) {
    window_->free();
  }
  memory_->arena().deallocate(heap_place_);
  service_.close();
  engine_->delist(*this);
  comm_ = OwnedComm();
  if (!failure && !detached_errors_.empty()) { // nobody has asked by a flush
    failure = detached_errors_.begin()->second;
  }
  if (failure) {
    throw *failure;
  }
}

void GlobalMemory::check_open() const {
  if (closed_) {
    throw Error(Code::request, self() + "the global memory is freed, or its engine destroyed; expected a live one");
  }
}

void GlobalMemory::check_local(const void* local, std::uint64_t bytes, const char* name) const {
  if (local == nullptr && bytes > 0) {
    throw Error(Code::argument, self() + name + " is null; expected a buffer of " + std::to_string(bytes) + " bytes");
  }
}

SegmentPart GlobalMemory::located(const GlobalPointer& pointer, std::uint64_t bytes, const char* name) const {
  check_open();
  const auto refuse = [&](const std::string& expected) {
    return Error(Code::argument, self() + name + " is " + text_of(pointer) + "; expected " + expected);
  };
  if (pointer.unit < 0 || pointer.unit >= ranks_) {
    throw refuse("a unit of 0 to " + std::to_string(ranks_ - 1));
  }
  const Segment* segment = table_.find(pointer.segment);
  if (segment == nullptr) {
    throw refuse("segment 0, or one that a team of this unit's has allocated and not freed");
  }
  const SegmentPart& part = segment->parts[static_cast<std::size_t>(pointer.unit)];
  if (part.place == 0) {
    throw refuse("a unit of the team that has allocated the segment");
  }
  if (pointer.offset > segment->bytes || bytes > segment->bytes - pointer.offset) {
    throw refuse(std::to_string(bytes) + " bytes within the " + std::to_string(segment->bytes) +
                 " of the unit's part of the segment");
  }
  return part.at(pointer.offset);
}

SegmentPart GlobalMemory::located_element(const GlobalPointer& pointer, std::uint64_t count, ElementType type,
                                          const char* name) const {
  const std::uint64_t size = size_of(type);
  if (count > ~std::uint64_t{0} / size) {
    throw Error(Code::argument, self() + "count is " + std::to_string(count) + "; expected as many as fit into memory");
  }
  const SegmentPart part = located(pointer, count * size, name);
  if (pointer.offset % size != 0) { // parts begin at a page or a cache line
    throw Error(Code::argument, self() + name + " is " + text_of(pointer) +
                                    "; expected an offset that is a multiple of " + std::to_string(size) +
                                    ", the size of the datatype");
  }
  return part;
}

GlobalPointer GlobalMemory::allocate(std::uint64_t bytes) {
  check_open();
  const std::lock_guard lock(heap_mutex_);
  const auto offset = heap_.take(bytes, heap_alignment);
  if (!offset) {
    throw Error(Code::resource, self() + "the predefined segment is exhausted: " + std::to_string(bytes) +
                                    " bytes requested, " + std::to_string(heap_.bytes_in_use()) + " of " +
                                    std::to_string(heap_bytes_) + " in use, largest free block " +
                                    std::to_string(heap_.largest_free()) + "; raise heap_bytes");
  }
  std::memset(memory_->arena().base() + heap_place_ + *offset, 0, bytes);
  return {.unit = engine_->rank(), .segment = 0, .offset = *offset};
}

void GlobalMemory::deallocate(GlobalPointer pointer) {
  check_open();
  const std::lock_guard lock(heap_mutex_);
  if (pointer.unit != engine_->rank() || pointer.segment != 0 || !heap_.size_of(pointer.offset)) {
    throw Error(Code::argument, self() + "pointer is " + text_of(pointer) +
                                    "; expected the beginning of an allocation of this unit's that is not freed");
  }
  heap_.give(pointer.offset);
}

std::byte* GlobalMemory::address(GlobalPointer pointer, std::uint64_t bytes) const {
  return located(pointer, bytes, "pointer").address;
}

void GlobalMemory::enlist(Team& team) {
  check_open();
  const std::lock_guard lock(slots_mutex_);
  teams_.push_back(&team);
}

void GlobalMemory::delist(Team& team) {
  const std::lock_guard lock(slots_mutex_);
  teams_.remove(&team);
}

void GlobalMemory::insert_segment(std::uint32_t number, std::uint64_t bytes, std::span<const int> units,
                                  std::span<const SegmentPart> parts) {
  auto segment = std::make_unique<Segment>();
  segment->number = number;
  segment->bytes = bytes;
  segment->parts.resize(static_cast<std::size_t>(ranks_));
  for (std::size_t i = 0; i < units.size(); ++i) {
    SegmentPart& part = segment->parts[static_cast<std::size_t>(units[i])];
    part = parts[i];
    if (engine_->layout().same_node(units[i], engine_->rank())) {
      part.address = memory_->base(engine_->arena_of(units[i])) + part.place;
    }
  }
  const std::lock_guard lock(table_mutex_);
  table_.insert(std::move(segment));
}

void GlobalMemory::erase_segment(std::uint32_t number) {
  const std::lock_guard lock(table_mutex_);
  table_.erase(number);
}

} // namespace stoker::engine
