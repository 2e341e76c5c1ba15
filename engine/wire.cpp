// SPDX-License-Identifier: BSD-3-Clause
#include "engine/wire.hpp"

#include "engine/agreement.hpp"
#include "engine/progress.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <functional>

namespace stoker::engine {
namespace {

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
  std::byte* buffer = nullptr;
  if (s.bounce != 0) {
    buffer = task.program.bounce(s);
    if (const int error = sending ? gather(buffer, task.program.buffers(), view.source) : 0; error != 0) {
      task.events.push_back({step, static_cast<int>(Code::access), "the send buffer could not be read"});
      // The message goes all the same, so that the receiver is not left waiting.
    }
  } else {
    buffer = contiguous(task.program.buffers(), sending ? view.source : view.target);
  }
  const WireType type(s.bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = sending ? MPI_Isend(buffer, type.count(), type.type(), s.endpoint, s.tag, network_, &request)
                           : MPI_Irecv(buffer, type.count(), type.type(), s.endpoint, s.tag, network_, &request);
  ++task.program.block().state.in_flight;
  task.program.posted()[step] = 1;
  if (code != MPI_SUCCESS) {
    task.events.push_back(failure(task, step, code));
    return;
  }
  requests_.push_back(request);
  tickets_.push_back({&task, step});
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
  for (int i = 0; i < count; ++i) {
    const Ticket ticket = tickets_[indices_[i]];
    const int error = code == MPI_ERR_IN_STATUS ? statuses_[i].MPI_ERROR : code;
    ticket.task->events.push_back(error == MPI_SUCCESS ? WireEvent{ticket.step, 0, {}}
                                                       : failure(*ticket.task, ticket.step, error));
  }
  // Close the gaps from the back, so that the indices of the others stay right.
  std::sort(indices_.begin(), indices_.begin() + count, std::greater<>());
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(indices_[i]);
    requests_[index] = requests_.back();
    tickets_[index] = tickets_.back();
    requests_.pop_back();
    tickets_.pop_back();
  }
  return true;
}

} // namespace stoker::engine
