// SPDX-License-Identifier: BSD-3-Clause
// Pieces that go through a window instead of messages of ours.
#include "engine/base/agreement.hpp"
#include "engine/global/global_access.hpp"
#include "engine/global/global_requests.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace stoker::engine {

std::uint64_t GlobalAccess::begin_window_piece(RunningList::iterator running) {
  Between& wire = *wire_;
  const OperationRequest& operation = running->request;
  const bool put = operation.kind == OperationKind::put;
  const std::uint64_t left = operation.bytes - running->begun;
  const std::uint64_t bytes = running->local.direct != nullptr ? left : std::min(left, bounce_bytes);
  std::byte* const data = data_of(*running, bytes);
  if (data == nullptr) {
    return bytes;
  }
  const std::uint64_t displacement = operation.displacement + running->begun;
  const std::uint32_t number = take_piece(running, bytes);
  Window& window = *windows_[operation.window - 1];
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = put ? window.put(data, bytes, operation.endpoint, displacement, &request)
                        : window.get(data, bytes, operation.endpoint, displacement, &request);
  if (error != MPI_SUCCESS) {
    wire.window_error = error; // broken off at the end of the round: whoever is being walked through stays
    request = MPI_REQUEST_NULL;
  }
  wire.window_requests.push_back(request);
  wire.window_pieces.push_back(number);
  return bytes;
}

bool GlobalAccess::poll_window_pieces() {
  Between& wire = *wire_;
  if (wire.window_pieces.empty()) {
    return false;
  }
  std::vector<int> indices(wire.window_requests.size());
  int count = 0;
  const int error = PMPI_Testsome(static_cast<int>(indices.size()), wire.window_requests.data(), &count, indices.data(),
                                  MPI_STATUSES_IGNORE);
  if (error != MPI_SUCCESS) {
    wire.window_error = error;
    return true;
  }
  indices.resize(static_cast<std::size_t>(count == MPI_UNDEFINED ? 0 : count));
  // A put is at its target after a flush: one for all that went to the same process.
  std::vector<std::pair<Window*, int>> flushed;
  for (const int i : indices) {
    const Piece& piece = wire.pieces[wire.window_pieces[static_cast<std::size_t>(i)]];
    if (piece.parts.empty() || piece.parts.front().running->request.kind != OperationKind::put) {
      continue;
    }
    const OperationRequest& operation = piece.parts.front().running->request;
    const std::pair target(windows_[operation.window - 1].get(), static_cast<int>(operation.endpoint));
    if (std::ranges::find(flushed, target) == flushed.end()) {
      flushed.push_back(target);
      if (const int failed = target.first->flush(target.second)) {
        wire.window_error = failed;
        return true;
      }
    }
  }
  std::ranges::sort(indices, std::greater<>()); // so that the indices of the others stay right
  for (const int i : indices) {
    const auto index = static_cast<std::size_t>(i);
    const std::uint32_t number = wire.window_pieces[index];
    wire.window_pieces[index] = wire.window_pieces.back();
    wire.window_requests[index] = wire.window_requests.back();
    wire.window_pieces.pop_back();
    wire.window_requests.pop_back();
    if (!wire.pieces[number].parts.empty()) { // else broken off
      data_here(number);
    }
  }
  return !indices.empty();
}

} // namespace stoker::engine
