// SPDX-License-Identifier: BSD-3-Clause
// The origin's side of what goes between nodes: short operations, packed into bundles.
#include "engine/global/bundle.hpp"
#include "engine/global/global_access.hpp"
#include "engine/global/global_requests.hpp"

#include <algorithm>
#include <cstring>

namespace stoker::engine {
namespace {

// Bundles under way to one endpoint: any, and full ones.
constexpr std::uint32_t bundles_at_a_time = 2;
constexpr std::uint32_t full_bundles_at_a_time = 16;

} // namespace

// `running` moves into the lane.
void GlobalAccess::await_bundle(RunningList::iterator running) {
  const OperationRequest& operation = running->request;
  Lane& lane = wire_->lanes[operation.endpoint];
  lane.endpoint = operation.endpoint;
  if (lane.waiting.empty()) {
    wire_->busy_lanes.push_back(&lane);
  }
  lane.waiting.splice(lane.waiting.end(), waiting_, running);
  lane.bytes += bytes_as_items(operation);
  running->lane = &lane;
}

void GlobalAccess::begin_bundles() {
  for (Lane* const lane : wire_->busy_lanes) {
    while (!wire_->broken.empty() && !lane->waiting.empty()) {
      lane->waiting.front().code = Code::mpi;
      lane->waiting.front().text = wire_->broken;
      begin_no_more(lane->waiting.begin());
    }
    while (may_begin(*lane)) {
      begin_bundle(*lane);
    }
  }
  std::erase_if(wire_->busy_lanes, [](const Lane* lane) { return lane->waiting.empty(); });
}

bool GlobalAccess::may_begin(const Lane& lane) const {
  const std::uint32_t limit = lane.bytes >= bundle_bytes ? full_bundles_at_a_time : bundles_at_a_time;
  return !lane.waiting.empty() && lane.under_way < limit && !wire_->free_pieces.empty();
}

void GlobalAccess::begin_bundle(Lane& lane) {
  std::byte* const message = wire_->short_messages.compose();
  BundleWriter items(message + sizeof(Header));
  const std::uint32_t number = wire_->free_pieces.back();
  Piece& piece = wire_->pieces[number];
  while (!lane.waiting.empty() && add_to_bundle(items, piece, lane.waiting.begin())) {
  }
  if (piece.parts.empty()) {
    return; // nothing that could be read
  }
  wire_->free_pieces.pop_back();
  piece.waiting_for = 1;
  piece.lane = &lane;
  ++lane.under_way;
  const Header header{
      .kind = static_cast<std::uint32_t>(OperationKind::bundle), .piece = number, .bytes = items.bytes()};
  std::memcpy(message, &header, sizeof header);
  wire_->short_messages.send(lane.endpoint, sizeof header + items.bytes());
}

bool GlobalAccess::add_to_bundle(BundleWriter& items, Piece& piece, RunningList::iterator running) {
  const OperationRequest& operation = running->request;
  if (operation.kind == OperationKind::bundle) {
    return add_written_items(items, piece, running);
  }
  BundleItem item{.kind = operation.kind,
                  .type = operation.type,
                  .op = operation.op,
                  .arena = operation.arena,
                  .place = operation.place + running->begun,
                  .bytes = operation.bytes - running->begun};
  if (item.kind == OperationKind::accumulate) { // as many elements as there is room for
    const std::uint64_t used = std::min(items.bytes() + sizeof item, bundle_bytes);
    const std::uint64_t room = std::min(bundle_bytes - used, longest_in_bundle);
    item.bytes = std::min(item.bytes, room / size_of(item.type) * size_of(item.type));
  }
  const std::uint64_t for_signal = operation.signals ? sizeof item + sizeof operation.signal_value : 0;
  if (item.bytes == 0 || !items.has_room(sizeof item + item.operand_bytes() + for_signal, item.result_bytes())) {
    return false;
  }
  if (const int error = read_local(items.operands(), running->local, running->begun, item.operand_bytes())) {
    unreachable(*running, error);
    begin_no_more(running);
    return true;
  }
  items.add(item);
  if (operation.signals) {
    add_signal(items, operation);
    running->signalled = true;
  }
  add_part(piece, running, item.bytes, item.result_bytes());
  if (running->begun == operation.bytes) {
    all_begun(running);
  }
  return true;
}

bool GlobalAccess::add_written_items(BundleWriter& items, Piece& piece, RunningList::iterator running) {
  const OperationRequest& operation = running->request;
  if (!items.has_room(operation.bytes, operation.result_bytes)) {
    return false;
  }
  copy_once(items.end(), running->local.direct, operation.bytes);
  if (checksum(0, items.end(), operation.bytes) != operation.items_seal) { // as in adopt()
    memory_.note_damage(running->arena, Damage::operation);
    running->lane->bytes -= bytes_as_items(operation);
    running->lane->waiting.erase(running);
    return true;
  }
  items.add_written(operation.bytes, operation.result_bytes);
  add_part(piece, running, operation.bytes, operation.result_bytes);
  all_begun(running);
  return true;
}

} // namespace stoker::engine
