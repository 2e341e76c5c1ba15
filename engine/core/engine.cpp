// SPDX-License-Identifier: BSD-3-Clause
#include "engine/core/engine.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"
#include "engine/core/live_engines.hpp"
#include "engine/execute/lower.hpp"

#include <algorithm>
#include <sched.h>

namespace stoker::engine {
namespace {

bool is_complete(MPI_Request& request) {
  int flag = 0;
  check_mpi(PMPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
  return flag != 0;
}

} // namespace

int Engine::forget_context(MPI_Comm comm, int /*keyval*/, void* value, void* extra) {
  static_cast<CommContext*>(value)->free();
  auto* engine = static_cast<Engine*>(extra);
  const std::lock_guard lock(engine->contexts_mutex_);
  std::erase_if(engine->contexts_, [&](const auto& entry) { return entry.first == comm; });
  return MPI_SUCCESS;
}

Engine::~Engine() = default;

void Engine::take_helpers_place() {
  if (helper_ != nullptr && !in_its_place_) {
    in_its_place_.emplace(*helper_);
    helper_->round(); // the thread is out of its round then
  }
  ending_.store(true, std::memory_order_release); // acquired in advance() and drives_taken_helpers()
}

bool Engine::drive_taken_helpers() {
  bool moved = in_its_place_ && helper_->round();
  for (Engine* engine : left_over_engines()) {
    if (engine != this && engine->in_its_place_) { // their peers may still wait for it
      moved |= engine->helper_->round();
    }
  }
  return moved;
}

bool Engine::advance() {
  bool moved = has_inline_.load(std::memory_order_relaxed) && inline_round();
  if (ending_.load(std::memory_order_acquire)) { // pairs with take_helpers_place()
    moved |= drive_taken_helpers();
  }
  return moved;
}

bool Engine::drives_taken_helpers() const {
  return ending_.load(std::memory_order_acquire) && // pairs with take_helpers_place()
         (in_its_place_ || std::ranges::any_of(left_over_engines(),
                                               [](const Engine* other) { return other->in_its_place_.has_value(); }));
}

void Engine::plead(Plea& plea) {
  if (has_helpers_) {
    plea.make(memory_->root(arena_of(carrier())));
  }
}

void Engine::plead_if_paused(Plea& plea) {
  if (has_helpers_ && memory_->root(arena_of(carrier())).paused.load(std::memory_order_relaxed) != 0) {
    plead(plea);
  }
}

void Engine::meet(MPI_Comm comm) {
  // The domain's helper must work for the others until all are here, even if it is paused.
  Plea plea;
  plead(plea);
  MPI_Request barrier = MPI_REQUEST_NULL;
  check_mpi(PMPI_Ibarrier(comm, &barrier), "MPI_Ibarrier");
  wait_for_mpi(barrier);
}

void Engine::wait_for_mpi(MPI_Request& request) {
  wait_for_mpi([&] { return is_complete(request); });
}

void Engine::destroy() {
  note_ending(*this);
  take_helpers_place();
  std::optional<Error> failure;
  for (const auto end : {&Dependent::complete_before_engine_ends, &Dependent::close_before_engine_ends}) {
    std::list<Dependent*> dependents;
    {
      const std::lock_guard lock(dependents_mutex_);
      dependents = dependents_;
    }
    for (Dependent* dependent : dependents) {
      const auto failed = attempt([&] { (dependent->*end)(); });
      failure = failed ? failed : failure;
    }
  }
  // Until all ranks are here, others may still fetch from this rank's memory, and the helper may have epochs to retire.
  meet(control_);
  std::optional<HelperStatistics> statistics;
  if (helper_ != nullptr) {
    statistics = helper_statistics();
    helper_->stop();
    in_its_place_.reset();
    helper_.reset();
  }
  put_windows_.free();
  meet(control_);
  destroyed_ = true;
  if (trace_ != nullptr) {
    trace_->write(control_, layout().place(rank_), statistics ? &*statistics : nullptr);
  }
  while (!contexts_.empty()) {
    PMPI_Comm_delete_attr(contexts_.front().first, keyval_); // calls forget_context
  }
  PMPI_Comm_free_keyval(&keyval_);
  PMPI_Group_free(&group_);
  inline_.reset();
  data_ = OwnedComm();
  ready_ = OwnedComm();
  attachments_.clear();
  control_ = OwnedComm();
  memory_.reset();
  if (failure) {
    throw *failure;
  }
}

HelperStatistics Engine::helper_statistics() const {
  return memory_->root(arena_of(carrier())).counters.sums(now_ns());
}

void Engine::pause() { memory_->root(arena_of(carrier())).paused.store(1, std::memory_order_relaxed); }

void Engine::resume() {
  RankRoot& root = memory_->root(arena_of(carrier()));
  root.paused.store(0, std::memory_order_relaxed);
  root.helper.ring(); // its fence orders the store before the look at sleepers
}

std::shared_ptr<CommContext> Engine::known_context(MPI_Comm comm) {
  const std::lock_guard lock(contexts_mutex_);
  const auto known = std::ranges::find(contexts_, comm, &decltype(contexts_)::value_type::first);
  return known != contexts_.end() ? known->second : nullptr; // forget_context takes out those that are freed
}

std::shared_ptr<CommContext> Engine::context(MPI_Comm comm) {
  if (auto known = known_context(comm)) {
    return known;
  }
  // Ranks that are not the engine's may never come: these are refused before anybody is waited for.
  std::vector<int> ranks = ranks_of(comm);
  Plea plea; // ranks that are not here yet may wait for what this one has started
  plead(plea);
  CommsTogether together(comm, control_);
  auto context = private_context(comm, std::move(ranks), together);
  check_mpi(PMPI_Comm_set_attr(comm, keyval_, context.get()), "MPI_Comm_set_attr");
  const std::lock_guard lock(contexts_mutex_);
  contexts_.emplace_back(comm, context);
  return context;
}

void Engine::start_inline(Task& task, std::uint64_t epoch) {
  const std::lock_guard lock(inline_mutex_);
  inline_->adopt(task, epoch, 0); // nobody naps here
  (void)poll_inline();
}

void Engine::forget_inline(const Task& task) {
  const std::lock_guard lock(inline_mutex_);
  inline_->forget(task);
  has_inline_.store(inline_->active(), std::memory_order_relaxed);
}

bool Engine::poll_inline() {
  const bool moved = inline_->poll();
  has_inline_.store(inline_->active(), std::memory_order_relaxed);
  return moved;
}

bool Engine::inline_round() {
  const auto lock = try_hold_inline();
  return lock.owns_lock() && poll_inline();
}

void Engine::submit(const Submission& submission, Plea& plea) {
  RankRoot& carriers = memory_->root(arena_of(carrier()));
  const std::lock_guard lock(submission_mutex_);
  SubmissionRing& ring = memory_->root(memory_->self()).ring;
  while (!ring.push(submission)) {
    if (memory_->damaged(memory_->self())) {
      memory_->refuse(memory_->self(), Damage::ring);
    }
    memory_->watch().look(now_ns());
    if (helper_ == nullptr && memory_->watch().gone(arena_of(carrier()))) {
      throw Error(Code::peer_lost,
                  "rank {}: the process of engine rank {} (pid {}), whose helper takes what this rank starts, is gone",
                  rank(), carrier(), memory_->pid(arena_of(carrier())));
    }
    ring.call();
    plea.make(carriers);
    if (helper_ != nullptr) {
      const Helper::Assist in_its_place(*helper_);
      helper_->round();
    } else {
      carriers.helper.ring();
      sched_yield();
    }
  }
}

void Engine::enlist(Dependent& dependent) {
  const std::lock_guard lock(dependents_mutex_);
  dependents_.push_back(&dependent);
}

void Engine::delist(Dependent& dependent) {
  const std::lock_guard lock(dependents_mutex_);
  dependents_.remove(&dependent);
}

void Engine::give_back(const BlockHeader& block, std::uint64_t last_epoch, bool submitted) {
  {
    const std::lock_guard lock(dependents_mutex_);
    freed_.push_back({block, last_epoch, submitted});
  }
  sweep();
}

void Engine::sweep() {
  const std::lock_guard lock(dependents_mutex_);
  std::erase_if(freed_, [&](const FreedBlock& freed) {
    if (!reclaimable(*memory_, freed.block, freed.last_epoch, freed.submitted)) {
      return false;
    }
    reclaim(*memory_, *tags_, freed.block);
    if (freed.submitted) {
      memory_->root(memory_->self()).blocks_given_back.fetch_add(1, std::memory_order_relaxed);
    }
    return true;
  });
}

} // namespace stoker::engine
