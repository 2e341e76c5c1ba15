// SPDX-License-Identifier: BSD-3-Clause
// MPI messages between processes on two communicators of the engine's own, polled in bulk. Used by one thread at a time.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace stoker::engine {

class Window;

// How messages travel between nodes. A message longer than a piece goes as several, none of which is long enough for the MPI
// library to ask the receiver first: a receiver says by itself, when it starts, that it is ready. An answer that the library
// waits for stands in the queue behind all that the answering node sends, and on a network without flow control of its own
// (TCP) that can leave a node without anything to send for a fifth of a large exchange. 0: messages go whole, which is right
// where the network moves them without the processor (RDMA).
struct Network {
  MPI_Comm data = MPI_COMM_NULL;
  MPI_Comm ready = MPI_COMM_NULL; // for what receivers say; a tag there is that of the message in the other direction
  std::uint64_t piece_bytes = 0;  // equal in all processes; INT_MAX at most
};

// One side of a message; the other side posts the same peer, bytes and tag the other way round, and puts or does not likewise.
struct Message {
  bool outgoing = false;
  std::byte* data = nullptr; // belongs to Messages until the message is done
  std::uint64_t bytes = 0;
  int peer = -1; // rank in the network's communicators
  int tag = -1;
  // Written by the sender through a window to where the receiver has its data, once that says that it is ready; the receiver
  // hears when all is there.
  bool put = false;
  Window* window = nullptr; // of the sender: and where in it
  int target = -1;
  std::uint64_t displacement = 0;
};

class Messages {
public:
  struct Outcome {
    std::uint32_t message = 0; // what post() returned, which may return it anew from now on
    int error = MPI_SUCCESS;
  };

  explicit Messages(const Network& network) : network_(network) {}
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  ~Messages();

  // Errors of MPI's are delivered like completions.
  [[nodiscard]] std::uint32_t post(const Message& message);

  // Asks MPI for everything in flight. Returns what is done, until the next poll.
  [[nodiscard]] const std::vector<Outcome>& poll();

  [[nodiscard]] bool in_flight() const { return !requests_.empty() || !done_.empty(); }

private:
  struct Transfer {
    Message message;
    // Pieces of the window, and how many of them MPI is or was asked for: they mostly end in their order.
    std::vector<MPI_Request> pieces;
    std::size_t looked_at = 0;
    std::uint32_t open = 0;   // requests not done
    std::uint64_t posted = 0; // bytes so far
    bool asking = false;      // sends once the receiver says that it is ready
    bool putting = false;     // the data are on their way into the window
    int arrived = 0;          // what the sender of a put tells its receiver: 1, or 0 where the put failed
    int error = MPI_SUCCESS;  // of the first request that failed
  };
  struct Finished {
    std::uint32_t request = 0; // its index
    int error = MPI_SUCCESS;
    std::uint32_t transfer = 0;
  };
  // A transfer with one count in `open`, to be released once all requests are added.
  [[nodiscard]] std::uint32_t begin(const Message& message);
  void add(std::uint32_t transfer, int code, MPI_Request request);
  void
  begin_window(std::uint32_t transfer); // the next pieces: a receiver says that it is ready, a sender waits for that
  void post_pieces(std::uint32_t transfer);
  void look_at_next_piece(std::uint32_t transfer);
  void begin_put(std::uint32_t transfer);
  void put(std::uint32_t transfer);
  void tell_of_puts();
  bool ask_mpi(); // whether there are more requests to ask for now, among them pieces that may be done
  void cancel(std::uint32_t transfer);
  void complete(std::uint32_t transfer, int code); // one of its requests
  void release(std::uint32_t transfer);

  Network network_;
  std::deque<Transfer> transfers_;  // MPI writes into them
  std::vector<std::uint32_t> free_; // of transfers_
  std::vector<MPI_Request> requests_;
  std::vector<std::uint32_t> transfer_of_; // parallel to requests_
  std::vector<std::uint32_t> put_;         // whose data are out of this process, but perhaps not at their target
  std::vector<Outcome> done_;              // not returned yet
  std::vector<Outcome> returned_;
  std::vector<int> indices_; // of poll(), to allocate once
  std::vector<MPI_Status> statuses_;
  std::vector<Finished> finished_;
};

} // namespace stoker::engine
