// SPDX-License-Identifier: BSD-3-Clause
// What a request does differently where the kernel of a device carries its epochs out; and streams that start requests
// and wait for them.
#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/device/device_context.hpp"
#include "engine/requests/device_epochs.hpp"
#include "engine/requests/request.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace stoker::engine {

void Request::take_device_epochs(std::unique_ptr<DeviceEpochs> epochs) { device_ = std::move(epochs); }

template <class Start>
void Request::start_by_kernel(Start&& start) {
  look_for_failure(epoch_ + 1);
  started_ns_ = clock();
  try {
    start(epoch_ + 1);
  } catch (const Error& error) {
    throw Error(error.code(), "rank {}: {}", lowered_.rank, error.what());
  }
  ++epoch_;
  state_ = State::active;
  on_stream_ = false;
  ++statistics_.starts;
  exposed_ns_ = clock() - started_ns_;
}

void Request::start_on_device() {
  start_by_kernel([this](std::uint64_t epoch) { device_->start(epoch); });
}

void Request::start_on(void* stream) {
  check_engine();
  if (device_ == nullptr || !device_->has_stream_words()) {
    await_stream(stream);
    start();
    return;
  }
  if (state_ != State::active || !on_stream_) {
    check_inactive();
  }
  start_by_kernel([&](std::uint64_t epoch) { device_->start_on(stream, epoch); });
}

void Request::wait_on(void* stream) {
  check_engine();
  if (device_ == nullptr || !device_->has_stream_words()) {
    wait(); // what the application puts into the stream from now on comes after that
    return;
  }
  if (state_ != State::active) {
    await(); // throws if it is broken
    return;
  }
  look_for_failure(epoch_);
  device_->check_stream(stream);
  device_->wait_on(stream, epoch_);
  on_stream_ = true;
}

// Where this library has no stream of its own, or devices cannot do it alone.
void Request::await_stream(void* stream) const {
  const Driver* const driver = loaded_driver();
  if (driver == nullptr) {
    throw Error(Code::state, "rank {}: stream: this process has loaded no driver of devices; expected a stream of CUDA",
                lowered_.rank);
  }
  const UserBuffer& buffer = plan_.send.residence() == Residence::device ? plan_.send : plan_.recv;
  const std::byte* const address = buffer.address();
  const AllocationFacts facts = facts_of(*driver, address);
  // A stream has a context of its own; only the default one is the current context's.
  std::optional<CurrentContext> current;
  if (facts.on_device()) {
    current.emplace(*driver, context_of(*driver, facts, address)).check_entered();
  }
  check(*driver, driver->synchronize(stream), "cuStreamSynchronize", stream);
}

void Request::leave_stream() {
  if (on_stream_ && reached()) {
    look_for_failure(epoch_);
    state_ = State::inactive;
    on_stream_ = false;
  }
}

void Request::finish_on_device() {
  look_for_failure(epoch_);
  state_ = State::inactive;
  const bool seen = !std::exchange(on_stream_, false); // when an epoch ends that a stream waits for, nobody sees
  if (timed_ && seen) {
    const std::uint64_t exchange = ended_ns_ - started_ns_;
    if (Trace* trace = engine_->trace()) {
      const std::lock_guard lock(trace->mutex);
      trace->requests.add(algos::name_of(plan_.choice.algorithm->collective).data(), started_ns_, ended_ns_);
    }
    statistics_.exchange_seconds += 1e-9 * static_cast<double>(exchange);
    statistics_.hidden_seconds += 1e-9 * static_cast<double>(exchange - std::min(exchange, exposed_ns_));
  }
  statistics_.exposed_seconds += 1e-9 * static_cast<double>(exposed_ns_);
}

void Request::abandon_device_epochs() {
  if (device_ != nullptr) {
    DeviceEpochs::abandon(std::move(device_));
  }
}

void Request::look_at_device() {
  device_->note_failure();
  look_for_failure(epoch_);
}

void Request::look_for_failure(std::uint64_t epoch) {
  try {
    device_->check_failure(epoch);
  } catch (const Error& error) {
    state_ = State::broken;
    on_stream_ = false;
    throw Error(error.code(), "rank {}: {}; epoch {} cannot complete", lowered_.rank, error.what(), epoch);
  }
}

} // namespace stoker::engine
