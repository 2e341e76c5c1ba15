// SPDX-License-Identifier: BSD-3-Clause
#include "rig.hpp"

#include "algos/verify/whole_exchange.hpp"
#include "engine/base/clock.hpp"
#include "engine/execute/executor.hpp"
#include "engine/helper/program_poller.hpp"
#include "fake_clock.hpp"
#include "tests/engine/token_values.hpp"

#include <gtest/gtest.h>

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <stdexcept>

namespace stoker::engine {
namespace {

constexpr std::byte poison{0xee};
constexpr std::uint64_t most_cranks = 2'000'000; // of a run: far more than any takes that gets to its end

} // namespace

WholeCollective whole_alltoall(const topology::Layout& layout, std::uint64_t bytes) {
  const auto exchange = algos::WholeExchange::uniform(layout, bytes);
  return {exchange.compile(algos::parse_choice(algos::Collective::alltoall, "nonblocking")), exchange.contents(),
          algos::Terms()};
}

Rig::Rig(const RigOptions& options, const WholeCollective& collective)
    : network(options.layout.ranks(), options.buffered_bytes), options_(options), collective_(collective),
      ranks_(static_cast<std::size_t>(options.layout.ranks())) {
  create_memories();
  place_all();
  create_executors();
}

Rig::~Rig() {
  for (Rank& rank : ranks_) {
    rank.progress.reset(); // while the buffers of their messages are there
    rank.helper.reset();
  }
  free_blocks();
  for (Rank& rank : ranks_) {
    for (const std::uint64_t place : rank.places) {
      rank.memory->arena().deallocate(place);
    }
  }
}

void Rig::free_blocks() {
  for (Rank& rank : ranks_) {
    if (rank.block != 0) {
      reclaim(*rank.memory, *rank.tags, *rank.memory->arena().at<Block>(std::exchange(rank.block, 0)));
    }
  }
}

int Rig::carrier(int rank) const {
  return options_.inlined ? rank : options_.layout.node_leader(options_.layout.node_of(rank));
}

std::vector<int> Rig::carriers() const {
  std::vector<int> result;
  for (int rank = 0; rank < ranks(); ++rank) {
    if (carrier(rank) == rank) {
      result.push_back(rank);
    }
  }
  return result;
}

void Rig::create_memories() {
  for (Rank& rank : ranks_) {
    rank.memory = std::make_shared<NodeMemory>(std::uint64_t{64} << 20U, -1);
  }
  for (int node = 0; node < options_.layout.nodes(); ++node) {
    std::vector<NodeMemory::Introduction> introductions;
    for (const int rank : options_.layout.node_ranks(node)) {
      introductions.push_back(at(rank).memory->introduction());
    }
    for (const int rank : options_.layout.node_ranks(node)) {
      at(rank).memory->attach(static_cast<std::uint32_t>(options_.layout.local_index(rank)), introductions);
    }
  }
  // Emulated processors lack the system call.
  if (options_.path == Path::attached && process_vm_readv(getpid(), nullptr, 0, nullptr, 0, 0) != 0 &&
      errno == ENOSYS) {
    options_.path = Path::mapped;
  }
}

BufferDescriptor Rig::allocate(Rank& rank, std::uint64_t bytes, std::byte*& buffer) const {
  BufferDescriptor descriptor{.path = options_.path};
  if (options_.path == Path::attached) {
    buffer = rank.heap.emplace_back(bytes + 1).data(); // + 1: an address also for nothing
  } else {
    descriptor.offset = rank.memory->arena().allocate(bytes + 1);
    rank.places.push_back(descriptor.offset);
    buffer = rank.memory->arena().at<std::byte>(descriptor.offset);
  }
  descriptor.address = reinterpret_cast<std::uint64_t>(buffer);
  return descriptor;
}

// As the init of a request does, for all ranks in turn.
void Rig::place_all() {
  const topology::Layout& layout = options_.layout;
  for (int r = 0; r < ranks(); ++r) {
    Rank& rank = at(r);
    const algos::Program& program = collective_.programs[static_cast<std::size_t>(r)];
    for (int peer = 0; peer < ranks(); ++peer) {
      rank.map.node_of.push_back(layout.node_of(peer));
      rank.map.arena_of.push_back(layout.same_node(r, peer) ? layout.local_index(peer) : -1);
    }
    rank.map.endpoint = carrier(r);
    rank.map.endpoint_arena = static_cast<std::uint32_t>(layout.local_index(carrier(r)));
    rank.tags = std::make_unique<TagSpace>(options_.tags * ranks(), ranks_.size(), static_cast<std::uint64_t>(r));
    rank.map.tags = rank.tags.get();
    rank.map.carrier = carrier(r);
    PlacementOptions options;
    const algos::Contents& contents = collective_.contents[static_cast<std::size_t>(r)];
    options.send = allocate(rank, std::max<std::uint64_t>(program.send_bytes, contents.send.size()), rank.send);
    options.recv = allocate(rank, std::max<std::uint64_t>(program.recv_bytes, contents.recv.size()), rank.recv);
    options.eager_bytes = options_.eager_bytes;
    options.piece_bytes = options_.node_piece_bytes;
    options.most_messages = options_.most_messages;
    options.timed = options_.timed;
    options.exclusive = options_.inlined;
    options.operation = {ReduceOp::bxor, ReduceType::uint8};
    rank.pairs.resize(ranks_.size());
    rank.block = place(program, *rank.memory, rank.map, options, rank.pairs);
  }
  for (int r = 0; r < ranks(); ++r) {
    std::vector<PairInfo> peers;
    for (const Rank& peer : ranks_) {
      peers.push_back(peer.pairs[static_cast<std::size_t>(r)]);
    }
    link(at(r).block, *at(r).memory, at(r).map, at(r).pairs, peers);
  }
}

void Rig::create_executors() {
  for (int r = 0; r < ranks(); ++r) {
    Rank& rank = at(r);
    rank.task = std::make_unique<Task>(SharedRef{rank.memory->self(), 0, rank.block}, *rank.memory);
    const Network endpoint{&network.endpoint(r), options_.piece_bytes};
    if (options_.inlined) {
      rank.progress = std::make_unique<Progress>(endpoint, rank_executor);
    } else if (carrier(r) == r) {
      std::vector<std::uint32_t> members(options_.layout.node_ranks(options_.layout.node_of(r)).size());
      std::iota(members.begin(), members.end(), 0U);
      rank.helper = std::make_unique<Helper>(machine_, rank.memory, std::move(members),
                                             HelperOptions{.place = {}, .batch = options_.batch}, nullptr);
      rank.helper->add(Submitted::epoch,
                       std::make_unique<ProgramPoller>(*rank.memory, endpoint, rank.helper->windows()));
    }
  }
}

bool Rig::poll(int carrier) {
  Rank& rank = at(carrier);
  return options_.inlined ? rank.progress->poll() : rank.helper->round();
}

Block& Rig::block(int rank) const { return *at(rank).memory->arena().at<Block>(at(rank).block); }

std::byte Rig::value(algos::Token token, std::uint64_t epoch) const {
  return tests::value_of(token, epoch, collective_.terms);
}

void Rig::start(int r) {
  Rank& rank = at(r);
  const algos::Contents& contents = collective_.contents[static_cast<std::size_t>(r)];
  ++rank.epoch;
  rank.active = true;
  const auto fill = [&](std::byte* buffer, const std::vector<algos::Token>& tokens) {
    std::ranges::transform(tokens, buffer, [&](algos::Token token) {
      return token == algos::undefined ? poison : value(token, rank.epoch);
    });
  };
  fill(rank.send, contents.send);
  fill(rank.recv, contents.recv);
  begin_epoch(rank.task->program, rank.epoch);
  if (options_.inlined) {
    rank.progress->adopt(*rank.task, rank.epoch, now_ns());
  } else {
    if (block(r).submitted.exchange(rank.epoch) == 0) {
      ASSERT_TRUE(rank.memory->root(rank.memory->self()).ring.push({.block = rank.block}));
    }
    rank.memory->root(rank.memory->self()).ring.call();
  }
}

bool Rig::test(int carrier) {
  fake_clock::set(now_ns() + 2'000); // rounds come no closer together
  return at(carrier).helper->round_for_test();
}

bool Rig::assist(int r) {
  Block& own = block(r);
  if (!own.ownership.try_acquire(rank_executor)) {
    return false;
  }
  bool moved = false;
  if (!done(r)) {
    moved = advance(at(r).task->program, at(r).epoch, rank_executor);
    publish_if_complete(at(r).task->program, at(r).epoch, Publisher::waiting_rank);
  }
  own.ownership.release();
  return moved;
}

bool Rig::done(int rank) const { return block(rank).completed.reached(at(rank).epoch); }

void Rig::finish(int r) {
  Rank& rank = at(r);
  ASSERT_TRUE(rank.active && done(r));
  rank.active = false;
  EXPECT_EQ(block(r).error.load(), 0) << block(r).error_text;
  for (std::size_t i = 0; i < collective_.contents[static_cast<std::size_t>(r)].result.size(); ++i) {
    ASSERT_EQ(rank.recv[i], expected(r, i)) << "rank " << r << ", epoch " << rank.epoch << ", byte " << i;
  }
}

void Rig::forget(int rank) {
  at(rank).progress->forget(*at(rank).task);
  at(rank).task.reset();
}

bool Rig::right(int rank) const {
  for (std::size_t i = 0; i < collective_.contents[static_cast<std::size_t>(rank)].result.size(); ++i) {
    if (at(rank).recv[i] != expected(rank, i)) {
      return false;
    }
  }
  return true;
}

std::byte Rig::expected(int rank, std::size_t byte) const {
  const algos::Contents& contents = collective_.contents[static_cast<std::size_t>(rank)];
  const algos::Token token =
      contents.result[byte] != algos::undefined ? contents.result[byte] : contents.recv[byte]; // not to be written
  return token == algos::undefined ? poison : value(token, at(rank).epoch);
}

void Rig::give_up() {
  for (Rank& rank : ranks_) {
    rank.active = false;
  }
}

void Rig::run(std::mt19937& random, std::uint64_t epochs) {
  const std::vector<int> driven = carriers();
  const auto finished = [&](const Rank& rank) { return rank.epoch == epochs && !rank.active; };
  for (std::uint64_t crank = 0; !std::ranges::all_of(ranks_, finished); ++crank) {
    ASSERT_LT(crank, most_cranks) << "it hangs";
    const int r = static_cast<int>(random() % ranks_.size());
    fake_clock::set(now_ns() + (random() % 2'000));
    switch (random() % 4) {
    case 0:
      (void)network.arrive_any(random);
      break;
    case 1:
      (void)poll(driven[random() % driven.size()]);
      break;
    case 2:
      if (!options_.inlined && at(r).active) {
        (void)assist(r);
      }
      break;
    default:
      if (at(r).active && done(r)) {
        ASSERT_NO_FATAL_FAILURE(finish(r));
      } else if (!at(r).active && at(r).epoch < epochs) {
        start(r);
      }
      break;
    }
  }
  run_dry();
}

void Rig::run_dry() {
  bool moved = true;
  for (int quiet = 0; quiet < 3; quiet = moved ? 0 : quiet + 1) {
    fake_clock::set(now_ns() + 100'000); // nobody waits any longer for pieces
    moved = !network.on_its_way().empty();
    network.arrive_all();
    for (const int carrier : carriers()) {
      moved |= poll(carrier);
    }
  }
}

void Rig::expect_at_rest() const {
  for (int r = 0; r < ranks(); ++r) {
    EXPECT_TRUE(reclaimable(memory(r), block(r), at(r).epoch, true)) << "rank " << r;
  }
  EXPECT_TRUE(network.empty());
}

} // namespace stoker::engine
