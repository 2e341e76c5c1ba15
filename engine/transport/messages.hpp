// SPDX-License-Identifier: BSD-3-Clause
// Messages between processes, whole or in pieces or as puts, polled in bulk. Used by one thread at a time.
#pragma once

#include "engine/base/one_thread.hpp"
#include "engine/transport/transport.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace stoker::engine {

// One side of a message. The other side posts the same bytes and tag in the other direction, and both or neither use a
// put. With `at_most` on both sides the receiver may have room for more than is sent.
struct Message {
  bool outgoing = false;
  std::byte* data = nullptr; // belongs to Messages until the message is done
  std::uint64_t bytes = 0;
  bool at_most = false;
  bool empty = false; // sent without its bytes, so that the receiver gets fewer than it expects
  int peer = -1;      // process of the transport
  int tag = -1;
  // The sender writes to where the receiver has its data, once that says that it is ready; the receiver hears when all
  // is there.
  bool put = false;
  RemoteMemory* memory = nullptr; // of the sender: and where in it
  int target = -1;
  std::uint64_t displacement = 0;
};

class Messages {
public:
  struct Outcome {
    std::uint32_t message = 0; // what post() returned, which may return it anew from now on
    std::uint64_t bytes = 0;   // sent or received
    int error = MPI_SUCCESS;
    // The transport has refused a call, or more was sent than is received, so either side may take a message of
    // the next epoch for one of this.
    bool out_of_step = false;
  };

  explicit Messages(const Network& network) : network_(network) {}
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  ~Messages();

  // Errors of the transport are delivered like completions.
  [[nodiscard]] std::uint32_t post(const Message& message);

  // Asks for everything in flight. Returns what is done, until the next poll.
  [[nodiscard]] const std::vector<Outcome>& poll();

  [[nodiscard]] bool in_flight() const { return !requests_.empty() || !done_.empty(); }
  [[nodiscard]] std::string text_of(int error) const { return network_.transport->text_of(error); }

private:
  struct Transfer {
    Message message;
    // Pieces of the stretch on its way, and how many of them are or were asked for: they mostly end in their order.
    std::vector<MPI_Request> pieces;
    std::size_t looked_at = 0;
    std::uint32_t open = 0;     // requests not done
    std::uint64_t posted = 0;   // bytes so far
    std::uint64_t received = 0; // of them
    bool refused = false;       // a call of the transport's
    bool beginning = false;     // receives the first piece of a message of which it does not know the length
    bool measuring = false;     // receives that
    std::uint64_t length = 0;   // what the sender of such a message tells its receiver
    bool asking = false;        // sends once the receiver says that it is ready
    bool putting = false;       // the data are on their way into the remote memory
    int arrived = 0;            // what the sender of a put tells its receiver: 1, or 0 where the put failed
    int error = MPI_SUCCESS;    // of the first request that failed
  };
  struct Finished {
    std::uint32_t request = 0; // its index
    int error = MPI_SUCCESS;
    std::uint64_t bytes = 0; // received
    std::uint32_t transfer = 0;
  };
  // A transfer with one count in `open`, to be released once all requests are added.
  [[nodiscard]] std::uint32_t begin(const Message& message);
  // What a request does for its transfer.
  enum class Part : std::uint8_t { receives, other };
  [[nodiscard]] static Part part_of(const Message& message); // a request for bytes of the message itself
  // Sends or receives these.
  [[nodiscard]] int move(const Message& message, std::byte* place, std::uint64_t bytes, MPI_Request* request);
  void add(std::uint32_t transfer, int code, MPI_Request request, Part part = Part::other);
  void begin_unmeasured(std::uint32_t transfer);
  void go_on_unmeasured(std::uint32_t transfer, int code, std::uint64_t bytes);
  // The next pieces: a receiver says that it is ready for them, a sender waits for that.
  void begin_stretch(std::uint32_t transfer);
  void post_pieces(std::uint32_t transfer);
  void look_at_next_piece(std::uint32_t transfer);
  void begin_put(std::uint32_t transfer);
  void put(std::uint32_t transfer);
  void tell_of_puts();
  bool ask(); // whether there are more requests to ask for now, among them pieces that may be done
  void cancel(std::uint32_t transfer);
  void complete(std::uint32_t transfer, int code, std::uint64_t bytes = 0); // one of its requests
  void release(std::uint32_t transfer);

  OneThread one_thread_{"Messages"};
  Network network_;
  std::deque<Transfer> transfers_;  // the transport writes into them
  std::vector<std::uint32_t> free_; // of transfers_
  std::vector<MPI_Request> requests_;
  struct Asked {
    std::uint32_t transfer = 0;
    Part part = Part::other;
  };
  std::vector<Asked> asked_;       // parallel to requests_
  std::vector<std::uint32_t> put_; // whose data are out of this process, but perhaps not at their target
  std::vector<Outcome> done_;      // not returned yet
  std::vector<Outcome> returned_;
  std::vector<int> indices_; // of poll(), to allocate once
  std::vector<MPI_Status> statuses_;
  std::vector<Finished> finished_;
};

} // namespace stoker::engine
