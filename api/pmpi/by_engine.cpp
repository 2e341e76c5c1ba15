// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/by_engine.hpp"

#include <utility>

namespace stoker::pmpi {

ByEngine::ByEngine(const engine::CollectiveCall& call, std::uint64_t communicator,
                   std::unique_ptr<engine::Request> request)
    : Request(call.comm), op_(call.op), request_(std::move(request)) {
  const engine::RequestPlan& plan = request_->plan();
  record_ = {.site = call.site,
             .communicator = communicator,
             .collective = call.collective,
             .form = Form::persistent,
             .bytes = plan.send.bytes() > 0 ? plan.send.bytes() : plan.recv.bytes(),
             .algorithm = plan.choice_text};
}

void ByEngine::start() {
  request_->start();
  active_ = true;
}

bool ByEngine::done() {
  bool complete = true;
  if (active_ && !failure_) {
    attempt([&] { complete = request_->peek(); });
  }
  return complete || failure_;
}

void ByEngine::wait() {
  if (active_ && !settled_ && !failure_) {
    attempt([&] { request_->await(); });
    waited_ = true;
  }
}

void ByEngine::settle() {
  if (!active_ || settled_ || failure_) {
    return;
  }
  attempt([&] {
    waited_ ? request_->finish() : request_->wait(); // which learns from where the request was found complete
  });
  settled_ = true;
}

void ByEngine::finish() {
  settle();
  active_ = waited_ = settled_ = false;
  if (const std::optional<engine::Error> failure = std::exchange(failure_, std::nullopt)) {
    throw *failure;
  }
  take_times();
}

void ByEngine::take_times() {
  const engine::RequestStatistics& now = request_->statistics();
  record_.exchange_seconds = now.exchange_seconds - before_.exchange_seconds;
  record_.exposed_seconds = now.exposed_seconds - before_.exposed_seconds;
  before_ = now;
  record(record_);
}

} // namespace stoker::pmpi
