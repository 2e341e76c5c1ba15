// SPDX-License-Identifier: BSD-3-Clause
// A network within one process, as slow and as faulty as a test wants it. A message that was sent stays on its way
// until the test has it arrive; so the test decides which comes first, and what happens in between.
#pragma once

#include "engine/transport/transport.hpp"

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace stoker::engine {

class InProcessNetwork {
public:
  using Channel = Transport::Channel;

  // A call of Transport::send or receive.
  struct Post {
    int process = -1; // who calls
    bool sending = false;
    Channel channel = Channel::data;
    int peer = -1;
    int tag = -1;
    std::uint64_t bytes = 0;
  };
  // Messages that keep their order among themselves. All others overtake each other as the test likes.
  struct Lane {
    Channel channel = Channel::data;
    int from = -1;
    int to = -1;
    int tag = -1;
    auto operator<=>(const Lane&) const = default;
  };

  // Messages of up to `buffered_bytes` are copied when they are sent, and their send is done at once. That of longer
  // ones is done when they have been received, and until then their data may not change.
  InProcessNetwork(int processes, std::uint64_t buffered_bytes);

  [[nodiscard]] Transport& endpoint(int process);

  // Lanes on which there is something.
  [[nodiscard]] std::vector<Lane> on_its_way() const;
  // The oldest message of the lane arrives, and is received if somebody is waiting for it.
  void arrive(const Lane& lane);
  // The same for some lane. Returns whether there was any message.
  bool arrive_any(std::mt19937& random);
  void arrive_all();

  // A request that has ended: of something that is no message.
  [[nodiscard]] MPI_Request ended(int code);

  // Faults, as codes; MPI_SUCCESS where there is none.
  std::function<int(const Post&)> refuse; // what the call returns: nothing is sent or awaited then
  std::function<int(const Post&)> fail;   // what its request ends with; the message goes, but is not written down
  std::function<int(int)> fail_to_ask;    // what test_some() of a process returns, and nothing else
  static constexpr int a_fault = 77;      // for them

  [[nodiscard]] std::size_t requests() const { return requests_.size(); } // that have not ended
  // No request is left, nor a message that nobody has received.
  [[nodiscard]] bool empty() const;

private:
  class Endpoint;
  struct Request {
    Post post = {};
    std::byte* data = nullptr;
    bool done = false;
    int code = MPI_SUCCESS;
    int source = -1; // of what was received
    std::uint64_t received = 0;
  };
  struct Message {
    Lane lane;
    std::uint64_t bytes = 0;
    std::uint64_t sender = 0; // its request; 0: done already
    std::vector<std::byte> copy = {};
    [[nodiscard]] bool meets(const Post& receive) const;
  };

  [[nodiscard]] int post(const Post& post, std::byte* data, MPI_Request* request);
  void receive(std::uint64_t receiver, const Message& message);
  void finish(std::uint64_t request);
  void cancel(std::uint64_t request);
  void abandon(std::uint64_t request);

  std::uint64_t buffered_bytes_;
  std::vector<std::unique_ptr<Transport>> endpoints_;
  std::uint64_t last_request_ = 0;
  std::map<std::uint64_t, Request> requests_;
  std::map<Lane, std::deque<Message>> on_its_way_;
  std::list<Message> arrived_;        // in that order
  std::list<std::uint64_t> awaiting_; // receives, in the order of their calls
};

} // namespace stoker::engine
