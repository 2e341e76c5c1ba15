// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/graph_family.hpp"

#include "engine/base/agreement.hpp"
#include "engine/calls/bound_lane.hpp"
#include "engine/data/neighbors.hpp"
#include "engine/requests/epoch_binding.hpp"

#include <spdlog/logger.h>

#include <algorithm>
#include <utility>

namespace stoker::engine {
namespace {

bool is_made(const Lane& lane) { return lane.state != Lane::State::asked_for; }

// As GraphFacts has it.
std::uint64_t fact(const SharedLane& shared) {
  if (shared.used) {
    return GraphFacts::in_use;
  }
  switch (shared.lane.state) {
  case Lane::State::bound:
    return shared.lane.request->statistics().starts;
  case Lane::State::asked_for:
    return 0;
  default:
    return GraphFacts::spoiled;
  }
}

void move(Lane& from, Lane& to) {
  to.request = std::move(from.request);
  to.algorithm = from.algorithm;
  to.error = std::move(from.error);
  to.state = from.state;
}

} // namespace

class GraphFamily::Making final : public Initialisation {
public:
  Making(GraphFamily& family, std::shared_ptr<SharedLane> shared) : family_(family), shared_(std::move(shared)) {}
  void make() override {
    bound_.error = attempt([&] {
      RequestPlan plan;
      plan.context = family_.context_;
      plan.executor = family_.executor_;
      plan.timed = true;
      bound_.request = init_rebindable_exchange(family_.engine_, std::move(plan));
    });
  }
  void settle() override {
    give(shared_->lane, std::move(bound_), true);
    if (shared_->lane.state == Lane::State::by_mpi) {
      family_.engine_->log().warn("rank {}: exchanges between neighbors are left to the MPI library: {}",
                                  family_.context_->rank(), shared_->lane.error->what());
    }
  }

private:
  GraphFamily& family_;
  std::shared_ptr<SharedLane> shared_;
  Bound bound_;
};

GraphFamily::GraphFamily(std::shared_ptr<Engine> engine, MPI_Comm graph, Executor executor, bool trials)
    : engine_(std::move(engine)), context_(engine_->private_context(graph)), executor_(executor), tries_(trials) {
  if (!Initialiser::can_be_used(*context_)) {
    context_->free();
    throw Error(Code::unsupported, "requests cannot be initialised in the background");
  }
}

GraphFamily::~GraphFamily() {
  initialiser_.end();
  kept_.clear();
  context_->free();
}

GraphFacts GraphFamily::facts() const {
  GraphFacts facts;
  facts.most_calls = most_calls_;
  facts.most_under_way = most_under_way_;
  facts.learned = decision_;
  for (const auto& shared : kept_) {
    facts.lanes.push_back(fact(*shared));
  }
  return facts;
}

GraphFamily::Admission GraphFamily::admit(MPI_Comm graph, bool apart, bool no_room) {
  const Neighbors neighbors = neighbors_of(graph);
  std::unique_lock lock(mutex_);
  GraphFacts mine = facts();
  RouteTrials learned = learned_;
  lock.unlock();
  mine.apart = apart;
  mine.no_room = no_room;
  const auto nobody = [](int rank) { return rank == MPI_PROC_NULL; };
  mine.no_neighbors = std::ranges::all_of(neighbors.sources, nobody) && std::ranges::all_of(neighbors.targets, nobody);
  std::vector<std::uint64_t> numbers = mine.numbers();
  check_mpi(
      PMPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_UINT64_T, MPI_MAX, graph),
      "MPI_Allreduce");
  const GraphTerms terms = graph_terms(numbers, served_, tries_);
  Admission admission{.share = terms.share, .number = served_, .lanes = {}, .trials = RouteTrials(tries_)};
  if (tries_) {
    admission.trials = terms.inherits ? learned.for_another() : RouteTrials::begun_by_mpi();
  }
  served_ += terms.share == GraphTerms::Share::lanes ? 1 : 0;

  lock.lock();
  for (const std::size_t number : terms.kept) {
    kept_[number]->used = true;
    admission.lanes.push_back(kept_[number]);
  }
  for (const std::size_t number : terms.spoiled) {
    kept_[number].reset();
  }
  std::erase(kept_, nullptr);
  for (std::size_t i = 0; i < terms.fresh; ++i) {
    auto shared = std::make_shared<SharedLane>();
    shared->used = true;
    shared->lane.state = Lane::State::asked_for;
    if (kept_.size() < most_kept) {
      kept_.push_back(shared);
    }
    initialiser_.add(std::make_unique<Making>(*this, shared));
    admission.lanes.push_back(std::move(shared));
  }
  if (terms.fresh > 0) {
    initialiser_.run_in_background();
  }
  return admission;
}

void GraphFamily::take_made(SharedLane& shared, Lane& lane) {
  const std::lock_guard lock(mutex_);
  if (lane.state == Lane::State::asked_for && is_made(shared.lane)) {
    move(shared.lane, lane);
  }
}

void GraphFamily::give_back(SharedLane& shared, Lane& lane) {
  const std::lock_guard lock(mutex_);
  if (is_made(lane)) {
    move(lane, shared.lane);
  }
}

void GraphFamily::release(SharedLane& shared) {
  const std::lock_guard lock(mutex_);
  shared.used = false;
}

void GraphFamily::note_calls(std::uint64_t calls, std::uint64_t under_way) {
  const std::lock_guard lock(mutex_);
  most_calls_ = std::max(most_calls_, calls);
  most_under_way_ = std::max(most_under_way_, under_way);
}

void GraphFamily::learn(std::uint64_t decision, const RouteTrials& trials) {
  const std::lock_guard lock(mutex_);
  decision_ = decision;
  learned_ = trials;
}

} // namespace stoker::engine
