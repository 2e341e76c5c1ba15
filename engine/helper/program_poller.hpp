// SPDX-License-Identifier: BSD-3-Clause
// A helper's part in requests: the programs of all ranks of its domain.
#pragma once

#include "engine/execute/progress.hpp"
#include "engine/helper/poller.hpp"
#include "engine/shared/node_memory.hpp"
#include "engine/transport/window.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace stoker::engine {

class ProgramPoller : public Poller {
public:
  // `windows`: those that blocks name, the first being number 1; it may grow.
  ProgramPoller(const NodeMemory& memory, const Network& network, const std::vector<std::shared_ptr<Window>>& windows)
      : memory_(memory), windows_(windows), progress_(network, helper_executor) {}

  void adopt(std::uint32_t arena, const Submission& submission, std::uint64_t now_ns) override;
  bool poll() override { return progress_.poll(); }
  [[nodiscard]] PollerState state() const override {
    return {.active = progress_.active(), .urgent = progress_.active(), .youngest_ns = progress_.youngest_ns()};
  }

  [[nodiscard]] std::size_t tasks() const; // that are remembered

private:
  struct OfRank {
    std::map<std::uint64_t, std::unique_ptr<Task>> tasks; // by the offset of their blocks
    std::uint32_t given_back = 0;                         // blocks, when tasks were dropped last
  };
  Task& task_of(std::uint32_t arena, const Submission& submission);
  static void drop_some(OfRank& of_rank, std::uint32_t given_back);

  const NodeMemory& memory_;
  const std::vector<std::shared_ptr<Window>>& windows_;
  Progress progress_;
  std::map<std::uint32_t, OfRank> ranks_; // by arena
};

} // namespace stoker::engine
