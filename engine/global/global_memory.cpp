// SPDX-License-Identifier: BSD-3-Clause
#include "engine/global/global_memory.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/error.hpp"
#include "engine/device/device_memory.hpp"
#include "engine/global/team.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace stoker::engine {
namespace {

constexpr std::uint64_t heap_unit = 64; // on any processor, so that as many blocks fit

} // namespace

std::string text_of(const GlobalPointer& pointer) {
  return fmt::format("{{unit {}, segment {}, offset {}}}", pointer.unit, pointer.segment, pointer.offset);
}

GlobalMemory::GlobalMemory(std::shared_ptr<Engine> engine, std::uint64_t heap_bytes)
    : engine_(std::move(engine)), service_(*engine_->attachments().get<GlobalService>(*engine_)),
      memory_(engine_->memory()), helper_(engine_->helper()), ranks_(engine_->layout().ranks()),
      heap_bytes_(heap_bytes) {
  if (engine_->layout().nodes() > 1 && !engine_->has_helpers()) { // the same on all ranks
    throw Error(Code::unsupported,
                "{}global memory over {} nodes needs helpers, which carry everything between them; expected an engine "
                "with executor=engine or auto, and MPI_THREAD_MULTIPLE",
                self(), engine_->layout().nodes());
  }
  if (engine_->has_helpers()) {
    carrier_ = &memory_->root(engine_->arena_of(engine_->carrier()));
  }
  Plea plea; // ranks that are not here yet may wait for what this domain's helper has to do
  engine_->plead(plea);
  comm_ = OwnedComm::like(engine_->control());
  std::vector<int> units(static_cast<std::size_t>(ranks_));
  std::iota(units.begin(), units.end(), 0);
  try {
    service_.open();
    access_open_ = true;
    open_window();
    heap_place_ = add_segment(comm_, units, heap_bytes, "heap_bytes", true).place;
  } catch (const Error&) { // on all ranks
    if (window_ != nullptr) {
      engine_->meet(comm_); // everybody's memory is out of it then
      window_->free();
    }
    if (access_open_) {
      service_.close();
    }
    throw;
  }
  heap_ = FreeList(0, heap_bytes / heap_unit * heap_unit, heap_unit);
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
    throw Error(Code::unsupported,
                "{}rma=window, but the MPI library has no one-sided communication between the engine's ranks; expected "
                "rma=auto, or another transport (see stoker doctor)",
                self());
  }
  const std::uint64_t mine = helper_ != nullptr ? helper_->add_window(window_) : 0;
  window_number_ = gathered(comm_, mine)[static_cast<std::size_t>(engine_->carrier())];
}

std::uint64_t GlobalMemory::expose(std::uint64_t place, std::uint64_t bytes) {
  if (window_ == nullptr || bytes == 0) {
    return 0;
  }
  Transfer& transfer = take_transfer(OperationKind::expose, {.unit = engine_->rank()}, {.place = place}, bytes, false);
  std::uint64_t displacement = 0;
  execute(transfer, &displacement);
  return displacement;
}

void GlobalMemory::conceal(std::uint64_t place, std::uint64_t bytes) {
  if (window_ == nullptr || bytes == 0 || closed_) { // released as a whole, then
    return;
  }
  execute(take_transfer(OperationKind::conceal, {.unit = engine_->rank()}, {.place = place}, bytes, false));
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
    const std::lock_guard lock(transfers_mutex_);
    teams = teams_;
  }
  for (Team* team : teams) { // in the order of creation, which suits all members
    team->close();
  }
  table_.clear();
  bool lost = false;
  {
    const std::lock_guard lock(transfers_mutex_);
    for (Transfer& transfer : transfers_) {
      if (transfer.used && !transfer.lost) {
        settle(transfer);
      }
      lost |= transfer.lost;
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
    throw Error(Code::request, "{}the global memory is freed, or its engine destroyed; expected a live one", self());
  }
}

void GlobalMemory::check_local(const void* local, std::uint64_t bytes, const char* name) const {
  if (local == nullptr && bytes > 0) {
    throw Error(Code::argument, "{}{} is null; expected a buffer of {} bytes", self(), name, bytes);
  }
}

void GlobalMemory::check_on_host(const void* local, std::uint64_t bytes, const char* name) const {
  if (bytes > 0 && residence_of(local) == Residence::device) {
    throw Error(Code::argument, "{}{} lies in the memory of a device; expected memory of the host", self(), name);
  }
}

SegmentPart GlobalMemory::located(const GlobalPointer& pointer, std::uint64_t bytes, const char* name) const {
  check_open();
  const auto refuse = [&](const std::string& expected) {
    return Error(Code::argument, "{}{} is {}; expected {}", self(), name, text_of(pointer), expected);
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
    throw Error(Code::argument, "{}count is {}; expected as many as fit into memory", self(), count);
  }
  const SegmentPart part = located(pointer, count * size, name);
  if (pointer.offset % size != 0) { // parts begin at a page or a cache line
    throw Error(Code::argument, "{}{} is {}; expected an offset that is a multiple of {}, the size of the datatype",
                self(), name, text_of(pointer), size);
  }
  return part;
}

GlobalPointer GlobalMemory::allocate(std::uint64_t bytes) {
  check_open();
  const std::lock_guard lock(heap_mutex_);
  const auto offset = heap_.take(bytes, heap_unit);
  if (!offset) {
    throw Error(Code::resource,
                "{}the predefined segment is exhausted: {} bytes requested, {} of {} in use, largest free block {}; "
                "raise heap_bytes",
                self(), bytes, heap_.bytes_in_use(), heap_bytes_, heap_.largest_free());
  }
  std::memset(memory_->arena().base() + heap_place_ + *offset, 0, bytes);
  return {.unit = engine_->rank(), .segment = 0, .offset = *offset};
}

void GlobalMemory::deallocate(GlobalPointer pointer) {
  check_open();
  const std::lock_guard lock(heap_mutex_);
  if (pointer.unit != engine_->rank() || pointer.segment != 0 || !heap_.size_of(pointer.offset)) {
    throw Error(Code::argument,
                "{}pointer is {}; expected the beginning of an allocation of this unit's that is not freed", self(),
                text_of(pointer));
  }
  heap_.give(pointer.offset);
}

std::byte* GlobalMemory::address(GlobalPointer pointer, std::uint64_t bytes) const {
  return located(pointer, bytes, "pointer").address;
}

void GlobalMemory::enlist(Team& team) {
  check_open();
  const std::lock_guard lock(transfers_mutex_);
  teams_.push_back(&team);
}

void GlobalMemory::delist(Team& team) {
  const std::lock_guard lock(transfers_mutex_);
  teams_.remove(&team);
}

GlobalMemory::Allocation GlobalMemory::add_segment(MPI_Comm comm, std::span<const int> units, std::uint64_t bytes,
                                                   const char* name, bool predefined) {
  struct Part {
    std::uint64_t place = 0;
    std::uint64_t bytes = 0;
    std::uint64_t number = 0; // the first unit's counts
    std::uint64_t displacement = 0;
  };
  Part mine{.bytes = bytes};
  Arena& arena = memory_->arena();
  const int rank = rank_in(comm);
  const auto failure = attempt([&] {
    mine.place = arena.allocate(bytes, page_size());
    mine.displacement = expose(mine.place, bytes);
    if (!predefined) {
      std::memset(arena.base() + mine.place, 0, bytes); // allocate() clears what lies in the predefined segment
    }
    if (!predefined && rank == 0) {
      mine.number = service_.next_segment();
      if (mine.number > std::numeric_limits<std::uint32_t>::max()) {
        throw Error(Code::resource, "the numbers of segments are used up");
      }
    }
  });
  std::vector<Part> parts;
  Plea plea; // until all are here the transfers of others need this domain's helper, even if it is paused
  engine_->plead(plea);
  try {
    agree(comm, with_rank(rank, failure));
    parts = gathered(comm, mine);
    for (std::size_t r = 1; r < parts.size(); ++r) {
      if (parts[r].bytes != parts[0].bytes) {
        throw Error(Code::mismatch, "rank {}: {} is {} and {} on rank 0; expected the same on all ranks{}", r, name,
                    parts[r].bytes, parts[0].bytes, predefined ? "" : " of the team");
      }
    }
  } catch (const Error&) {
    if (mine.displacement != 0) {
      conceal(mine.place, bytes);
    }
    if (mine.place != 0) {
      arena.deallocate(mine.place);
    }
    throw;
  }
  auto segment = std::make_unique<Segment>();
  segment->number = static_cast<std::uint32_t>(parts[0].number);
  segment->bytes = bytes;
  segment->parts.resize(static_cast<std::size_t>(ranks_));
  for (std::size_t i = 0; i < units.size(); ++i) {
    const bool near = engine_->layout().same_node(units[i], engine_->rank());
    segment->parts[static_cast<std::size_t>(units[i])] = {
        .address = near ? memory_->base(engine_->arena_of(units[i])) + parts[i].place : nullptr,
        .place = parts[i].place,
        .displacement = parts[i].displacement};
  }
  const Allocation added{segment->number, mine.place, bytes};
  const std::lock_guard lock(table_mutex_);
  table_.insert(std::move(segment));
  return added;
}

void GlobalMemory::remove_segment(const Allocation& allocation) {
  {
    const std::lock_guard lock(table_mutex_);
    table_.erase(allocation.segment);
  }
  conceal(allocation.place, allocation.bytes);
  memory_->arena().deallocate(allocation.place);
}

} // namespace stoker::engine
