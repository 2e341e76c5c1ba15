// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/graph_family.hpp"

#include "engine/base/agreement.hpp"
#include "engine/calls/bound_lane.hpp"
#include "engine/data/neighbors.hpp"
#include "engine/requests/epoch_binding.hpp"

#include <spdlog/logger.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

namespace stoker::engine {
namespace {

using State = Lane::State;

bool is_made(const Lane& lane) { return lane.state != State::fresh && lane.state != State::asked_for; }

// As GraphFacts has it.
std::uint64_t fact(const SharedLane& shared) {
  if (shared.used) {
    return GraphFacts::in_use;
  }
  switch (shared.lane.state) {
  case State::bound:
    return shared.lane.request->statistics().starts;
  case State::asked_for:
    return 0;
  case State::fresh:
    return GraphFacts::unasked;
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

// A round.
class GraphFamily::Making final : public Initialisation {
public:
  explicit Making(GraphFamily& family) : family_(family) {}
  void make() override;
  void settle() override;

private:
  [[nodiscard]] Bound made(const std::optional<Error>& apart) const;

  GraphFamily& family_;
  std::vector<std::shared_ptr<SharedLane>> lanes_;
  std::vector<Bound> bound_; // to these
};

void GraphFamily::Making::make() {
  std::uint64_t graph = 0;
  {
    const std::lock_guard lock(family_.mutex_);
    graph = *family_.asked_.begin();
  }
  const auto apart = attempt([&] { graph = family_.first_of_all(graph); });
  lanes_ = family_.take_unmade(graph);
  std::ranges::generate_n(std::back_inserter(bound_), std::ssize(lanes_), [&] { return made(apart); });
}

// `apart`: why this rank cannot agree with the others, after an error of the MPI library.
Bound GraphFamily::Making::made(const std::optional<Error>& apart) const {
  Bound bound;
  bound.error = apart ? apart : attempt([&] {
    RequestPlan plan;
    plan.context = family_.context_;
    plan.executor = family_.executor_;
    plan.timed = true;
    bound.request = init_rebindable_exchange(family_.engine_, std::move(plan));
  });
  return bound;
}

void GraphFamily::Making::settle() {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i]->lane;
    give(lane, std::move(bound_[i]), true);
    if (lane.state == State::by_mpi) {
      family_.engine_->log().warn("rank {}: exchanges between neighbors are left to the MPI library: {}",
                                  family_.context_->rank(), lane.error->what());
    }
  }
  family_.making_ = !family_.asked_.empty();
  if (family_.making_) {
    family_.initialiser_.add(std::make_unique<Making>(family_));
  }
}

GraphFamily::GraphFamily(std::shared_ptr<Engine> engine, MPI_Comm graph, Executor executor, bool trials)
    : engine_(std::move(engine)), executor_(executor), tries_(trials) {
  if (!engine_->is_threaded()) {
    throw Error(Code::unsupported, "requests cannot be initialised in the background");
  }
  std::vector<int> ranks = engine_->ranks_of(graph);
  CommsTogether together(graph, engine_->control());
  together.note(with_rank(rank_in(graph), attempt(Initialiser::have_threads)));
  context_ = engine_->private_context(graph, std::move(ranks), together);
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
  // The least tag is the one whose complement is the greatest.
  numbers.push_back(~static_cast<std::uint64_t>(CommsTogether::proposed_tag(graph, engine_->control())));
  check_mpi(
      PMPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_UINT64_T, MPI_MAX, graph),
      "MPI_Allreduce");
  const auto tag = static_cast<int>(~numbers.back());
  numbers.pop_back();
  lock.lock();
  const GraphTerms terms = graph_terms(numbers, served_, tries_);
  Admission admission{.share = terms.share, .number = served_, .tag = tag, .lanes = {}, .trials = RouteTrials(tries_)};
  if (tries_) {
    admission.trials = terms.inherits ? learned.for_another() : RouteTrials::begun_by_mpi();
  }
  for (const std::size_t number : terms.kept) {
    admission.lanes.push_back(kept_[number]);
  }
  for (const std::size_t number : terms.spoiled) {
    kept_[number].reset();
  }
  std::erase(kept_, nullptr);
  for (std::size_t i = 0; i < terms.fresh; ++i) {
    auto shared = std::make_shared<SharedLane>();
    if (kept_.size() < most_kept) {
      kept_.push_back(shared);
    }
    unmade_.push_back(shared);
    admission.lanes.push_back(std::move(shared));
  }
  for (const auto& shared : admission.lanes) {
    shared->used = true;
    if (shared->lane.state == State::fresh) {
      shared->graph = admission.number;
    }
  }
  served_ += terms.share == GraphTerms::Share::lanes ? 1 : 0;
  lock.unlock();
  if (terms.share == GraphTerms::Share::lanes && admission.trials.route_of(0) == Route::engine) {
    ask(admission.number);
  }
  return admission;
}

void GraphFamily::ask(std::uint64_t graph) {
  const std::lock_guard lock(mutex_);
  bool lacks_any = false; // a graph lacks none if another rank's round has made them, or all come from other graphs
  for (const auto& shared : unmade_) {
    if (shared->graph == graph && shared->lane.state == State::fresh) {
      shared->lane.state = State::asked_for;
      lacks_any = true;
    }
  }
  if (!lacks_any) {
    return;
  }
  asked_.insert(graph);
  if (!std::exchange(making_, true)) {
    initialiser_.add(std::make_unique<Making>(*this));
    initialiser_.run_in_background();
  }
}

bool GraphFamily::at_rest() {
  const std::lock_guard lock(mutex_);
  return initialiser_.idle();
}

// Another rank may not come to this for long, so the wait leaves the core to others.
std::uint64_t GraphFamily::first_of_all(std::uint64_t asked) const {
  constexpr std::chrono::microseconds longest{2000};
  std::chrono::microseconds look_interval{100};
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(PMPI_Iallreduce(MPI_IN_PLACE, &asked, 1, MPI_UINT64_T, MPI_MIN, context_->comm(), &request),
            "MPI_Iallreduce");
  for (int done = 0;;) {
    check_mpi(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) {
      return asked;
    }
    std::this_thread::sleep_for(look_interval);
    look_interval = std::min(2 * look_interval, longest);
  }
}

// Those of a graph that some rank has asked for: none that is behind those of this rank.
std::vector<std::shared_ptr<SharedLane>> GraphFamily::take_unmade(std::uint64_t graph) {
  const std::lock_guard lock(mutex_);
  asked_.erase(graph);
  std::vector<std::shared_ptr<SharedLane>> lanes;
  std::erase_if(unmade_, [&](const auto& shared) {
    if (shared->graph != graph) {
      return false;
    }
    shared->lane.state = State::asked_for;
    lanes.push_back(shared);
    return true;
  });
  return lanes;
}

void GraphFamily::take_made(SharedLane& shared, Lane& lane) {
  const std::lock_guard lock(mutex_);
  if (lane.state == State::asked_for && is_made(shared.lane)) {
    move(shared.lane, lane);
  }
}

void GraphFamily::give_back(SharedLane& shared, Lane& lane) {
  const std::lock_guard lock(mutex_);
  if (is_made(lane)) {
    move(lane, shared.lane);
  }
}

// One that is kept may have its request made for the next graph.
void GraphFamily::release(const std::shared_ptr<SharedLane>& shared) {
  const std::lock_guard lock(mutex_);
  shared->used = false;
  if (shared->lane.state == State::fresh && std::ranges::find(kept_, shared) == kept_.end()) {
    std::erase(unmade_, shared);
  }
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
