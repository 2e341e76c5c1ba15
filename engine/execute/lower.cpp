// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/lower.hpp"

#include "engine/base/error.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace stoker::engine {
namespace {

static_assert(std::is_trivially_copyable_v<algos::Slice> && std::is_trivially_copyable_v<LoweredStep>);

constexpr std::uint64_t align_up(std::uint64_t value) { return (value + cache_line - 1) & ~(cache_line - 1); }

std::uint64_t digest_of(std::uint64_t digest, std::uint64_t bytes) {
  return (digest ^ (bytes + 1)) * 0x9e3779b97f4a7c15U; // order matters; 0 is "no message"
}

bool is_contiguous(std::span<const algos::Slice> slices) {
  return slices.empty() || (slices.size() == 1 && (slices[0].count == 1 || slices[0].stride == slices[0].length));
}

// Hands out consecutive, aligned places in the block.
class Layouter {
public:
  explicit Layouter(std::uint64_t begin) : end_(begin) {}
  std::uint64_t take(std::uint64_t bytes) {
    const std::uint64_t place = align_up(end_);
    end_ = place + bytes;
    return place;
  }
  [[nodiscard]] std::uint64_t end() const { return align_up(end_); }

private:
  std::uint64_t end_;
};

// Where the operands are: of a reduce in its own buffers, of a recv all but its message.
void lower_operands(const algos::Program& program, const algos::Step& step, LoweredStep& low) {
  low.message = step.message;
  if (step.kind == algos::StepKind::reduce) {
    low.op = Op::reduce;
    const auto left = static_cast<std::uint32_t>(algos::operands(program, step).left.size());
    low.source = {step.source.begin, left};
    low.operand = {step.source.begin + left, step.source.count - left};
  } else if (step.message != algos::Operand::none) {
    low.source = {};
    low.operand = step.source;
  }
}

// Whether the message cannot be sent from or received in its place by the process at the endpoint.
bool needs_bounce(const algos::Program& program, const algos::Step& step, const BufferDescriptor* buffers,
                  bool endpoint_is_self) {
  if (step.message != algos::Operand::none) {
    return true; // its target may hold the other operand
  }
  const auto slices = algos::delivers(step.kind) ? program.sources(step) : program.targets(step);
  if (!is_contiguous(slices)) {
    return true;
  }
  return !endpoint_is_self && !slices.empty() && buffers[static_cast<std::size_t>(slices[0].buffer)].path == Path::cma;
}

void lower_to_window(const algos::Program& program, const algos::Step& step, LoweredStep& low) {
  low.announced = step.announced;
  switch (step.kind) {
  case algos::StepKind::put:
    low.op = Op::put_window;
    low.displacement = program.targets(step).front().offset;
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

// Steps that are ready at Start, the ones to run first last, since the ready list is a stack: messages go out before
// anything is copied or waited for. Then the wire steps, receives first.
int root_order(Op op) {
  switch (op) {
  case Op::recv_node:
    return 0;
  case Op::copy:
  case Op::reduce:
    return 1;
  case Op::send_node:
    return 2;
  case Op::recv_wire:
    return 3;
  case Op::send_wire:
    return 4;
  default:
    return 5; // in the order of the program
  }
}

} // namespace

std::uint64_t place(const algos::Program& program, NodeMemory& memory, const RankMap& map,
                    const PlacementOptions& options, std::span<PairInfo> pairs) {
  const auto steps = static_cast<std::uint32_t>(program.steps.size());
  const auto ranks = static_cast<std::size_t>(program.ranks);
  if (options.window && std::ranges::any_of(program.steps, &algos::combines)) {
    throw std::logic_error("place: steps that combine operands do not go through a window");
  }
  if (options.operation.op == ReduceOp::user && !options.exclusive) {
    throw std::logic_error("place: no other process can call an operation of the user's");
  }
  BufferDescriptor buffers[3] = {options.send, options.recv, {}};
  const bool endpoint_is_self = map.endpoint_arena == memory.self();

  // First pass: what each step becomes and how much room it needs.
  std::vector<LoweredStep> lowered(steps);
  std::uint32_t taken_count = 0;
  Layouter room(sizeof(Block));
  std::vector<int> wire_messages(ranks, 0); // incoming, per sender
  std::uint64_t bounce_bytes = 0;
  for (std::uint32_t i = 0; i < steps; ++i) {
    const algos::Step& step = program.steps[i];
    LoweredStep& low = lowered[i];
    low.peer = step.peer;
    low.source = step.source;
    low.target = step.target;
    low.successors = step.successors;
    low.predecessors = step.predecessors;
    low.bytes = step.bytes;
    lower_operands(program, step, low);
    if (options.window) {
      lower_to_window(program, step, low);
      if (low.op == Op::put_window && !is_contiguous(program.sources(step))) {
        low.bounce = bounce_bytes + 1; // made an offset below
        bounce_bytes += align_up(step.bytes);
      }
      continue;
    }
    if (step.peer < 0) {
      continue; // a copy or reduce; or a fence, which has nothing left to see to: here a message tells of its arrival by itself
    }
    const bool sending = algos::delivers(step.kind);
    const auto peer = static_cast<std::size_t>(step.peer);
    std::uint64_t& digest = sending ? pairs[peer].send_digest : pairs[peer].recv_digest;
    digest = digest_of(digest, step.bytes);
    if (map.arena_of[peer] >= 0) {
      low.op = sending ? Op::send_node : Op::recv_node;
      low.eager = step.bytes <= options.eager_bytes;
      if (options
              .resizable) { // also where nothing is eager: empty messages are, and must not meet the word of an epoch before
        low.slot_bytes = align_up(sizeof(std::uint64_t) + options.eager_bytes);
      } else {
        low.slot_bytes = low.eager ? align_up(sizeof(std::uint64_t) + step.bytes) : 0;
      }
      if (sending) {
        low.taken = {memory.self(), 0, taken_count++};
      } else {
        low.ready = {memory.self(), 0, room.take(low.slot_bytes != 0 ? 2 * low.slot_bytes : cache_line)};
      }
    } else {
      low.op = sending ? Op::send_wire : Op::recv_wire;
      if (!sending) {
        ++wire_messages[peer];
      }
      const bool bounces = needs_bounce(program, step, buffers, endpoint_is_self);
      const auto targets = program.targets(step);
      if (!sending && options.exposed && !bounces && targets.front().buffer == algos::Buffer::recv) {
        pairs[peer].put_displacement = *options.exposed + targets.front().offset;
        pairs[peer].window_rank = map.carrier;
        low.put = true;
      }
      if (bounces) {
        low.bounce = bounce_bytes + 1; // made an offset below
        bounce_bytes += align_up(step.bytes);
      }
    }
  }

  if (!options.window) {
    for (std::uint32_t i = 0; i < steps; ++i) {
      // A fence that waits for nothing holds nothing back, so that puts can set out first of all.
      if (program.steps[i].kind == algos::StepKind::fence && program.steps[i].predecessors == 0) {
        for (const algos::StepId next : program.successors_of(program.steps[i])) {
          --lowered[next].predecessors;
        }
        lowered[i].successors = {};
      }
    }
  }

  Block shape;
  shape.steps_at = room.take(steps * sizeof(LoweredStep));
  shape.slices_at = room.take(program.slices.size() * sizeof(algos::Slice));
  shape.successors_at = room.take(program.successors.size() * sizeof(algos::StepId));
  shape.first_send_at = room.take(ranks * sizeof(std::uint32_t));
  shape.first_recv_at = room.take(ranks * sizeof(std::uint32_t));
  for (std::uint64_t* list :
       {&shape.roots_at, &shape.remaining_at, &shape.ready_at, &shape.waiting_at, &shape.wire_at}) {
    *list = room.take(steps * sizeof(std::uint32_t));
  }
  shape.posted_at = room.take(steps);
  shape.taken_at = room.take(taken_count * sizeof(TakenWord));
  const std::uint64_t scratch_at = room.take(program.scratch_bytes);
  const std::uint64_t bounce_at = room.take(bounce_bytes);

  const std::uint64_t total = room.end();
  const std::uint64_t offset = memory.arena().allocate(total, cache_line);
  std::byte* const base = memory.base(memory.self()) + offset;
  std::memset(base, 0, scratch_at); // scratch and bounce are written before they are read
  auto* block = new (base) Block();
  static std::atomic<std::uint64_t> next_id{1};
  block->id = next_id.fetch_add(1, std::memory_order_relaxed);
  block->bytes = total;
  block->rank = program.rank;
  block->ranks = program.ranks;
  block->arena = memory.self();
  block->steps = steps;
  block->has_dependencies = program.successors.empty() ? 0 : 1;
  block->timed = options.timed ? 1 : 0;
  block->exclusive = options.exclusive ? 1 : 0;
  block->rebindable = options.rebindable ? 1 : 0;
  block->window = options.window_number;
  block->operation = options.operation;
  block->element_bytes = program.element_bytes;
  buffers[2] = {.path = Path::mapped, .offset = offset + scratch_at, .bytes = program.scratch_bytes};
  std::copy(std::begin(buffers), std::end(buffers), std::begin(block->buffers));
  block->steps_at = shape.steps_at;
  block->slices_at = shape.slices_at;
  block->successors_at = shape.successors_at;
  block->first_send_at = shape.first_send_at;
  block->first_recv_at = shape.first_recv_at;
  block->roots_at = shape.roots_at;
  block->remaining_at = shape.remaining_at;
  block->ready_at = shape.ready_at;
  block->waiting_at = shape.waiting_at;
  block->wire_at = shape.wire_at;
  block->posted_at = shape.posted_at;
  block->taken_at = shape.taken_at;
  block->taken_count = taken_count;

  // Tags are unique at the receiving endpoint; every sender gets consecutive ones.
  int messages = 0;
  for (const int n : wire_messages) {
    messages += n;
  }
  if (messages > 0) {
    auto& next_tag = memory.root(map.endpoint_arena).next_tag;
    const std::uint32_t first = next_tag.fetch_add(static_cast<std::uint32_t>(messages), std::memory_order_relaxed);
    if (first > static_cast<std::uint32_t>(map.highest_tag) - static_cast<std::uint32_t>(messages)) {
      memory.arena().deallocate(offset);
      throw Error(Code::resource,
                  "rank " + std::to_string(program.rank) + ": MPI's " + std::to_string(map.highest_tag) +
                      " message tags are used up by the requests initialised so far; create a new engine");
    }
    auto tag = static_cast<int>(first);
    for (std::size_t r = 0; r < ranks; ++r) {
      pairs[r].first_tag = tag;
      tag += wire_messages[r];
    }
  }

  // Second pass: chains, roots and places.
  auto* first_send = in_block<std::uint32_t>(block, block->first_send_at);
  auto* first_recv = in_block<std::uint32_t>(block, block->first_recv_at);
  for (std::uint32_t i = steps; i-- > 0;) {
    LoweredStep& low = lowered[i];
    if (low.op == Op::copy || low.op == Op::reduce) {
      continue;
    }
    if (options.window) {
      block->has_wire = 1;
      low.bounce = low.bounce != 0 ? offset + bounce_at + low.bounce - 1 : 0;
      continue;
    }
    const bool sending = low.op == Op::send_node || low.op == Op::send_wire;
    std::uint32_t& head = (sending ? first_send : first_recv)[low.peer];
    low.next = head;
    head = i + 1;
    if (low.op == Op::send_node) {
      low.taken.offset = offset + block->taken_at + (low.taken.offset * sizeof(TakenWord));
    } else if (low.op == Op::recv_node) {
      low.ready.offset += offset;
    } else {
      block->has_wire = 1;
      low.endpoint = map.endpoint; // until link
      if (low.bounce != 0) {
        low.bounce = offset + bounce_at + low.bounce - 1;
      }
    }
  }
  std::vector<std::uint32_t> roots;
  for (std::uint32_t i = 0; i < steps; ++i) {
    if (lowered[i].predecessors == 0) {
      roots.push_back(i);
    }
  }
  const auto first_wire = [&](std::uint32_t i) { return is_posted(lowered[i].op); };
  std::ranges::stable_sort(roots, [&](std::uint32_t a, std::uint32_t b) {
    const int order_a = root_order(lowered[a].op);
    const int order_b = root_order(lowered[b].op);
    // Local ones lie on a stack, so the first in the program is put last.
    return order_a != order_b ? order_a < order_b : (first_wire(a) ? a < b : a > b);
  });
  block->wire_roots = static_cast<std::uint32_t>(std::ranges::count_if(roots, first_wire));
  block->local_roots = static_cast<std::uint32_t>(roots.size()) - block->wire_roots;
  std::ranges::copy(roots, in_block<std::uint32_t>(block, block->roots_at));
  std::ranges::copy(lowered, in_block<LoweredStep>(block, block->steps_at));
  std::ranges::copy(program.slices, in_block<algos::Slice>(block, block->slices_at));
  std::ranges::copy(program.successors, in_block<algos::StepId>(block, block->successors_at));

  for (PairInfo& pair : pairs) {
    pair.block = offset;
    pair.endpoint = map.endpoint;
  }
  return offset;
}

void link(Block& block, const NodeMemory& memory, const RankMap& map, std::span<const PairInfo> mine,
          std::span<const PairInfo> peers) {
  auto* steps = in_block<LoweredStep>(&block, block.steps_at);
  const auto* first_send = in_block<std::uint32_t>(&block, block.first_send_at);
  const auto* first_recv = in_block<std::uint32_t>(&block, block.first_recv_at);
  for (int r = 0; r < block.ranks; ++r) {
    const PairInfo& peer = peers[static_cast<std::size_t>(r)];
    if (peer.send_digest != mine[static_cast<std::size_t>(r)].recv_digest) {
      throw Error(Code::mismatch, "rank " + std::to_string(block.rank) + ": rank " + std::to_string(r) +
                                      " compiled a schedule that sends other messages than expected here; do all ranks "
                                      "use the same algorithm and settings?");
    }
    const int arena = map.arena_of[static_cast<std::size_t>(r)];
    int tag = peer.first_tag;
    if (arena < 0) {
      for (std::uint32_t i = first_send[r]; i != 0; i = steps[i - 1].next) {
        steps[i - 1].endpoint = peer.endpoint;
        steps[i - 1].tag = tag++;
        steps[i - 1].put = peer.put_displacement != 0;
        steps[i - 1].window_rank = peer.window_rank;
        steps[i - 1].displacement = peer.put_displacement;
      }
      tag = mine[static_cast<std::size_t>(r)].first_tag;
      for (std::uint32_t i = first_recv[r]; i != 0; i = steps[i - 1].next) {
        steps[i - 1].endpoint = peer.endpoint;
        steps[i - 1].tag = tag++;
      }
      continue;
    }
    const SharedRef place{static_cast<std::uint32_t>(arena), 0, peer.block};
    auto* other = memory.at<Block>(place);
    const auto* other_steps = in_block<LoweredStep>(other, other->steps_at);
    // The peer may be linking too: only what it wrote in place() is read here.
    std::uint32_t theirs = in_block<std::uint32_t>(other, other->first_recv_at)[block.rank];
    for (std::uint32_t i = first_send[r]; i != 0; i = steps[i - 1].next) {
      steps[i - 1].ready = other_steps[theirs - 1].ready;
      theirs = other_steps[theirs - 1].next;
    }
    theirs = in_block<std::uint32_t>(other, other->first_send_at)[block.rank];
    for (std::uint32_t i = first_recv[r]; i != 0; i = steps[i - 1].next) {
      const LoweredStep& send = other_steps[theirs - 1];
      steps[i - 1].taken = send.taken;
      steps[i - 1].peer_block = place;
      steps[i - 1].peer_source = send.source;
      theirs = send.next;
    }
  }
}

bool reclaimable(const Block& block, std::uint64_t last_epoch, bool submitted) {
  if (submitted && block.retired.load(std::memory_order_acquire) != last_epoch) {
    return false;
  }
  const auto* taken = in_block<TakenWord>(&block, block.taken_at);
  return std::all_of(taken, taken + block.taken_count, [&](const TakenWord& word) {
    return word.epoch.load(std::memory_order_acquire) == last_epoch; // released in try_recv
  });
}

void reclaim(NodeMemory& memory, std::uint64_t block) { memory.arena().deallocate(block); }

} // namespace stoker::engine
