// SPDX-License-Identifier: BSD-3-Clause
#include "bench/smpi/rank_request.hpp"

#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/execute/executor.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace stoker {

// The engine calls this for operators of the application, which are not needed here. SMPI lacks some of the datatypes
// that the engine's own definition knows.
void engine::Operation::combine(std::byte*, const std::byte*, const std::byte*, std::uint64_t) const {
  throw std::logic_error("no operator of an application here");
}

namespace bench {

using engine::PairInfo;

namespace {

constexpr std::uint64_t arena_bytes = std::uint64_t{1} << 30U; // of address space; used is what is allocated
constexpr int most_tags = 1 << 20;

// What the ranks tell each other at init. They are contexts of one process, whose globals smpirun is told not to
// privatise: a message for each pair of ranks would take longer than what is measured.
std::vector<PairInfo>& told(int ranks) {
  static std::vector<PairInfo> table;
  table.resize(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks));
  return table;
}

engine::RankMap one_rank_map(int rank, int ranks, engine::TagSpace& tags) {
  engine::RankMap map;
  map.arena_of.assign(static_cast<std::size_t>(ranks), -1);
  map.arena_of[static_cast<std::size_t>(rank)] = 0;
  map.endpoint = rank;
  map.node_of.resize(static_cast<std::size_t>(ranks));
  std::iota(map.node_of.begin(), map.node_of.end(), 0);
  map.tags = &tags;
  map.carrier = rank;
  return map;
}

} // namespace

std::unique_ptr<engine::NodeMemory> one_rank_memory() {
  auto memory = std::make_unique<engine::NodeMemory>(arena_bytes, -1);
  const engine::NodeMemory::Introduction own = memory->introduction();
  memory->attach(0, {&own, 1});
  memory->arena().close_descriptor();
  return memory;
}

RankRequest::RankRequest(const algos::Program& program, std::span<std::byte> send, std::span<std::byte> recv,
                         engine::NodeMemory& memory, const engine::Network& network, MPI_Comm comm)
    : memory_(memory), tags_(std::in_place, most_tags, 1, 0) {
  const auto count = static_cast<std::size_t>(program.ranks);
  const engine::RankMap map = one_rank_map(program.rank, program.ranks, *tags_);
  const auto descriptor = [](std::span<std::byte> buffer) {
    return engine::BufferDescriptor{.path = engine::Path::own,
                                    .address = reinterpret_cast<std::uint64_t>(buffer.data())};
  };
  engine::PlacementOptions options;
  options.send = descriptor(send);
  options.recv = descriptor(recv);
  options.exclusive = true;
  options.operation = {engine::ReduceOp::sum, engine::ReduceType::uint32};
  std::vector<PairInfo> mine(count);
  block_ = engine::place(program, memory, map, options, mine);
  std::vector<PairInfo>& table = told(program.ranks);
  const auto row = static_cast<std::size_t>(program.rank) * count;
  std::ranges::copy(mine, table.begin() + static_cast<std::ptrdiff_t>(row));
  MPI_Barrier(comm);
  std::vector<PairInfo> peers(count);
  for (std::size_t peer = 0; peer < count; ++peer) {
    peers[peer] = table[(peer * count) + static_cast<std::size_t>(program.rank)];
  }
  engine::link(block_, memory, map, mine, peers);
  MPI_Barrier(comm); // all have read the table
  task_.emplace(engine::SharedRef{memory.self(), 0, block_}, memory);
  progress_.emplace(network, engine::rank_executor);
}

RankRequest::~RankRequest() {
  progress_.reset();
  task_.reset();
  engine::reclaim(memory_, *tags_, *memory_.arena().at<engine::Block>(block_));
}

void RankRequest::run() {
  engine::Block& block = task_->program.block();
  engine::begin_epoch(task_->program, ++epoch_);
  progress_->adopt(*task_, epoch_, engine::now_ns());
  while (!block.completed.reached(epoch_)) {
    progress_->poll();
  }
  if (block.error.load() != 0) {
    throw engine::Error(static_cast<engine::Code>(block.error.load()), "{}", block.error_text);
  }
}

} // namespace bench
} // namespace stoker
