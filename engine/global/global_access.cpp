// SPDX-License-Identifier: BSD-3-Clause
#include "engine/global/global_access.hpp"

#include "engine/base/clock.hpp"
#include "engine/global/global_requests.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <utility>

namespace stoker::engine {
namespace {

constexpr std::uint64_t slice_bytes = 256 * 1024; // copied within the node in one round

} // namespace

GlobalAccess::GlobalAccess(const NodeMemory& memory, const Network& network,
                           const std::vector<std::shared_ptr<Window>>& windows)
    : memory_(memory), windows_(windows) {
  static_assert(sizeof(Header) + bundle_bytes <= ActiveMessages::largest);
  static_assert(std::is_trivially_copyable_v<Header>);
  if (network.transport != nullptr) {
    wire_.emplace(network);
    wire_->free_pieces.resize(most_pieces);
    std::iota(wire_->free_pieces.rbegin(), wire_->free_pieces.rend(), 0U);
  }
}

void GlobalAccess::adopt(std::uint32_t arena, const Submission& submission, std::uint64_t now_ns) {
  const OneThread::Use use(one_thread_);
  youngest_ns_ = now_ns;
  auto* operation = reinterpret_cast<GlobalOperation*>(memory_.base(arena) + submission.block);
  OperationRequest request;
  if (!read_request(*operation, request)) { // the rank finds that its memory is damaged
    memory_.note_damage(arena, Damage::operation);
    return;
  }
  if (request.kind == OperationKind::expose || request.kind == OperationKind::conceal) {
    expose(*operation, request, arena);
    return;
  }
  operation->stage.store(OperationStage::taken, std::memory_order_relaxed);
  RunningList& list = request.endpoint < 0 ? copies_ : waiting_;
  list.push_back({.operation = operation,
                  .request = request,
                  .arena = arena,
                  .local = view_of(request.local, memory_.pid(arena), arena == memory_.self(), memory_.base(arena))});
  if (request.endpoint >= 0 && is_short(request)) {
    await_bundle(std::prev(list.end()));
  }
}

PollerState GlobalAccess::state() const {
  const bool urgent = !copies_.empty() || !waiting_.empty() ||
                      (wire_ && (wire_->messages.in_flight() || !wire_->window_pieces.empty()));
  const bool active = serving_ || urgent || !begun_.empty() ||
                      (wire_ && (wire_->short_messages.sending() || !wire_->busy_lanes.empty()));
  return {.active = active, .urgent = urgent, .serving = serving_, .youngest_ns = youngest_ns_};
}

bool GlobalAccess::poll() {
  const OneThread::Use use(one_thread_);
  bool moved = copy_slice();
  if (wire_) {
    const auto& received = wire_->short_messages.poll();
    for (const ActiveMessages::Received& message : received) {
      receive(message);
    }
    const auto& done = wire_->messages.poll();
    for (const Messages::Outcome& outcome : done) {
      data_done(Data(wire_->data[outcome.message]), outcome.error);
    }
    moved |= poll_window_pieces();
    begin_bundles();
    begin_pieces();
    if (wire_->window_error != MPI_SUCCESS) {
      // MPI keeps the requests that are left: nobody waits for them any more.
      wire_->window_requests.clear();
      wire_->window_pieces.clear();
      break_off(std::exchange(wire_->window_error, MPI_SUCCESS));
    }
    if (const int error = wire_->short_messages.error(); error != MPI_SUCCESS) {
      break_off(error);
    }
    moved |= !received.empty() || !done.empty();
  }
  if (moved) {
    youngest_ns_ = now_ns();
  }
  return moved;
}

void GlobalAccess::unreachable(Running& running, int error) {
  running.code = Code::access;
  running.text = std::string("the local buffer cannot be reached: ") + std::strerror(error);
}

bool GlobalAccess::copy_slice() {
  if (copies_.empty()) {
    return false;
  }
  Running& copy = copies_.front();
  const OperationRequest& operation = copy.request;
  std::byte* target = memory_.base(operation.arena) + operation.place + copy.begun;
  const std::uint64_t bytes = std::min(slice_bytes, operation.bytes - copy.begun);
  const int error = operation.kind == OperationKind::put ? read_local(target, copy.local, copy.begun, bytes)
                                                         : write_local(copy.local, copy.begun, target, bytes);
  copy.begun += bytes;
  if (error != 0) {
    unreachable(copy, error);
  }
  if (error == 0 && copy.begun == operation.bytes && operation.signals) {
    word(operation.arena, operation.signal_place)
        .store(operation.signal_value, std::memory_order_release); // see stoker_wait_until
  }
  if (error != 0 || copy.begun == operation.bytes) {
    const auto done = copies_.begin();
    all_begun(done);
    complete(done);
  }
  return true;
}

void GlobalAccess::expose(GlobalOperation& operation, const OperationRequest& request, std::uint32_t arena) {
  Window& window = *windows_[request.window - 1];
  std::byte* const memory = memory_.base(arena) + request.place;
  if (request.kind == OperationKind::conceal) {
    window.detach(memory);
  } else if (const auto displacement = window.attach(memory, request.bytes)) {
    operation.displacement = *displacement;
  } else {
    operation.error = static_cast<std::int32_t>(Code::resource);
    std::snprintf(operation.error_text, sizeof operation.error_text,
                  "the MPI library refuses to attach %llu bytes to a window",
                  static_cast<unsigned long long>(request.bytes));
  }
  operation.completed.publish(request.epoch, memory_.root(arena).completion); // the last access to the operation
}

void GlobalAccess::post_data(const Message& message, const Data& data) {
  const std::uint32_t number = wire_->messages.post(message);
  if (number >= wire_->data.size()) {
    wire_->data.resize(number + 1);
  }
  wire_->data[number] = data;
}

void GlobalAccess::receive(const ActiveMessages::Received& received) {
  Header header;
  std::memcpy(&header, received.data, sizeof header);
  const std::byte* payload = received.data + sizeof header;
  if (header.kind != reply_kind) {
    answer(received.source, header, payload);
    return;
  }
  Piece& piece = wire_->pieces[header.piece];
  if (piece.parts.empty()) {
    return; // broken off before
  }
  if (header.error != MPI_SUCCESS) { // data may still be on its way, into or out of the rank's memory: nothing is safe
    break_off(header.error);
    return;
  }
  for (const Part& part : piece.parts) {
    // What is behind the header is this process's own copy.
    auto* const results = const_cast<std::byte*>(payload);
    if (const int error =
            part.result_bytes > 0 ? write_local(part.running->local, part.offset, results, part.result_bytes) : 0) {
      unreachable(*part.running, error);
    }
    payload += part.result_bytes;
  }
  arrived(header.piece);
}

void GlobalAccess::data_done(const Data& data, int error) {
  if (!data.own_piece) {
    if (data.signal != nullptr && error == MPI_SUCCESS) {
      data.signal->store(data.signal_value, std::memory_order_release); // acquired by who waits for it
    }
    if (data.reply_when_done || error != MPI_SUCCESS) {
      reply(data.origin, data.piece, 0, error);
    }
    return;
  }
  Piece& piece = wire_->pieces[data.piece];
  if (piece.parts.empty()) {
    return; // broken off before
  }
  if (error != MPI_SUCCESS) {
    break_off(error);
    return;
  }
  data_here(data.piece);
}

std::atomic<std::uint64_t>& GlobalAccess::word(std::uint32_t arena, std::uint64_t place) const {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(memory_.base(arena) + place);
}

GlobalAccess::RunningList& GlobalAccess::list_of(Running& waiting) {
  return waiting.lane != nullptr ? waiting.lane->waiting : waiting.request.endpoint < 0 ? copies_ : waiting_;
}

void GlobalAccess::all_begun(RunningList::iterator running) {
  if (running->lane != nullptr) {
    running->lane->bytes -= bytes_as_items(running->request);
  }
  running->operation->stage.store(OperationStage::under_way, std::memory_order_relaxed);
  begun_.splice(begun_.end(), list_of(*running), running);
  running->waiting = false;
}

void GlobalAccess::begin_no_more(RunningList::iterator running) {
  all_begun(running);
  if (running->in_flight == 0) {
    complete(running);
  }
}

// `running` is in begun_.
void GlobalAccess::complete(RunningList::iterator running) {
  GlobalOperation& operation = *running->operation;
  if (running->code != Code::success) {
    std::snprintf(operation.error_text, sizeof operation.error_text, "%s", running->text.c_str());
  }
  operation.error = static_cast<std::int32_t>(running->code);
  RankRoot& root = memory_.root(running->arena);
  const std::uint64_t epoch = running->request.epoch;
  begun_.erase(running);
  operation.completed.publish(epoch, root.completion); // the last access to the operation
}

// The MPI library has lost a message, and nobody knows what else will not arrive. All operations under way fail, and
// all later ones. Pieces are not used again, because MPI may still use their data.
void GlobalAccess::break_off(int error) {
  if (wire_->broken.empty()) {
    wire_->broken = "messages between the nodes failed: " + wire_->messages.text_of(error);
  }
  for (Piece& piece : wire_->pieces) {
    for (const Part& part : std::exchange(piece.parts, {})) {
      part.running->code = Code::mpi;
      part.running->text = wire_->broken;
      piece_gone(part.running);
    }
  }
}

} // namespace stoker::engine
