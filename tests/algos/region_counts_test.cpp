// SPDX-License-Identifier: BSD-3-Clause
// What the locality-aware and the multileader collectives send between nodes, against the literature's formulas; and
// that all ranks combine operands in the same way.
#include "cases.hpp"

#include "algos/schedule/matching.hpp"
#include "algos/schedule/traffic.hpp"
#include "algos/verify/whole_distributed_vector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using topology::Layout;

constexpr std::uint64_t block_bytes = 8;

std::vector<Program> compile(Collective collective, const std::string& text, const Layout& layout) {
  return WholeDistributedVector::uniform(collective, layout, 1, block_bytes)
      .compile(resolve(parse_choice(collective, text), layout));
}

// Calls visit(rank, step, partner) for each step, in an order in which all that it waits for is before it: of its own
// rank, and the send that its recv meets.
void walk(const std::vector<Program>& programs, const std::function<void(int, StepId, StepId)>& visit) {
  const Matching matching = match(programs);
  ASSERT_EQ(matching.defect, "");
  std::vector<StepId> next(programs.size(), 0); // step orders are topological
  for (bool moved = true; std::exchange(moved, false);) {
    for (std::size_t rank = 0; rank < programs.size(); ++rank) {
      for (StepId& step = next[rank]; step < programs[rank].steps.size(); ++step) {
        const Step& what = programs[rank].steps[step];
        const StepId partner = matching.partners[rank][step];
        if (what.kind == StepKind::recv && next[static_cast<std::size_t>(what.peer)] <= partner) {
          break;
        }
        visit(static_cast<int>(rank), step, partner);
        moved = true;
      }
    }
  }
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    ASSERT_EQ(next[rank], programs[rank].steps.size()) << "rank " << rank << " is stuck";
  }
}

// The most messages between nodes one after the other.
int rounds_between_nodes(const std::vector<Program>& programs, const Layout& layout) {
  std::vector<std::vector<int>> rounds(programs.size());
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    rounds[rank].assign(programs[rank].steps.size(), 0);
  }
  int most = 0;
  walk(programs, [&](int rank, StepId step, StepId partner) {
    const Program& program = programs[static_cast<std::size_t>(rank)];
    const Step& what = program.steps[step];
    int& here = rounds[static_cast<std::size_t>(rank)][step];
    if (what.kind == StepKind::recv) {
      const int crossed = layout.same_node(rank, what.peer) ? 0 : 1;
      here = std::max(here, rounds[static_cast<std::size_t>(what.peer)][partner] + crossed);
    }
    for (const StepId successor : program.successors_of(what)) {
      int& later = rounds[static_cast<std::size_t>(rank)][successor];
      later = std::max(later, here);
    }
    most = std::max(most, here);
  });
  return most;
}

std::uint64_t most_messages_of_a_rank(const std::vector<Program>& programs, const Layout& layout) {
  std::uint64_t most = 0;
  for (const Program& program : programs) {
    const Traffic traffic = traffic_of(program, layout);
    most = std::max({most, traffic.sent_at(Level::network).messages, traffic.received_at(Level::network).messages});
  }
  return most;
}

int logarithm(int base, int of) { // rounded up
  int result = 0;
  for (int power = 1; power < of; power *= base) {
    ++result;
  }
  return result;
}

// Bienz, Gautam and Kharel: with m ranks in a region each round multiplies what regions have; here by m + 1.
TEST(LocalityAware, AllgatherAndReduceScatterTakeLogarithmicRoundsOfOneMessage) {
  for (const int per_node : {4, 6, 8}) {
    for (const int nodes : {2, 3, 5, 9, 16, 27, 30}) {
      const Layout layout = Layout::uniform(nodes * per_node, per_node);
      const int rounds = logarithm(per_node + 1, nodes);
      for (const Collective collective : {Collective::allgather, Collective::reduce_scatter_block}) {
        const auto programs = compile(collective, "locality-aware", layout);
        const std::string where = std::to_string(nodes) + " nodes x " + std::to_string(per_node);
        EXPECT_EQ(rounds_between_nodes(programs, layout), rounds) << where;
        EXPECT_LE(rounds_between_nodes(programs, layout),
                  rounds_between_nodes(compile(collective, "cyclic-shift", layout), layout))
            << where;
        // Sets of regions that are not of equal sizes cost some ranks a message more.
        EXPECT_LE(most_messages_of_a_rank(programs, layout), static_cast<std::uint64_t>(rounds) + 1) << where;
      }
    }
  }
  const Layout powers = Layout::uniform(25 * 4, 4);
  EXPECT_EQ(most_messages_of_a_rank(compile(Collective::allgather, "locality-aware", powers), powers), 2U);
  EXPECT_EQ(most_messages_of_a_rank(compile(Collective::reduce_scatter, "locality-aware", powers), powers), 2U);
}

// Every block comes to every node once, in the reverse every sum leaves once; without regard to nodes, once for each
// rank.
TEST(LocalityAware, NoByteCrossesTwice) {
  for (int ranks = 1; ranks <= most_ranks; ++ranks) {
    for (const auto& [name, layout] : layouts_of(ranks)) {
      const auto allgathers = traffic_by_node(compile(Collective::allgather, "locality-aware", layout), layout);
      const auto reduce_scatters =
          traffic_by_node(compile(Collective::reduce_scatter, "locality-aware", layout), layout);
      for (int node = 0; node < layout.nodes(); ++node) {
        const std::uint64_t elsewhere =
            (static_cast<std::uint64_t>(ranks) - layout.node_ranks(node).size()) * block_bytes;
        EXPECT_EQ(allgathers[static_cast<std::size_t>(node)].received_at(Level::network).bytes, elsewhere)
            << ranks << " ranks, " << name;
        EXPECT_EQ(reduce_scatters[static_cast<std::size_t>(node)].sent_at(Level::network).bytes, elsewhere)
            << ranks << " ranks, " << name;
      }
    }
  }
}

// Bienz, Olson and Gropp: with m ranks on each of m^k nodes k rounds, in each of which all ranks of a node but one send
// one vector. Recursive doubling sends m log2 (m^k) vectors from each node.
TEST(LocalityAware, AllreduceTakesLogarithmicRoundsOfOneMessage) {
  for (const auto& [per_node, rounds] : {std::pair{4, 1}, {4, 2}, {5, 2}, {8, 1}, {4, 3}}) {
    int nodes = 1;
    for (int i = 0; i < rounds; ++i) {
      nodes *= per_node;
    }
    const Layout layout = Layout::uniform(nodes * per_node, per_node);
    const auto programs = compile(Collective::allreduce, "locality-aware", layout);
    EXPECT_EQ(rounds_between_nodes(programs, layout), rounds) << nodes;
    EXPECT_EQ(most_messages_of_a_rank(programs, layout), static_cast<std::uint64_t>(rounds)) << nodes;
    const auto vectors = static_cast<std::uint64_t>(rounds) * static_cast<std::uint64_t>(per_node - 1);
    for (const Traffic& node : traffic_by_node(programs, layout)) {
      EXPECT_EQ(node.sent_at(Level::network), (Volume{vectors, vectors * block_bytes})) << nodes;
      EXPECT_EQ(node.received_at(Level::network), (Volume{vectors, vectors * block_bytes})) << nodes;
    }
  }
  for (const int nodes : {2, 3, 5, 7, 13, 17}) { // other numbers round up
    const Layout layout = Layout::uniform(nodes * 4, 4);
    EXPECT_EQ(rounds_between_nodes(compile(Collective::allreduce, "locality-aware", layout), layout),
              logarithm(4, nodes))
        << nodes;
  }
}

// A reduce_scatter and an allgather: of n bytes n (N - 1) / N leave each of N nodes in both.
TEST(LocalityAware, AllreduceOfALongVectorInParts) {
  constexpr int nodes = 4;
  constexpr std::uint64_t bytes = 4096;
  const Layout layout = Layout::uniform(nodes * 4, 4);
  for (const char* text : {"locality-aware:between=-4 4", "locality-aware:between=-2 -2 2 2",
                           "multileader:leaders=1,between=-2 -2 4", "multileader:leaders=1,between=-4 2 2"}) {
    const Choice choice = resolve(parse_choice(Collective::allreduce, text), layout);
    const auto programs = WholeDistributedVector::uniform(Collective::allreduce, layout, bytes / 8, 8).compile(choice);
    for (const Traffic& node : traffic_by_node(programs, layout)) {
      EXPECT_EQ(node.sent_at(Level::network).bytes, 2 * bytes / nodes * (nodes - 1)) << text;
    }
  }
}

// Leaders exchange, each with every other one where one factor covers them all; the other ranks send one message and
// receive one.
TEST(Multileader, OnlyLeadersReachOtherNodes) {
  constexpr int nodes = 3;
  constexpr int per_node = 8;
  const Layout layout = Layout::uniform(nodes * per_node, per_node, 4);
  for (const auto& [leaders, value] : {std::pair{1, "1"}, {2, "2"}, {4, "domains"}}) {
    const std::string text = "multileader:leaders=" + std::string(value) + ",between=";
    const std::string all = std::to_string(nodes * leaders);
    for (const auto& [collective, sign] :
         {std::pair{Collective::allreduce, ""}, {Collective::reduce_scatter, "-"}, {Collective::allgather, ""}}) {
      const auto elsewhere = static_cast<std::uint64_t>(nodes - 1) * static_cast<std::uint64_t>(leaders);
      for (const Program& program : compile(collective, std::string(text).append(sign).append(all), layout)) {
        const Traffic traffic = traffic_of(program, layout);
        const bool leads = program.rank % (per_node / leaders) == 0;
        EXPECT_EQ(traffic.sent_at(Level::network).messages, leads ? elsewhere : 0) << text;
        EXPECT_EQ(traffic.received_at(Level::network).messages, leads ? elsewhere : 0) << text;
        if (!leads) {
          EXPECT_EQ(traffic.sent_at(Level::domain).messages + traffic.sent_at(Level::node).messages, 1U) << text;
          EXPECT_EQ(traffic.received_at(Level::domain).messages + traffic.received_at(Level::node).messages, 1U)
              << text;
        }
      }
    }
  }
}

// ---- equal results ----

// A number for how a byte was combined: from which ranks' operands, and which of them first. As with floating-point
// numbers, left and right do not matter, but brackets do.
using Formula = std::uint64_t;

Formula mixed(Formula a, Formula b) {
  constexpr Formula odd = 0x9E3779B97F4A7C15;
  const auto scramble = [](Formula x) { return (x ^ (x >> 31U)) * odd; };
  return scramble(scramble(std::min(a, b)) + (3 * scramble(std::max(a, b))) + 1);
}

struct Memory {
  std::vector<Formula> send, recv, scratch;
  std::vector<Formula>& of(Buffer buffer) {
    return buffer == Buffer::send ? send : buffer == Buffer::recv ? recv : scratch;
  }
  std::vector<Formula> read(std::span<const Slice> slices) {
    std::vector<Formula> result;
    for (const Slice& slice : slices) {
      for (std::uint64_t i = 0; i < slice.bytes(); ++i) {
        result.push_back(of(slice.buffer)[slice.offset + (i / slice.length * slice.stride) + (i % slice.length)]);
      }
    }
    return result;
  }
  void write(std::span<const Slice> slices, const std::vector<Formula>& values) {
    std::size_t next = 0;
    for (const Slice& slice : slices) {
      for (std::uint64_t i = 0; i < slice.bytes(); ++i) {
        of(slice.buffer)[slice.offset + (i / slice.length * slice.stride) + (i % slice.length)] = values[next++];
      }
    }
  }
};

std::vector<Formula> mixed(const std::vector<Formula>& a, const std::vector<Formula>& b) {
  std::vector<Formula> result;
  std::ranges::transform(a, b, std::back_inserter(result), [](Formula x, Formula y) { return mixed(x, y); });
  return result;
}

// By rank: how each byte of the result was combined.
std::vector<std::vector<Formula>> formulas(const std::vector<Program>& programs) {
  std::vector<Memory> memories;
  std::vector<std::vector<std::vector<Formula>>> sent; // by rank and step
  for (const Program& program : programs) {
    memories.push_back({std::vector<Formula>(program.send_bytes, static_cast<Formula>(program.rank) + 1),
                        std::vector<Formula>(program.recv_bytes, 0), std::vector<Formula>(program.scratch_bytes, 0)});
    sent.emplace_back(program.steps.size());
  }
  walk(programs, [&](int rank, StepId id, StepId partner) {
    const Program& program = programs[static_cast<std::size_t>(rank)];
    const Step& step = program.steps[id];
    Memory& memory = memories[static_cast<std::size_t>(rank)];
    const std::vector<Formula> source = memory.read(program.sources(step));
    if (step.kind == StepKind::send) {
      sent[static_cast<std::size_t>(rank)][id] = source;
    } else if (step.kind == StepKind::copy) {
      memory.write(program.targets(step), source);
    } else if (step.kind == StepKind::reduce) {
      const auto half = source.begin() + static_cast<std::ptrdiff_t>(source.size() / 2);
      memory.write(program.targets(step), mixed({source.begin(), half}, {half, source.end()}));
    } else {
      const std::vector<Formula>& message = sent[static_cast<std::size_t>(step.peer)][partner];
      memory.write(program.targets(step), step.message == Operand::none ? message : mixed(message, source));
    }
  });
  std::vector<std::vector<Formula>> result;
  std::ranges::transform(memories, std::back_inserter(result), &Memory::recv);
  return result;
}

// So that a sum of floating-point numbers has the same bits everywhere.
TEST(Allreduce, AllRanksCombineInTheSameWay) {
  std::vector<Choice> choices;
  for (const Algorithm& algorithm : algorithms_of(Collective::allreduce)) {
    choices.push_back({&algorithm, {}});
  }
  for (const char* text : {"locality-aware:groups=2", "locality-aware:groups=domains", "locality-aware:between=8",
                           "locality-aware:between=-8 8", "multileader:leaders=2", "multileader:leaders=domains"}) {
    choices.push_back(parse_choice(Collective::allreduce, text));
  }
  for (const Choice& choice : choices) {
    for (int ranks = 1; ranks <= most_ranks; ++ranks) {
      for (const auto& [name, layout] : layouts_of(ranks)) {
        if (!applies(choice, layout)) {
          continue;
        }
        const auto results = formulas(
            WholeDistributedVector::uniform(Collective::allreduce, layout, 20, 8).compile(resolve(choice, layout)));
        ASSERT_EQ(std::set(results.begin(), results.end()).size(), 1U)
            << test_name(choice) << ", " << ranks << " ranks, " << name;
      }
    }
  }
}

} // namespace
} // namespace stoker::tests
