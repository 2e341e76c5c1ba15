// SPDX-License-Identifier: BSD-3-Clause
// A helper's part in global memory: the operations that the ranks of its domain submit, and those that other nodes'
// helpers ask for. How bytes travel between carriers is decided here and nowhere else.
//
// An operation within the node is a copy, done in slices. One that leads to another node goes in pieces. At most so
// many are under way at the same time, which bounds what a target may have to hold for an origin:
//   request   the origin's header. Behind that of a bundle there are short operations, of any ranks of this domain; else
//             it is a piece of a long put or get.
//   data      of a long put or get: one message between the origin's buffer and the target's memory, tagged by the
//             number of the piece.
//   reply     the target's answer, once it has done its part: for a bundle with the results behind it. A long get has
//             no other reply than its data.
// Short operations wait for each other: while some bundles are under way to an endpoint, others begin only when they are
// full. So the slower the answers come, the more operations go in one message.
//
// Puts and gets of memory that the target's carrier exposes in an MPI window go through that instead, without these
// messages. Used by one thread at a time.
#pragma once

#include "engine/base/error.hpp"
#include "engine/base/one_thread.hpp"
#include "engine/global/active_messages.hpp"
#include "engine/global/bundle.hpp"
#include "engine/global/global_operation.hpp"
#include "engine/helper/poller.hpp"
#include "engine/shared/access.hpp"
#include "engine/shared/node_memory.hpp"
#include "engine/transport/messages.hpp"
#include "engine/transport/window.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stoker::engine {

class GlobalAccess : public Poller {
public:
  // The network is for this purpose alone; without a transport there is one node only. `windows`: those that operations
  // name, the first being number 1; it may grow.
  GlobalAccess(const NodeMemory& memory, const Network& network, const std::vector<std::shared_ptr<Window>>& windows);

  void adopt(std::uint32_t arena, const Submission& submission, std::uint64_t now_ns) override;
  bool poll() override;
  [[nodiscard]] PollerState state() const override;

  // Whether other nodes may ask for something: then there is something to look for at any time.
  void serve(bool on) { serving_ = on && wire_.has_value(); }

private:
  static constexpr std::size_t most_pieces = 64; // pieces on their way to other nodes
  struct Header;
  struct Lane;

  // An operation of a rank's that is not complete.
  struct Running {
    GlobalOperation* operation = nullptr; // for its outcome
    OperationRequest request;
    std::uint32_t arena = 0; // of the rank
    BufferView local;
    Lane* lane = nullptr;    // of a short one
    std::uint64_t begun = 0; // bytes for which pieces have begun, or that are copied
    std::uint32_t in_flight = 0;
    bool signalled = false;    // the target will set the operation's signal by itself, or was told to
    bool waiting = true;       // for more to begin (list_of); else it is in begun_
    Code code = Code::success; // first error
    std::string text = {};
  };
  using RunningList = std::list<Running>;

  // Short operations to one endpoint.
  struct Lane {
    int endpoint = -1;
    RunningList waiting;         // not all has begun
    std::uint64_t bytes = 0;     // of these, as items
    std::uint32_t under_way = 0; // bundles
  };

  struct Part { // of an operation
    RunningList::iterator running;
    std::uint64_t offset = 0;
    std::uint64_t result_bytes = 0; // of a reply
  };

  struct Piece {
    std::vector<Part> parts;             // one, or those of a bundle; empty: it is free
    std::uint64_t bytes = 0;             // of a put or get
    std::uint32_t waiting_for = 0;       // events before it is done: reply, data
    Lane* lane = nullptr;                // of a bundle
    std::unique_ptr<std::byte[]> bounce; // for a local buffer in another process
  };

  // What a message of `data` belongs to.
  struct Data {
    bool own_piece = false;  // else of another node's
    std::uint32_t piece = 0; // its number at the origin
    int origin = -1;         // endpoint; own_piece: unused
    bool reply_when_done = false;
    std::atomic<std::uint64_t>* signal = nullptr; // to be set when done
    std::uint64_t signal_value = 0;
  };

  // All that exists only where there are several nodes.
  struct Between {
    explicit Between(const Network& network) : short_messages(*network.transport), messages(network) {}
    ActiveMessages short_messages;
    Messages messages;
    std::vector<Data> data; // by the number of the message
    std::array<Piece, most_pieces> pieces;
    std::vector<std::uint32_t> free_pieces;
    std::map<int, Lane> lanes;     // by endpoint
    std::vector<Lane*> busy_lanes; // where operations wait
    std::vector<std::unique_ptr<std::byte[]>> spare_bounces;
    // Pieces on their way through a window: parallel arrays.
    std::vector<MPI_Request> window_requests;
    std::vector<std::uint32_t> window_pieces;
    int window_error = MPI_SUCCESS; // of this round
    std::string broken;             // what MPI said when it failed; empty: it has not
  };

  static void unreachable(Running& running, int error); // errno of its local buffer
  bool copy_slice();
  void await_bundle(RunningList::iterator running); // in waiting_, and short
  void begin_bundles();
  [[nodiscard]] bool may_begin(const Lane& lane) const;
  void begin_bundle(Lane& lane);
  // Returns false if there is no room for more.
  bool add_to_bundle(BundleWriter& items, Piece& piece, RunningList::iterator running);
  [[nodiscard]] bool add_written_items(BundleWriter& items, Piece& piece, RunningList::iterator running);
  void begin_pieces();
  // Where MPI finds or leaves the bytes of the next piece: in the local buffer, or in one of the piece's own, filled
  // for a put, if this process cannot address it. nullptr: the local buffer cannot be reached.
  [[nodiscard]] std::byte* data_of(Running& running, std::uint64_t bytes);
  [[nodiscard]] std::uint32_t take_piece(RunningList::iterator running, std::uint64_t bytes);
  static void add_part(Piece& piece, RunningList::iterator running, std::uint64_t bytes, std::uint64_t result_bytes);
  [[nodiscard]] std::uint64_t begin_piece(RunningList::iterator running); // returns its bytes
  [[nodiscard]] std::uint64_t begin_window_piece(RunningList::iterator running);
  bool poll_window_pieces();
  void expose(GlobalOperation& operation, const OperationRequest& request, std::uint32_t arena);
  void post_data(const Message& message, const Data& data);
  void data_here(std::uint32_t number); // of a get, or the data of a put are on their way
  void arrived(std::uint32_t number);
  void finish_piece(std::uint32_t number);
  [[nodiscard]] RunningList& list_of(Running& waiting);
  void all_begun(RunningList::iterator running);     // of one that waits
  void begin_no_more(RunningList::iterator running); // of one that waits; completes it if nothing is under way
  void piece_gone(RunningList::iterator running);
  void begin_signal(RunningList::iterator running); // after all pieces
  [[nodiscard]] std::atomic<std::uint64_t>& word(std::uint32_t arena, std::uint64_t place) const;
  void complete(RunningList::iterator running);
  void receive(const ActiveMessages::Received& received);
  void answer(int origin, const Header& request, const std::byte* payload);
  void reply(int origin, std::uint32_t number, std::size_t payload_bytes, int error);
  void data_done(const Data& data, int error);
  void break_off(int error);

  OneThread one_thread_{"GlobalAccess"};
  const NodeMemory& memory_;
  const std::vector<std::shared_ptr<Window>>& windows_;
  std::optional<Between> wire_;
  RunningList copies_;  // within the node; the first is being copied
  RunningList waiting_; // long, to other nodes: not all pieces have begun
  RunningList begun_;   // all have
  bool serving_ = false;
  std::uint64_t youngest_ns_ = 0;
};

} // namespace stoker::engine
