// SPDX-License-Identifier: BSD-3-Clause
#include "in_process_network.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace stoker::engine {
namespace {

// MPI's handles are numbers with one library and pointers with the other.
template <class Handle = MPI_Request>
Handle to_handle(std::uint64_t number) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(number); // NOLINT(performance-no-int-to-ptr)
  } else {
    return static_cast<Handle>(number);
  }
}

template <class Handle>
std::uint64_t to_number(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uint64_t>(handle);
  } else {
    return static_cast<std::uint64_t>(handle);
  }
}

} // namespace

class InProcessNetwork::Endpoint final : public Transport {
public:
  Endpoint(InProcessNetwork& network, int process) : network_(network), process_(process) {}

  int send(Channel channel, const void* data, std::uint64_t bytes, int peer, int tag, MPI_Request* request) override {
    // Only read from: one type of request for both directions.
    auto* place = static_cast<std::byte*>(const_cast<void*>(data)); // NOLINT(cppcoreguidelines-pro-type-const-cast)
    return network_.post({process_, true, channel, peer, tag, bytes}, place, request);
  }
  int receive(Channel channel, void* data, std::uint64_t bytes, int peer, int tag, MPI_Request* request) override {
    return network_.post({process_, false, channel, peer, tag, bytes}, static_cast<std::byte*>(data), request);
  }
  int test_some(std::span<MPI_Request> requests, int* count, int* indices, MPI_Status* statuses) override {
    *count = 0;
    if (const int code = network_.fail_to_ask ? network_.fail_to_ask(process_) : MPI_SUCCESS; code != MPI_SUCCESS) {
      return code;
    }
    int result = MPI_SUCCESS;
    bool any = false;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (requests[i] == MPI_REQUEST_NULL) {
        continue;
      }
      any = true;
      const auto found = network_.requests_.find(to_number(requests[i]));
      if (found == network_.requests_.end()) {
        throw std::logic_error("a request is asked for that has ended");
      }
      if (!found->second.done) {
        continue;
      }
      MPI_Status& status = statuses[*count];
      status.MPI_ERROR = found->second.code;
      status.MPI_SOURCE = found->second.source;
      // MPI's own place for it has another name in every library. A send's says nothing.
      status.MPI_TAG = found->second.post.sending ? 123456 : static_cast<int>(found->second.received);
      result = found->second.code != MPI_SUCCESS ? MPI_ERR_IN_STATUS : result;
      indices[(*count)++] = static_cast<int>(i);
      network_.requests_.erase(found);
      requests[i] = MPI_REQUEST_NULL;
    }
    *count = any ? *count : MPI_UNDEFINED;
    return result;
  }
  [[nodiscard]] std::uint64_t received(const MPI_Status& status) const override {
    return static_cast<std::uint64_t>(status.MPI_TAG);
  }
  void cancel(MPI_Request& request) override { network_.cancel(to_number(request)); }
  void wait(MPI_Request& request) override {
    if (request != MPI_REQUEST_NULL && !network_.requests_.at(to_number(request)).done) {
      throw std::logic_error("nothing would end this wait");
    }
    abandon(request);
  }
  void abandon(MPI_Request& request) override {
    if (request != MPI_REQUEST_NULL) {
      network_.abandon(to_number(std::exchange(request, MPI_REQUEST_NULL)));
    }
  }
  std::string text_of(int code) const override { return "fault " + std::to_string(code); }

private:
  InProcessNetwork& network_;
  int process_;
};

InProcessNetwork::InProcessNetwork(int processes, std::uint64_t buffered_bytes) : buffered_bytes_(buffered_bytes) {
  for (int process = 0; process < processes; ++process) {
    endpoints_.push_back(std::make_unique<Endpoint>(*this, process));
  }
}

Transport& InProcessNetwork::endpoint(int process) { return *endpoints_.at(static_cast<std::size_t>(process)); }

MPI_Request InProcessNetwork::ended(int code) {
  requests_[++last_request_] = {.done = true, .code = code};
  return to_handle(last_request_);
}

bool InProcessNetwork::Message::meets(const Post& receive) const {
  return !receive.sending && receive.channel == lane.channel && receive.process == lane.to &&
         (receive.peer == lane.from || receive.peer == MPI_ANY_SOURCE) &&
         (receive.tag == lane.tag || receive.tag == MPI_ANY_TAG);
}

int InProcessNetwork::post(const Post& post, std::byte* data, MPI_Request* request) {
  if (const int code = refuse ? refuse(post) : MPI_SUCCESS; code != MPI_SUCCESS) {
    return code;
  }
  const std::uint64_t number = ++last_request_;
  requests_[number] = {.post = post, .data = data, .code = fail ? fail(post) : MPI_SUCCESS};
  *request = to_handle(number);
  if (post.sending) {
    Message message{.lane = {post.channel, post.process, post.peer, post.tag}, .bytes = post.bytes, .sender = number};
    if (post.bytes <= buffered_bytes_) {
      message.sender = 0;
      message.copy.assign(data, data + post.bytes);
      finish(number);
    }
    on_its_way_[message.lane].push_back(std::move(message));
    return MPI_SUCCESS;
  }
  const auto first = std::ranges::find_if(arrived_, [&](const Message& message) { return message.meets(post); });
  if (first == arrived_.end()) {
    awaiting_.push_back(number);
  } else {
    receive(number, *first);
    arrived_.erase(first);
  }
  return MPI_SUCCESS;
}

std::vector<InProcessNetwork::Lane> InProcessNetwork::on_its_way() const {
  std::vector<Lane> lanes;
  for (const auto& [lane, messages] : on_its_way_) {
    lanes.push_back(lane);
  }
  return lanes;
}

void InProcessNetwork::arrive(const Lane& lane) {
  const auto queue = on_its_way_.find(lane);
  const Message message = std::move(queue->second.front());
  queue->second.pop_front();
  if (queue->second.empty()) {
    on_its_way_.erase(queue);
  }
  const auto receiver =
      std::ranges::find_if(awaiting_, [&](std::uint64_t request) { return message.meets(requests_.at(request).post); });
  if (receiver == awaiting_.end()) {
    arrived_.push_back(message);
  } else {
    receive(*receiver, message);
    awaiting_.erase(receiver);
  }
}

bool InProcessNetwork::arrive_any(std::mt19937& random) {
  if (on_its_way_.empty()) {
    return false;
  }
  const auto lane = std::next(on_its_way_.begin(), static_cast<std::ptrdiff_t>(random() % on_its_way_.size()));
  arrive(Lane(lane->first));
  return true;
}

void InProcessNetwork::arrive_all() {
  while (!on_its_way_.empty()) {
    arrive(Lane(on_its_way_.begin()->first));
  }
}

void InProcessNetwork::receive(std::uint64_t receiver, const Message& message) {
  Request& request = requests_.at(receiver);
  if (message.bytes > request.post.bytes) {
    throw std::logic_error("a message of " + std::to_string(message.bytes) + " bytes meets a receive of " +
                           std::to_string(request.post.bytes));
  }
  if (message.bytes > 0 && request.code == MPI_SUCCESS) {
    std::memcpy(request.data, message.sender != 0 ? requests_.at(message.sender).data : message.copy.data(),
                message.bytes);
  }
  request.source = message.lane.from;
  request.received = message.bytes;
  finish(receiver);
  if (message.sender != 0) {
    finish(message.sender);
  }
}

void InProcessNetwork::finish(std::uint64_t request) { requests_.at(request).done = true; }

// A send is left to its message.
void InProcessNetwork::cancel(std::uint64_t request) {
  if (awaiting_.remove(request) > 0) {
    finish(request);
  }
}

void InProcessNetwork::abandon(std::uint64_t request) {
  cancel(request);
  const Request& gone = requests_.at(request);
  const auto leave_behind = [&](Message& message) { // its data go with the caller
    if (message.sender == request) {
      message.sender = 0;
      message.copy.assign(gone.data, gone.data + message.bytes);
    }
  };
  std::ranges::for_each(arrived_, leave_behind);
  for (auto& [lane, messages] : on_its_way_) {
    std::ranges::for_each(messages, leave_behind);
  }
  requests_.erase(request);
}

bool InProcessNetwork::empty() const { return requests_.empty() && on_its_way_.empty() && arrived_.empty(); }

} // namespace stoker::engine
