// SPDX-License-Identifier: BSD-3-Clause
// A helper's part in requests: the programs of all ranks of its domain.
#pragma once

#include "engine/execute/progress.hpp"
#include "engine/helper/poller.hpp"
#include "engine/shared/node_memory.hpp"
#include "engine/transport/window.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
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

private:
  const NodeMemory& memory_;
  const std::vector<std::shared_ptr<Window>>& windows_;
  Progress progress_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::unique_ptr<Task>> tasks_; // by arena and offset
};

} // namespace stoker::engine
