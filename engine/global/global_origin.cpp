// SPDX-License-Identifier: BSD-3-Clause
// The origin's side of what goes between nodes: operations in pieces, each with a number.
#include "engine/global/global_access.hpp"
#include "engine/global/global_requests.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace stoker::engine {
namespace {

constexpr std::uint32_t bounces_at_a_time = 4;           // of one operation
constexpr std::uint32_t short_pieces_at_a_time = 16;     // of one accumulate
constexpr std::uint64_t begun_in_a_round = bounce_bytes; // bytes read by this thread, so that others are not starved

} // namespace

// A request with what comes behind its header or in a message of its own.
struct GlobalAccess::Outgoing {
  Header header;
  std::uint64_t payload = 0; // bytes from the local buffer, behind the header
  bool bulk = false;         // a put or get with a message of data
};

void GlobalAccess::begin_pieces() {
  Between& wire = *wire_;
  std::uint64_t budget = begun_in_a_round;
  for (auto running = waiting_.begin(); running != waiting_.end() && budget > 0;) {
    const auto next = std::next(running);
    if (!wire.broken.empty()) {
      running->code = Code::mpi;
      running->text = wire.broken;
    }
    const std::uint64_t bytes = running->request.bytes;
    const std::uint32_t limit = running->request.kind == OperationKind::accumulate ? short_pieces_at_a_time
                                : running->local.direct == nullptr                 ? bounces_at_a_time
                                                                                   : 1;
    while (running->code == Code::success && running->begun < bytes && running->in_flight < limit && budget > 0 &&
           !wire.free_pieces.empty()) {
      const std::uint64_t piece =
          running->request.displacement != 0 ? begin_window_piece(running) : begin_piece(running);
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

GlobalAccess::Outgoing GlobalAccess::next_request(Running& running) const {
  const OperationRequest& operation = running.request;
  const std::uint64_t left = operation.bytes - running.begun;
  Header header{.kind = static_cast<std::uint32_t>(operation.kind),
                .piece = wire_->free_pieces.back(),
                .arena = operation.arena,
                .type = operation.type,
                .op = operation.op,
                .place = operation.place + running.begun,
                .bytes = left};
  const auto all_in_one = [&] { // so that the target can set the signal by itself
    if (operation.signals && header.bytes == operation.bytes) {
      header.signal_place = operation.signal_place;
      header.signal_value = operation.signal_value;
      running.signalled = true;
    }
  };
  std::uint64_t payload = 0;
  bool bulk = false;
  switch (operation.kind) {
  case OperationKind::put:
  case OperationKind::get:
    bulk = left > inline_bytes;
    if (bulk && running.local.direct == nullptr) {
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
  return {header, payload, bulk};
}

std::byte* GlobalAccess::data_of(Running& running, std::uint64_t bytes) {
  if (running.local.direct != nullptr) {
    return running.local.direct + running.begun;
  }
  auto& spare = wire_->spare_bounces;
  if (spare.empty()) {
    spare.emplace_back(new std::byte[bounce_bytes]);
  }
  std::byte* const bounce = spare.back().get();
  if (running.request.kind == OperationKind::put) {
    if (const int error = read_local(bounce, running.local, running.begun, bytes)) {
      unreachable(running, error);
      return nullptr;
    }
  }
  wire_->pieces[wire_->free_pieces.back()].bounce = std::move(spare.back());
  spare.pop_back();
  return bounce;
}

std::uint32_t GlobalAccess::take_piece(RunningList::iterator running, std::uint64_t bytes) {
  const std::uint32_t number = wire_->free_pieces.back();
  wire_->free_pieces.pop_back();
  Piece& piece = wire_->pieces[number];
  piece.running = running;
  piece.offset = running->begun;
  piece.bytes = bytes;
  piece.waiting_for = 1;
  ++running->in_flight;
  return number;
}

std::uint64_t GlobalAccess::begin_piece(RunningList::iterator running) {
  Between& wire = *wire_;
  const OperationRequest& operation = running->request;
  const auto [header, payload, bulk] = next_request(*running);
  std::byte* const message = wire.short_messages.compose();
  if (payload > 0) {
    if (const int error = read_local(message + sizeof header, running->local, running->begun, payload)) {
      unreachable(*running, error);
      return header.bytes;
    }
  }
  std::byte* const data = bulk ? data_of(*running, header.bytes) : nullptr;
  if (bulk && data == nullptr) {
    return header.bytes;
  }
  const std::uint32_t number = take_piece(running, header.bytes); // waits for the reply, or the data of a get
  Message bulk_data{.data = data, .bytes = header.bytes, .peer = operation.endpoint};
  const Data of_this_piece{.own_piece = true, .piece = number};
  if (bulk && operation.kind == OperationKind::get) { // the receive first, so that the data finds it
    bulk_data.tag = get_tag(number);
    post_data(bulk_data, of_this_piece);
  }
  std::memcpy(message, &header, sizeof header);
  wire.short_messages.send(operation.endpoint, sizeof header + payload);
  if (bulk && operation.kind == OperationKind::put) {
    ++wire.pieces[number].waiting_for;
    bulk_data.outgoing = true;
    bulk_data.tag = put_tag(number);
    post_data(bulk_data, of_this_piece);
  }
  return header.bytes;
}

void GlobalAccess::data_here(std::uint32_t number) {
  Piece& piece = wire_->pieces[number];
  Running& running = **piece.running;
  if (piece.bounce != nullptr && running.request.kind == OperationKind::get) {
    if (const int refused = write_local(running.local, piece.offset, piece.bounce.get(), piece.bytes)) {
      unreachable(running, refused);
    }
  }
  arrived(number);
}

void GlobalAccess::arrived(std::uint32_t number) {
  if (--wire_->pieces[number].waiting_for == 0) {
    finish_piece(number);
  }
}

void GlobalAccess::finish_piece(std::uint32_t number) {
  Piece& piece = wire_->pieces[number];
  const RunningList::iterator running = *piece.running;
  piece.running.reset();
  if (piece.bounce != nullptr) {
    wire_->spare_bounces.push_back(std::move(piece.bounce));
  }
  wire_->free_pieces.push_back(number);
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
  if (running->request.signals && !running->signalled && running->code == Code::success) {
    begin_signal(running);
  } else {
    complete(running);
  }
}

void GlobalAccess::begin_signal(RunningList::iterator running) {
  Between& wire = *wire_;
  const OperationRequest& operation = running->request;
  const std::uint32_t number = take_piece(running, 0); // the last piece has just given one back
  running->signalled = true;
  const Header header{.kind = static_cast<std::uint32_t>(OperationKind::put),
                      .piece = number,
                      .arena = operation.arena,
                      .place = operation.place,
                      .signal_place = operation.signal_place,
                      .signal_value = operation.signal_value};
  std::memcpy(wire.short_messages.compose(), &header, sizeof header);
  wire.short_messages.send(operation.endpoint, sizeof header);
}

} // namespace stoker::engine
