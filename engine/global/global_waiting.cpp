// SPDX-License-Identifier: BSD-3-Clause
// Waiting for transfers, and what a long wait finds out.
#include "engine/base/agreement.hpp"
#include "engine/global/global_memory.hpp"

#include <spdlog/logger.h>

#include <utility>

namespace stoker::engine {

void GlobalMemory::wait_for(Transfer& transfer, std::uint64_t epoch) {
  if (transfer.operation->completed.reached(epoch)) {
    return;
  }
  call_helper();
  Plea plea;
  const auto plead = [&] { engine_->plead_if_paused(plea); };
  wait_with([&] { return transfer.operation->completed.reached(epoch); },
            {.asks_mpi = helper_ != nullptr, .can_sleep = helper_ == nullptr}, plead,
            [&](std::uint64_t waited_ns) {
              look_for_carrier(transfer);
              report_stall(transfer, waited_ns);
            });
}

// A helper goes on if a target's process is gone. Without the helper nothing goes on, nor does a record that it could
// not trust.
void GlobalMemory::look_for_carrier(Transfer& transfer) {
  const int carrier = engine_->carrier();
  const std::uint32_t arena = engine_->arena_of(carrier);
  memory_->watch().look(now_ns());
  const bool gone = carrier != engine_->rank() && memory_->watch().gone(arena);
  const bool damaged = memory_->damaged(memory_->self());
  if (!gone && !damaged) {
    return;
  }
  lose(transfer,
       gone ? Error(Code::peer_lost,
                    "{}the process of unit {} (pid {}), whose helper carries this unit's transfers, is gone; the "
                    "transfer cannot complete",
                    self(), carrier, memory_->pid(arena))
            : Error(Code::peer_lost, "{}the shared memory of unit {} {}; the transfer cannot complete", self(),
                    engine_->rank(), memory_->damage(memory_->self())));
}

void GlobalMemory::lose(Transfer& transfer, const Error& error) {
  const std::lock_guard lock(transfers_mutex_);
  transfer.lost = true;
  transfer.code = error.code();
  transfer.text = error.what();
  throw Error(error);
}

bool GlobalMemory::is_stall(std::uint64_t waited_ns) const {
  const auto limit = static_cast<std::uint64_t>(engine_->settings().stall_seconds) * 1'000'000'000U;
  return limit != 0 && waited_ns > limit;
}

// Says once that a wait for it takes long, and who it is that has to do something.
void GlobalMemory::report_stall(Transfer& transfer, std::uint64_t waited_ns) {
  if (!is_stall(waited_ns) || transfer.stalled_epoch.exchange(transfer.epoch) == transfer.epoch) {
    return;
  }
  const OperationRequest& operation = transfer.request;
  const bool near = operation.endpoint < 0;
  std::string reason;
  switch (transfer.operation->stage.load(std::memory_order_relaxed)) {
  case OperationStage::submitted:
    reason = fmt::format("the helper of engine rank {} has not taken it", engine_->carrier());
    break;
  case OperationStage::taken:
    reason = near ? fmt::format("the helper of engine rank {} is at others", engine_->carrier())
                  : fmt::format("it waits for others between engine rank {} and {}, which carries unit {}",
                                engine_->carrier(), operation.endpoint, operation.unit);
    break;
  case OperationStage::under_way:
    reason = fmt::format("messages with engine rank {}, which carries unit {}, are outstanding", operation.endpoint,
                         operation.unit);
    break;
  }
  engine_->log().warn("rank {} has waited {} s for an operation on {} bytes of unit {}: {}", engine_->rank(),
                      waited_ns / 1'000'000'000U, operation.bytes, operation.unit, reason);
}

bool GlobalMemory::test(Transfer& transfer) {
  if (closed_ || transfer.lost || transfer.operation->completed.reached(transfer.epoch)) {
    return true;
  }
  if (std::exchange(transfer.left, false)) {
    memory_->root(memory_->self()).ring.call();
    carrier_->helper.ring();
  }
  constexpr unsigned tests_per_look = 4096;
  if (++transfer.tests % tests_per_look == 0) {
    if (attempt([&] { look_for_carrier(transfer); })) { // for release() to say
      return true;
    }
  }
  if (carrier_->paused.load(std::memory_order_relaxed) != 0) {
    const std::lock_guard lock(transfers_mutex_);
    transfer.plea.make(*carrier_);
  }
  return transfer.operation->completed.reached(transfer.epoch);
}

void GlobalMemory::wait(Transfer& transfer) {
  if (!closed_ && !transfer.lost) {
    wait_for(transfer, transfer.epoch);
  }
}

void GlobalMemory::release(Transfer& transfer) {
  const std::lock_guard lock(transfers_mutex_);
  if (transfer.lost) {
    free_transfer(transfer);
    throw Error(transfer.code, transfer.text);
  }
  settle(transfer);
  free_transfer(transfer);
  if (transfer.code != Code::success) {
    throw Error(transfer.code, transfer.text);
  }
}

void GlobalMemory::complete(int unit) {
  std::vector<std::pair<Transfer*, std::uint64_t>> under_way;
  {
    const std::lock_guard lock(transfers_mutex_);
    for (Transfer& transfer : transfers_) {
      if (transfer.used && !transfer.lost && (unit < 0 || transfer.request.unit == unit)) {
        under_way.emplace_back(&transfer, transfer.epoch);
      }
    }
  }
  std::optional<Error> lost;
  for (const auto& each : under_way) {
    // Its thread may release it meanwhile: the record's later epochs are later.
    const auto failed = attempt([&] { wait_for(*each.first, each.second); });
    lost = lost ? lost : failed;
  }
  const std::lock_guard lock(transfers_mutex_);
  for (const auto& [transfer, epoch] : under_way) {
    if (transfer->used && transfer->epoch == epoch && !transfer->lost) {
      settle(*transfer);
    }
  }
  sweep_detached();
  if (lost) {
    throw Error(*lost);
  }
}

void GlobalMemory::flush(int unit) {
  check_open();
  if (unit < -1 || unit >= ranks_) {
    throw Error(Code::argument, "{}unit is {}; expected 0 to {}", self(), unit, ranks_ - 1);
  }
  complete(unit);
  const std::lock_guard lock(transfers_mutex_);
  const auto found = unit < 0 ? detached_errors_.begin() : detached_errors_.find(unit);
  if (found != detached_errors_.end()) {
    const Error error = found->second;
    unit < 0 ? detached_errors_.clear() : static_cast<void>(detached_errors_.erase(found));
    throw Error(error);
  }
}

} // namespace stoker::engine
