// SPDX-License-Identifier: BSD-3-Clause
// Long messages within a node, whose data both ranks move at the same time, piece by piece.
//
// The sender announces its message, and the receiver may fetch it from the sender's buffers, as it does where there
// are no pieces. That alone is all that happens if the sender computes meanwhile. A sender that is in a call of the
// engine and has nothing else to do copies pieces to slots of a ring in the receiver's block, from where they come
// faster: they lie in caches, and no system call is needed. (Buffers that the receiver can address are as fast, and
// are left to it.) Where the receiver combines what it gets, the sender does so in any case. That saves the receiver
// a copy.
//
// Each piece is claimed by one of the two ranks, in the order of the message: by the sender for a free slot, or by a
// receiver that finds no piece in the ring, if the sender does not help or ceases to. So the receiver never depends
// on a sender that does not run, but for the piece that this one has claimed.
//
// There are more pieces than slots. So a sender whose pieces have all found a slot may go on to its next epoch, but not
// to the one after that before the receiver has come to the next (tests/models/pieces.pml).
#pragma once

#include "engine/execute/node_messages.hpp"

#include <cstdint>

namespace stoker::engine {

// The length of a piece of a message, in whole elements; 0: it has none. `longest`: of a piece.
[[nodiscard]] std::uint64_t piece_bytes_of(std::uint64_t message_bytes, std::uint64_t element_bytes,
                                           std::uint64_t longest);

// A ring at `place`, with empty slots.
void clear_ring(std::byte* place, const Channel& channel);
// The slot of that filling, counted from 0 on.
[[nodiscard]] PieceSlot& slot_in(std::byte* ring, const Channel& channel, std::uint64_t filling);

[[nodiscard]] Attempt try_send_pieces(const Program& program, const StepView& view, std::uint64_t epoch, Help help);
[[nodiscard]] Attempt try_recv_pieces(const Program& program, const StepView& view, std::uint64_t epoch);
// Whether the words of the rank that executes can be right.
[[nodiscard]] bool plausible_pieces(const StepView& view, std::uint64_t epoch);

} // namespace stoker::engine
