// SPDX-License-Identifier: BSD-3-Clause
#include "engine/transport/messages.hpp"

#include <algorithm>
#include <functional>

namespace stoker::engine {
namespace {

// A stretch of a message: as much as is on its way at a time, so that neither MPI's lists nor what a receiver may have
// to hold grow with the message. So long because the receiver's word that it is ready for the next one may stand in the
// queue behind all that its node sends.
constexpr std::uint64_t stretch_bytes = 4 << 20;
constexpr std::uint64_t most_pieces = 512; // of a stretch
// A poll looks at so many of them.
constexpr std::size_t pieces_at_a_time = 8;
// How often that is repeated while it brings the next ones into view. Bounded, so that one message does not delay
// others.
constexpr int rounds_of_a_poll = 8;

} // namespace

std::uint32_t Messages::post(const Message& message) {
  const OneThread::Use use(one_thread_);
  const std::uint32_t transfer = begin(message);
  if (message.put) {
    begin_put(transfer);
  } else if (message.at_most && network_.piece_bytes != 0 && message.bytes >= network_.piece_bytes) {
    begin_unmeasured(transfer);
  } else if (network_.piece_bytes == 0 || message.bytes <= network_.piece_bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = move(message, message.data, message.bytes, &request);
    transfers_[transfer].posted = message.bytes;
    transfers_[transfer].beginning = message.at_most && !message.outgoing;
    add(transfer, code, request, part_of(message));
  } else {
    begin_stretch(transfer);
  }
  release(transfer); // what begin() counted
  return transfer;
}

int Messages::move(const Message& message, std::byte* place, std::uint64_t bytes, MPI_Request* request) {
  return message.outgoing
             ? network_.transport->send(Transport::Channel::data, place, message.empty ? 0 : bytes, message.peer,
                                        message.tag, request)
             : network_.transport->receive(Transport::Channel::data, place, bytes, message.peer, message.tag, request);
}

std::uint32_t Messages::begin(const Message& message) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(transfers_.size()));
    transfers_.emplace_back();
  }
  const std::uint32_t transfer = free_.back();
  free_.pop_back();
  Transfer& t = transfers_[transfer];
  auto pieces = std::move(t.pieces); // for its memory
  pieces.clear();
  t = {.message = message, .pieces = std::move(pieces), .open = 1};
  return transfer;
}

void Messages::add(std::uint32_t transfer, int code, MPI_Request request, Part part) {
  ++transfers_[transfer].open;
  if (code != MPI_SUCCESS) {
    transfers_[transfer].refused |= !transfers_[transfer].putting; // the receiver of a put hears of it
    complete(transfer, code);
    return;
  }
  requests_.push_back(request);
  asked_.push_back({transfer, part});
}

Messages::Part Messages::part_of(const Message& message) { return message.outgoing ? Part::other : Part::receives; }

// The first piece goes unasked. If it is a whole one the length follows, so that receivers know what to wait for.
void Messages::begin_unmeasured(std::uint32_t transfer) {
  Transfer& t = transfers_[transfer];
  const Message& m = t.message;
  t.posted = network_.piece_bytes;
  t.beginning = !m.outgoing;
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = move(m, m.data, t.posted, &request);
  add(transfer, code, request, part_of(m));
  if (m.outgoing) {
    t.length = m.bytes;
    request = MPI_REQUEST_NULL;
    const int told =
        network_.transport->send(Transport::Channel::data, &t.length, sizeof t.length, m.peer, m.tag, &request);
    add(transfer, told, request);
  }
}

// The receiver has the first piece, which may be all, or the length. After an error of the latter it goes on
// with what it expects.
void Messages::go_on_unmeasured(std::uint32_t transfer, int code, std::uint64_t bytes) {
  Transfer& t = transfers_[transfer];
  Message& m = t.message;
  if (t.measuring) {
    t.measuring = false;
    if (code == MPI_SUCCESS && t.length > m.bytes) {
      t.error = MPI_ERR_TRUNCATE;
      t.refused = true; // nobody receives the rest
    } else if (code == MPI_SUCCESS) {
      m.bytes = t.length;
    }
    return;
  }
  t.beginning = false;
  const bool whole = network_.piece_bytes == 0 || m.bytes < network_.piece_bytes;
  if (code == MPI_SUCCESS && (whole || bytes < t.posted)) {
    t.posted = m.bytes = bytes;
    return;
  }
  if (whole) {
    return;
  }
  if (code != MPI_SUCCESS) { // a length may follow, or not; a sender that has more than a piece waits for a word
    t.posted = m.bytes;
    t.refused = true;
    MPI_Request request = MPI_REQUEST_NULL;
    const int said = network_.transport->send(Transport::Channel::ready, nullptr, 0, m.peer, m.tag, &request);
    add(transfer, said, request);
    return;
  }
  t.measuring = true;
  MPI_Request request = MPI_REQUEST_NULL;
  const int awaited =
      network_.transport->receive(Transport::Channel::data, &t.length, sizeof t.length, m.peer, m.tag, &request);
  add(transfer, awaited, request);
}

void Messages::begin_stretch(std::uint32_t transfer) {
  const Message m = transfers_[transfer].message;
  MPI_Request request = MPI_REQUEST_NULL;
  if (m.outgoing) {
    transfers_[transfer].asking = true;
    const int code = network_.transport->receive(Transport::Channel::ready, nullptr, 0, m.peer, m.tag, &request);
    add(transfer, code, request);
    return;
  }
  post_pieces(transfer);
  const int code = network_.transport->send(Transport::Channel::ready, nullptr, 0, m.peer, m.tag, &request);
  if (code != MPI_SUCCESS) { // the sender will not hear of it, and send nothing
    cancel(transfer);
    transfers_[transfer].posted = m.bytes;
  }
  add(transfer, code, request);
}

// All with one tag: they keep their order.
void Messages::post_pieces(std::uint32_t transfer) {
  Transfer& t = transfers_[transfer];
  const Message& m = t.message;
  const std::uint64_t pieces = std::clamp<std::uint64_t>(stretch_bytes / network_.piece_bytes, 1, most_pieces);
  const std::uint64_t end = std::min(m.bytes, t.posted + (pieces * network_.piece_bytes));
  t.pieces.clear();
  t.looked_at = 0;
  while (t.posted < end) {
    std::byte* place = m.empty ? nullptr : m.data + t.posted;
    const std::uint64_t bytes = std::min(network_.piece_bytes, end - t.posted);
    t.posted += bytes;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = move(m, place, bytes, &request);
    if (code == MPI_SUCCESS) {
      ++t.open;
      t.pieces.push_back(request);
    } else {
      t.error = t.error == MPI_SUCCESS ? code : t.error;
      t.refused = true;
    }
  }
  while (t.looked_at < std::min(pieces_at_a_time, t.pieces.size())) {
    look_at_next_piece(transfer);
  }
}

void Messages::look_at_next_piece(std::uint32_t transfer) {
  Transfer& t = transfers_[transfer];
  if (t.looked_at < t.pieces.size()) {
    requests_.push_back(t.pieces[t.looked_at++]);
    asked_.push_back({transfer, part_of(t.message)});
  }
}

void Messages::begin_put(std::uint32_t transfer) {
  Transfer& t = transfers_[transfer];
  const Message& m = t.message;
  t.posted = m.bytes;
  MPI_Request request = MPI_REQUEST_NULL;
  if (m.outgoing) {
    t.asking = true;
    const int code = network_.transport->receive(Transport::Channel::ready, nullptr, 0, m.peer, m.tag, &request);
    add(transfer, code, request);
    return;
  }
  const int code =
      network_.transport->receive(Transport::Channel::data, &t.arrived, sizeof t.arrived, m.peer, m.tag, &request);
  add(transfer, code, request);
  request = MPI_REQUEST_NULL;
  const int told = network_.transport->send(Transport::Channel::ready, nullptr, 0, m.peer, m.tag, &request);
  if (told != MPI_SUCCESS) {
    cancel(transfer);
  }
  add(transfer, told, request);
}

void Messages::cancel(std::uint32_t transfer) {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (asked_[i].transfer == transfer) {
      network_.transport->cancel(requests_[i]);
    }
  }
  Transfer& t = transfers_[transfer];
  for (std::size_t i = t.looked_at; i < t.pieces.size(); ++i) {
    network_.transport->cancel(t.pieces[i]);
  }
}

Messages::~Messages() {
  for (const Transfer& t : transfers_) {
    if (t.open > 0) {
      requests_.insert(requests_.end(), t.pieces.begin() + static_cast<std::ptrdiff_t>(t.looked_at), t.pieces.end());
    }
  }
  // The other side may have received all that it waited for. Requests that cannot complete any more are cancelled.
  for (MPI_Request& request : requests_) {
    network_.transport->abandon(request);
  }
}

void Messages::put(std::uint32_t transfer) {
  Transfer& t = transfers_[transfer];
  t.putting = true;
  MPI_Request request = MPI_REQUEST_NULL;
  const Message& m = t.message;
  const int code = m.memory->put(m.data, m.bytes, m.target, m.displacement, &request);
  add(transfer, code, request);
}

// One flush for all that went to one target, then the receivers are told.
void Messages::tell_of_puts() {
  for (std::size_t i = 0; i < put_.size(); ++i) {
    if (transfers_[put_[i]].error != MPI_SUCCESS || transfers_[put_[i]].message.empty) {
      continue;
    }
    const Message& m = transfers_[put_[i]].message;
    const auto same = [&](std::uint32_t other) {
      return transfers_[other].message.memory == m.memory && transfers_[other].message.target == m.target;
    };
    const auto before = put_.begin() + static_cast<std::ptrdiff_t>(i);
    const auto was_flushed = [&](std::uint32_t other) {
      return same(other) && transfers_[other].error == MPI_SUCCESS && !transfers_[other].message.empty;
    };
    if (std::find_if(put_.begin(), before, was_flushed) != before) {
      continue;
    }
    const int code = m.memory->flush(m.target);
    for (const std::uint32_t other : put_) {
      if (Transfer& t = transfers_[other]; same(other)) {
        t.error = t.error == MPI_SUCCESS ? code : t.error;
      }
    }
  }
  for (const std::uint32_t transfer : put_) {
    Transfer& t = transfers_[transfer];
    t.arrived = t.error == MPI_SUCCESS && !t.message.empty ? 1 : 0;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = network_.transport->send(Transport::Channel::data, &t.arrived, sizeof t.arrived, t.message.peer,
                                              t.message.tag, &request);
    add(transfer, code, request);
    release(transfer); // what complete() held
  }
  put_.clear();
}

void Messages::complete(std::uint32_t transfer, int code, std::uint64_t bytes) {
  Transfer& t = transfers_[transfer];
  t.error = t.error == MPI_SUCCESS ? code : t.error;
  t.received += bytes;
  if (t.asking) {
    t.asking = false;
    if (!t.message.put) { // the receiver is ready; or cannot say so, and gets the message all the same
      post_pieces(transfer);
    } else if (code == MPI_SUCCESS && !t.message.empty) {
      put(transfer);
    } else { // it only hears that nothing comes; after an error its memory may be in use
      put_.push_back(transfer);
      return;
    }
  } else if (t.putting) {
    t.putting = false;
    put_.push_back(transfer);
    return; // released when its receiver is told
  } else if (t.beginning || t.measuring) {
    go_on_unmeasured(transfer, code, bytes);
  } else {
    look_at_next_piece(transfer);
  }
  release(transfer);
}

void Messages::release(std::uint32_t transfer) {
  Transfer& t = transfers_[transfer];
  if (--t.open > 0) {
    return;
  }
  if (t.posted < t.message.bytes) {
    t.open = 1;
    begin_stretch(transfer);
    release(transfer);
    return;
  }
  if (t.message.put && t.arrived == 0 && t.error == MPI_SUCCESS) {
    t.error = MPI_ERR_OTHER; // the sender's own
  }
  if (t.message.put && !t.message.outgoing && t.message.memory != nullptr) {
    t.message.memory->sync();
  }
  const bool counted = !t.message.outgoing && !t.message.put && !t.message.at_most;
  // Its place is free again once that is returned.
  done_.push_back({transfer, counted ? t.received : t.message.bytes, t.error, t.refused});
}

const std::vector<Messages::Outcome>& Messages::poll() {
  one_thread_.check();
  for (const Outcome& outcome : returned_) {
    free_.push_back(outcome.message);
  }
  returned_.clear();
  for (int round = 0; round < rounds_of_a_poll && ask(); ++round) {
  }
  tell_of_puts();
  returned_.swap(done_);
  return returned_;
}

bool Messages::ask() {
  int count = 0;
  int code = MPI_SUCCESS;
  if (!requests_.empty()) {
    indices_.resize(requests_.size());
    statuses_.resize(requests_.size());
    code = network_.transport->test_some(requests_, &count, indices_.data(), statuses_.data());
  }
  finished_.clear();
  for (int i = 0; i < (count == MPI_UNDEFINED ? 0 : count); ++i) {
    const auto index = static_cast<std::uint32_t>(indices_[i]);
    finished_.push_back(
        {.request = index,
         .error = code == MPI_ERR_IN_STATUS ? statuses_[i].MPI_ERROR : code,
         .bytes = asked_[index].part == Part::receives ? network_.transport->received(statuses_[i]) : 0});
  }
  if (code != MPI_SUCCESS && finished_.empty()) { // the call itself failed: no request can be relied on to end
    for (std::uint32_t index = 0; index < requests_.size(); ++index) {
      network_.transport->abandon(requests_[index]);
      transfers_[asked_[index].transfer].refused = true; // what it was for may come all the same
      finished_.push_back({.request = index, .error = code});
    }
  }
  // Close the gaps from the back, so that the indices of the others stay right.
  std::ranges::sort(finished_, std::greater<>(), &Finished::request);
  for (Finished& finished : finished_) {
    const std::size_t index = finished.request;
    finished.transfer = asked_[index].transfer;
    requests_[index] = requests_.back();
    asked_[index] = asked_.back();
    requests_.pop_back();
    asked_.pop_back();
  }
  const std::size_t others = requests_.size();
  for (const Finished& finished : finished_) {
    complete(finished.transfer, finished.error, finished.bytes);
  }
  return requests_.size() > others;
}

} // namespace stoker::engine
