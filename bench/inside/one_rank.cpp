// SPDX-License-Identifier: BSD-3-Clause
#include "bench/inside/one_rank.hpp"

#include "engine/execute/eager_bytes.hpp"
#include "engine/execute/progress.hpp"
#include "engine/execute/rebind.hpp"
#include "engine/settings/settings.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <vector>

#include <malloc.h>
#include <time.h>

namespace stoker::bench {
namespace {

constexpr std::uint64_t arena_bytes = std::uint64_t{4} << 30U; // of address space

// The words of channels are in the arenas of other ranks, which are not there: this rank's own stand in.
void stand_in_for_peers(const engine::SharedRef& place, const engine::NodeMemory& memory) {
  engine::LoweredProgram program = engine::read_program(place, memory);
  for (const engine::LoweredStep& step : program.step_list) {
    if (step.op == engine::Op::send_node) {
      program.channel_list[step.channel].ready = program.channel_list[step.channel].taken;
    } else if (step.op == engine::Op::recv_node) {
      program.channel_list[step.channel].taken = program.channel_list[step.channel].ready;
    }
  }
  engine::write_links(program, *memory.at<engine::Block>(place));
}

// Tags taken in a row: as many as messages come from one node.
std::uint64_t tags_of(const algos::Program& program, const topology::Layout& layout) {
  std::vector<std::uint64_t> of_node(static_cast<std::size_t>(layout.nodes()));
  for (const algos::Step& step : program.steps) {
    if (step.kind == algos::StepKind::recv && !layout.same_node(step.peer, program.rank)) {
      ++of_node[static_cast<std::size_t>(layout.node_of(step.peer))];
    }
  }
  return *std::ranges::max_element(of_node);
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + (1e-9 * static_cast<double>(now.tv_nsec));
}

} // namespace

std::uint64_t heap_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

NodeResources resources_of_node_memory(int ranks_of_node) {
  constexpr std::uint64_t small = 1U << 20U;
  const auto in_use = [] {
    std::ifstream maps("/proc/self/maps");
    const auto lines = std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
    const auto descriptors = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    return NodeResources{lines, descriptors};
  };
  std::vector<std::unique_ptr<engine::NodeMemory>> others;
  std::vector<engine::NodeMemory::Introduction> all;
  for (int rank = 1; rank < ranks_of_node; ++rank) {
    others.push_back(std::make_unique<engine::NodeMemory>(small, -1));
    all.push_back(others.back()->introduction());
  }
  const NodeResources before = in_use();
  engine::NodeMemory own(small, -1);
  all.push_back(own.introduction());
  own.attach(static_cast<std::uint32_t>(all.size() - 1), all);
  const NodeResources with_own = in_use();
  return {with_own.mappings - before.mappings, with_own.descriptors - before.descriptors};
}

OneRank::OneRank(const topology::Layout& layout, int rank)
    : layout_(layout), rank_(rank), memory_(arena_bytes, -1), tags_(std::numeric_limits<int>::max(), 1, 0) {
  const engine::NodeMemory::Introduction own = memory_.introduction();
  memory_.attach(0, {&own, 1});
}

algos::Program OneRank::compile(const Case& what) const {
  const int ranks = layout_.ranks();
  const algos::Collective collective = what.choice.algorithm->collective;
  if (algos::pattern_of(collective) == algos::Pattern::distributed_vector) {
    algos::DistributedVector vector{
        .layout = layout_, .rank = rank_, .element_bytes = sizeof(double), .sizes = {what.bytes}};
    if (algos::has_blocks(collective)) {
      vector.sizes.resize(static_cast<std::size_t>(ranks), what.bytes);
      vector.offsets = algos::equal_offsets(ranks, what.bytes);
      vector.put_offsets.assign(vector.offsets.size(), vector.offsets[static_cast<std::size_t>(rank_)]);
    }
    return algos::compile(what.choice, vector);
  }
  const auto sizes = algos::BlockSizes::uniform(ranks, what.bytes);
  const auto offsets = algos::equal_offsets(ranks, what.bytes);
  const algos::Exchange exchange{
      .layout = layout_, .rank = rank_, .sizes = sizes, .send_offsets = offsets, .recv_offsets = offsets};
  return algos::compile(what.choice, exchange);
}

std::uint64_t OneRank::eager_bytes(const Case& what) const {
  const algos::Collective collective = what.choice.algorithm->collective;
  const std::uint64_t blocks = algos::has_blocks(collective) ? static_cast<std::uint64_t>(layout_.ranks()) : 1;
  return engine::eager_bytes_of(algos::pattern_of(collective) == algos::Pattern::exchange,
                                engine::Settings{}.eager_bytes, layout_.node_ranks(layout_.node_of(rank_)).size(),
                                blocks * what.bytes, what.any_sizes);
}

std::uint64_t OneRank::piece_bytes(const Case& what) const {
  const bool has_pieces = algos::pattern_of(what.choice.algorithm->collective) == algos::Pattern::distributed_vector;
  return has_pieces
             ? engine::longest_piece(engine::Settings{}.eager_bytes, layout_.node_ranks(layout_.node_of(rank_)).size())
             : 0;
}

Footprint OneRank::footprint(const Case& what) {
  using Clock = std::chrono::steady_clock;
  Footprint sum;
  const Clock::time_point begin = Clock::now();
  std::uint64_t block_at = 0;
  {
    const double before_compiling = processor_seconds();
    const algos::Program program = compile(what);
    sum.compile_seconds = processor_seconds() - before_compiling;
    engine::RankMap map;
    map.tags = &tags_;
    for (int r = 0; r < layout_.ranks(); ++r) {
      map.node_of.push_back(layout_.node_of(r));
      map.arena_of.push_back(layout_.same_node(r, rank_) ? 0 : -1);
    }
    engine::PlacementOptions options;
    options.eager_bytes = eager_bytes(what);
    options.piece_bytes = piece_bytes(what);
    options.timed = true;
    options.buffers_change = what.any_sizes;
    options.resizable = what.any_sizes;
    std::vector<engine::PairInfo> pairs(static_cast<std::size_t>(layout_.ranks()));
    const std::uint64_t arena_before = memory_.arena().bytes_in_use();
    block_at = engine::place(program, memory_, map, options, pairs);
    sum.shared = memory_.arena().bytes_in_use() - arena_before;
    // This process has one arena instead of one for each rank of the node, for each of which a block has two words.
    sum.shared += 2 * sizeof(std::uint32_t) * (layout_.node_ranks(layout_.node_of(rank_)).size() - 1);
    sum.data = program.scratch_bytes;
    sum.tags = tags_of(program, layout_);
  }
  const engine::SharedRef place{memory_.self(), 0, block_at};
  stand_in_for_peers(place, memory_);
  const engine::BlockHeader header = memory_.header(place);
  sum.messages = std::min(header.wire_roots, header.most_posted);
  const std::uint64_t kept = heap_in_use();
  const auto helpers_task = std::make_unique<engine::Task>(place, memory_);
  sum.helper = heap_in_use() - kept;
  const auto own_task = std::make_unique<engine::Task>(place, memory_);
  std::unique_ptr<engine::Rebinding> rebinding;
  if (what.any_sizes) {
    rebinding = std::make_unique<engine::Rebinding>(own_task->program, true, false);
  }
  sum.heap = heap_in_use() - kept - sum.helper;
  sum.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  engine::reclaim(memory_, tags_, own_task->program.lowered());
  return sum;
}

} // namespace stoker::bench
