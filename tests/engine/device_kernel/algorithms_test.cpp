// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm of the registry through the kernel's code, against what the verifier says that it has to produce. A
// new row in the registry is tested here without another line. The kernel knows no nodes: layouts of several ones are
// here for the schedules that they give.
#include "algos/verify/whole_call.hpp"
#include "algos/verify/whole_exchange.hpp"
#include "emulation.hpp"
#include "tests/algos/cases.hpp"
#include "tests/engine/token_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace stoker::engine::device {
namespace {

using algos::Buffer;
using algos::Choice;
using algos::Collective;
using topology::Layout;

constexpr std::uint64_t epochs = 3;

struct Case {
  std::vector<algos::Program> programs;
  std::vector<algos::Contents> contents;
  algos::Terms terms;
};

// Blocks of any size up to twice as many bytes; the same in both directions.
Case ragged(const Choice& choice, const Layout& layout, std::uint64_t bytes, bool in_place, std::mt19937& random) {
  const auto n = static_cast<std::size_t>(layout.ranks());
  algos::WholeExchange::Table sizes(n, std::vector<std::uint64_t>(n));
  for (std::size_t source = 0; source < n; ++source) {
    for (std::size_t target = 0; target < n; ++target) {
      sizes[source][target] = target < source ? sizes[target][source] : random() % (2 * bytes + 1);
    }
  }
  const auto exchange = algos::WholeExchange::ragged(layout, std::move(sizes), random() % 2 * 7, in_place);
  return {exchange.compile(choice), exchange.contents(), algos::Terms()};
}

bool can_be_in_place(Collective collective) {
  return pattern_of(collective) != algos::Pattern::neighborhood && collective != Collective::bcast &&
         collective != Collective::barrier;
}

Case made(const Choice& choice, const Layout& layout, std::uint64_t elements, bool in_place, std::mt19937& random) {
  const Collective collective = choice.algorithm->collective;
  constexpr std::uint64_t element_bytes = 8;
  if (collective == Collective::alltoallv) {
    return ragged(choice, layout, elements * element_bytes, in_place, random);
  }
  algos::WholeCall call{.collective = collective, .bytes = {}, .in_place = in_place, .grid = {}};
  if (collective != Collective::barrier) {
    call.bytes.push_back(combines(collective) ? elements * element_bytes : elements * 7);
  }
  if (combines(collective)) {
    call.element_bytes = element_bytes;
  }
  if (has_root(collective)) {
    call.root = static_cast<int>(random() % static_cast<unsigned>(layout.ranks()));
  }
  if (pattern_of(collective) == algos::Pattern::neighborhood) {
    call.grid = layout.ranks() % 2 == 0 ? std::vector{layout.ranks() / 2, 2} : std::vector{layout.ranks()};
  }
  Case result;
  result.programs = call.compile(choice, layout);
  result.contents = call.contents(layout.ranks(), result.terms);
  return result;
}

void fill(std::span<std::byte> buffer, const std::vector<algos::Token>& tokens, std::uint64_t epoch,
          const algos::Terms& terms) {
  ASSERT_GE(tokens.size(), buffer.size());
  std::ranges::transform(
      tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(buffer.size()), buffer.begin(),
      [&](algos::Token token) { return token == algos::undefined ? poison : tests::value_of(token, epoch, terms); });
}

// What the rank's receive buffer has to hold: bytes that are not to be written have what they had.
std::vector<algos::Token> expected_of(const algos::Contents& contents) {
  std::vector<algos::Token> expected = contents.result;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == algos::undefined) {
      expected[i] = contents.recv[i];
    }
  }
  return expected;
}

void expect_right(const Case& call, std::mt19937& random) {
  const Launching launching = all_launchings[random() % all_launchings.size()];
  const auto most_blocks = static_cast<std::uint32_t>(1 + random() % 3);
  const std::uint64_t bytes_per_block = random() % 2 == 0 ? 16 : 64;
  const std::uint64_t misaligned = random() % 3 * 4;
  SCOPED_TRACE(std::string(launching.together ? "together" : "apart") +
               (launching.stay == Stay::one_epoch ? ", launched each time, " : ", staying, ") +
               std::to_string(most_blocks) + " blocks of " + std::to_string(bytes_per_block) +
               " bytes, misaligned by " + std::to_string(misaligned));
  Emulation emulation(call.programs,
                      {.operation = {ReduceOp::bxor, random() % 2 == 0 ? ReduceType::uint64 : ReduceType::uint8},
                       .most_blocks = most_blocks,
                       .bytes_per_block = bytes_per_block},
                      misaligned);
  emulation.run(
      launching, epochs, random,
      [&](std::uint32_t rank, std::uint64_t epoch) {
        fill(emulation.buffer(rank, Buffer::send), call.contents[rank].send, epoch, call.terms);
        fill(emulation.buffer(rank, Buffer::recv), call.contents[rank].recv, epoch, call.terms);
      },
      [&](std::uint32_t rank, std::uint64_t epoch) {
        const std::span<std::byte> recv = emulation.buffer(rank, Buffer::recv);
        std::vector<std::byte> expected(recv.size());
        fill(expected, expected_of(call.contents[rank]), epoch, call.terms);
        EXPECT_TRUE(std::ranges::equal(recv, expected)) << "rank " << rank << ", epoch " << epoch;
      });
}

// The larger ones are for lists of factors that fit no small number.
constexpr int most_ranks_of_all = 8;
constexpr int most_ranks = 33;

class EveryAlgorithm : public testing::TestWithParam<Choice> {};

TEST_P(EveryAlgorithm, LeavesWhatTheVerifierExpects) {
  const Choice choice = GetParam();
  const char* const given = std::getenv("DEVICE_KERNEL_SEED");
  const auto seed = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
  SCOPED_TRACE("DEVICE_KERNEL_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  // More than a few chunks, one element, an odd number, no byte.
  constexpr std::array<std::uint64_t, 4> sizes{40, 1, 5, 0};
  std::size_t cases = 0;
  for (int ranks = 1; ranks <= most_ranks_of_all || (cases == 0 && ranks <= most_ranks); ++ranks) {
    for (const int per_node : {ranks, ranks % 2 == 0 ? 2 : 3}) {
      const Layout layout = Layout::uniform(ranks, per_node, 2);
      if (!tests::applies(choice, layout)) {
        continue;
      }
      const std::uint64_t elements = sizes[cases % sizes.size()];
      const bool in_place = cases % 3 == 2 && can_be_in_place(choice.algorithm->collective);
      SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(per_node) + " per node, " +
                   std::to_string(elements) + " elements" + (in_place ? ", in place" : ""));
      expect_right(made(resolve(choice, layout), layout, elements, in_place, random), random);
      if (HasFailure()) {
        return;
      }
      ++cases;
    }
  }
  EXPECT_GT(cases, 0U);
}

std::vector<Choice> every_choice() {
  std::vector<Choice> result = tests::choices();
  for (const Choice& choice : tests::vector_choices()) {
    result.push_back(choice);
  }
  for (const algos::Algorithm& algorithm : algos::registry()) {
    if (pattern_of(algorithm.collective) == algos::Pattern::neighborhood) {
      result.push_back({&algorithm, {}});
    }
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryAlgorithm, testing::ValuesIn(every_choice()),
                         [](const auto& choice) { return tests::test_name(choice.param); });

} // namespace
} // namespace stoker::engine::device
