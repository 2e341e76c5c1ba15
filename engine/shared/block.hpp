// SPDX-License-Identifier: BSD-3-Clause
// The shared-memory form of one rank's part of a request: its lowered program, the state of the epoch that runs, and
// the words by which the ranks of a node hand messages to each other. A block lies in its rank's arena and is read and
// written by every process of the node, so it holds offsets and no pointers.
//
// What the rank writes for others to follow (the header, the program, the buffers) carries checksums; others use copies
// that they have checked (engine/execute/lowered_program.hpp). The words of an epoch's state may hold anything.
//
// Who writes what, and which acquire meets which release:
//   started    the rank, in Start (release); read by the stall report only.
//   state      whoever holds `ownership`; handed over by its release/acquire.
//   completed  whoever finishes the last step (release, after which the block is not touched by an assisting rank);
//              acquired by the rank in Test and Wait.
//   submitted  the newest epoch that the block's entry in a ring stands for, 0 for none: exchanged by the rank,
//              which pushes an entry where it finds 0, and by the helper, which has taken one out.
//   retired    the helper, when it drops the epoch from its list (release): its last access. Acquired by the rank
//              before it gives the block's memory back.
//   ready      of a channel, in the receiver's block, with what else its slot holds: the sender's executor, once the
//              message may be fetched (release); acquired by the receiver's executor. It is the sender's last access to
//              the receiver's block, but for the slots of pieces.
//   taken      of a channel, in the sender's block: the receiver's executor, once it has the message (release). It is
//              the receiver's last access to the sender's block. Acquired by the sender's executor, and by the sender
//              before it gives the block back.
//   claimed    of a channel for pieces, in the sender's block: how many pieces have been claimed, by the sender, which
//              copies them to slots, or by the receiver, which fetches them. Relaxed: it says who copies, and nothing
//              of the data, which `ready` covers.
//   filled     of a slot for pieces: the sender's executor, once the piece is there (release), which is its last
//              access to the slot; acquired by the receiver's. The receiver cannot be done before it has that piece.
//   emptied    of a channel for pieces, in the sender's block: the receiver's executor, once it has the piece
//              (release); acquired by the sender's before it fills the slot again.
//   announced, filled and filled_before of a channel, received and emptied of a ring: the executors of the rank in whose
//              block they lie; the block's ownership hands them over.
//   unattached whoever reaches a buffer by cross-memory attach because XPMEM refuses it (a peer before `taken`); reset by
//              the rank when it publishes buffers. Relaxed: reports read it, by which nobody goes.
//   buffers    that differ from epoch to epoch, with them all of EpochPart, the messages, and the slices that an
//              exchange of any sizes changes: the rank, before Start, while no epoch runs. An executor reads them once
//              it has the epoch, from the ring or from the rank itself. A peer reads buffers and slices once it has
//              acquired `ready` of a message of that epoch, which the executor released after that. The peer has read
//              them when it releases `taken`, which the executor acquires before the epoch ends, unless it has put all
//              pieces of the message into slots itself: then the peer does not read them.
#pragma once

#include "algos/schedule/schedule.hpp"
#include "engine/base/cache_line.hpp"
#include "engine/base/round_up.hpp"
#include "engine/data/operation.hpp"
#include "engine/shared/doorbell.hpp"
#include "engine/shared/ownership.hpp"
#include "engine/shared/seal.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace stoker::engine {

// A place in the shared memory of a node: which rank's arena (index among the node's ranks), and where in it.
struct SharedRef {
  std::uint32_t arena = 0;
  std::uint32_t unused = 0;
  std::uint64_t offset = 0; // 0: nowhere (every arena begins with its header)
};

// How executors in other processes reach a rank's buffer: its access path.
enum class Path : std::uint8_t {
  own,      // they do not: only the rank's own process touches it
  mapped,   // it lies in the rank's arena
  attached, // they attach to it: by XPMEM, or else by process_vm_readv and process_vm_writev (cross-memory attach)
  staged,   // the rank copies it to and from staging in its arena
  none,     // nobody does in this epoch: there is no memory that they could reach
};

[[nodiscard]] constexpr std::uint32_t bit_of(algos::Buffer buffer) { return 1U << static_cast<unsigned>(buffer); }

struct BufferDescriptor {
  Path path = Path::own;
  std::uint64_t address = 0; // in the rank's process
  std::uint64_t offset = 0;  // in the rank's arena; mapped and staged
  std::uint64_t bytes = 0;   // from the first to the last in use; attached
};

enum class Op : std::uint8_t {
  copy,      // within the rank's own buffers
  reduce,    // likewise
  send_node, // hand a message to a rank of the same node
  recv_node,
  send_wire, // MPI message to another node
  recv_wire,
  put_window,      // through the request's own window, to whatever rank
  announce_window, // tell the peer that its put may come
  fence_window,
};

// Steps that are not run by whoever holds the ownership, but posted by the process that owns the endpoint.
[[nodiscard]] constexpr bool is_posted(Op op) { return op >= Op::send_wire; }
// Steps of a request whose puts go through a window of its own.
[[nodiscard]] constexpr bool is_window(Op op) { return op >= Op::put_window; }

struct LoweredStep {
  Op op = Op::copy;
  algos::Operand message = algos::Operand::none; // recv: what it is in target = left (op) right
  bool announced = false;                        // put_window: waits for the peer's announcement
  bool put = false;                              // wire: into the peer's window
  std::int32_t peer = -1;                        // rank in the request's communicator
  algos::Range source;                           // reduce: the left operand
  algos::Range operand;                          // reduce: the right one; recv of an operand: the other one
  algos::Range target;
  algos::Range successors;
  // node
  std::uint32_t next = 0;    // 1 + the next step of the same direction with the same peer; 0: last
  std::uint32_t channel = 0; // which one of the block's
  // wire
  std::int32_t tag = -1;      // until it is linked: how many messages of the same direction and peer come before it
  std::int32_t endpoint = -1; // rank in the engine's network communicator
  // put_window, and wire where `put`: the rank in the window's communicator that exposes the peer's place, and where
  // that is in the window
  std::int32_t window_rank = -1;
  std::uint32_t unused = 0;
  std::uint64_t displacement = 0;
  std::uint64_t bounce = 0; // wire: offset in the rank's arena; 0: MPI reads or writes the buffer itself
  std::uint64_t bytes = 0;  // follows from the slices where sizes change
};

// A send_wire or recv_wire whose data are in one piece. Large jobs have very many of them. So there is no copy of them
// anywhere: each has a checksum of its own, and whoever uses it checks that. Fields are as those of LoweredStep.
struct WireMessage {
  bool outgoing = false;
  bool put = false;
  algos::Buffer buffer = algos::Buffer::send; // where the data are, and
  std::uint8_t unused = 0;
  std::int32_t peer = -1;
  std::uint64_t offset = 0; // where in it
  std::uint64_t bytes = 0;
  std::uint64_t bounce = 0;
  std::int32_t tag = -1;
  std::int32_t endpoint = -1;
  std::uint64_t displacement = 0;
  std::int32_t window_rank = -1;
  std::uint32_t unused_too = 0;
  algos::Range successors;
  std::uint64_t seal = 0; // checksum of the above
};

// What a node step has beyond that: where the two words are by which the message is handed over. The slots of even and
// odd epochs lie slot_bytes apart.
struct Channel {
  SharedRef ready;               // in the receiver's block: word, then the payload if eager; or a PieceRing
  SharedRef taken;               // in the sender's block
  std::uint64_t slot_bytes = 0;  // 0: never eager, one word for all epochs
  std::uint64_t piece_bytes = 0; // 0: there are no pieces
  std::uint64_t combined = 0;    // send: whether the receiver combines what it gets
  SharedRef peer_block;          // recv: whose buffers to read
  std::uint64_t peer_slices = 0; // recv: offset of the sender's slices, in its arena, ...
  std::uint64_t peer_slice_count = 0;
  std::uint64_t peer_seal = 0; // ... and their checksum; where sizes change, the offset of the word that has it
};

// Work lists of the running epoch. A step is in at most one of the lists; in that of the wire it stays.
struct EpochState {
  std::uint32_t steps_left = 0;
  std::uint32_t ready_count = 0;   // steps to run here, in any process
  std::uint32_t waiting_count = 0; // node steps whose channel was not ready when last looked at
  std::uint32_t wire_count = 0;    // posted steps, which are posted by the process that owns the endpoint,
  std::uint32_t wire_begin = 0;    // and the first of them that is not posted yet
};

// Written at init, constant afterwards.
struct BlockHeader {
  static constexpr std::uint64_t magic_value = 0x73746f6b65726231; // "stokerb1"

  std::uint64_t magic = magic_value; // of a block that is in use: see NodeMemory::header
  std::uint64_t place = 0;           // offset of the block itself, in its arena
  std::uint64_t bytes = 0;
  std::uint64_t id = 0;  // unique per rank, so that a reused offset is not mistaken for the old request
  std::int32_t rank = 0; // in the request's communicator
  std::int32_t ranks = 0;
  std::uint32_t arena = 0; // of the rank itself
  std::uint32_t steps = 0;
  std::uint32_t messages = 0;    // of these: the last ones, which are wire messages
  std::uint32_t most_posted = 0; // at a time: see lower.hpp
  std::uint32_t has_wire = 0;
  std::uint32_t has_dependencies = 0;
  std::uint32_t timed = 0;     // whether the times below are wanted
  std::int32_t first_tag = 0;  // of the messages that come from other nodes; 0: there are none
  std::uint64_t window = 0;    // number, in the carrier's process, of the window for its puts between nodes; 0: none
  std::uint32_t exclusive = 0; // inline: only the rank executes it, so ownership and wake-ups are left out
  std::uint32_t buffers_change = 0; // they may differ from epoch to epoch
  std::uint32_t any_sizes = 0;      // and sizes, of which receivers know only the most that there may be
  std::uint32_t left_out = 0;       // steps that the epoch does without, in exchanges of any sizes
  std::uint64_t eager_bytes = 0;    // messages within the node up to this travel in the channel's slot
  OperationCode operation;          // of steps that combine operands
  std::uint64_t element_bytes = 1;
  std::uint32_t slices = 0;
  std::uint32_t successors = 0;
  std::uint32_t channels = 0;
  // Offsets from the beginning of the block.
  std::uint64_t steps_at = 0;        // LoweredStep[steps - messages]
  std::uint64_t messages_at = 0;     // WireMessage[messages]
  std::uint64_t predecessors_at = 0; // uint32[steps], if there are dependencies
  std::uint64_t channels_at = 0;     // Channel[channels]
  std::uint64_t slices_at = 0;       // algos::Slice[slices]
  std::uint64_t slice_seals_at = 0;  // uint64[slices]: their checksums, in exchanges of any sizes
  std::uint64_t successors_at = 0;   // algos::StepId[successors]
  std::uint64_t first_send_at = 0;   // uint32[ranks of the node], by arena: 1 + first send step to that rank; 0: none
  std::uint64_t first_recv_at = 0;   // uint32[ranks of the node]
  std::uint64_t roots_at = 0;        // uint32[]: steps without predecessors, node and copy steps first
  std::uint32_t local_roots = 0;
  std::uint32_t wire_roots = 0;
  std::uint64_t received_at = 0;  // uint64[steps], in exchanges of any sizes: how much came by a recv
  std::uint64_t remaining_at = 0; // uint32[steps], if there are dependencies
  std::uint64_t ready_at = 0;     // uint32[steps]: stack
  std::uint64_t waiting_at = 0;   // uint32[steps]
  std::uint64_t wire_at = 0;      // uint32[steps]
  std::uint64_t posted_at = 0;    // uint8[steps]: 1 while a wire step is in flight
  std::uint64_t taken_at = 0;     // TakenWord[]: one per message sent within the node
  std::uint64_t taken_count = 0;
  std::uint64_t seal = 0; // header_seal()
};

[[nodiscard]] inline std::uint64_t header_seal(const BlockHeader& header) {
  return checksum(0, &header, offsetof(BlockHeader, seal));
}

// Written by the rank, at init and before an epoch with other buffers.
struct EpochPart {
  BufferDescriptor buffers[3];    // indexed by algos::Buffer
  std::uint64_t buffers_seal = 0; // checksum of the above
};

struct Block : BlockHeader, EpochPart {
  std::uint64_t program_seal = 0; // checksum of what is constant in the program
  alignas(cache_line) std::atomic<std::uint64_t> started{0};
  alignas(cache_line) CompletionWord completed;
  std::atomic<std::int32_t> error{0}; // first error of the epoch; ordered by `completed`
  bool has_failed = false;            // in any epoch: messages of it may still come; likewise
  bool out_of_step = false;           // messages of different epochs may be taken for each other from now on; likewise
  std::uint64_t completed_at = 0;     // ns, CLOCK_MONOTONIC; likewise
  char error_text[256] = {};
  std::atomic<std::uint32_t> unattached{0}; // a bit for each buffer
  alignas(cache_line) std::atomic<std::uint64_t> submitted{0};
  alignas(cache_line) std::atomic<std::uint64_t> retired{0};
  alignas(cache_line) Ownership ownership;
  alignas(cache_line) EpochState state;
  // ns, CLOCK_MONOTONIC; ordered by `completed`
  std::uint64_t wire_began_at = 0; // the first message to another node was handed to MPI; 0: there was none
  std::uint64_t wire_ended_at = 0; // the last message to or from another node was done
};

// A slot of a channel; the payload of a short message follows.
struct ChannelSlot {
  static constexpr std::uint64_t at_sender = std::uint64_t{1} << 63U; // the data are in the sender's buffers
  static constexpr std::uint64_t unread = std::uint64_t{1} << 62U;    // there are none; the rest is errno

  std::atomic<std::uint64_t> ready; // the epoch whose message may be fetched
  std::uint64_t length;             // of the message in bytes, with at_sender or without, or unread; ordered by `ready`

  [[nodiscard]] std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
};

struct alignas(cache_line) TakenWord {
  std::atomic<std::uint64_t> epoch{0};
  // The sender's own record: the newest epoch whose message it has announced as ready. It must not look that up in the
  // receiver's block, which may belong to another request as soon as the message is taken.
  std::uint64_t announced = 0;
  // Where there are pieces, all of them counted through all epochs.
  std::atomic<std::uint64_t> claimed{0};
  std::atomic<std::uint64_t> emptied{0};
  std::uint64_t filled = 0;        // the sender's own record,
  std::uint64_t filled_before = 0; // and at the beginning of the epoch
};

// A channel for pieces, in the receiver's block: the word of the whole message, what the receiver notes, and slots,
// which are filled one after the other, the first one again behind the last. (engine/execute/piece_messages.hpp)
struct PieceRing {
  static constexpr std::uint64_t slots = 15;

  std::atomic<std::uint64_t> ready{0}; // the newest epoch whose message may be fetched
  // That and the one before, of even and of odd epochs: where the message comes of what has failed, which epoch.
  std::atomic<std::uint64_t> failed[2]{};
  alignas(cache_line) std::uint64_t received{}; // the receiver's own record: pieces of all epochs,
  std::uint64_t emptied = 0;                    // and slots
};

static_assert(offsetof(PieceRing, ready) == offsetof(ChannelSlot, ready), "slot_of() may be asked for either");

struct PieceSlot {
  std::atomic<std::uint64_t> filled; // which filling of a slot of this ring
  std::uint64_t piece;               // that is in it, from 0 on through all epochs

  [[nodiscard]] std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
};

[[nodiscard]] constexpr std::uint64_t bytes_of_piece_slot(const Channel& channel) {
  return round_up(sizeof(PieceSlot) + channel.piece_bytes, cache_line);
}

// What a channel takes in the receiver's block.
[[nodiscard]] constexpr std::uint64_t bytes_of_slots(const Channel& channel) {
  if (channel.piece_bytes != 0) {
    return sizeof(PieceRing) + (PieceRing::slots * bytes_of_piece_slot(channel));
  }
  return channel.slot_bytes != 0 ? 2 * channel.slot_bytes : cache_line;
}

template <class T>
[[nodiscard]] T* in_block(Block* block, std::uint64_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(block) + offset);
}
template <class T>
[[nodiscard]] const T* in_block(const Block* block, std::uint64_t offset) {
  return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(block) + offset);
}

} // namespace stoker::engine
