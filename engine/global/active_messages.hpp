// SPDX-License-Identifier: BSD-3-Clause
// Short messages between the carriers' helpers that are received from anybody, in any order. Nothing here waits. Used
// by one thread at a time.
#pragma once

#include "engine/base/one_thread.hpp"
#include "engine/transport/transport.hpp"

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

namespace stoker::engine {

class ActiveMessages {
public:
  static constexpr std::size_t largest = 4096 + 128; // bytes

  struct Received {
    int source = -1;
    const std::byte* data = nullptr; // until the next poll()
  };
  // The transport's channel for unasked messages belongs to these alone.
  explicit ActiveMessages(Transport& transport);
  ActiveMessages(const ActiveMessages&) = delete;
  ActiveMessages& operator=(const ActiveMessages&) = delete;
  // Everything that was sent to this process must have been received.
  ~ActiveMessages();

  // Where to write the next message, of at most `largest` bytes.
  [[nodiscard]] std::byte* compose();
  // Sends what compose() gave. A message that the transport refuses is lost, which is an error().
  void send(int peer, std::size_t bytes);
  // The same for a message that somebody waits for, whatever happens here: if it is refused, every poll() tries again.
  void send_until_taken(int peer, std::size_t bytes);

  // Asks the transport once. Returns what has arrived, until the next poll; sending meanwhile is allowed.
  [[nodiscard]] const std::vector<Received>& poll();
  // The transport's first error; from then on messages may be missing.
  [[nodiscard]] int error() const { return error_; }

  [[nodiscard]] bool sending() const { return requests_.size() > receives || !refused_.empty(); }

private:
  static constexpr std::size_t receives = 16; // posted at any time; more wait in the transport
  using Buffer = std::array<std::byte, largest>;

  struct Refused {
    int peer = -1;
    std::size_t bytes = 0;
    std::unique_ptr<Buffer> buffer;
  };

  void receive(std::size_t index);
  // Takes the buffer unless the transport refuses it. Returns the transport's code.
  [[nodiscard]] int try_to_send(std::unique_ptr<Buffer>& buffer, int peer, std::size_t bytes);
  void note(int error) { error_ = error_ == MPI_SUCCESS ? error : error_; }

  OneThread one_thread_{"ActiveMessages"};
  Transport& transport_;
  std::vector<std::unique_ptr<Buffer>> buffers_; // of the requests; the first ones are the receives
  std::vector<MPI_Request> requests_;
  std::vector<std::unique_ptr<Buffer>> spare_;
  std::unique_ptr<Buffer> composed_;
  std::deque<Refused> refused_;    // to be tried again
  std::vector<std::size_t> taken_; // receives that received_ refers to
  std::vector<Received> received_;
  std::vector<std::size_t> sent_; // of poll(), to allocate once
  int error_ = MPI_SUCCESS;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

} // namespace stoker::engine
