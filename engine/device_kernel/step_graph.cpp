// SPDX-License-Identifier: BSD-3-Clause
#include "engine/device_kernel/step_graph.hpp"

#include "algos/schedule/print.hpp"
#include "engine/base/error.hpp"

#include <algorithm>
#include <utility>

namespace stoker::engine::device {
namespace {

using algos::StepId;
using algos::StepKind;

class Graph {
public:
  Graph(std::span<const algos::Program> programs, const algos::Matching& matching)
      : programs_(programs), matching_(matching) {
    for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
      first_.push_back(static_cast<NodeId>(nodes_.size()));
      for (StepId step = 0; step < programs[rank].steps.size(); ++step) {
        nodes_.push_back({Node::Kind::step, rank, step});
      }
    }
    leaves_.resize(programs.size());
    for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
      for (const StepId fence : fences_of(rank)) {
        leaves_[rank].push_back(static_cast<NodeId>(nodes_.size()));
        nodes_.push_back({Node::Kind::leave_fence, rank, fence});
      }
    }
    for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
      ends_.push_back(static_cast<NodeId>(nodes_.size()));
      nodes_.push_back({Node::Kind::end, rank});
    }
  }

  std::vector<Node> made() && {
    for (std::uint32_t rank = 0; rank < programs_.size(); ++rank) {
      for (StepId step = 0; step < programs_[rank].steps.size(); ++step) {
        add_step(rank, step);
      }
      add_fences(rank);
    }
    leave_out(topological_order());
    return std::move(nodes_);
  }

private:
  [[nodiscard]] const algos::Step& step_of(std::uint32_t rank, StepId step) const {
    return programs_[rank].steps[step];
  }
  [[nodiscard]] NodeId node_of(std::uint32_t rank, StepId step) const { return first_[rank] + step; }
  [[nodiscard]] NodeId partner_of(std::uint32_t rank, StepId step) const {
    return node_of(static_cast<std::uint32_t>(step_of(rank, step).peer), matching_.partners[rank][step]);
  }
  void add(NodeId before, NodeId after) { nodes_[after].after.push_back(before); }

  [[nodiscard]] std::vector<StepId> fences_of(std::uint32_t rank) const {
    std::vector<StepId> fences;
    for (StepId step = 0; step < programs_[rank].steps.size(); ++step) {
      if (step_of(rank, step).kind == StepKind::fence) {
        fences.push_back(step);
      }
    }
    return fences;
  }

  // The node with which a step is done.
  [[nodiscard]] NodeId done(std::uint32_t rank, StepId step) const {
    switch (step_of(rank, step).kind) {
    case StepKind::send:
      return partner_of(rank, step);
    case StepKind::fence:
      return leaves_[rank][matching_.partners[rank][step]];
    default:
      return node_of(rank, step);
    }
  }

  void add_step(std::uint32_t rank, StepId id) {
    const algos::Step& step = step_of(rank, id);
    for (const StepId next : programs_[rank].successors_of(step)) {
      add(done(rank, id), node_of(rank, next));
    }
    if (step.successors.count == 0) {
      add(done(rank, id), ends_[rank]);
    }
    const bool awaits_put = step.kind == StepKind::recv && step.announced;
    if (step.kind == StepKind::send || awaits_put) {
      add(node_of(rank, id), partner_of(rank, id));
    }
  }

  void add_fences(std::uint32_t rank) {
    const std::vector<StepId> fences = fences_of(rank);
    for (std::size_t fence = 0; fence < fences.size(); ++fence) {
      for (const std::vector<NodeId>& leaves : leaves_) { // all ranks'
        add(node_of(rank, fences[fence]), leaves[fence]);
      }
    }
    for (StepId step = 0; step < programs_[rank].steps.size(); ++step) {
      if (step_of(rank, step).kind == StepKind::put) {
        add(node_of(rank, step), node_of(rank, *std::ranges::upper_bound(fences, step))); // they match: there is one
      }
    }
  }

  // Sets levels.
  std::vector<NodeId> topological_order() {
    std::vector<std::vector<NodeId>> next(nodes_.size());
    std::vector<std::size_t> missing;
    std::vector<NodeId> order;
    for (NodeId node = 0; node < nodes_.size(); ++node) {
      for (const NodeId before : nodes_[node].after) {
        next[before].push_back(node);
      }
      missing.push_back(nodes_[node].after.size());
      if (missing.back() == 0) {
        order.push_back(node);
      }
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const NodeId node : next[order[i]]) {
        nodes_[node].level = std::max(nodes_[node].level, nodes_[order[i]].level + 1);
        if (--missing[node] == 0) {
          order.push_back(node);
        }
      }
    }
    if (order.size() < nodes_.size()) {
      const auto node =
          static_cast<std::size_t>(std::ranges::find_if(missing, [](auto n) { return n > 0; }) - missing.begin());
      throw Error(Code::argument, "the programs wait for each other in a circle, in which rank {} has a part",
                  nodes_[node].rank);
    }
    return order;
  }

  // A node without work that waits for one node of its own rank is done when that one is; and one that waits for none
  // is done from the beginning, for its own rank. Others wait for what stands for it.
  void leave_out(std::span<const NodeId> order) {
    std::vector<NodeId> stands_for(nodes_.size());
    for (const NodeId id : order) {
      Node& node = nodes_[id];
      std::vector<NodeId> after;
      for (const NodeId before : node.after) {
        const Node& other = nodes_[stands_for[before]];
        if (other.rank != node.rank || !other.after.empty() || has_work(programs_, matching_, other)) {
          after.push_back(stands_for[before]);
        }
      }
      std::ranges::sort(after);
      after.erase(std::unique(after.begin(), after.end()), after.end());
      node.after = std::move(after);
      const bool together = node.after.size() == 1 && nodes_[node.after.front()].rank == node.rank &&
                            !has_work(programs_, matching_, node);
      stands_for[id] = together ? node.after.front() : id;
    }
  }

  std::span<const algos::Program> programs_;
  const algos::Matching& matching_;
  std::vector<Node> nodes_;
  std::vector<NodeId> first_; // node of each rank's first step
  std::vector<std::vector<NodeId>> leaves_;
  std::vector<NodeId> ends_;
};

} // namespace

bool has_work(std::span<const algos::Program> programs, const algos::Matching& matching, const Node& node) {
  if (node.kind != Node::Kind::step) {
    return false;
  }
  const algos::Step& step = programs[node.rank].steps[node.step];
  const auto comes_by_put = [&] {
    const algos::Program& sender = programs[static_cast<std::size_t>(step.peer)];
    return sender.steps[matching.partners[node.rank][node.step]].kind == StepKind::put;
  };
  return step.bytes != 0 && step.kind != StepKind::send && step.kind != StepKind::fence &&
         !(step.kind == StepKind::recv && comes_by_put());
}

std::vector<Node> step_graph(std::span<const algos::Program> programs, const algos::Matching& matching) {
  return Graph(programs, matching).made();
}

} // namespace stoker::engine::device
