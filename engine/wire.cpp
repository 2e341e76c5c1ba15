// SPDX-License-Identifier: BSD-3-Clause
#include "engine/wire.hpp"

#include "engine/agreement.hpp"
#include "engine/executor.hpp"
#include "engine/progress.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <functional>
#include <utility>

namespace stoker::engine {
namespace {

// Pieces of one message on their way at a time, so that neither MPI's lists nor what a receiver may have to hold grow with it.
constexpr int pieces_in_window = 64;

// A count and datatype for any number of bytes; messages beyond 2 GiB need a datatype of their own.
class WireType {
public:
  explicit WireType(std::uint64_t bytes) {
    if (bytes <= INT_MAX) {
      count_ = static_cast<int>(bytes);
      return;
    }
    constexpr std::uint64_t chunk = std::uint64_t{1} << 30U;
    MPI_Datatype whole = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(chunk), MPI_BYTE, &whole);
    const std::array<int, 2> lengths{static_cast<int>(bytes / chunk), static_cast<int>(bytes % chunk)};
    const std::array<MPI_Aint, 2> offsets{0, static_cast<MPI_Aint>((bytes / chunk) * chunk)};
    const std::array<MPI_Datatype, 2> types{whole, MPI_BYTE};
    MPI_Type_create_struct(2, lengths.data(), offsets.data(), types.data(), &type_);
    MPI_Type_commit(&type_);
    MPI_Type_free(&whole);
    owned_ = true;
    count_ = 1;
  }
  WireType(const WireType&) = delete;
  WireType& operator=(const WireType&) = delete;
  ~WireType() {
    if (owned_) {
      MPI_Type_free(&type_); // messages in flight keep it
    }
  }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

private:
  int count_ = 0;
  MPI_Datatype type_ = MPI_BYTE;
  bool owned_ = false;
};

WireEvent failure(const Task& task, std::uint32_t step, int code) {
  const LoweredStep& s = *task.program.step(step).step;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return {step, static_cast<int>(Code::mpi),
          "rank " + std::to_string(task.program.block().rank) + ": the message " +
              (s.op == Op::send_wire ? "to" : "from") + " rank " + std::to_string(s.peer) + " failed: " + text.data()};
}

} // namespace

void Wire::post(Task& task, std::uint32_t step) {
  const StepView& view = task.program.step(step);
  const LoweredStep& s = *view.step;
  const bool sending = s.op == Op::send_wire;
  const std::uint32_t transfer = begin(task, step);
  std::byte* buffer = nullptr;
  if (s.bounce != 0) {
    buffer = task.program.bounce(s);
    if (sending && gather(buffer, task.program.buffers(), view.source) != 0) {
      // The message goes all the same, so that the receiver is not left waiting.
      transfers_[transfer].unreadable = true;
    }
  } else {
    buffer = contiguous(task.program.buffers(), sending ? view.source : view.target);
  }
  Block& block = task.program.block();
  if (sending && block.timed != 0 && block.wire_began_at == 0) {
    block.wire_began_at = now_ns();
  }
  ++block.state.in_flight;
  task.program.posted()[step] = 1;
  transfers_[transfer].buffer = buffer;
  if (network_.piece_bytes == 0 || s.bytes <= network_.piece_bytes) {
    const WireType type(s.bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = sending ? MPI_Isend(buffer, type.count(), type.type(), s.endpoint, s.tag, network_.data, &request)
                             : MPI_Irecv(buffer, type.count(), type.type(), s.endpoint, s.tag, network_.data, &request);
    transfers_[transfer].posted = s.bytes;
    add(transfer, code, request);
  } else {
    begin_window(transfer);
  }
  release(transfer); // what begin() counted
}

std::uint32_t Wire::begin(Task& task, std::uint32_t step) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(transfers_.size()));
    transfers_.emplace_back();
  }
  const std::uint32_t transfer = free_.back();
  free_.pop_back();
  transfers_[transfer] = {.task = &task, .step = step, .open = 1};
  return transfer;
}

const LoweredStep& Wire::step_of(const Transfer& transfer) const {
  return *transfer.task->program.step(transfer.step).step;
}

void Wire::add(std::uint32_t transfer, int code, MPI_Request request) {
  ++transfers_[transfer].open;
  if (code != MPI_SUCCESS) {
    complete(transfer, code);
    return;
  }
  requests_.push_back(request);
  transfer_of_.push_back(transfer);
}

void Wire::begin_window(std::uint32_t transfer) {
  const LoweredStep& s = step_of(transfers_[transfer]);
  MPI_Request request = MPI_REQUEST_NULL;
  if (s.op == Op::send_wire) {
    transfers_[transfer].asking = true;
    const int code = MPI_Irecv(nullptr, 0, MPI_BYTE, s.endpoint, s.tag, network_.ready, &request);
    add(transfer, code, request);
    return;
  }
  post_pieces(transfer);
  const int code = MPI_Isend(nullptr, 0, MPI_BYTE, s.endpoint, s.tag, network_.ready, &request);
  if (code != MPI_SUCCESS) { // the sender will not hear of it, and send nothing
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (transfer_of_[i] == transfer) {
        MPI_Cancel(&requests_[i]);
      }
    }
    transfers_[transfer].posted = s.bytes;
  }
  add(transfer, code, request);
}

// All with one tag: MPI keeps their order.
void Wire::post_pieces(std::uint32_t transfer) {
  const LoweredStep& s = step_of(transfers_[transfer]);
  for (int piece = 0; piece < pieces_in_window && transfers_[transfer].posted < s.bytes; ++piece) {
    std::byte* place = transfers_[transfer].buffer + transfers_[transfer].posted;
    const auto count = static_cast<int>(std::min(network_.piece_bytes, s.bytes - transfers_[transfer].posted));
    transfers_[transfer].posted += static_cast<std::uint64_t>(count);
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = s.op == Op::send_wire
                         ? MPI_Isend(place, count, MPI_BYTE, s.endpoint, s.tag, network_.data, &request)
                         : MPI_Irecv(place, count, MPI_BYTE, s.endpoint, s.tag, network_.data, &request);
    add(transfer, code, request);
  }
}

void Wire::complete(std::uint32_t transfer, int code) {
  Transfer& t = transfers_[transfer];
  t.error = t.error == MPI_SUCCESS ? code : t.error;
  if (t.asking) { // the receiver is ready; or cannot say so, and gets the message all the same
    t.asking = false;
    post_pieces(transfer);
  }
  release(transfer);
}

void Wire::release(std::uint32_t transfer) {
  Transfer& t = transfers_[transfer];
  if (--t.open > 0) {
    return;
  }
  if (t.posted < step_of(t).bytes) {
    t.open = 1;
    begin_window(transfer);
    release(transfer);
    return;
  }
  if (t.unreadable) {
    t.task->events.push_back({t.step, static_cast<int>(Code::access), "the send buffer could not be read"});
  } else if (t.error != MPI_SUCCESS) {
    t.task->events.push_back(failure(*t.task, t.step, t.error));
  } else {
    t.task->events.push_back({t.step, 0, {}});
  }
  free_.push_back(transfer);
}

bool Wire::poll() {
  if (requests_.empty()) {
    return false;
  }
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const int code =
      MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices_.data(), statuses_.data());
  if (count == MPI_UNDEFINED || count == 0) {
    return false;
  }
  finished_.clear();
  for (int i = 0; i < count; ++i) {
    finished_.push_back(
        {static_cast<std::uint32_t>(indices_[i]), code == MPI_ERR_IN_STATUS ? statuses_[i].MPI_ERROR : code});
  }
  // Close the gaps from the back, so that the indices of the others stay right.
  std::ranges::sort(finished_, std::greater<>(), &Finished::request);
  for (Finished& finished : finished_) {
    const std::size_t index = finished.request;
    finished.transfer = transfer_of_[index];
    requests_[index] = requests_.back();
    transfer_of_[index] = transfer_of_.back();
    requests_.pop_back();
    transfer_of_.pop_back();
  }
  for (const Finished& finished : finished_) { // may post more requests
    complete(finished.transfer, finished.error);
  }
  return true;
}

} // namespace stoker::engine
