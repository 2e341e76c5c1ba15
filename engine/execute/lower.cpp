// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/lower.hpp"

#include "engine/base/error.hpp"
#include "engine/base/round_up.hpp"
#include "engine/execute/layouter.hpp"
#include "engine/execute/lowered_program.hpp"
#include "engine/execute/piece_messages.hpp"
#include "engine/execute/step_order.hpp"
#include "engine/shared/access.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace stoker::engine {
namespace {

static_assert(std::is_trivially_copyable_v<algos::Slice> && std::is_trivially_copyable_v<LoweredStep> &&
              std::is_trivially_copyable_v<WireMessage> && std::is_trivially_copyable_v<Channel>);

// Rings for messages from one rank to another one: as many as there are stages that last long. Algorithms that cut
// the vector into segments have very many messages.
constexpr std::uint32_t most_rings = 2;

std::uint64_t digest_of(std::uint64_t digest, std::uint64_t bytes) {
  return (digest ^ (bytes + 1)) * 0x9e3779b97f4a7c15U; // order matters; 0 is "no message"
}

// One call of place(). First every step is lowered, with offsets within the room that it needs; once the whole block
// has been laid out and has a place in the arena, they become offsets in the arena.
class Placement {
public:
  Placement(const algos::Program& program, NodeMemory& memory, const RankMap& map, const PlacementOptions& options,
            std::span<PairInfo> pairs)
      : program_(program), memory_(memory), map_(map), options_(options), pairs_(pairs), steps_(program.steps.size()),
        predecessors_(program.steps.size()), first_send_(memory.size()),
        first_recv_(memory.size()), buffers_{options.send, options.recv, {}}, messages_to_(pairs.size()),
        messages_from_(pairs.size()), rings_to_(pairs.size()), rings_from_(pairs.size()) {}

  void lower();
  [[nodiscard]] std::uint64_t write(); // returns the block's offset

private:
  void lower_operands(const algos::Step& step, LoweredStep& low) const;
  void lower_to_window(const algos::Step& step, LoweredStep& low);
  void lower_to_channel(const algos::Step& step, LoweredStep& low);
  void lower_to_wire(const algos::Step& step, LoweredStep& low);
  void detach_fences();
  [[nodiscard]] bool needs_bounce(const algos::Step& step) const;
  void number_steps(); // messages last
  void chain();
  [[nodiscard]] algos::Range take_slices(algos::Range range);
  void lay_out();
  void number_messages();           // with tags
  void settle(std::uint64_t block); // all offsets
  void write_messages(const LoweredProgram& lowered, Block& block) const;

  const algos::Program& program_;
  NodeMemory& memory_;
  const RankMap& map_;
  const PlacementOptions& options_;
  std::span<PairInfo> pairs_;
  std::vector<LoweredStep> steps_; // those of the program, in its order until number_steps()
  std::vector<std::uint32_t> predecessors_;
  StepOrder order_;
  std::vector<algos::Slice> slices_; // of all steps but messages
  std::vector<algos::StepId> successors_;
  std::vector<std::uint32_t> first_send_; // by arena
  std::vector<std::uint32_t> first_recv_;
  std::vector<Channel> channels_;
  std::array<BufferDescriptor, 3> buffers_; // indexed by algos::Buffer
  std::vector<int> messages_to_;            // by rank: those that go to other nodes,
  std::vector<int> messages_from_;          // and come from there
  std::vector<std::uint32_t> rings_to_;     // by rank: for messages within the node,
  std::vector<std::uint32_t> rings_from_;   // in both directions
  BlockHeader header_;
  Layouter room_{sizeof(Block)};
  Layouter rings_{0};
  Layouter bounce_{cache_line, bounce_alignment}; // 0 means no bounce
  std::uint64_t scratch_at_ = 0;
  std::uint64_t rings_at_ = 0;
  std::uint64_t bounce_at_ = 0; // of offset 0 in bounce_
};

void Placement::lower() {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const algos::Step& step = program_.steps[i];
    LoweredStep& low = steps_[i];
    low.peer = step.peer;
    low.source = step.source;
    low.target = step.target;
    low.successors = step.successors;
    predecessors_[i] = step.predecessors;
    low.bytes = step.bytes;
    lower_operands(step, low);
    if (options_.window) {
      lower_to_window(step, low);
    } else if (step.peer >= 0) { // else a copy or reduce; or a fence, and a message tells of itself
      const auto peer = static_cast<std::size_t>(step.peer);
      std::uint64_t& digest = algos::delivers(step.kind) ? pairs_[peer].my_send_digest : pairs_[peer].my_recv_digest;
      const bool in_node = map_.arena_of[peer] >= 0;
      digest = digest_of(digest, step.bytes);
      if (in_node) {
        lower_to_channel(step, low);
        digest ^= channels_.back().slot_bytes ^ channels_.back().piece_bytes; // in which both agree
      } else {
        lower_to_wire(step, low);
      }
    }
    header_.has_wire |= is_posted(low.op) ? 1U : 0U;
  }
  if (!options_.window) {
    detach_fences();
  }
}

// Sets where the operands are: those of a reduce, and the operand of a recv that is not its message.
void Placement::lower_operands(const algos::Step& step, LoweredStep& low) const {
  low.message = step.message;
  if (step.kind == algos::StepKind::reduce) {
    low.op = Op::reduce;
    const auto left = static_cast<std::uint32_t>(algos::operands(program_, step).left.size());
    low.source = {step.source.begin, left};
    low.operand = {step.source.begin + left, step.source.count - left};
  } else if (step.message != algos::Operand::none) {
    low.source = {};
    low.operand = step.source;
  }
}

void Placement::lower_to_window(const algos::Step& step, LoweredStep& low) {
  low.announced = step.announced;
  switch (step.kind) {
  case algos::StepKind::put:
    low.op = Op::put_window;
    low.displacement = program_.targets(step).front().offset;
    low.bounce = is_contiguous(program_.sources(step)) ? 0 : bounce_.take(step.bytes);
    break;
  case algos::StepKind::recv: // the last fence tells that it is done; until then there is nothing to do for it
    low.op = step.announced ? Op::announce_window : Op::copy;
    low.target = {};
    break;
  case algos::StepKind::fence:
    low.op = Op::fence_window;
    break;
  default:
    break;
  }
}

void Placement::lower_to_channel(const algos::Step& step, LoweredStep& low) {
  const bool sending = algos::delivers(step.kind);
  low.op = sending ? Op::send_node : Op::recv_node;
  low.channel = static_cast<std::uint32_t>(channels_.size());
  Channel& channel = channels_.emplace_back();
  // With resizable messages also where nothing is eager: empty ones are, and must not meet the word of an epoch before.
  if (options_.resizable || step.bytes <= options_.eager_bytes) {
    channel.slot_bytes =
        round_up(sizeof(ChannelSlot) + (options_.resizable ? options_.eager_bytes : step.bytes), cache_line);
  } else {
    std::uint32_t& rings = (sending ? rings_to_ : rings_from_)[static_cast<std::size_t>(step.peer)];
    channel.piece_bytes =
        rings < most_rings ? piece_bytes_of(step.bytes, program_.element_bytes, options_.piece_bytes) : 0;
    rings += channel.piece_bytes != 0 ? 1 : 0;
  }
  if (sending) {
    channel.taken = {memory_.self(), 0, header_.taken_count++};
  } else {
    Layouter& room = channel.piece_bytes != 0 ? rings_ : room_;
    channel.ready = {memory_.self(), 0, room.take(bytes_of_slots(channel))};
  }
}

void Placement::lower_to_wire(const algos::Step& step, LoweredStep& low) {
  const bool sending = algos::delivers(step.kind);
  const auto peer = static_cast<std::size_t>(step.peer);
  low.op = sending ? Op::send_wire : Op::recv_wire;
  low.endpoint = map_.endpoint; // until link
  low.tag = (sending ? messages_to_ : messages_from_)[peer]++;
  if (needs_bounce(step)) {
    low.bounce = bounce_.take(step.bytes);
  } else if (!sending && options_.exposed) {
    if (const algos::Slice& target = program_.targets(step).front(); target.buffer == options_.exposed->buffer) {
      if (low.tag > 0) {
        throw std::logic_error("place: a rank puts to another one several times, but only one place can be told");
      }
      pairs_[peer].my_put_displacement = options_.exposed->begin + target.offset;
      pairs_[peer].my_window_rank = map_.carrier;
      low.put = true;
    }
  }
}

// Whether the message cannot be sent from or received in its place by the process at the endpoint.
bool Placement::needs_bounce(const algos::Step& step) const {
  if (step.message != algos::Operand::none) {
    return true; // its target may hold the other operand
  }
  const auto slices = algos::delivers(step.kind) ? program_.sources(step) : program_.targets(step);
  if (!is_contiguous(slices)) {
    return true;
  }
  return map_.endpoint_arena != memory_.self() && !slices.empty() &&
         buffers_[static_cast<std::size_t>(slices[0].buffer)].path == Path::attached;
}

// A fence that waits for nothing delays nothing, so that puts can be sent first of all.
void Placement::detach_fences() {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const algos::Step& step = program_.steps[i];
    if (step.kind == algos::StepKind::fence && step.predecessors == 0) {
      for (const algos::StepId next : program_.successors_of(step)) {
        --predecessors_[next];
      }
      steps_[i].successors = {};
    }
  }
}

// The messages to and from each rank of the node, in the order of the program.
void Placement::chain() {
  for (std::size_t i = steps_.size(); i-- > 0;) {
    LoweredStep& low = steps_[i];
    if (low.op == Op::send_node || low.op == Op::recv_node) {
      const auto arena = static_cast<std::size_t>(map_.arena_of[static_cast<std::size_t>(low.peer)]);
      std::uint32_t& head = (low.op == Op::send_node ? first_send_ : first_recv_)[arena];
      low.next = std::exchange(head, order_.numbers[i] + 1);
    }
  }
}

algos::Range Placement::take_slices(algos::Range range) {
  const auto begin = static_cast<std::uint32_t>(slices_.size());
  const auto first = program_.slices.begin() + range.begin;
  slices_.insert(slices_.end(), first, first + range.count);
  return {begin, range.count};
}

void Placement::number_steps() {
  order_ = order_of(program_, steps_, options_.most_messages);
  header_.messages = order_.messages;
  header_.most_posted = order_.most_posted;
  chain();
  std::vector<LoweredStep> steps;
  std::vector<std::uint32_t> predecessors;
  steps.reserve(steps_.size());
  predecessors.reserve(steps_.size());
  for (const std::uint32_t place : order_.places) {
    steps.push_back(steps_[place]);
    predecessors.push_back(predecessors_[place]);
  }
  steps_ = std::move(steps);
  predecessors_ = std::move(predecessors);
  for (const algos::StepId place : program_.successors) {
    successors_.push_back(order_.numbers[place]);
  }
  for (std::size_t i = 0; i < steps_.size() - header_.messages; ++i) {
    steps_[i].source = take_slices(steps_[i].source);
    steps_[i].operand = take_slices(steps_[i].operand);
    steps_[i].target = take_slices(steps_[i].target);
  }
}

// All of the block behind the channels' slots, which lower() has placed.
void Placement::lay_out() {
  const std::size_t steps = steps_.size();
  const std::size_t dependent_steps = successors_.empty() ? 0 : steps;
  header_.slices = static_cast<std::uint32_t>(slices_.size());
  header_.successors = static_cast<std::uint32_t>(successors_.size());
  header_.steps_at = room_.take((steps - header_.messages) * sizeof(LoweredStep));
  header_.messages_at = room_.take(header_.messages * sizeof(WireMessage));
  header_.predecessors_at = room_.take(dependent_steps * sizeof(std::uint32_t));
  header_.channels = static_cast<std::uint32_t>(channels_.size());
  header_.channels_at = room_.take(channels_.size() * sizeof(Channel));
  header_.slices_at = room_.take(slices_.size() * sizeof(algos::Slice));
  header_.slice_seals_at = room_.take(options_.resizable ? slices_.size() * sizeof(std::uint64_t) : 0);
  header_.successors_at = room_.take(successors_.size() * sizeof(algos::StepId));
  header_.first_send_at = room_.take(first_send_.size() * sizeof(std::uint32_t));
  header_.first_recv_at = room_.take(first_recv_.size() * sizeof(std::uint32_t));
  header_.received_at = room_.take(options_.resizable ? steps * sizeof(std::uint64_t) : 0);
  header_.remaining_at = room_.take(dependent_steps * sizeof(std::uint32_t));
  for (std::uint64_t* list : {&header_.roots_at, &header_.ready_at, &header_.waiting_at, &header_.wire_at}) {
    *list = room_.take(steps * sizeof(std::uint32_t));
  }
  header_.posted_at = room_.take(steps);
  header_.taken_at = room_.take(header_.taken_count * sizeof(TakenWord));
  scratch_at_ = room_.take(options_.scratch != 0 ? 0 : program_.scratch_bytes);
  rings_at_ = room_.take(rings_.end());
  bounce_at_ = room_.take(bounce_.end() - cache_line) - cache_line;
}

// Numbers the messages of each node's ranks.
void Placement::number_messages() {
  std::map<int, int> of_node;
  int most = 0;
  for (std::size_t r = 0; r < pairs_.size(); ++r) {
    if (messages_from_[r] != 0) {
      int& numbered = of_node[map_.node_of[r]];
      pairs_[r].my_first_tag = numbered;
      numbered += messages_from_[r];
      most = std::max(most, numbered);
    }
  }
  if (most == 0) {
    return;
  }
  const auto first = map_.tags->take(static_cast<std::uint64_t>(most));
  if (!first) {
    throw Error(
        Code::resource,
        "rank {}: of this rank's {} message tags no {} in a row are left by the requests that it has; free some",
        program_.rank, map_.tags->count(), most);
  }
  header_.first_tag = *first;
  for (PairInfo& pair : pairs_) {
    pair.my_first_tag += *first;
  }
}

void Placement::settle(std::uint64_t block) {
  for (LoweredStep& low : steps_) {
    if (low.op == Op::send_node) {
      std::uint64_t& taken = channels_[low.channel].taken.offset;
      taken = block + header_.taken_at + (taken * sizeof(TakenWord));
    } else if (low.op == Op::recv_node) {
      Channel& channel = channels_[low.channel];
      channel.ready.offset += channel.piece_bytes != 0 ? block + rings_at_ : block;
    }
    low.bounce = low.bounce != 0 ? block + bounce_at_ + low.bounce : 0;
  }
  buffers_[2] = {.path = Path::mapped, .offset = options_.scratch != 0 ? options_.scratch : block + scratch_at_};
  for (PairInfo& pair : pairs_) {
    pair.my_block = block;
    pair.my_endpoint = map_.endpoint;
  }
}

void Placement::write_messages(const LoweredProgram& lowered, Block& block) const {
  for (std::size_t i = steps_.size() - header_.messages; i < steps_.size(); ++i) {
    const LoweredStep& low = steps_[i];
    const bool outgoing = low.op == Op::send_wire;
    const algos::Range data = outgoing ? low.source : low.target;
    const algos::Slice slice = data.count > 0 ? program_.slices[data.begin] : algos::Slice{};
    write_message(lowered, block, static_cast<std::uint32_t>(i),
                  {.outgoing = outgoing,
                   .put = low.put,
                   .buffer = slice.buffer,
                   .peer = low.peer,
                   .offset = slice.offset,
                   .bytes = low.bytes,
                   .bounce = low.bounce,
                   .tag = low.tag,
                   .endpoint = low.endpoint,
                   .successors = low.successors});
  }
}

std::uint64_t Placement::write() {
  number_steps();
  lay_out();
  const std::vector<std::uint32_t> roots = roots_of(order_, steps_, predecessors_);
  const std::uint64_t offset = memory_.arena().allocate(room_.end(), cache_line);
  try {
    number_messages();
  } catch (const Error&) {
    memory_.arena().deallocate(offset);
    throw;
  }
  settle(offset);

  static std::atomic<std::uint64_t> next_id{1};
  header_.id = next_id.fetch_add(1, std::memory_order_relaxed);
  header_.place = offset;
  header_.bytes = room_.end();
  header_.rank = program_.rank;
  header_.ranks = program_.ranks;
  header_.arena = memory_.self();
  header_.steps = static_cast<std::uint32_t>(steps_.size());
  header_.has_dependencies = successors_.empty() ? 0 : 1;
  header_.timed = options_.timed ? 1 : 0;
  header_.window = options_.window_number;
  header_.exclusive = options_.exclusive ? 1 : 0;
  header_.buffers_change = options_.buffers_change ? 1 : 0;
  header_.any_sizes = options_.resizable ? 1 : 0;
  header_.eager_bytes = options_.eager_bytes;
  header_.operation = options_.operation;
  header_.element_bytes = program_.element_bytes;
  header_.wire_roots =
      static_cast<std::uint32_t>(std::ranges::count_if(roots, [&](auto i) { return is_posted(steps_[i].op); }));
  header_.local_roots = static_cast<std::uint32_t>(roots.size()) - header_.wire_roots;

  std::byte* const base = memory_.base(memory_.self()) + offset;
  std::memset(base, 0, scratch_at_); // scratch, bounce and pieces are written before they are read
  for (const Channel& channel : channels_) {
    if (channel.piece_bytes != 0 && channel.ready.offset != 0) { // of a recv
      clear_ring(memory_.arena().at<std::byte>(channel.ready.offset), channel);
    }
  }
  auto* block = new (base) Block();
  std::ranges::copy(first_send_, in_block<std::uint32_t>(block, header_.first_send_at));
  std::ranges::copy(first_recv_, in_block<std::uint32_t>(block, header_.first_recv_at));
  LoweredProgram lowered;
  static_cast<BlockHeader&>(lowered) = header_;
  std::ranges::copy(buffers_, lowered.buffers);
  const auto messages = steps_.end() - header_.messages;
  lowered.step_list.assign(steps_.begin(), messages);
  if (header_.has_dependencies != 0) {
    lowered.predecessor_list = std::move(predecessors_);
  }
  lowered.channel_list = std::move(channels_);
  lowered.slice_list = std::move(slices_);
  lowered.successor_list = std::move(successors_);
  lowered.root_list = roots;
  write_program(lowered, *block);
  write_messages(lowered, *block);
  return offset;
}

} // namespace

std::uint64_t place(const algos::Program& program, NodeMemory& memory, const RankMap& map,
                    const PlacementOptions& options, std::span<PairInfo> pairs) {
  const auto comes_by_send = [](const algos::Step& step) {
    return step.kind == algos::StepKind::send || step.message != algos::Operand::none;
  };
  if (options.window && std::ranges::any_of(program.steps, comes_by_send)) {
    throw std::logic_error("place: through a window there are no messages");
  }
  if (options.operation.op == ReduceOp::user && !options.exclusive) {
    throw std::logic_error("place: no other process can call an operation of the user's");
  }
  Placement placement(program, memory, map, options, pairs);
  placement.lower();
  return placement.write();
}

} // namespace stoker::engine
