// SPDX-License-Identifier: BSD-3-Clause
// The target's side of what goes between nodes: requests of other helpers.
#include "engine/global/element.hpp"
#include "engine/global/global_access.hpp"
#include "engine/global/global_requests.hpp"

#include <cstring>

namespace stoker::engine {

void GlobalAccess::answer(int origin, const Header& request, const std::byte* payload) {
  std::byte* const target = memory_.base(request.arena) + request.place;
  ActiveMessages& out = wire_->short_messages;
  switch (static_cast<OperationKind>(request.kind)) {
  case OperationKind::put:
    if (request.bytes > inline_bytes) {
      post_data({.data = target, .bytes = request.bytes, .peer = origin, .tag = put_tag(request.piece)},
                {.piece = request.piece,
                 .origin = origin,
                 .reply_when_done = true,
                 .signal = request.signal_place != 0 ? &word(request.arena, request.signal_place) : nullptr,
                 .signal_value = request.signal_value});
      return;
    }
    store_shared(target, payload, request.bytes);
    if (request.signal_place != 0) {
      word(request.arena, request.signal_place).store(request.signal_value, std::memory_order_release);
    }
    reply(origin, request.piece, 0, MPI_SUCCESS);
    return;
  case OperationKind::get:
    if (request.bytes > inline_bytes) {
      post_data(
          {.outgoing = true, .data = target, .bytes = request.bytes, .peer = origin, .tag = get_tag(request.piece)},
          {.piece = request.piece, .origin = origin});
      return;
    }
    load_shared(out.compose() + sizeof(Header), target, request.bytes);
    reply(origin, request.piece, request.bytes, MPI_SUCCESS);
    return;
  case OperationKind::fetch_and_op:
    fetch_and_op(target, request.type, request.op, payload, out.compose() + sizeof(Header));
    reply(origin, request.piece, request.bytes, MPI_SUCCESS);
    return;
  case OperationKind::compare_and_swap:
    compare_and_swap(target, request.type, payload, payload + request.bytes, out.compose() + sizeof(Header));
    reply(origin, request.piece, request.bytes, MPI_SUCCESS);
    return;
  case OperationKind::accumulate:
    accumulate(target, request.type, request.op, payload, request.bytes / size_of(request.type));
    reply(origin, request.piece, 0, MPI_SUCCESS);
    return;
  case OperationKind::expose:
  case OperationKind::conceal:
    return;
  }
}

void GlobalAccess::reply(int origin, std::uint32_t number, std::size_t payload_bytes, int error) {
  const Header header{.kind = reply_kind, .piece = number, .error = error, .bytes = payload_bytes};
  std::memcpy(wire_->short_messages.compose(), &header, sizeof header);
  wire_->short_messages.send(origin, sizeof header + payload_bytes);
}

} // namespace stoker::engine
