// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/request.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/base/round_up.hpp"
#include "engine/execute/executor.hpp"
#include "engine/requests/byte_blocks.hpp"
#include "engine/requests/device_epochs.hpp"
#include "engine/requests/epoch_binding.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace stoker::engine {
namespace {

using algos::Buffer;

// More bytes than this in one direction take longer than a wake costs, on any network. So there is something to hide,
// and a trial could find otherwise only by chance.
constexpr std::uint64_t most_wire_bytes_left = 128 * 1024;

// Likewise for copies within the node by a rank that has not told its helper of them at all.
constexpr std::uint64_t most_node_bytes_left = 8 * 1024 * 1024;

} // namespace

Request::Request(std::shared_ptr<Engine> engine, RequestPlan plan)
    : engine_(std::move(engine)), plan_(std::move(plan)), memory_(engine_->memory()),
      block_(reinterpret_cast<Block*>(memory_->base(memory_->self()) + plan_.block)),
      task_({memory_->self(), 0, plan_.block}, *memory_, &plan_.operation), lowered_(task_.program.lowered()),
      helper_(plan_.executor == Executor::engine ? engine_->helper() : nullptr),
      carrier_(plan_.executor == Executor::engine ? &memory_->root(engine_->arena_of(engine_->carrier())) : nullptr),
      timed_(lowered_.timed != 0), may_keep_(lowered_.has_wire == 0 && plan_.bytes_node <= most_node_bytes_left),
      // Only work that this thread can do by itself may be left to its Wait, and only if it does not use the wire for
      // long.
      wake_policy_(((helper_ == nullptr || plan_.any_sizes) && lowered_.has_wire != 0) ||
                   std::max(plan_.bytes_wire, plan_.bytes_from_wire) > most_wire_bytes_left ||
                   engine_->settings().wake == WakeChoice::always) {
  task_.program.take_epoch();
  send_pages_ = pinned(plan_.send, plan_.send_staging);
  recv_pages_ = pinned(plan_.recv, plan_.recv_staging);
  if (plan_.window != nullptr) {
    task_.window = plan_.window->window.get();
    task_.meeting = plan_.window->comm;
  }
  reported_choice_ = plan_.choice_text;
  if (plan_.choice.algorithm->puts_into) {
    reported_choice_ += std::string(" (") + puts_name() + ")";
  }
  engine_->enlist(*this);
}

Request::~Request() {
  if (engine_->destroyed()) { // the arena went with it
    if (state_ == State::broken) {
      abandon_device_epochs();
    }
    return;
  }
  if (device_ != nullptr) {
    (void)attempt([&] { look_for_failure(epoch_ + 1); }); // it is broken then, whether somebody has seen that or not
  }
  engine_->delist(*this);
  if (carrier_ == nullptr) {
    engine_->forget_inline(task_); // in whose round another thread may still be
  }
  if (state_ == State::broken) {
    abandon_device_epochs();
    (void)binding_.release();
    return; // a process that is gone may have left the block in any state: its memory is not used again
  }
  send_pages_ = {};
  recv_pages_ = {};
  for (const std::uint64_t place : {plan_.send_staging, plan_.recv_staging, plan_.scratch}) {
    if (place != 0) {
      memory_->arena().deallocate(place);
    }
  }
  const bool by_kernel = device_ != nullptr; // then no executor has ever seen the block
  device_.reset();
  engine_->give_back(lowered_, by_kernel ? 0 : epoch_, carrier_ != nullptr);
}

std::uint64_t Request::clock() const { return timed_ ? now_ns() : 0; }

void Request::check_engine() const {
  if (engine_->destroyed()) {
    throw Error(Code::request, "the request's engine is destroyed; expected a request of a live engine");
  }
}

bool Request::reached() const {
  return device_ != nullptr ? device_->reached(epoch_) : block_->completed.reached(epoch_);
}

void Request::check_inactive() const {
  if (state_ != State::inactive) {
    throw Error(Code::state, "rank " + std::to_string(lowered_.rank) + ": request is " +
                                 (state_ == State::active ? "active" : "broken") + "; expected an inactive one");
  }
}

void Request::start() {
  check_engine();
  leave_stream();
  check_inactive();
  if (device_ != nullptr) {
    start_on_device();
    return;
  }
  started_ns_ = clock();
  exposed_ns_ = 0;
  if (plan_.byte_blocks != nullptr) {
    plan_.byte_blocks->pack();
  }
  const bool wakes = carrier_ != nullptr && wake_policy_.start();
  kept_ = carrier_ != nullptr && !wakes && may_keep_;
  if (kept_ != direct_ && binding_ == nullptr) {
    direct_ = kept_;
    choose_paths();
  }
  if (is_staged(Buffer::send)) {
    stage(plan_.send, plan_.send_staging);
  }
  if (is_staged(Buffer::recv) && plan_.in_place) {
    stage(plan_.recv, plan_.recv_staging);
  }
  begin_epoch(task_.program, ++epoch_);
  state_ = State::active;
  ++statistics_.starts;
  if (carrier_ == nullptr) {
    engine_->start_inline(task_, epoch_);
  } else {
    submit(wakes);
    if (kept_) {
      assist();
    }
  }
  if (kept_ && is_short()) {
    return; // Wait counts it
  }
  exposed_ns_ += clock() - started_ns_;
}

void Request::take_binding(const Engine& engine, const BufferSizes& sizes, const Readers& send_readers,
                           const Readers& recv_readers) {
  binding_ = std::make_unique<EpochBinding>(engine, task_.program, plan_, sizes, send_readers, recv_readers);
  if (!plan_.any_sizes) {
    binding_->reserve(task_.program);
  }
}

void Request::start(EpochBuffers buffers) {
  binding_->bind(task_.program, std::move(buffers));
  start();
}

// An epoch that this thread is going to carry out needs no staging. Whoever else takes part attaches to the buffers.
void Request::choose_paths() {
  for (const Buffer buffer : {Buffer::send, Buffer::recv}) {
    BufferDescriptor& descriptor = task_.program.own_copy().buffers[static_cast<std::size_t>(buffer)];
    if (has_staging(buffer) && descriptor.address != 0) {
      descriptor.path = direct_ ? Path::attached : Path::staged;
    }
  }
  task_.program.publish_epoch();
}

bool Request::has_staging(Buffer buffer) const {
  return (buffer == Buffer::send ? plan_.send_staging : plan_.recv_staging) != 0;
}

bool Request::is_staged(Buffer buffer) const {
  return has_staging(buffer) && lowered_.buffers[static_cast<std::size_t>(buffer)].path == Path::staged;
}

// Shorter copies take as long either way.
PinnedPages Request::pinned(const UserBuffer& buffer, std::uint64_t staging) const {
  constexpr std::uint64_t least_bytes = 64 * 1024;
  if (staging == 0 || buffer.residence() != Residence::device || buffer.packed_bytes() < least_bytes) {
    return {};
  }
  return {memory_->arena().base() + staging, round_up(buffer.packed_bytes(), page_size()),
          buffer.address() + buffer.lower()};
}

void Request::stage(const UserBuffer& buffer, std::uint64_t place) {
  std::byte* const staging = memory_->arena().base() + place;
  if (plan_.operation.cells()) {
    plan_.operation.to_cells(buffer.address(), buffer.bytes() / plan_.operation.element_bytes(), staging);
  } else {
    buffer.pack(staging, engine_->network());
  }
}

void Request::unstage(const UserBuffer& buffer, std::uint64_t place) {
  const std::byte* const staging = memory_->arena().base() + place;
  if (plan_.operation.cells()) {
    plan_.operation.from_cells(staging, buffer.bytes() / plan_.operation.element_bytes(), buffer.address());
  } else {
    buffer.unpack(staging, engine_->network());
  }
}

void Request::submit(bool wake) {
  // An entry that the helper has not taken out stands for this epoch, too.
  const bool has_entry = block_->submitted.exchange(epoch_, std::memory_order_acq_rel) != 0; // pairs with adopt()
  if (!has_entry) {
    try {
      engine_->submit({.block = plan_.block}, plea_);
    } catch (const Error& error) { // the ring is damaged, or nobody takes anything out of it any more
      memory_->damaged(memory_->self()) ? give_up_damaged(engine_->rank()) : give_up(error.what());
    }
  }
  ring_deferred_ = !wake;
  if (kept_ && has_entry) {
    return; // it is about to look, or naps: it never sleeps without a limit while there are entries
  }
  if (!kept_) {
    memory_->root(memory_->self()).ring.call();
  }
  wake ? wake_helper() : (void)carrier_->helper.nudge();
}

const char* Request::access_name(algos::Buffer buffer) const {
  const UserBuffer& user_buffer = buffer == Buffer::send ? plan_.send : plan_.recv;
  if (user_buffer.residence() == Residence::device) {
    return "device";
  }
  static constexpr const char* names[] = {"own", "mapped", "cma", "staged", "none"};
  const auto which = static_cast<std::size_t>(buffer);
  const Path path = lowered_.buffers[which].path;
  if (path == Path::attached && memory_->xpmem_works() &&
      (block_->unattached.load(std::memory_order_relaxed) & bit_of(buffer)) == 0) {
    return "xpmem";
  }
  return names[static_cast<std::size_t>(path)];
}

const char* Request::puts_name() const {
  if (!plan_.choice.algorithm->puts_into) {
    return "none";
  }
  if (plan_.window != nullptr) {
    return "window";
  }
  return carrier_ != nullptr && plan_.context->layout().nodes() == 1 ? "copies" : "messages";
}

std::int64_t Request::break_even() const {
  if (plan_.mpi_seconds == 0) {
    return 0;
  }
  const std::uint64_t completed = statistics_.starts - (state_ == State::active ? 1U : 0U);
  if (completed == 0) {
    return 0;
  }
  const double gain = plan_.mpi_seconds - (statistics_.exposed_seconds / static_cast<double>(completed));
  constexpr double most = 1e15; // further than anybody counts, and within 64 bits
  return gain > 0 ? static_cast<std::int64_t>(std::min(most, std::ceil(plan_.init_seconds / gain))) : -1;
}

void Request::finish() {
  if (device_ != nullptr) {
    finish_on_device();
    return;
  }
  if (block_->completed.epoch() != epoch_ || memory_->damaged(memory_->self())) {
    give_up_damaged(engine_->rank());
  }
  state_ = block_->out_of_step ? State::broken : State::inactive;
  ring_deferred_ = false;
  plea_.withdraw();
  if (timed_) {
    const std::uint64_t exchange = block_->completed_at - std::min(started_ns_, block_->completed_at);
    wake_policy_.finished(ended_ns_ - started_ns_, exchange);
    statistics_.exchange_seconds += 1e-9 * static_cast<double>(exchange);
    statistics_.hidden_seconds += 1e-9 * static_cast<double>(exchange - std::min(exchange, exposed_ns_));
    if (const std::uint64_t sent = block_->wire_began_at; sent != 0) {
      statistics_.before_wire_seconds += 1e-9 * static_cast<double>(sent - std::min(started_ns_, sent));
      statistics_.wire_seconds += 1e-9 * static_cast<double>(block_->wire_ended_at - sent);
    }
    if (Trace* trace = engine_->trace()) {
      const std::lock_guard lock(trace->mutex);
      trace->requests.add(algos::name_of(plan_.choice.algorithm->collective).data(), started_ns_,
                          started_ns_ + exchange);
    }
  }
  const int code = block_->error.load(std::memory_order_relaxed); // ordered by `completed`
  if (code < 0 || code > static_cast<int>(Code::peer_lost)) {
    give_up_damaged(engine_->rank());
  }
  if (is_staged(Buffer::recv) && code == 0) {
    unstage(plan_.recv, plan_.recv_staging);
  }
  if (plan_.byte_blocks != nullptr && code == 0) {
    plan_.byte_blocks->unpack();
  }
  if (binding_ != nullptr) {
    binding_->unbind(task_.program, code != 0);
  }
  if (is_staged(Buffer::recv) || plan_.byte_blocks != nullptr || binding_ != nullptr) {
    exposed_ns_ += clock() - ended_ns_;
  }
  statistics_.exposed_seconds += 1e-9 * static_cast<double>(exposed_ns_);
  if (code != 0) {
    throw Error(static_cast<Code>(code),
                std::string(block_->error_text, strnlen(block_->error_text, sizeof block_->error_text)));
  }
}

} // namespace stoker::engine
