// SPDX-License-Identifier: BSD-3-Clause
#include "engine/global/active_messages.hpp"

#include <algorithm>
#include <functional>

namespace stoker::engine {

ActiveMessages::ActiveMessages(Transport& transport) : transport_(transport), requests_(receives, MPI_REQUEST_NULL) {
  for (std::size_t i = 0; i < receives; ++i) {
    buffers_.push_back(std::make_unique<Buffer>());
    receive(i);
  }
}

ActiveMessages::~ActiveMessages() {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (i < receives && requests_[i] != MPI_REQUEST_NULL) {
      transport_.cancel(requests_[i]);
    }
    transport_.wait(requests_[i]);
  }
}

void ActiveMessages::receive(std::size_t index) {
  const int code = transport_.receive(Transport::Channel::unasked, buffers_[index]->data(), largest, MPI_ANY_SOURCE,
                                      MPI_ANY_TAG, &requests_[index]);
  if (code != MPI_SUCCESS) {
    requests_[index] = MPI_REQUEST_NULL;
    note(code);
  }
}

std::byte* ActiveMessages::compose() {
  const OneThread::Use use(one_thread_);
  if (composed_ == nullptr) {
    if (spare_.empty()) {
      composed_ = std::make_unique<Buffer>();
    } else {
      composed_ = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  return composed_->data();
}

int ActiveMessages::try_to_send(std::unique_ptr<Buffer>& buffer, int peer, std::size_t bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = transport_.send(Transport::Channel::unasked, buffer->data(), bytes, peer, 0, &request);
  if (code == MPI_SUCCESS) {
    buffers_.push_back(std::move(buffer));
    requests_.push_back(request);
  }
  return code;
}

void ActiveMessages::send(int peer, std::size_t bytes) {
  const OneThread::Use use(one_thread_);
  note(try_to_send(composed_, peer, bytes));
}

void ActiveMessages::send_until_taken(int peer, std::size_t bytes) {
  const OneThread::Use use(one_thread_);
  if (try_to_send(composed_, peer, bytes) != MPI_SUCCESS) {
    refused_.push_back({.peer = peer, .bytes = bytes, .buffer = std::move(composed_)});
  }
}

const std::vector<ActiveMessages::Received>& ActiveMessages::poll() {
  const OneThread::Use use(one_thread_);
  for (const std::size_t index : taken_) {
    receive(index);
  }
  taken_.clear();
  received_.clear();
  while (!refused_.empty() &&
         try_to_send(refused_.front().buffer, refused_.front().peer, refused_.front().bytes) == MPI_SUCCESS) {
    refused_.pop_front();
  }
  int count = 0;
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
  const int code = transport_.test_some(requests_, &count, indices_.data(), statuses_.data());
  count = count == MPI_UNDEFINED ? 0 : count;
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
    note(code);
  }
  sent_.clear();
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
    const MPI_Status& status = statuses_[static_cast<std::size_t>(i)];
    const int error = code == MPI_ERR_IN_STATUS ? status.MPI_ERROR : code;
    note(error);
    if (index >= receives) {
      sent_.push_back(index);
      continue;
    }
    taken_.push_back(index);
    if (error == MPI_SUCCESS) {
      received_.push_back({status.MPI_SOURCE, buffers_[index]->data()});
    }
  }
  // Close the gaps from the back, so that the indices of the others stay right.
  std::ranges::sort(sent_, std::greater<>());
  for (const std::size_t index : sent_) {
    spare_.push_back(std::move(buffers_[index]));
    buffers_[index] = std::move(buffers_.back());
    requests_[index] = requests_.back();
    buffers_.pop_back();
    requests_.pop_back();
  }
  return received_;
}

} // namespace stoker::engine
