// SPDX-License-Identifier: BSD-3-Clause
// The origin's side of what goes between nodes: long puts and gets in pieces, and the end of any piece.
#include "engine/global/global_access.hpp"
#include "engine/global/global_requests.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace stoker::engine {
namespace {

constexpr std::uint32_t bounces_at_a_time = 4;           // of one operation
constexpr std::uint64_t begun_in_a_round = bounce_bytes; // bytes read by this thread, so that others are not starved

} // namespace

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
    const std::uint32_t limit = running->local.direct == nullptr ? bounces_at_a_time : 1;
    while (running->code == Code::success && running->begun < bytes && running->in_flight < limit && budget > 0 &&
           !wire.free_pieces.empty()) {
      const std::uint64_t piece =
          running->request.displacement != 0 ? begin_window_piece(running) : begin_piece(running);
      budget -= running->local.direct == nullptr ? std::min(budget, piece) : 0;
    }
    if (running->begun == bytes || running->code != Code::success) {
      begin_no_more(running);
    }
    running = next;
  }
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
  piece.bytes = bytes;
  piece.waiting_for = 1;
  piece.lane = nullptr;
  add_part(piece, running, bytes, 0);
  return number;
}

void GlobalAccess::add_part(Piece& piece, RunningList::iterator running, std::uint64_t bytes,
                            std::uint64_t result_bytes) {
  piece.parts.push_back({.running = running, .offset = running->begun, .result_bytes = result_bytes});
  running->begun += bytes;
  ++running->in_flight;
}

std::uint64_t GlobalAccess::begin_piece(RunningList::iterator running) {
  Between& wire = *wire_;
  const OperationRequest& operation = running->request;
  const bool put = operation.kind == OperationKind::put;
  const std::uint64_t left = operation.bytes - running->begun;
  const std::uint64_t bytes = running->local.direct != nullptr ? left : std::min(left, bounce_bytes);
  Header header{.kind = static_cast<std::uint32_t>(operation.kind),
                .piece = wire.free_pieces.back(),
                .bytes = bytes,
                .arena = operation.arena,
                .place = operation.place + running->begun};
  std::byte* const data = data_of(*running, bytes);
  if (data == nullptr) {
    return bytes;
  }
  if (operation.signals && bytes == operation.bytes) { // all in one: the target sets the signal by itself
    header.signal_place = operation.signal_place;
    header.signal_value = operation.signal_value;
    running->signalled = true;
  }
  const std::uint32_t number = take_piece(running, bytes); // waits for the reply, or the data of a get
  Message message{.outgoing = put,
                  .data = data,
                  .bytes = bytes,
                  .peer = operation.endpoint,
                  .tag = put ? put_tag(number) : get_tag(number)};
  const Data of_this_piece{.own_piece = true, .piece = number};
  if (!put) { // the receive first, so that the data find it
    post_data(message, of_this_piece);
  }
  std::memcpy(wire.short_messages.compose(), &header, sizeof header);
  wire.short_messages.send(operation.endpoint, sizeof header);
  if (put) {
    ++wire.pieces[number].waiting_for;
    post_data(message, of_this_piece);
  }
  return bytes;
}

void GlobalAccess::data_here(std::uint32_t number) {
  Piece& piece = wire_->pieces[number];
  const Part& part = piece.parts.front();
  Running& running = *part.running;
  if (piece.bounce != nullptr && running.request.kind == OperationKind::get) {
    if (const int refused = write_local(running.local, part.offset, piece.bounce.get(), piece.bytes)) {
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
  const std::vector<Part> parts = std::exchange(piece.parts, {});
  if (piece.lane != nullptr) {
    --piece.lane->under_way;
  }
  if (piece.bounce != nullptr) {
    wire_->spare_bounces.push_back(std::move(piece.bounce));
  }
  wire_->free_pieces.push_back(number);
  for (const Part& part : parts) {
    piece_gone(part.running);
  }
}

void GlobalAccess::piece_gone(RunningList::iterator running) {
  --running->in_flight;
  if (running->waiting && running->code != Code::success) {
    all_begun(running); // the rest does not begin
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
  const OperationRequest& operation = running->request;
  const std::uint32_t number = take_piece(running, 0); // the last piece has just given one back
  running->signalled = true;
  std::byte* const message = wire_->short_messages.compose();
  BundleWriter items(message + sizeof(Header));
  add_signal(items, operation);
  const Header header{
      .kind = static_cast<std::uint32_t>(OperationKind::bundle), .piece = number, .bytes = items.bytes()};
  std::memcpy(message, &header, sizeof header);
  wire_->short_messages.send(operation.endpoint, sizeof header + items.bytes());
}

} // namespace stoker::engine
