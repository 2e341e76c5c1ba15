// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/piece_messages.hpp"

#include "engine/base/clock.hpp"
#include "engine/execute/delivery.hpp"
#include "engine/shared/slice_parts.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <vector>

namespace stoker::engine {
namespace {

// How long a receiver waits for a sender that has claimed pieces, where one of them is missing or all have come. A
// piece takes some two microseconds.
constexpr std::uint64_t missing_ns = 20'000;
constexpr std::uint64_t next_ns = 4'000;

// The pieces of an epoch's message, counted through all epochs.
class Pieces {
public:
  Pieces(const StepView& view, std::uint64_t epoch)
      : bytes_(view.step->bytes), piece_bytes_(view.channel->piece_bytes),
        count_((bytes_ + piece_bytes_ - 1) / piece_bytes_), begin_((epoch - 1) * count_) {}

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t end() const { return begin_ + count_; }
  // Where a piece begins in the message, and the length of so many from there on.
  [[nodiscard]] std::uint64_t place(std::uint64_t piece) const { return (piece - begin_) * piece_bytes_; }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t piece, std::uint64_t count = 1) const {
    return std::min(count * piece_bytes_, bytes_ - place(piece));
  }

private:
  std::uint64_t bytes_;
  std::uint64_t piece_bytes_;
  std::uint64_t count_;
  std::uint64_t begin_;
};

PieceRing& ring_of(const StepView& view) { return *reinterpret_cast<PieceRing*>(view.ready); }

// Slices of the pieces that are being moved.
enum class Role : std::uint8_t { source, target, operand };
std::span<const algos::Slice> part_of(std::span<const algos::Slice> slices, const Pieces& pieces, std::uint64_t piece,
                                      std::uint64_t count, SlicePosition& near, Role role) {
  thread_local std::array<std::vector<algos::Slice>, 3> parts;
  std::vector<algos::Slice>& part = parts[static_cast<std::size_t>(role)];
  cut(slices, pieces.place(piece), pieces.bytes(piece, count), near, part);
  return part;
}

// The step as if it were for so many pieces alone.
StepView recv_of(const StepView& view, const Pieces& pieces, std::uint64_t piece, std::uint64_t count,
                 ChannelNotes& notes) {
  StepView part = view;
  part.target = part_of(view.target, pieces, piece, count, notes.data, Role::target);
  part.operand = part_of(view.operand, pieces, piece, count, notes.operand, Role::operand);
  return part;
}

// Returns whether a piece was put into a free slot.
bool fill_slot(const Program& program, const StepView& view, const Pieces& pieces) {
  TakenWord& word = *view.taken;
  const std::uint64_t full = word.filled - word.emptied.load(std::memory_order_acquire); // released in take_from_slot
  program.require(full <= PieceRing::slots);
  std::uint64_t piece = word.claimed.load(std::memory_order_relaxed);
  program.require(pieces.begin() <= piece && piece <= pieces.end());
  if (full == PieceRing::slots || piece == pieces.end()) {
    return false;
  }
  const auto source = part_of(view.source, pieces, piece, 1, program.notes(*view.step).data, Role::source);
  const auto costs_a_system_call = [&](const algos::Slice& slice) { // if the receiver fetches it
    return program.lowered().buffers[static_cast<std::size_t>(slice.buffer)].path == Path::attached;
  };
  if (!std::ranges::all_of(source, costs_a_system_call) ||
      !word.claimed.compare_exchange_strong(piece, piece + 1, std::memory_order_relaxed)) {
    return false;
  }
  PieceSlot& slot = slot_in(view.ready, *view.channel, word.filled);
  program.require(gather(slot.payload(), program.buffers(), source) == 0); // they are the rank's own
  slot.piece = piece;
  slot.filled.store(++word.filled, std::memory_order_release); // acquired in take_from_slot
  return true;
}

bool take_from_slot(const Program& program, const StepView& view, const Pieces& pieces) {
  PieceRing& ring = ring_of(view);
  PieceSlot& slot = slot_in(view.ready, *view.channel, ring.emptied);
  const std::uint64_t filled = slot.filled.load(std::memory_order_acquire); // released in fill_slot
  program.require(filled <= ring.emptied + 1);
  if (filled != ring.emptied + 1) {
    return false;
  }
  const std::uint64_t piece = copy_once(slot.piece);
  program.require(pieces.begin() <= piece && piece < pieces.end());
  const StepView part = recv_of(view, pieces, piece, 1, program.notes(*view.step));
  check_transfer(program, view, receive(program, part, slot.payload(), pieces.bytes(piece)));
  ++ring.received;
  view.taken->emptied.store(++ring.emptied, std::memory_order_release); // acquired in fill_slot
  return true;
}

// Whether the receiver had better go on by itself.
bool is_left_alone(ChannelNotes& notes, std::uint64_t claimed, std::uint64_t received, const Pieces& pieces) {
  if (claimed == pieces.begin()) {
    return true;
  }
  const std::uint64_t now = now_ns();
  if (claimed != notes.claimed) {
    notes.claimed = claimed;
    notes.claimed_at_ns = now;
  }
  return now - notes.claimed_at_ns >= (claimed == received ? next_ns : missing_ns);
}

// Lest this rank be left waiting for so many pieces. Slots that are filled with them all the same end the next epoch.
Attempt count_as_received(const Program& program, const StepView& view, std::uint64_t count) {
  record_not_fetched(program, view, Code::peer_lost, "the sender's shared memory is damaged");
  ring_of(view).received += count;
  return Attempt::moved;
}

// Fetches half of the pieces that are left.
Attempt fetch(const Program& program, const StepView& view, const Pieces& pieces) {
  std::uint64_t piece = view.taken->claimed.load(std::memory_order_relaxed);
  if (piece < pieces.begin() || piece > pieces.end() + pieces.count()) { // of the sender's next epoch
    program.note_damage_of_peer(view);
    return count_as_received(program, view, pieces.end() - ring_of(view).received);
  }
  ChannelNotes& notes = program.notes(*view.step);
  if (!is_left_alone(notes, piece, ring_of(view).received, pieces)) {
    return Attempt::soon;
  }
  if (piece >= pieces.end()) {
    return Attempt::nothing; // the sender has claimed the rest
  }
  const std::uint64_t count = (pieces.end() - piece + 1) / 2;
  if (!view.taken->claimed.compare_exchange_strong(piece, piece + count, std::memory_order_relaxed)) {
    return Attempt::soon; // the sender was faster
  }
  notes.claimed = piece + count;
  notes.claimed_at_ns = 0;
  if (const auto message = program.message_of(view)) {
    SlicePosition begin;
    const auto source = part_of(message->slices, pieces, piece, count, begin, Role::source);
    const StepView part = recv_of(view, pieces, piece, count, notes);
    check_transfer(program, view, receive(program, part, {message->buffers.views, source}));
    ring_of(view).received += count;
    return Attempt::moved;
  }
  return count_as_received(program, view, count);
}

} // namespace

PieceSlot& slot_in(std::byte* ring, const Channel& channel, std::uint64_t filling) {
  const std::uint64_t slot = filling % PieceRing::slots;
  return *reinterpret_cast<PieceSlot*>(ring + sizeof(PieceRing) + (slot * bytes_of_piece_slot(channel)));
}

std::uint64_t piece_bytes_of(std::uint64_t message_bytes, std::uint64_t element_bytes, std::uint64_t longest) {
  const std::uint64_t piece = longest / element_bytes * element_bytes;
  return message_bytes > PieceRing::slots * piece ? piece : 0;
}

void clear_ring(std::byte* place, const Channel& channel) {
  new (place) PieceRing{};
  for (std::uint64_t i = 0; i < PieceRing::slots; ++i) {
    new (&slot_in(place, channel, i)) PieceSlot{};
  }
}

bool plausible_pieces(const StepView& view, std::uint64_t epoch) {
  const Pieces pieces(view, epoch);
  if (view.step->op == Op::send_node) {
    const TakenWord& word = *view.taken;
    return word.epoch.load(std::memory_order_relaxed) <= epoch &&
           word.claimed.load(std::memory_order_relaxed) <= pieces.end() &&
           copy_once(word.filled) - word.emptied.load(std::memory_order_relaxed) <= PieceRing::slots;
  }
  const PieceRing& ring = ring_of(view);
  return ring.ready.load(std::memory_order_relaxed) <= epoch + 1 && copy_once(ring.received) <= pieces.end() &&
         copy_once(ring.emptied) <= copy_once(ring.received);
}

Attempt try_send_pieces(const Program& program, const StepView& view, std::uint64_t epoch, Help help) {
  TakenWord& word = *view.taken;
  const std::uint64_t taken = word.epoch.load(std::memory_order_acquire); // released in try_recv_pieces
  program.require(taken <= epoch);
  if (taken == epoch) {
    return Attempt::done;
  }
  const Pieces pieces(view, epoch);
  const bool begins = word.announced != epoch;
  if (begins) {
    word.announced = epoch;
    word.filled_before = word.filled;
    ring_of(view).failed[epoch & 1].store(program.sends_on_failure() ? epoch : 0, std::memory_order_relaxed);
  }
  // If it fills one before it announces the message, the receiver knows that it helps.
  const bool helps = help == Help::everywhere || (help == Help::where_combined && view.channel->combined != 0);
  const bool filled = helps && fill_slot(program, view, pieces);
  if (begins) {
    ring_of(view).ready.store(epoch, std::memory_order_release); // acquired in try_recv_pieces
  }
  const std::uint64_t by_itself = word.filled - word.filled_before;
  program.require(by_itself <= pieces.count());
  return by_itself == pieces.count() ? Attempt::done : filled ? Attempt::moved : Attempt::nothing;
}

Attempt try_recv_pieces(const Program& program, const StepView& view, std::uint64_t epoch) {
  PieceRing& ring = ring_of(view);
  const std::uint64_t ready = ring.ready.load(std::memory_order_acquire); // released in try_send_pieces
  if (ready < epoch) {
    return Attempt::nothing;
  }
  const Pieces pieces(view, epoch);
  program.require(ready <= epoch + 1 && pieces.begin() <= ring.received && ring.received < pieces.end() &&
                  ring.emptied <= ring.received);
  const Attempt attempt = take_from_slot(program, view, pieces) ? Attempt::moved : fetch(program, view, pieces);
  if (ring.received < pieces.end()) {
    return attempt;
  }
  program.require(ring.received == pieces.end());
  if (ring.failed[epoch & 1].load(std::memory_order_relaxed) == epoch) { // ordered by `ready`
    check_transfer(program, view, ECANCELED);
  }
  view.taken->epoch.store(epoch, std::memory_order_release); // acquired in try_send_pieces
  return Attempt::done;
}

} // namespace stoker::engine
