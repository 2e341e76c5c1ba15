// SPDX-License-Identifier: BSD-3-Clause
#include "engine/helper/program_poller.hpp"

#include "engine/base/error.hpp"

#include <algorithm>
#include <new>

namespace stoker::engine {

void ProgramPoller::adopt(std::uint32_t arena, const Submission& submission, std::uint64_t now_ns) {
  try {
    Task& task = task_of(arena, submission);
    const std::uint64_t epoch = // pairs with Request::submit()
        task.program.block().submitted.exchange(0, std::memory_order_acq_rel);
    task.program.require(epoch != 0);
    if (!task.damaged) {
      progress_.adopt(task, epoch, now_ns);
    }
  } catch (const Error&) {          // those who wait for the rank find that its memory is damaged
  } catch (const std::bad_alloc&) { // nobody submits the epoch again
    memory_.note_first_damage(arena, Damage::helper_without_memory);
  }
}

// The memory is still the request's: it is not given back before this helper has retired the epoch.
Task& ProgramPoller::task_of(std::uint32_t arena, const Submission& submission) {
  const SharedRef place{arena, 0, submission.block};
  OfRank& of_rank = ranks_[arena];
  auto found = of_rank.tasks.find(submission.block);
  if (found != of_rank.tasks.end() && found->second->program.lowered().id == copy_once(memory_.at<Block>(place)->id)) {
    return *found->second;
  }
  const BlockHeader header = memory_.header(place);
  if (found != of_rank.tasks.end() && found->second->in_use()) {
    memory_.refuse(arena, Damage::request);
  }
  drop_some(of_rank, memory_.root(arena).blocks_given_back.load(std::memory_order_relaxed)); // a hint
  auto task = std::make_unique<Task>(place, memory_);
  task->window = header.window != 0 ? windows_[header.window - 1].get() : nullptr;
  return *of_rank.tasks.insert_or_assign(submission.block, std::move(task)).first->second;
}

// A task that is not listed can be made again, which takes no longer than the rank took to make a block. So all of them
// go, once the rank has given back half as many blocks as there are tasks: there are never more than twice as many, and
// some, as blocks in use.
void ProgramPoller::drop_some(OfRank& of_rank, std::uint32_t given_back) {
  constexpr std::size_t some = 64;
  if (given_back - of_rank.given_back >= std::max(some, of_rank.tasks.size() / 2)) {
    of_rank.given_back = given_back;
    std::erase_if(of_rank.tasks, [](const auto& entry) { return !entry.second->in_use(); });
  }
}

std::size_t ProgramPoller::tasks() const {
  std::size_t count = 0;
  for (const auto& [arena, of_rank] : ranks_) {
    count += of_rank.tasks.size();
  }
  return count;
}

} // namespace stoker::engine
