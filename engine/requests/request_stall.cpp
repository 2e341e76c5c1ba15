// SPDX-License-Identifier: BSD-3-Clause
// What a long wait for a request looks at: processes that are gone, and why nothing moves.
#include "engine/base/agreement.hpp"
#include "engine/base/error.hpp"
#include "engine/requests/device_epochs.hpp"
#include "engine/requests/request.hpp"

#include <spdlog/logger.h>

#include <mutex>
#include <optional>
#include <set>

namespace stoker::engine {

void Request::look_around(std::uint64_t waited_ns) {
  memory_->watch().look(now_ns());
  if (device_ != nullptr) {
    look_at_device();
  } else if (!reached() && !plausible(task_.program, epoch_)) {
    memory_->note_damage(memory_->self(), Damage::state);
  }
  const auto require = [&](int rank) { // of the engine, on this node
    const std::uint32_t arena = engine_->arena_of(rank);
    if (memory_->damaged(arena)) {
      give_up_damaged(rank);
    }
    if (rank != engine_->rank() && memory_->watch().gone(arena)) {
      give_up("the process of engine rank " + std::to_string(rank) + " (pid " + std::to_string(memory_->pid(arena)) +
              ") is gone");
    }
  };
  const std::uint32_t carrier = engine_->arena_of(engine_->carrier());
  if (!memory_->root(carrier).plausible()) {
    memory_->note_damage(carrier, Damage::root);
  }
  for (const int rank : plan_.context->node_ranks()) {
    require(plan_.context->engine_rank(rank));
  }
  require(engine_->carrier()); // it may be none of the communicator's
  const auto limit = static_cast<std::uint64_t>(engine_->settings().stall_seconds) * 1'000'000'000U;
  if (limit != 0 && waited_ns > limit && stalled_epoch_ != epoch_) {
    stalled_epoch_ = epoch_;
    std::string reason;
    if (attempt([&] { reason = describe_stall(); })) {
      give_up_damaged(engine_->rank());
    }
    engine_->log().warn("rank {} has waited {} s for epoch {} of an {}: {}", lowered_.rank, waited_ns / 1'000'000'000U,
                        epoch_, algos::name_of(plan_.choice.algorithm->collective), reason);
  }
}

void Request::give_up(const std::string& reason) {
  state_ = State::broken;
  if (device_ != nullptr) { // kernels and streams wait, too
    device_->fail(Error(Code::peer_lost, "rank {}: {}", lowered_.rank, reason));
  }
  throw Error(Code::peer_lost, "rank " + std::to_string(lowered_.rank) + ": " + reason + "; epoch " +
                                   std::to_string(epoch_) + " cannot complete");
}

void Request::give_up_damaged(int rank) {
  const std::uint32_t arena = engine_->arena_of(rank);
  memory_->note_first_damage(arena, Damage::state);
  give_up("the shared memory of engine rank " + std::to_string(rank) + " " + memory_->damage(arena));
}

// Nobody executes the request's steps while it holds. Those of an inline request any thread of the rank may
// execute.
class Request::Hold {
public:
  explicit Hold(const Request& request) : ownership_(request.block_->ownership) {
    if (request.lowered_.exclusive != 0) {
      inline_ = request.engine_->try_hold_inline();
      holds_ = inline_.owns_lock();
    } else {
      holds_ = takes_ = ownership_.try_acquire(rank_executor);
    }
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() {
    if (takes_) {
      ownership_.release();
    }
  }
  [[nodiscard]] bool holds() const { return holds_; }

private:
  Ownership& ownership_;
  std::unique_lock<std::mutex> inline_;
  bool takes_ = false;
  bool holds_ = false;
};

bool Request::waits_for_late_rank(const LoweredStep& step) const {
  return step.op == Op::recv_node &&
         memory_->at<Block>(lowered_.channel_list[step.channel].peer_block)->started.load(std::memory_order_acquire) <
             epoch_;
}

bool Request::waits_for_late_ranks() const {
  if (lowered_.has_wire != 0) {
    return false;
  }
  const Hold hold(*this);
  if (!hold.holds()) {
    return false;
  }
  bool late = false;
  const auto damage = attempt([&] {
    const std::uint32_t count = task_.program.checked_count(block_->state.waiting_count);
    late = count > 0;
    for (std::uint32_t i = 0; i < count && late; ++i) {
      late = waits_for_late_rank(*task_.program.step(task_.program.checked_step(task_.program.waiting()[i])).step);
    }
  });
  return late && !damage;
}

std::string Request::describe_stall() const {
  if (device_ != nullptr) {
    const std::string missing = device_->missing(epoch_);
    return missing.empty() ? "the device carries it out" : "not started by " + missing;
  }
  const Hold hold(*this);
  if (!hold.holds()) {
    return "its steps are being executed";
  }
  std::set<int> not_started;
  std::set<int> silent;
  bool at_fence = false;
  bool sent = false;      // something
  std::set<int> carriers; // engine ranks whose helpers do the peers' part
  for (std::uint32_t i = 0; i < task_.program.checked_count(block_->state.waiting_count); ++i) {
    const LoweredStep& step = *task_.program.step(task_.program.checked_step(task_.program.waiting()[i])).step;
    if (waits_for_late_rank(step)) {
      not_started.insert(step.peer);
    } else {
      silent.insert(step.peer);
    }
  }
  for (std::uint32_t i = 0; i < lowered_.steps; ++i) {
    if (task_.program.posted()[i] != 0) {
      sent = true;
      const LoweredStep& step = *task_.program.step(i).step;
      if (step.op == Op::fence_window) {
        at_fence = true;
        continue;
      }
      silent.insert(step.peer);
      if (step.endpoint >= 0) {
        carriers.insert(step.endpoint);
      }
    }
  }
  const bool not_sent = !sent && block_->state.wire_begin < block_->state.wire_count;
  const auto list = [](const std::set<int>& ranks) {
    std::string text;
    for (const int rank : ranks) {
      text += (text.empty() ? "rank " : ", rank ") + std::to_string(rank);
    }
    return text;
  };
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (!not_started.empty()) {
    add("not started by " + list(not_started));
  }
  if (!silent.empty()) {
    add("messages with " + list(silent) + " are outstanding" +
        (carriers.empty() ? "" : ", carried by engine " + list(carriers)));
  }
  if (at_fence) {
    add("some ranks have not come to its fence");
  }
  if (not_sent) {
    add("the helper of engine rank " + std::to_string(engine_->carrier()) + " has not taken its messages");
  }
  return text.empty() ? "waiting for steps that depend on others" : text;
}

} // namespace stoker::engine
