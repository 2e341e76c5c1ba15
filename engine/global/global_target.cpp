// SPDX-License-Identifier: BSD-3-Clause
// The target's side of what goes between nodes: requests of other helpers.
#include "engine/global/global_access.hpp"
#include "engine/global/global_requests.hpp"

#include <cstring>

namespace stoker::engine {

void GlobalAccess::answer(int origin, const Header& request, const std::byte* payload) {
  std::byte* const target = memory_.base(request.arena) + request.place;
  switch (static_cast<OperationKind>(request.kind)) {
  case OperationKind::bundle:
    reply(origin, request.piece,
          execute_bundle(memory_, {payload, request.bytes}, wire_->short_messages.compose() + sizeof(Header)),
          MPI_SUCCESS);
    return;
  case OperationKind::put:
    post_data({.data = target, .bytes = request.bytes, .peer = origin, .tag = put_tag(request.piece)},
              {.piece = request.piece,
               .origin = origin,
               .reply_when_done = true,
               .signal = request.signal_place != 0 ? &word(request.arena, request.signal_place) : nullptr,
               .signal_value = request.signal_value});
    return;
  case OperationKind::get:
    post_data({.outgoing = true, .data = target, .bytes = request.bytes, .peer = origin, .tag = get_tag(request.piece)},
              {.piece = request.piece, .origin = origin});
    return;
  default: // no message of its own
    return;
  }
}

void GlobalAccess::reply(int origin, std::uint32_t number, std::size_t payload_bytes, int error) {
  const Header header{.kind = reply_kind, .piece = number, .error = error, .bytes = payload_bytes};
  std::memcpy(wire_->short_messages.compose(), &header, sizeof header);
  wire_->short_messages.send_until_taken(origin, sizeof header + payload_bytes); // else the origin would wait for ever
}

} // namespace stoker::engine
