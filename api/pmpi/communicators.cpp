// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/communicators.hpp"

#include "api/pmpi/library.hpp"
#include "api/pmpi/settings.hpp"
#include "api/pmpi/statistics.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/never_destroyed.hpp"
#include "engine/base/own_comm.hpp"
#include "engine/requests/choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <utility>

namespace stoker::pmpi {
namespace {

constexpr std::array keys{"stoker_algorithm", "stoker_executor", "stoker_deterministic", "stoker_starts", "stoker_off"};

struct Registry {
  std::mutex mutex;
  std::list<std::shared_ptr<Communicator>> known; // those with calls in the order in which they got them
  std::list<std::shared_ptr<Communicator>> freed; // that could not be closed yet
  bool ending = false;                            // all go, those without calls in an order that may differ among ranks
  int keyval = MPI_KEYVAL_INVALID;
};
// Never destroyed: destructors of the application's global objects may still call MPI.
engine::NeverDestroyed<Registry> registry_storage;
Registry& registry = registry_storage.object;

// What this thread is about to free. Delete callbacks may free more meanwhile.
constinit thread_local const BeingFreed* being_freed = nullptr;

bool is_being_freed(MPI_Comm comm) {
  const BeingFreed* freed = being_freed;
  while (freed != nullptr && freed->comm() != comm) {
    freed = freed->outer();
  }
  return freed != nullptr;
}

bool returns_errors(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(comm, &handler);
  const bool returns = handler == MPI_ERRORS_RETURN;
  if (handler != MPI_ERRHANDLER_NULL) {
    PMPI_Errhandler_free(&handler);
  }
  return returns;
}

void complain(const std::string& text) { fmt::print(stderr, "stoker: {}\n", text); }

// Called when a communicator is freed, or all are forgotten.
int forget(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* /*extra*/) {
  auto* const communicator = static_cast<Communicator*>(value);
  std::shared_ptr<Communicator> kept;
  {
    const std::lock_guard lock(registry.mutex);
    const auto found = std::ranges::find(registry.known, communicator, &std::shared_ptr<Communicator>::get);
    if (found == registry.known.end()) {
      return MPI_SUCCESS;
    }
    kept = std::move(*found);
    registry.known.erase(found);
  }
  detail::generation.fetch_add(1, std::memory_order_relaxed);
  if (registry.ending) {
    kept->close();
    return MPI_SUCCESS;
  }
  if (kept->leave()) {
    kept->close();
  } else {
    const std::lock_guard lock(registry.mutex);
    registry.freed.push_back(kept);
  }
  kept->free_private_comms();
  return MPI_SUCCESS;
}

// Those that were freed while something was under way, and can be closed by now: all, at the end. Without the mutex:
// the MPI library may call delete callbacks of the application's meanwhile, which may free communicators.
void close_freed() {
  std::list<std::shared_ptr<Communicator>> freed;
  {
    const std::lock_guard lock(registry.mutex);
    freed.swap(registry.freed);
  }
  std::erase_if(freed, [](const std::shared_ptr<Communicator>& each) {
    const bool closes = registry.ending || each->can_be_closed();
    if (closes) {
      each->close();
    }
    return closes;
  });
  const std::lock_guard lock(registry.mutex);
  registry.freed.splice(registry.freed.begin(), freed);
}

} // namespace

bool has_room_for_comms(int count, Budget budget) {
  const int all = settings().pmpi_communicators;
  const int of_used = all / 3;
  return engine::comms_taken() + count <= (budget == Budget::of_any ? all - of_used : all);
}

OwnInfo::OwnInfo(MPI_Info weaker, MPI_Info stronger) {
  for (const char* key : keys) {
    auto value = engine::info_value(stronger, key);
    if (!value) {
      value = engine::info_value(weaker, key);
    }
    if (value) {
      if (info_ == MPI_INFO_NULL) {
        PMPI_Info_create(&info_);
      }
      PMPI_Info_set(info_, key, value->c_str());
    }
  }
}

OwnInfo::~OwnInfo() {
  int finalized = 0;
  PMPI_Finalized(&finalized);
  if (info_ != MPI_INFO_NULL && finalized == 0) {
    PMPI_Info_free(&info_);
  }
}

bool OwnInfo::off() const { return engine::info_value(info_, "stoker_off").value_or("0") == "1"; }

bool OwnInfo::names_how() const {
  const auto named = [this](const char* key) { return engine::info_value(info_, key).value_or("auto") != "auto"; };
  return named("stoker_algorithm") || named("stoker_executor");
}

Communicator::Communicator(MPI_Comm comm) : handle_(comm), comm_for_errors_(comm) {
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_size(comm, &size_);
  PMPI_Comm_rank(comm, &rank_);
  const auto& engine = the_engine();
  if (engine == nullptr) {
    reason_ = Reason::no_engine;
  } else if (inter != 0) {
    reason_ = Reason::intercommunicator;
  } else if (size_ == 1) {
    reason_ = Reason::one_rank;
    inherits_ = true;
  } else if (engine::attempt([&] { (void)engine->ranks_of(comm); })) {
    reason_ = Reason::foreign_ranks;
  } else {
    inherits_ = true;
  }
  if (engine != nullptr) {
    executor_ = engine->has_helpers() ? engine::Executor::engine : engine::Executor::inline_;
  }
}

void Communicator::use(OwnInfo info) {
  info_ = std::move(info);
  off_ = info_.off();
  if (inherits_) {
    const auto failure = engine::attempt([&] { executor_ = engine::chosen_executor(*the_engine(), info_.get()); });
    if (failure && rank_ == 0) {
      complain(failure->what());
    }
  }
}

void Communicator::use_assertion(MPI_Info info) {
  (void)engine::attempt([&] { memory_ = engine::asserted_kinds(info, memory_); });
}

void Communicator::cover(Budget budget) {
  if (!inherits_ || size_ == 1 || calls_ != nullptr) {
    return;
  }
  if (!settings().pmpi_nonblocking && !settings().pmpi_blocking) {
    reason_ = Reason::form_off;
    return;
  }
  struct { // the least of all ranks
    int has_room;
    int on;
    int tries;
    int tag;
  } agreed{.has_room = has_room_for_comms(engine::Calls::most_comms, budget) ? 1 : 0,
           .on = off_ ? 0 : 1,
           .tries = settings().pmpi_trials && !info_.names_how() ? 1 : 0,
           .tag = engine::CommsTogether::proposed_tag(handle_, the_engine()->control())};
  real().MPI_Allreduce(MPI_IN_PLACE, &agreed, sizeof agreed / sizeof(int), MPI_INT, MPI_MIN, handle_);
  if (agreed.has_room == 0 || agreed.on == 0) {
    reason_ = agreed.on == 0 ? Reason::off_by_info : Reason::no_comm;
    if (agreed.on != 0) {
      wait_for_use();
    }
    return;
  }
  waits_for_use_ = false;
  const auto failure = engine::attempt(
      [&] { calls_ = std::make_unique<engine::Calls>(the_engine(), handle_, agreed.tries != 0, agreed.tag); });
  if (failure) { // on every rank
    reason_ = failure->code() == engine::Code::mpi ? Reason::no_comm : Reason::not_set_up;
    if (rank_ == 0 && reason_ == Reason::not_set_up) {
      complain(failure->what());
    }
    return;
  }
  move_behind_those_with_calls();
}

void Communicator::wait_for_use() {
  waits_for_use_ = true;
  uses_are_noted.store(true, std::memory_order_relaxed);
}

void Communicator::move_behind_those_with_calls() {
  const std::lock_guard lock(registry.mutex);
  const auto self = std::ranges::find(registry.known, this, &std::shared_ptr<Communicator>::get);
  registry.known.splice(registry.known.end(), registry.known, self);
}

void Communicator::note_use() {
  constexpr std::uint32_t first = 4; // whose cost is small beside what was before
  if (++uses_ >= first && std::has_single_bit(uses_)) {
    cover(Budget::of_used);
  }
}

bool Communicator::has_context_or_room() const {
  return the_engine()->has_context(handle_) || has_room_for_comms(engine::CommContext::most_comms);
}

void Communicator::close() {
  graphs_.reset();
  if (calls_ == nullptr && graph_calls_ == nullptr) {
    return;
  }
  while (Outstanding* const call = first_outstanding()) {
    call->complete_early();
  }
  for (auto* const calls : {&graph_calls_, &calls_}) {
    if (*calls == nullptr) {
      continue;
    }
    const auto failure = engine::attempt([&] { (*calls)->close(); });
    if (failure) {
      complain(failure->what());
    }
    calls->reset();
  }
}

bool Communicator::leave() {
  {
    const std::lock_guard lock(mutex_);
    last_name_ = name_number(handle_);
    comm_for_errors_ = returns_errors(handle_) ? the_engine()->control() : MPI_COMM_WORLD;
  }
  for (const auto& calls : {&calls_, &graph_calls_}) {
    if (*calls != nullptr) {
      (*calls)->outlive_comm(comm_for_errors_);
    }
  }
  return can_be_closed();
}

bool Communicator::can_be_closed() {
  {
    const std::lock_guard lock(mutex_);
    if (!outstanding_.empty()) {
      return false;
    }
  }
  return (calls_ == nullptr || calls_->at_rest()) && (graph_calls_ == nullptr || graph_calls_->at_rest()) &&
         (graphs_ == nullptr || engine::can_be_left(graphs_));
}

MPI_Comm Communicator::comm_for_errors() {
  const std::lock_guard lock(mutex_);
  return comm_for_errors_;
}

std::uint32_t Communicator::number_of_name() {
  const std::lock_guard lock(mutex_);
  return last_name_ ? *last_name_ : name_number(handle_);
}

void Communicator::enlist(Outstanding& call) {
  const std::lock_guard lock(mutex_);
  outstanding_.push_back(&call);
}

void Communicator::delist(Outstanding& call) {
  const std::lock_guard lock(mutex_);
  outstanding_.remove(&call);
}

Outstanding* Communicator::first_outstanding() {
  const std::lock_guard lock(mutex_);
  return outstanding_.empty() ? nullptr : outstanding_.front();
}

Communicator* detail::look_up(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL || the_engine() == nullptr || is_being_freed(comm)) {
    return nullptr;
  }
  const std::uint64_t now = generation.load(std::memory_order_relaxed);
  int keyval = MPI_KEYVAL_INVALID;
  {
    const std::lock_guard lock(registry.mutex);
    if (registry.keyval == MPI_KEYVAL_INVALID) {
      PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &registry.keyval, nullptr);
    }
    keyval = registry.keyval;
  }
  Communicator* found = nullptr;
  int flag = 0;
  // Without the lock, since the error handler of the program's might jump out of the call.
  if (PMPI_Comm_get_attr(comm, keyval, static_cast<void*>(&found), &flag) != MPI_SUCCESS) {
    return nullptr; // no communicator: MPI says so when it gets the call
  }
  const std::lock_guard lock(registry.mutex);
  if (flag == 0) { // another thread may have been here meanwhile
    PMPI_Comm_get_attr(comm, keyval, static_cast<void*>(&found), &flag);
  }
  if (flag == 0) {
    found = registry.known.emplace_back(std::make_shared<Communicator>(comm)).get();
    PMPI_Comm_set_attr(comm, registry.keyval, found);
  }
  last_communicator = {.comm = comm, .generation = now, .communicator = found};
  return found;
}

void adopt(MPI_Comm comm, MPI_Info info, MPI_Comm parent) {
  close_freed();
  Communicator* const communicator = communicator_of(comm);
  Communicator* const from = communicator_of(parent);
  if (communicator == nullptr) {
    return;
  }
  communicator->use(OwnInfo(MPI_INFO_NULL, info));
  communicator->use_assertion(info);
  if (from == nullptr || !communicator->join_graphs_of(*from)) {
    communicator->cover();
  }
}

BeingFreed::BeingFreed(MPI_Comm comm) : comm_(comm), outer_(std::exchange(being_freed, this)) {
  close_freed();
  int keyval = MPI_KEYVAL_INVALID;
  {
    const std::lock_guard lock(registry.mutex);
    keyval = registry.keyval;
  }
  void* found = nullptr;
  int flag = 0;
  if (comm != MPI_COMM_NULL && keyval != MPI_KEYVAL_INVALID &&
      PMPI_Comm_get_attr(comm, keyval, static_cast<void*>(&found), &flag) == MPI_SUCCESS && flag != 0) {
    PMPI_Comm_delete_attr(comm, keyval); // calls forget()
  }
}

BeingFreed::~BeingFreed() { being_freed = outer_; }

void forget_communicators() {
  registry.ending = true;
  close_freed();
  for (;;) {
    MPI_Comm comm = MPI_COMM_NULL;
    {
      const std::lock_guard lock(registry.mutex);
      if (registry.known.empty()) {
        break;
      }
      comm = registry.known.front()->handle();
    }
    PMPI_Comm_delete_attr(comm, registry.keyval); // calls forget()
  }
  if (registry.keyval != MPI_KEYVAL_INVALID) {
    PMPI_Comm_free_keyval(&registry.keyval);
  }
}

} // namespace stoker::pmpi
