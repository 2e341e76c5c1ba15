// SPDX-License-Identifier: BSD-3-Clause
#include "engine/global/global_memory.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/error.hpp"
#include "engine/global/team.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include <unistd.h>

namespace stoker::engine {
namespace {

constexpr std::uint64_t at_once_bytes = 4096;    // nonblocking within the node: no more than a submission costs
constexpr std::uint64_t staging_bytes = 1 << 20; // of a transfer whose local buffer the helper cannot reach
constexpr std::size_t records_at_a_time = 64;    // taken from the arena
constexpr std::size_t detached_at_a_time = 1024; // transfers without handle under way
constexpr std::uint64_t heap_alignment = FreeList::granularity;

std::atomic<unsigned> threads_numbered{0};

std::uint64_t page_size() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

} // namespace

constinit thread_local unsigned thread_number = 0;

unsigned number_this_thread() {
  thread_number = threads_numbered.fetch_add(1, std::memory_order_relaxed) + 1;
  return thread_number;
}

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

// A helper goes on if a target's process is gone. Without the helper nothing goes on.
void GlobalMemory::look_for_carrier(Slot& slot) {
  const int carrier = engine_->carrier();
  const pid_t pid = memory_->pid(engine_->arena_of(carrier));
  if (carrier == engine_->rank() || !is_gone(pid)) {
    return;
  }
  const std::lock_guard lock(slots_mutex_);
  slot.lost = true;
  slot.code = Code::peer_lost;
  slot.text = self() + "the process of unit " + std::to_string(carrier) + " (pid " + std::to_string(pid) +
              "), whose helper carries this unit's transfers, is gone; the transfer cannot complete";
  throw Error(slot.code, slot.text);
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

std::optional<BufferDescriptor> GlobalMemory::reachable(const void* local, std::uint64_t bytes) const {
  BufferDescriptor descriptor{.pid = getpid(), .address = reinterpret_cast<std::uint64_t>(local), .bytes = bytes};
  if (memory_->arena().contains(local, bytes)) {
    descriptor.path = Path::mapped;
    descriptor.offset = memory_->arena().offset_of(local);
  } else if (helper_ != nullptr) {
    descriptor.path = Path::own;
  } else if (memory_->attach_works() && engine_->settings().access != AccessChoice::staged) {
    descriptor.path = Path::cma;
  } else {
    return std::nullopt;
  }
  return descriptor;
}

GlobalMemory::Slot& GlobalMemory::take_slot(OperationKind kind, const GlobalPointer& pointer, const SegmentPart& part,
                                            std::uint64_t bytes, bool detached) {
  std::unique_lock lock(slots_mutex_);
  while (detached && detached_ >= detached_at_a_time) {
    sweep_detached();
    if (detached_ >= detached_at_a_time) {
      Slot& oldest = *std::ranges::find_if(slots_, [](const Slot& s) { return s.used && s.detached; });
      const std::uint64_t epoch = oldest.epoch;
      lock.unlock();
      wait_for(oldest, epoch);
      lock.lock();
    }
  }
  if (free_slots_.empty()) {
    const std::uint64_t block =
        memory_->arena().allocate(records_at_a_time * sizeof(GlobalOperation), alignof(GlobalOperation));
    record_blocks_.push_back(block);
    for (std::size_t i = 0; i < records_at_a_time; ++i) {
      slots_.emplace_back();
      slots_.back().operation = new (memory_->arena().base() + block + (i * sizeof(GlobalOperation))) GlobalOperation;
      free_slots_.push_back(&slots_.back());
    }
  }
  Slot& slot = *free_slots_.back();
  free_slots_.pop_back();
  slot.used = true;
  slot.detached = detached;
  slot.settled = false;
  slot.copy_to = nullptr;
  slot.staging = 0;
  slot.epoch = ++slot.operation->epoch;
  detached_ += detached ? 1 : 0;
  lock.unlock();

  GlobalOperation& operation = *slot.operation;
  const topology::Layout& layout = engine_->layout();
  operation.kind = kind;
  operation.unit = pointer.unit;
  operation.endpoint = part.address != nullptr ? -1 : layout.domain_ranks(layout.domain_of(pointer.unit)).front();
  operation.arena = engine_->arena_of(pointer.unit);
  operation.place = part.place;
  operation.window = window_number_;
  // Atomics are messages always: the MPI library's are not atomic towards the processor's.
  operation.displacement = kind == OperationKind::put || kind == OperationKind::get ? part.displacement : 0;
  operation.bytes = bytes;
  operation.signals = false;
  operation.error = 0;
  return slot;
}

void GlobalMemory::set_local(Slot& slot, void* local, std::uint64_t staging) {
  GlobalOperation& operation = *slot.operation;
  if (staging == 0 && operation.bytes > GlobalOperation::inline_bytes) {
    operation.local = *reachable(local, operation.bytes);
    return;
  }
  slot.staging = staging;
  const std::uint64_t copy =
      staging != 0 ? staging : memory_->arena().offset_of(static_cast<const std::byte*>(operation.inline_data));
  operation.local = {.path = Path::staged, .offset = copy, .bytes = operation.bytes};
  if (operation.kind == OperationKind::get) {
    slot.copy_to = local;
  } else {
    std::memcpy(memory_->arena().base() + copy, local, operation.bytes);
  }
}

std::uint64_t GlobalMemory::staging_for(const void* local, std::uint64_t bytes) {
  return bytes <= GlobalOperation::inline_bytes || reachable(local, bytes) ? 0 : memory_->arena().allocate(bytes);
}

void GlobalMemory::submit(Slot& slot) {
  Plea plea; // until it is in the ring
  engine_->submit(
      {.block = memory_->arena().offset_of(slot.operation), .epoch = slot.epoch, .what = Submitted::operation}, plea);
}

template <class... Policies>
void GlobalMemory::wait_with(const Waiter<Policies...>& waiter) {
  if (waiter.done()) {
    return;
  }
  if (helper_ != nullptr) {
    const Helper::Assist in_its_place(*helper_);
    wait_until_done(engine_->wait_site(), waiter);
  } else {
    wait_until_done(engine_->wait_site(), waiter);
  }
}

void GlobalMemory::wait_for(Slot& slot, std::uint64_t epoch) {
  Plea plea;
  const auto plead = [&] {
    if (carrier_->paused.load(std::memory_order_relaxed) != 0) {
      plea.make(*carrier_);
    }
  };
  wait_with(Waiter{.done = [&] { return slot.operation->completed.reached(epoch); },
                   .make_progress = [&] { return helper_ != nullptr && helper_->round(); },
                   .asks_mpi = helper_ != nullptr,
                   .can_sleep = helper_ == nullptr,
                   .before_sleep = plead,
                   .look_around = [&](std::uint64_t /*waited_ns*/) { look_for_carrier(slot); }});
}

void GlobalMemory::execute(Slot& slot, std::uint64_t* displacement) {
  if (helper_ != nullptr) { // this thread does the work, so nobody is woken
    const Helper::Assist in_its_place(*helper_);
    submit(slot);
    wait_for(slot, slot.epoch);
  } else {
    submit(slot);
    carrier_->helper.ring();
    wait_for(slot, slot.epoch);
  }
  if (displacement != nullptr) {
    *displacement = slot.operation->displacement; // before another thread takes the slot
  }
  release(slot);
}

void GlobalMemory::settle(Slot& slot) {
  if (slot.settled) {
    return;
  }
  slot.settled = true;
  const GlobalOperation& operation = *slot.operation;
  slot.code = static_cast<Code>(operation.error); // ordered by `completed`
  if (slot.code != Code::success && operation.kind == OperationKind::expose) {
    slot.text = self() + operation.error_text;
  } else if (slot.code != Code::success) {
    slot.text = self() + "the transfer " + (operation.kind == OperationKind::get ? "from" : "to") + " unit " +
                std::to_string(operation.unit) + " failed: " + operation.error_text;
  } else if (slot.copy_to != nullptr) {
    std::memcpy(slot.copy_to, memory_->arena().base() + operation.local.offset, operation.bytes);
  }
  if (slot.staging != 0) {
    memory_->arena().deallocate(slot.staging);
  }
  slot.plea.withdraw();
}

void GlobalMemory::free_slot(Slot& slot) {
  slot.used = false;
  detached_ -= slot.detached ? 1 : 0;
  if (!slot.lost) {
    free_slots_.push_back(&slot);
  }
}

void GlobalMemory::sweep_detached() {
  for (Slot& slot : slots_) {
    if (!slot.used || !slot.detached || slot.lost || !slot.operation->completed.reached(slot.epoch)) {
      continue;
    }
    settle(slot);
    if (slot.code != Code::success) {
      detached_errors_.try_emplace(slot.operation->unit, slot.code, slot.text);
    }
    free_slot(slot);
  }
}

void GlobalMemory::transfer(OperationKind kind, GlobalPointer pointer, void* local, std::uint64_t bytes) {
  SegmentPart part = located(pointer, bytes, kind == OperationKind::put ? "target" : "source");
  check_local(local, bytes, "local");
  if (bytes == 0) {
    return;
  }
  counters_.add(TransferCounters::wire_transfers, 1);
  counters_.add(TransferCounters::wire_bytes, bytes);
  const std::uint64_t step = reachable(local, bytes) ? bytes : std::min(bytes, staging_bytes);
  for (std::uint64_t done = 0; done < bytes; done += step) {
    auto* const from = static_cast<std::byte*>(local) + done;
    const std::uint64_t piece = std::min(step, bytes - done);
    const std::uint64_t staging = staging_for(from, piece);
    Slot& slot = take_slot(kind, pointer, part.at(done), piece, false);
    set_local(slot, from, staging);
    execute(slot);
  }
}

GlobalMemory::Slot* GlobalMemory::begin(OperationKind kind, GlobalPointer pointer, void* local, std::uint64_t bytes,
                                        bool detached, const std::optional<Signal>& signal) {
  const SegmentPart part = located(pointer, bytes, kind == OperationKind::put ? "target" : "source");
  check_local(local, bytes, "local");
  SegmentPart word;
  if (signal) {
    word = located_element(signal->word, 1, ElementType::uint64, "signal");
    if (signal->word.unit != pointer.unit) {
      throw Error(Code::argument, self() + "signal is " + text_of(signal->word) +
                                      "; expected a word of the target's unit, " + std::to_string(pointer.unit));
    }
  }
  const bool near = part.address != nullptr;
  const bool reached = reachable(local, bytes).has_value();
  if (near && (bytes <= at_once_bytes || carrier_ == nullptr || !reached)) {
    if (bytes > 0) {
      kind == OperationKind::put ? put(pointer, local, bytes) : get(local, pointer, bytes);
    }
    if (signal) {
      reinterpret_cast<std::atomic<std::uint64_t>*>(word.address)->store(signal->value, std::memory_order_release);
    }
    return nullptr;
  }
  if (bytes == 0) {
    if (signal) {
      put(signal->word, &signal->value, sizeof signal->value);
    }
    return nullptr;
  }
  if (!reached && bytes > staging_bytes) { // through a buffer of bounded size, by this thread
    transfer(kind, pointer, local, bytes);
    if (signal) {
      put(signal->word, &signal->value, sizeof signal->value);
    }
    return nullptr;
  }
  counters_.add(near ? TransferCounters::node_transfers : TransferCounters::wire_transfers, 1);
  counters_.add(near ? TransferCounters::node_bytes : TransferCounters::wire_bytes, bytes);
  const std::uint64_t staging = staging_for(local, bytes);
  Slot& slot = take_slot(kind, pointer, part, bytes, detached);
  GlobalOperation& operation = *slot.operation;
  operation.signals = signal.has_value();
  operation.signal_place = word.place;
  operation.signal_value = signal ? signal->value : 0;
  set_local(slot, local, staging);
  if (helper_ != nullptr && !near) {
    // This thread sends it now: a helper that has to be woken first may find its core taken.
    const Helper::Assist in_its_place(*helper_);
    submit(slot);
    helper_->round();
  } else {
    submit(slot);
    carrier_->helper.ring();
  }
  return &slot;
}

std::atomic<std::uint64_t>* GlobalMemory::word_of(const GlobalPointer& pointer, const char* name) const {
  const SegmentPart part = located_element(pointer, 1, ElementType::uint64, name);
  if (part.address == nullptr) {
    throw Error(Code::argument, self() + name + " is " + text_of(pointer) + "; expected a word on this unit's node");
  }
  return reinterpret_cast<std::atomic<std::uint64_t>*>(part.address);
}

namespace {

bool compares(std::uint64_t word, GlobalMemory::Comparison comparison, std::uint64_t value) {
  switch (comparison) {
  case GlobalMemory::Comparison::equal:
    return word == value;
  case GlobalMemory::Comparison::not_equal:
    return word != value;
  case GlobalMemory::Comparison::greater:
    return word > value;
  case GlobalMemory::Comparison::greater_equal:
    return word >= value;
  case GlobalMemory::Comparison::less:
    return word < value;
  case GlobalMemory::Comparison::less_equal:
    return word <= value;
  }
  return true;
}

} // namespace

// Whoever stores the word need not know that somebody waits for it: so the wait never sleeps.
void GlobalMemory::wait_until(GlobalPointer pointer, Comparison comparison, std::uint64_t value) {
  const std::atomic<std::uint64_t>& word = *word_of(pointer, "word");
  Plea plea;
  const auto plead = [&](std::uint64_t /*waited_ns*/) {
    if (carrier_ != nullptr && carrier_->paused.load(std::memory_order_relaxed) != 0) {
      plea.make(*carrier_); // the word may have to come from another node
    }
  };
  // The acquire belongs to the release by which a signal, or a put, is stored.
  wait_with(Waiter{.done = [&] { return compares(word.load(std::memory_order_acquire), comparison, value); },
                   .make_progress = [&] { return helper_ != nullptr && helper_->round(); },
                   .asks_mpi = helper_ != nullptr,
                   .look_around = plead});
}

bool GlobalMemory::test(Slot& slot) {
  if (closed_ || slot.lost || slot.operation->completed.reached(slot.epoch)) {
    return true;
  }
  constexpr unsigned tests_per_look = 4096;
  if (++slot.tests % tests_per_look == 0) {
    try {
      look_for_carrier(slot);
    } catch (const Error&) { // for release() to say
      return true;
    }
  }
  if (carrier_->paused.load(std::memory_order_relaxed) != 0) {
    const std::lock_guard lock(slots_mutex_);
    slot.plea.make(*carrier_);
  }
  return slot.operation->completed.reached(slot.epoch);
}

void GlobalMemory::wait(Slot& slot) {
  if (!closed_ && !slot.lost) {
    wait_for(slot, slot.epoch);
  }
}

void GlobalMemory::release(Slot& slot) {
  const std::lock_guard lock(slots_mutex_);
  if (slot.lost) {
    free_slot(slot);
    throw Error(slot.code, slot.text);
  }
  settle(slot);
  free_slot(slot);
  if (slot.code != Code::success) {
    throw Error(slot.code, slot.text);
  }
}

void GlobalMemory::complete(int unit) {
  std::vector<std::pair<Slot*, std::uint64_t>> under_way;
  {
    const std::lock_guard lock(slots_mutex_);
    for (Slot& slot : slots_) {
      if (slot.used && !slot.lost && (unit < 0 || slot.operation->unit == unit)) {
        under_way.emplace_back(&slot, slot.epoch);
      }
    }
  }
  std::optional<Error> lost;
  for (const auto& [slot, epoch] : under_way) {
    try {
      wait_for(*slot, epoch); // its thread may release it meanwhile: the record's later epochs are later
    } catch (const Error& error) {
      lost = lost ? lost : std::optional(error);
    }
  }
  const std::lock_guard lock(slots_mutex_);
  for (const auto& [slot, epoch] : under_way) {
    if (slot->used && slot->epoch == epoch && !slot->lost) {
      settle(*slot);
    }
  }
  sweep_detached();
  if (lost) {
    throw Error(*lost);
  }
}

void GlobalMemory::flush(int unit) {
  check_open();
  if (unit < -1 || unit >= ranks_) {
    throw Error(Code::argument,
                self() + "unit is " + std::to_string(unit) + "; expected 0 to " + std::to_string(ranks_ - 1));
  }
  complete(unit);
  const std::lock_guard lock(slots_mutex_);
  const auto found = unit < 0 ? detached_errors_.begin() : detached_errors_.find(unit);
  if (found != detached_errors_.end()) {
    const Error error = found->second;
    unit < 0 ? detached_errors_.clear() : static_cast<void>(detached_errors_.erase(found));
    throw Error(error);
  }
}

void GlobalMemory::atomic(OperationKind kind, GlobalPointer target, const SegmentPart& part, ElementType type,
                          AtomicOp op, std::span<const std::byte> operands, void* result) {
  counters_.add(TransferCounters::wire_atomics, 1);
  Slot& slot = take_slot(kind, target, part, size_of(type), false);
  GlobalOperation& operation = *slot.operation;
  operation.type = type;
  operation.op = op;
  std::memcpy(operation.inline_data, operands.data(), operands.size());
  operation.local = {.path = Path::staged,
                     .offset = memory_->arena().offset_of(static_cast<const std::byte*>(operation.inline_data)),
                     .bytes = operands.size()};
  slot.copy_to = result;
  execute(slot);
}

void GlobalMemory::fetch_and_op(GlobalPointer target, ElementType type, AtomicOp op, const void* operand,
                                void* result) {
  const SegmentPart part = located_element(target, 1, type);
  const std::uint64_t bytes = size_of(type);
  check_local(operand, op == AtomicOp::no_op ? 0 : bytes, "operand");
  check_local(result, bytes, "result");
  const auto* from = static_cast<const std::byte*>(operand);
  if (part.address != nullptr) {
    counters_.add(TransferCounters::node_atomics, 1);
    engine::fetch_and_op(part.address, type, op, from, static_cast<std::byte*>(result));
    return;
  }
  atomic(OperationKind::fetch_and_op, target, part, type, op,
         op == AtomicOp::no_op ? std::span<const std::byte>() : std::span(from, bytes), result);
}

void GlobalMemory::compare_and_swap(GlobalPointer target, ElementType type, const void* expected, const void* desired,
                                    void* result) {
  const SegmentPart part = located_element(target, 1, type);
  const std::uint64_t bytes = size_of(type);
  check_local(expected, bytes, "expected");
  check_local(desired, bytes, "desired");
  check_local(result, bytes, "result");
  if (part.address != nullptr) {
    counters_.add(TransferCounters::node_atomics, 1);
    engine::compare_and_swap(part.address, type, static_cast<const std::byte*>(expected),
                             static_cast<const std::byte*>(desired), static_cast<std::byte*>(result));
    return;
  }
  std::array<std::byte, 16> operands{};
  std::memcpy(operands.data(), expected, bytes);
  std::memcpy(operands.data() + bytes, desired, bytes);
  atomic(OperationKind::compare_and_swap, target, part, type, AtomicOp::no_op, std::span(operands).first(2 * bytes),
         result);
}

void GlobalMemory::accumulate(GlobalPointer target, ElementType type, AtomicOp op, const void* operands,
                              std::uint64_t count) {
  const SegmentPart part = located_element(target, count, type);
  const std::uint64_t bytes = count * size_of(type);
  check_local(operands, op == AtomicOp::no_op ? 0 : bytes, "operands");
  if (count == 0 || op == AtomicOp::no_op) {
    return;
  }
  if (part.address != nullptr) {
    counters_.add(TransferCounters::node_atomics, count);
    engine::accumulate(part.address, type, op, static_cast<const std::byte*>(operands), count);
    return;
  }
  counters_.add(TransferCounters::wire_atomics, count);
  auto* const all = static_cast<std::byte*>(const_cast<void*>(operands));
  const std::uint64_t step = reachable(all, bytes) ? bytes : std::min(bytes, staging_bytes);
  for (std::uint64_t done = 0; done < bytes; done += step) {
    const std::uint64_t piece = std::min(step, bytes - done);
    const std::uint64_t staging = staging_for(all + done, piece);
    Slot& slot = take_slot(OperationKind::accumulate, target, part.at(done), piece, false);
    slot.operation->type = type;
    slot.operation->op = op;
    set_local(slot, all + done, staging);
    execute(slot);
  }
}

} // namespace stoker::engine
