// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/node_messages.hpp"

#include "engine/execute/delivery.hpp"
#include "engine/execute/piece_messages.hpp"

#include <cerrno>

namespace stoker::engine {

ChannelSlot& slot_of(const StepView& view, std::uint64_t epoch) {
  return *reinterpret_cast<ChannelSlot*>(view.ready + ((epoch & 1) * view.channel->slot_bytes));
}

Attempt try_send(const Program& program, const StepView& view, std::uint64_t epoch, Help help) {
  if (view.channel->piece_bytes != 0) {
    return try_send_pieces(program, view, epoch, help);
  }
  ChannelSlot& slot = slot_of(view, epoch);
  if (view.step->bytes <= program.lowered().eager_bytes) {
    // The slot was last used two epochs ago; its content must have been taken. The word lies in the receiver's cache,
    // so it is not read while what was read before is enough.
    std::uint64_t& known = program.notes(*view.step).known_taken;
    if (known + 2 < epoch) {
      const std::uint64_t taken = view.taken->epoch.load(std::memory_order_acquire); // released in try_recv
      program.require(taken < epoch);
      known = taken;
      if (known + 2 < epoch) {
        return Attempt::nothing;
      }
    }
    const int failure = program.sends_on_failure() ? ECANCELED : gather(slot.payload(), program.buffers(), view.source);
    check_transfer(program, view, failure);
    slot.length = failure == 0 ? view.step->bytes : ChannelSlot::unread | static_cast<std::uint64_t>(failure);
    slot.ready.store(epoch, std::memory_order_release); // acquired in try_recv
    return Attempt::done;
  }
  const std::uint64_t taken = view.taken->epoch.load(std::memory_order_acquire); // released in try_recv
  program.require(taken <= epoch);
  if (taken != epoch && view.taken->announced != epoch) {
    view.taken->announced = epoch;
    slot.length = program.sends_on_failure() ? ChannelSlot::unread | std::uint64_t{ECANCELED}
                                             : ChannelSlot::at_sender | view.step->bytes;
    slot.ready.store(epoch, std::memory_order_release); // acquired in try_recv
  }
  return taken == epoch ? Attempt::done : Attempt::nothing;
}

Attempt try_recv(const Program& program, const StepView& view, std::uint32_t index, std::uint64_t epoch) {
  if (view.channel->piece_bytes != 0) {
    return try_recv_pieces(program, view, epoch);
  }
  ChannelSlot& slot = slot_of(view, epoch);
  if (slot.ready.load(std::memory_order_acquire) != epoch) { // released in try_send
    return Attempt::nothing;
  }
  const std::uint64_t length_word = copy_once(slot.length);
  const std::uint64_t length = length_word & ~(ChannelSlot::at_sender | ChannelSlot::unread);
  const bool any_sizes = program.lowered().any_sizes != 0;
  const bool unread = (length_word & ChannelSlot::unread) != 0;
  program.require(unread ? length != 0 : any_sizes || length == view.step->bytes);
  if (unread) { // the epoch has failed on both ranks
    check_transfer(program, view, static_cast<int>(length));
    view.taken->epoch.store(epoch, std::memory_order_release); // as below
    return Attempt::done;
  }
  note_length(program, view, index, length);
  if ((length_word & ChannelSlot::at_sender) == 0) {
    program.require(sizeof slot + length <= view.channel->slot_bytes);
    check_transfer(program, view, receive(program, view, slot.payload(), length));
  } else if (const auto message = program.message_of(view)) {
    check_transfer(program, view, receive(program, view, {message->buffers.views, message->slices}));
  } else { // it counts as received, so that this rank is not left waiting
    record_not_fetched(program, view, Code::peer_lost, "the sender's shared memory is damaged");
  }
  view.taken->epoch.store(epoch, std::memory_order_release); // acquired in try_send
  return Attempt::done;
}

} // namespace stoker::engine
