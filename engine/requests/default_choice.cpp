// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/default_choice.hpp"

#include "algos/select/init_cost.hpp"
#include "algos/select/selection.hpp"
#include "algos/simulate/expectation.hpp"
#include "engine/base/agreement.hpp"
#include "engine/wisdom/recall.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace stoker::engine {
namespace {

using algos::Choice;
using algos::Collective;

// Which ranks work out the time of a candidate: one of all, or one of each node.
enum class Judges : std::uint8_t { all, node };
using Judge = std::function<algos::Expectation(const Choice&)>;

algos::Driver driver_of(const RequestPlan& plan) {
  return plan.executor == Executor::engine ? algos::Driver::helper : algos::Driver::rank;
}

const algos::Machine& machine_of(const Engine& engine, const RequestPlan& plan) {
  return plan.executor == Executor::device ? algos::typical_device() : engine.cost_model();
}

// The seconds of each start, and of init.
struct Weights {
  std::vector<double> seconds;
  std::vector<double> init;
};

// The place of this rank among all that judge. A judge holds the programs of a node's ranks, so judges are
// spread over the nodes where these are equal.
std::size_t place_among_all(const CommContext& context) {
  const topology::Layout& layout = context.layout();
  const std::size_t ranks_per_node = layout.node_ranks(0).size();
  for (int node = 1; node < layout.nodes(); ++node) {
    if (layout.node_ranks(node).size() != ranks_per_node) {
      return static_cast<std::size_t>(context.rank());
    }
  }
  const auto nodes = static_cast<std::size_t>(layout.nodes());
  const auto index = static_cast<std::size_t>(layout.local_index(context.rank()));
  return (index * nodes) + static_cast<std::size_t>(layout.node_of(context.rank()));
}

// Collective. Where several ranks judge a candidate the longest time counts.
Weights weigh(const CommContext& context, std::span<const Choice> candidates, Judges judges, const Judge& judge) {
  const bool all = judges == Judges::all;
  const auto index =
      all ? place_among_all(context) : static_cast<std::size_t>(context.layout().local_index(context.rank()));
  const std::size_t count = all ? static_cast<std::size_t>(context.ranks()) : context.node_ranks().size();
  std::vector<double> values(2 * candidates.size(), 0);
  attempt_on_all(context.comm(), [&] {
    for (std::size_t i = index; i < candidates.size(); i += count) {
      const algos::Expectation expected = judge(candidates[i]);
      values[i] = expected.seconds;
      values[candidates.size() + i] = expected.init_seconds;
    }
  });
  check_mpi(
      PMPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX, context.comm()),
      "MPI_Allreduce");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(candidates.size());
  return {{values.begin(), middle}, {middle, values.end()}};
}

// Collective.
Choice best_of(const RequestPlan& plan, std::span<const Choice> candidates, Judges judges, const Judge& judge) {
  const CommContext& context = *plan.context;
  if (candidates.size() == 1) {
    return candidates.front();
  }
  if (plan.starts == 0) {
    return candidates[algos::preferred(weigh(context, candidates, judges, judge).seconds)];
  }
  const Weights first = weigh(context, candidates.first(1), judges, judge);
  if (!algos::pays_to_weigh(candidates.size(), first.init.front(), first.seconds.front(), plan.starts)) {
    return candidates.front();
  }
  const Weights every = weigh(context, candidates, judges, judge);
  return candidates[algos::preferred(every.init, every.seconds, plan.starts)];
}

// The choices that were made on a communicator.
class KnownChoices {
public:
  [[nodiscard]] std::optional<Choice> find(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = choices_.find(key);
    return found == choices_.end() ? std::nullopt : std::optional(found->second);
  }
  void add(const std::string& key, const Choice& choice) {
    const std::lock_guard lock(mutex_);
    choices_.emplace(key, choice);
  }

private:
  mutable std::mutex mutex_; // guards choices_
  std::map<std::string, Choice> choices_;
};

std::vector<Choice> candidates_of(const RequestPlan& plan, const algos::TypicalCall& call) {
  std::vector<Choice> candidates =
      algos::candidates(call.collective, call.layout, call.bytes, plan.operation.commutative());
  if (plan.deterministic) { // which is fastest may depend on more than the operands
    std::erase_if(candidates, [](const Choice& choice) { return !choice.algorithm->fixed_order; });
    candidates.resize(std::min<std::size_t>(candidates.size(), 1));
  }
  if (candidates.empty()) { // on all ranks
    throw Error(Code::unsupported,
                "{} has no algorithm with a fixed order of combining operands; expected deterministic=0",
                algos::name_of(call.collective));
  }
  return candidates;
}

} // namespace

Choice default_choice(Engine& engine, const RequestPlan& plan, Collective collective, std::uint64_t bytes,
                      std::uint64_t element_bytes) {
  const CommContext& context = *plan.context;
  element_bytes = std::max<std::uint64_t>(1, element_bytes);
  const algos::TypicalCall call{.collective = collective,
                                .layout = context.layout(),
                                .bytes = algos::typical_bytes(bytes, element_bytes),
                                .element_bytes = element_bytes,
                                .root = plan.root,
                                .commutative = plan.operation.commutative()};
  const algos::Driver driver = driver_of(plan);
  const std::string key =
      fmt::format("{} {} {} {} {} {} {} {}", algos::name_of(collective), call.bytes, element_bytes, call.root,
                  call.commutative, plan.deterministic, name_of(plan.executor), plan.starts);
  const auto known = plan.context->attachments().get<KnownChoices>();
  if (const std::optional<Choice> choice = known->find(key)) {
    return *choice;
  }
  const std::vector<Choice> candidates = candidates_of(plan, call);
  const Choice choice = choose_or_recall(
      engine.wisdom(), context.comm(),
      [&] { return choice_key(call, driver, machine_of(engine, plan), candidates, plan.starts); }, candidates,
      [&] {
        return best_of(plan, candidates, Judges::all, [&](const Choice& candidate) {
          return algos::expectation(candidate, call, machine_of(engine, plan), driver);
        });
      });
  known->add(key, choice);
  return choice;
}

Choice default_choice_by_node(const Engine& engine, const RequestPlan& plan, std::span<const Choice> candidates,
                              const std::function<algos::Program(const Choice&, int rank)>& program_of) {
  const topology::Layout& layout = plan.context->layout();
  return best_of(plan, candidates, Judges::node, [&](const Choice& candidate) {
    return algos::estimate(
        layout, machine_of(engine, plan), driver_of(plan), [&](int rank) { return program_of(candidate, rank); },
        layout.node_of(plan.context->rank()));
  });
}

} // namespace stoker::engine
