// SPDX-License-Identifier: BSD-3-Clause
#include "engine/global/global_access.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

namespace stoker::engine {
namespace {

constexpr std::uint64_t inline_bytes = 4096;             // behind a header
constexpr std::uint64_t slice_bytes = 256 * 1024;        // copied within the node in one round
constexpr std::uint64_t bounce_bytes = 512 * 1024;       // a piece whose local buffer is in another process
constexpr std::uint32_t bounces_at_a_time = 4;           // of one operation
constexpr std::uint32_t short_pieces_at_a_time = 16;     // of one accumulate
constexpr std::uint64_t begun_in_a_round = bounce_bytes; // bytes read by this thread, so that others are not starved

constexpr std::uint32_t reply_kind = 0x100; // none of OperationKind

// The two directions between two endpoints must not share tags: a slot is numbered by the origin.
int put_tag(std::uint32_t slot) { return static_cast<int>(2 * slot); }
int get_tag(std::uint32_t slot) { return static_cast<int>((2 * slot) + 1); }

algos::Slice run(std::uint64_t offset, std::uint64_t bytes) { return {algos::Buffer::send, offset, bytes, 0, 1}; }

// Between a rank's buffer and this process's memory; 0 or an errno.
int read_local(std::byte* here, const BufferView& local, std::uint64_t offset, std::uint64_t bytes) {
  const algos::Slice slice = run(offset, bytes);
  return gather(here, {local}, std::span(&slice, 1));
}
int write_local(const BufferView& local, std::uint64_t offset, std::byte* here, std::uint64_t bytes) {
  const algos::Slice slice = run(offset, bytes);
  return scatter({local}, std::span(&slice, 1), here);
}

} // namespace

struct GlobalAccess::Header {
  std::uint32_t kind = 0; // OperationKind, or reply_kind
  std::uint32_t slot = 0; // the origin's
  std::uint32_t arena = 0;
  std::int32_t error = MPI_SUCCESS; // of a reply
  ElementType type = ElementType::int32;
  AtomicOp op = AtomicOp::no_op;
  std::uint64_t place = 0;
  std::uint64_t bytes = 0;        // of target memory; in a reply: of what follows
  std::uint64_t signal_place = 0; // of a put: 0: none
  std::uint64_t signal_value = 0;
};

GlobalAccess::GlobalAccess(const NodeMemory& memory, const Network& network,
                           const std::vector<std::shared_ptr<Window>>& windows)
    : memory_(memory), windows_(windows) {
  static_assert(sizeof(Header) + inline_bytes <= ActiveMessages::largest);
  static_assert(std::is_trivially_copyable_v<Header>);
  if (network.transport != nullptr) {
    wire_.emplace(network);
    wire_->free_slots.resize(most_pieces);
    std::iota(wire_->free_slots.rbegin(), wire_->free_slots.rend(), 0U);
  }
}

void GlobalAccess::adopt(std::uint32_t arena, const Submission& submission, std::uint64_t now_ns) {
  const OneThread::Use use(one_thread_);
  youngest_ns_ = now_ns;
  auto* operation = reinterpret_cast<GlobalOperation*>(memory_.base(arena) + submission.block);
  if (operation->kind == OperationKind::expose || operation->kind == OperationKind::conceal) {
    expose(*operation, arena);
    return;
  }
  RunningList& list = operation->endpoint < 0 ? copies_ : waiting_;
  list.push_back({.operation = operation,
                  .arena = arena,
                  .local = view_of(operation->local, arena == memory_.self(), memory_.base(arena))});
}

PollerState GlobalAccess::state() const {
  const bool urgent =
      !copies_.empty() || !waiting_.empty() || (wire_ && (wire_->messages.in_flight() || !wire_->window_slots.empty()));
  const bool active = serving_ || urgent || !begun_.empty() || (wire_ && wire_->short_messages.sending());
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
    begin_pieces();
    if (wire_->window_error != MPI_SUCCESS) {
      // What is left of the requests is MPI's: nobody waits for it any more.
      wire_->window_requests.clear();
      wire_->window_slots.clear();
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
  const GlobalOperation& operation = *copy.operation;
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
    all_begun(copies_, done);
    complete(done);
  }
  return true;
}

void GlobalAccess::begin_pieces() {
  Between& wire = *wire_;
  std::uint64_t budget = begun_in_a_round;
  for (auto running = waiting_.begin(); running != waiting_.end() && budget > 0;) {
    const auto next = std::next(running);
    if (!wire.broken.empty()) {
      running->code = Code::mpi;
      running->text = wire.broken;
    }
    const std::uint64_t bytes = running->operation->bytes;
    const std::uint32_t limit = running->operation->kind == OperationKind::accumulate ? short_pieces_at_a_time
                                : running->local.direct == nullptr                    ? bounces_at_a_time
                                                                                      : 1;
    while (running->code == Code::success && running->begun < bytes && running->in_flight < limit && budget > 0 &&
           !wire.free_slots.empty()) {
      const std::uint64_t piece =
          running->operation->displacement != 0 ? begin_window_piece(running) : begin_piece(running);
      running->begun += piece;
      budget -= running->local.direct == nullptr ? std::min(budget, piece) : 0;
    }
    if (running->begun == bytes || running->code != Code::success) {
      all_begun(waiting_, running);
      if (running->in_flight == 0) {
        complete(running);
      }
    }
    running = next;
  }
}

std::uint64_t GlobalAccess::begin_piece(RunningList::iterator running) {
  Between& wire = *wire_;
  const GlobalOperation& operation = *running->operation;
  const std::uint32_t slot = wire.free_slots.back();
  Piece& piece = wire.pieces[slot];
  const std::uint64_t left = operation.bytes - running->begun;
  Header header{.kind = static_cast<std::uint32_t>(operation.kind),
                .slot = slot,
                .arena = operation.arena,
                .type = operation.type,
                .op = operation.op,
                .place = operation.place + running->begun,
                .bytes = left};
  const auto all_in_one = [&] { // so that the target can set the signal by itself
    if (operation.signals && header.bytes == operation.bytes) {
      header.signal_place = operation.signal_place;
      header.signal_value = operation.signal_value;
      running->signalled = true;
    }
  };
  std::uint64_t payload = 0; // from the local buffer, behind the header
  bool bulk = false;         // put or get with a message of data
  switch (operation.kind) {
  case OperationKind::put:
  case OperationKind::get:
    bulk = left > inline_bytes;
    if (bulk && running->local.direct == nullptr) {
      header.bytes = std::min(left, bounce_bytes);
    }
    payload = operation.kind == OperationKind::put && !bulk ? left : 0;
    all_in_one();
    break;
  case OperationKind::fetch_and_op:
    payload = left;
    break;
  case OperationKind::compare_and_swap:
    payload = 2 * left;
    break;
  case OperationKind::accumulate:
    header.bytes = payload = std::min(left, inline_bytes);
    break;
  case OperationKind::expose: // of this process alone
  case OperationKind::conceal:
    break;
  }
  const auto fail = [&](int error) {
    unreachable(*running, error);
    return header.bytes;
  };
  std::byte* const message = wire.short_messages.compose();
  if (payload > 0) {
    if (const int error = read_local(message + sizeof header, running->local, running->begun, payload)) {
      return fail(error);
    }
  }
  std::byte* data = nullptr;
  if (bulk) {
    data = running->local.direct != nullptr ? running->local.direct + running->begun : nullptr;
    if (data == nullptr) {
      data = bounce_of(piece);
      if (operation.kind == OperationKind::put) {
        if (const int error = read_local(data, running->local, running->begun, header.bytes)) {
          wire.spare_bounces.push_back(std::move(piece.bounce));
          return fail(error);
        }
      }
    }
  }
  wire.free_slots.pop_back();
  piece.running = running;
  piece.offset = running->begun;
  piece.bytes = header.bytes;
  piece.waiting_for = 1; // the reply, or the data of a get
  ++running->in_flight;
  const Message bulk_data{.data = data, .bytes = header.bytes, .peer = operation.endpoint};
  const Data of_this_piece{.own_piece = true, .slot = slot};
  if (bulk && operation.kind == OperationKind::get) { // the receive first, so that the data finds it
    Message receive = bulk_data;
    receive.tag = get_tag(slot);
    post_data(receive, of_this_piece);
  }
  std::memcpy(message, &header, sizeof header);
  wire.short_messages.send(operation.endpoint, sizeof header + payload);
  if (bulk && operation.kind == OperationKind::put) {
    ++piece.waiting_for;
    Message send = bulk_data;
    send.outgoing = true;
    send.tag = put_tag(slot);
    post_data(send, of_this_piece);
  }
  return header.bytes;
}

std::byte* GlobalAccess::bounce_of(Piece& piece) {
  auto& spare = wire_->spare_bounces;
  if (spare.empty()) {
    spare.emplace_back(new std::byte[bounce_bytes]);
  }
  piece.bounce = std::move(spare.back());
  spare.pop_back();
  return piece.bounce.get();
}

std::uint64_t GlobalAccess::begin_window_piece(RunningList::iterator running) {
  Between& wire = *wire_;
  const GlobalOperation& operation = *running->operation;
  const std::uint32_t slot = wire.free_slots.back();
  Piece& piece = wire.pieces[slot];
  const bool put = operation.kind == OperationKind::put;
  std::uint64_t bytes = operation.bytes - running->begun;
  std::byte* data = running->local.direct != nullptr ? running->local.direct + running->begun : nullptr;
  if (data == nullptr) {
    bytes = std::min(bytes, bounce_bytes);
    data = bounce_of(piece);
    if (const int error = put ? read_local(data, running->local, running->begun, bytes) : 0) {
      wire.spare_bounces.push_back(std::move(piece.bounce));
      unreachable(*running, error);
      return bytes;
    }
  }
  wire.free_slots.pop_back();
  piece.running = running;
  piece.offset = running->begun;
  piece.bytes = bytes;
  piece.waiting_for = 1;
  ++running->in_flight;
  Window& window = *windows_[operation.window - 1];
  const std::uint64_t displacement = operation.displacement + running->begun;
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = put ? window.put(data, bytes, operation.endpoint, displacement, &request)
                        : window.get(data, bytes, operation.endpoint, displacement, &request);
  if (error != MPI_SUCCESS) {
    wire.window_error = error; // broken off at the end of the round: whoever is being walked through stays
    request = MPI_REQUEST_NULL;
  }
  wire.window_requests.push_back(request);
  wire.window_slots.push_back(slot);
  return bytes;
}

bool GlobalAccess::poll_window_pieces() {
  Between& wire = *wire_;
  if (wire.window_slots.empty()) {
    return false;
  }
  std::vector<int> indices(wire.window_requests.size());
  int count = 0;
  const int error = MPI_Testsome(static_cast<int>(indices.size()), wire.window_requests.data(), &count, indices.data(),
                                 MPI_STATUSES_IGNORE);
  if (error != MPI_SUCCESS) {
    wire.window_error = error;
    return true;
  }
  indices.resize(static_cast<std::size_t>(count == MPI_UNDEFINED ? 0 : count));
  // A put is at its target after a flush: one for all that went to the same process.
  std::vector<std::pair<Window*, int>> flushed;
  for (const int i : indices) {
    const Piece& piece = wire.pieces[wire.window_slots[static_cast<std::size_t>(i)]];
    if (!piece.running || (*piece.running)->operation->kind != OperationKind::put) {
      continue;
    }
    const GlobalOperation& operation = *(*piece.running)->operation;
    const std::pair target(windows_[operation.window - 1].get(), static_cast<int>(operation.endpoint));
    if (std::ranges::find(flushed, target) == flushed.end()) {
      flushed.push_back(target);
      if (const int failed = target.first->flush(target.second)) {
        wire.window_error = failed;
        return true;
      }
    }
  }
  std::ranges::sort(indices, std::greater<>()); // so that the indices of the others stay right
  for (const int i : indices) {
    const auto index = static_cast<std::size_t>(i);
    const std::uint32_t slot = wire.window_slots[index];
    wire.window_slots[index] = wire.window_slots.back();
    wire.window_requests[index] = wire.window_requests.back();
    wire.window_slots.pop_back();
    wire.window_requests.pop_back();
    if (wire.pieces[slot].running) { // else broken off
      data_here(slot);
    }
  }
  return !indices.empty();
}

void GlobalAccess::expose(GlobalOperation& operation, std::uint32_t arena) {
  Window& window = *windows_[operation.window - 1];
  std::byte* const memory = memory_.base(arena) + operation.place;
  if (operation.kind == OperationKind::conceal) {
    window.detach(memory);
  } else if (const auto displacement = window.attach(memory, operation.bytes)) {
    operation.displacement = *displacement;
  } else {
    operation.error = static_cast<std::int32_t>(Code::resource);
    std::snprintf(operation.error_text, sizeof operation.error_text,
                  "the MPI library refuses to attach %llu bytes to a window",
                  static_cast<unsigned long long>(operation.bytes));
  }
  const std::uint64_t epoch = operation.epoch;
  operation.completed.publish(epoch, memory_.root(arena).completion); // the last access to the operation
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
  Piece& piece = wire_->pieces[header.slot];
  if (!piece.running) {
    return; // broken off before
  }
  if (header.error != MPI_SUCCESS) { // data may still be on its way, into or out of the rank's memory: nothing is safe
    break_off(header.error);
    return;
  }
  Running& running = **piece.running;
  if (header.bytes > 0) {
    // What is behind the header is this process's own copy.
    if (const int error = write_local(running.local, piece.offset, const_cast<std::byte*>(payload), header.bytes)) {
      unreachable(running, error);
    }
  }
  arrived(header.slot);
}

// At the target.
void GlobalAccess::answer(int origin, const Header& request, const std::byte* payload) {
  std::byte* const target = memory_.base(request.arena) + request.place;
  ActiveMessages& out = wire_->short_messages;
  switch (static_cast<OperationKind>(request.kind)) {
  case OperationKind::put:
    if (request.bytes > inline_bytes) {
      post_data({.data = target, .bytes = request.bytes, .peer = origin, .tag = put_tag(request.slot)},
                {.slot = request.slot,
                 .origin = origin,
                 .reply_when_done = true,
                 .signal = request.signal_place != 0 ? &word(request.arena, request.signal_place) : nullptr,
                 .signal_value = request.signal_value});
      return;
    }
    store_shared(target, payload, request.bytes);
    if (request.signal_place != 0) {
      word(request.arena, request.signal_place).store(request.signal_value, std::memory_order_release);
    }
    reply(origin, request.slot, 0, MPI_SUCCESS);
    return;
  case OperationKind::get:
    if (request.bytes > inline_bytes) {
      post_data(
          {.outgoing = true, .data = target, .bytes = request.bytes, .peer = origin, .tag = get_tag(request.slot)},
          {.slot = request.slot, .origin = origin});
      return;
    }
    load_shared(out.compose() + sizeof(Header), target, request.bytes);
    reply(origin, request.slot, request.bytes, MPI_SUCCESS);
    return;
  case OperationKind::fetch_and_op:
    fetch_and_op(target, request.type, request.op, payload, out.compose() + sizeof(Header));
    reply(origin, request.slot, request.bytes, MPI_SUCCESS);
    return;
  case OperationKind::compare_and_swap:
    compare_and_swap(target, request.type, payload, payload + request.bytes, out.compose() + sizeof(Header));
    reply(origin, request.slot, request.bytes, MPI_SUCCESS);
    return;
  case OperationKind::accumulate:
    accumulate(target, request.type, request.op, payload, request.bytes / size_of(request.type));
    reply(origin, request.slot, 0, MPI_SUCCESS);
    return;
  case OperationKind::expose:
  case OperationKind::conceal:
    return;
  }
}

void GlobalAccess::reply(int origin, std::uint32_t slot, std::size_t payload_bytes, int error) {
  const Header header{.kind = reply_kind, .slot = slot, .error = error, .bytes = payload_bytes};
  std::memcpy(wire_->short_messages.compose(), &header, sizeof header);
  wire_->short_messages.send(origin, sizeof header + payload_bytes);
}

void GlobalAccess::data_done(const Data& data, int error) {
  if (!data.own_piece) {
    if (data.signal != nullptr && error == MPI_SUCCESS) {
      data.signal->store(data.signal_value, std::memory_order_release); // acquired by who waits for it
    }
    if (data.reply_when_done || error != MPI_SUCCESS) {
      reply(data.origin, data.slot, 0, error);
    }
    return;
  }
  Piece& piece = wire_->pieces[data.slot];
  if (!piece.running) {
    return; // broken off before
  }
  if (error != MPI_SUCCESS) {
    break_off(error);
    return;
  }
  data_here(data.slot);
}

void GlobalAccess::data_here(std::uint32_t slot) {
  Piece& piece = wire_->pieces[slot];
  Running& running = **piece.running;
  if (piece.bounce != nullptr && running.operation->kind == OperationKind::get) {
    if (const int refused = write_local(running.local, piece.offset, piece.bounce.get(), piece.bytes)) {
      unreachable(running, refused);
    }
  }
  arrived(slot);
}

void GlobalAccess::arrived(std::uint32_t slot) {
  if (--wire_->pieces[slot].waiting_for == 0) {
    finish_piece(slot);
  }
}

void GlobalAccess::finish_piece(std::uint32_t slot) {
  Piece& piece = wire_->pieces[slot];
  const RunningList::iterator running = *piece.running;
  piece.running.reset();
  if (piece.bounce != nullptr) {
    wire_->spare_bounces.push_back(std::move(piece.bounce));
  }
  wire_->free_slots.push_back(slot);
  piece_gone(running);
}

void GlobalAccess::piece_gone(RunningList::iterator running) {
  --running->in_flight;
  if (running->waiting && running->code != Code::success) {
    all_begun(waiting_, running); // the rest does not begin
  }
  if (running->waiting || running->in_flight > 0) {
    return;
  }
  if (running->operation->signals && !running->signalled && running->code == Code::success) {
    begin_signal(running);
  } else {
    complete(running);
  }
}

void GlobalAccess::begin_signal(RunningList::iterator running) {
  Between& wire = *wire_;
  const GlobalOperation& operation = *running->operation;
  const std::uint32_t slot = wire.free_slots.back(); // the last piece has just given one back
  wire.free_slots.pop_back();
  Piece& piece = wire.pieces[slot];
  piece.running = running;
  piece.offset = operation.bytes;
  piece.bytes = 0;
  piece.waiting_for = 1;
  running->signalled = true;
  ++running->in_flight;
  const Header header{.kind = static_cast<std::uint32_t>(OperationKind::put),
                      .slot = slot,
                      .arena = operation.arena,
                      .place = operation.place,
                      .signal_place = operation.signal_place,
                      .signal_value = operation.signal_value};
  std::memcpy(wire.short_messages.compose(), &header, sizeof header);
  wire.short_messages.send(operation.endpoint, sizeof header);
}

std::atomic<std::uint64_t>& GlobalAccess::word(std::uint32_t arena, std::uint64_t place) const {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(memory_.base(arena) + place);
}

void GlobalAccess::all_begun(RunningList& list, RunningList::iterator running) {
  running->waiting = false;
  begun_.splice(begun_.end(), list, running);
}

// `running` is in begun_.
void GlobalAccess::complete(RunningList::iterator running) {
  GlobalOperation& operation = *running->operation;
  if (running->code != Code::success) {
    std::snprintf(operation.error_text, sizeof operation.error_text, "%s", running->text.c_str());
  }
  operation.error = static_cast<std::int32_t>(running->code);
  RankRoot& root = memory_.root(running->arena);
  begun_.erase(running);
  const std::uint64_t epoch = operation.epoch;
  operation.completed.publish(epoch, root.completion); // the last access to the operation
}

// The MPI library has lost a message: nobody knows what else will not arrive. What is under way fails, and so does all that
// comes; slots are not used again, as their data may still be in the hands of MPI.
void GlobalAccess::break_off(int error) {
  if (wire_->broken.empty()) {
    wire_->broken = "messages between the nodes failed: " + mpi_text(error);
  }
  for (Piece& piece : wire_->pieces) {
    if (!piece.running) {
      continue;
    }
    const RunningList::iterator running = *piece.running;
    piece.running.reset();
    running->code = Code::mpi;
    running->text = wire_->broken;
    piece_gone(running);
  }
}

} // namespace stoker::engine
