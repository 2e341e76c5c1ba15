// SPDX-License-Identifier: BSD-3-Clause
#include "engine/helper/program_poller.hpp"

namespace stoker::engine {

void ProgramPoller::adopt(std::uint32_t arena, const Submission& submission, std::uint64_t now_ns) {
  // The memory is still this request's: it is not given back before this helper has retired the epoch.
  Block& block = memory_.block({arena, 0, submission.block});
  std::unique_ptr<Task>& task = tasks_[{arena, submission.block}];
  if (task == nullptr || task->id != block.id) {
    task = std::make_unique<Task>(&block, memory_);
    task->window = block.window != 0 ? windows_[block.window - 1].get() : nullptr;
  }
  progress_.adopt(*task, submission.epoch, now_ns);
}

} // namespace stoker::engine
