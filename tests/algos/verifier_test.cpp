// SPDX-License-Identifier: BSD-3-Clause
// That the verifier can fail: hand-made schedules with one defect each, and every algorithm of the registry with every
// step, edge, peer and slice spoilt in turn.
#include "cases.hpp"

#include "algos/schedule/builder.hpp"
#include "algos/schedule/print.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <stdexcept>

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using topology::Layout;

testing::AssertionResult complains(const std::string& defect, const std::string& about) {
  if (defect.find(about) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "expected: " << about << "\nfound: '" << defect << "'";
}

// Two ranks with eight bytes to send each, tokens 1 to 8 and 9 to 16, which swap them.
const std::array<Contents, 2> swap = {
    Contents{{1, 2, 3, 4, 5, 6, 7, 8}, std::vector<Token>(8), {9, 10, 11, 12, 13, 14, 15, 16}},
    Contents{{9, 10, 11, 12, 13, 14, 15, 16}, std::vector<Token>(8), {1, 2, 3, 4, 5, 6, 7, 8}},
};

constexpr Slice all_sent{Buffer::send, 0, 8};
constexpr Slice all_received{Buffer::recv, 0, 8};

// Both ranks run the same steps, each with the other as its peer.
std::array<Program, 2> both(const std::function<void(Builder&, int peer)>& steps) {
  const auto program = [&](int rank) {
    Builder b(rank, 2, 8, 8);
    steps(b, 1 - rank);
    return std::move(b).finish();
  };
  return {program(0), program(1)};
}

TEST(Verifier, AcceptsASwap) {
  EXPECT_EQ(verify(both([](Builder& b, int peer) {
                     b.send(peer, all_sent);
                     b.recv(peer, all_received);
                   }),
                   swap),
            "");
}

TEST(Verifier, AcceptsASwapCutIntoUnequalSlices) {
  EXPECT_EQ(verify(both([](Builder& b, int peer) {
                     b.send(peer, std::array{Slice{Buffer::send, 0, 3}, Slice{Buffer::send, 3, 5}});
                     b.recv(peer, std::array{Slice{Buffer::recv, 0, 7}, Slice{Buffer::recv, 7, 1}});
                   }),
                   swap),
            "");
}

TEST(Verifier, FindsWhatOnlyEagerSendsSurvive) {
  const auto programs = both([](Builder& b, int peer) {
    const StepId send = b.send(peer, all_sent);
    b.recv(peer, all_received, std::array{send});
  });
  const std::array rendezvous = {Execution{Sending::rendezvous, Order::breadth_first}};
  const std::array buffered = {Execution{Sending::buffered, Order::breadth_first}};
  EXPECT_EQ(
      verify(programs, swap, rendezvous),
      "rendezvous, breadth first: deadlock: rank 0, epoch 1, step 0 (send to 1) waits for rank 1, epoch 1, step 1 "
      "(recv from 0), which waits for rank 1, epoch 1, step 0 (send to 0), which waits for rank 0, epoch 1, step 1 "
      "(recv from 1), which waits for rank 0, epoch 1, step 0 (send to 1)");
  EXPECT_EQ(verify(programs, swap, buffered), "");
  EXPECT_TRUE(complains(verify(programs, swap), "deadlock"));
}

TEST(Verifier, FindsADeadlockUnderBufferedSendsToo) {
  const auto programs = both([](Builder& b, int peer) {
    const StepId recv = b.recv(peer, all_received);
    b.send(peer, all_sent, std::array{recv});
  });
  for (const Execution& run : all_executions()) {
    EXPECT_TRUE(complains(verify(programs, swap, {&run, 1}), run.name() + ": deadlock: rank 0")) << run.name();
  }
}

TEST(Verifier, FindsAMessageWithoutPartner) {
  EXPECT_TRUE(complains(verify(both([](Builder& b, int peer) { b.send(peer, all_sent); }), swap),
                        "rank 0, step 0 (send to 1) meets no recv"));
  EXPECT_TRUE(complains(verify(both([](Builder& b, int peer) { b.recv(peer, all_received); }), swap),
                        "rank 1, step 0 (recv from 0) meets no send"));
}

TEST(Verifier, FindsMessagesOfUnequalSize) {
  EXPECT_TRUE(complains(verify(both([](Builder& b, int peer) {
                                 b.send(peer, all_sent);
                                 b.recv(peer, Slice{Buffer::recv, 0, 7});
                               }),
                               swap),
                        "rank 0, step 0 (send to 1) hands over 8 bytes, but rank 1, step 1 (recv from 0) takes 7"));
}

TEST(Verifier, MatchesByStepOrder) {
  const auto programs = both([](Builder& b, int peer) {
    b.send(peer, Slice{Buffer::send, 4, 4});
    b.send(peer, Slice{Buffer::send, 0, 4});
    b.recv(peer, Slice{Buffer::recv, 0, 4});
    b.recv(peer, Slice{Buffer::recv, 4, 4});
  });
  EXPECT_TRUE(complains(verify(programs, swap), "rank 0, epoch 1: recv[0] must hold rank 1's send[0] of epoch 1, but "
                                                "holds rank 1's send[4] of epoch 1"));
}

TEST(Verifier, FindsResultsThatAreMissing) {
  EXPECT_TRUE(complains(verify(both([](Builder&, int) {}), swap),
                        "rank 0, epoch 1: recv[0] must hold rank 1's send[0] of epoch 1, but holds nothing"));
}

TEST(Verifier, FindsWritesIntoGaps) {
  auto contents = swap;
  for (Contents& rank : contents) {
    rank.result[7] = undefined;
  }
  EXPECT_TRUE(complains(verify(both([](Builder& b, int peer) {
                                 b.send(peer, all_sent);
                                 b.recv(peer, all_received);
                               }),
                               contents),
                        "recv[7] must not be written, but holds rank 1's send[7] of epoch 1"));
}

TEST(Verifier, FindsReadsOfGaps) {
  auto contents = swap;
  contents[0].send[5] = undefined;
  contents[1].result[5] = undefined;
  EXPECT_TRUE(complains(verify(both([](Builder& b, int peer) {
                                 b.send(peer, all_sent);
                                 b.recv(peer, all_received);
                               }),
                               contents),
                        "rank 0, epoch 1, step 0 (send to 1) reads send[5], which is undefined"));
}

TEST(Verifier, FindsReadsOfScratchFromTheEpochBefore) {
  // Sends what the last epoch has left in scratch.
  const auto programs = both([](Builder& b, int peer) {
    const Slice kept{Buffer::scratch, b.scratch(8), 8};
    const StepId send = b.send(peer, kept);
    b.copy(kept, all_sent, std::array{send});
    b.recv(peer, all_received);
  });
  EXPECT_TRUE(complains(verify(programs, swap), "reads scratch[0], which is undefined"));
}

TEST(Verifier, FindsUseOfABufferWhileItIsReceivedInto) {
  auto contents = swap;
  contents[0].recv = contents[0].send;
  contents[1].recv = contents[1].send;
  // In place, but what leaves is not set aside. The check of each program finds it before anything runs.
  EXPECT_TRUE(complains(verify(both([](Builder& b, int peer) {
                                 b.send(peer, all_received);
                                 b.recv(peer, all_received);
                               }),
                               contents),
                        "rank 0, step 0 (send to 1) and step 1 (recv from 1) touch one place"));
}

TEST(Verifier, FindsProgramsOfTheWrongShape) {
  auto programs = both([](Builder& b, int peer) {
    b.send(peer, all_sent);
    b.recv(peer, all_received);
  });
  EXPECT_TRUE(complains(verify(std::array{programs[1], programs[0]}, swap), "rank 0 of 2 has the program of rank 1"));
  programs[1].recv_bytes = 9;
  EXPECT_TRUE(complains(verify(programs, swap), "rank 1 claims larger buffers than it has"));
  programs[1].recv_bytes = 7;
  EXPECT_TRUE(complains(verify(programs, swap), "rank 1, step 1 (recv from 0) reaches beyond the 7 bytes"));
}

TEST(Verifier, RefusesContentsThatMakeNoSense) {
  const auto programs = both([](Builder&, int) {});
  EXPECT_THROW((void)verify(programs, std::span(swap).first(1)), std::invalid_argument);
  auto contents = swap;
  contents[0].result.pop_back();
  EXPECT_THROW((void)verify(programs, contents), std::invalid_argument);
  contents = swap;
  contents[1].send[0] = 0xf0000000U;
  EXPECT_THROW((void)verify(programs, contents), std::invalid_argument);
}

TEST(Verifier, TheWholeExchangeRefusesTablesThatDoNotFit) {
  const Layout layout = Layout::uniform(2, 2);
  EXPECT_THROW((void)WholeExchange::ragged(layout, {{1, 2}}), std::invalid_argument);
  EXPECT_THROW((void)WholeExchange::ragged(layout, {{1, 2}, {3, 4}}, 0, true), std::invalid_argument);
  const auto unequal = WholeExchange::ragged(layout, {{1, 2}, {3, 4}});
  EXPECT_THROW((void)unequal.compile(parse_choice(Collective::alltoall, "nonblocking")), std::invalid_argument);
}

// A program built again step by step, with one step left out or one edge, whose number is counted over all steps.
struct Omission {
  std::optional<StepId> step;
  std::optional<std::size_t> edge;
};

Program rebuild(const Program& program, const Omission& omission) {
  std::vector<std::vector<StepId>> after(program.steps.size());
  Builder b(program.rank, program.ranks, program.send_bytes, program.recv_bytes);
  b.scratch(program.scratch_bytes);
  std::vector<std::vector<StepId>> now(
      program.steps.size()); // what stands for each step: itself, or what it waited for
  std::size_t edge = 0;
  for (StepId id = 0; id < program.steps.size(); ++id) {
    const Step& step = program.steps[id];
    if (omission.step == id) {
      now[id] = after[id];
    } else if (step.kind == StepKind::send) {
      now[id] = {b.send(step.peer, program.sources(step), after[id])};
    } else if (step.kind == StepKind::recv) {
      now[id] = {step.announced ? b.announced_recv(step.peer, program.targets(step), after[id])
                                : b.recv(step.peer, program.targets(step), after[id])};
    } else if (step.kind == StepKind::put) {
      now[id] = {b.put(step.peer, program.sources(step), program.targets(step)[0], step.announced, after[id])};
    } else if (step.kind == StepKind::fence) {
      now[id] = {b.fence(after[id])};
    } else {
      now[id] = {b.copy(program.targets(step), program.sources(step), after[id])};
    }
    for (const StepId successor : program.successors_of(step)) {
      if (omission.edge != edge++) {
        after[successor].insert(after[successor].end(), now[id].begin(), now[id].end());
      }
    }
  }
  return std::move(b).finish();
}

// Nodes of 3, 3 and 1 ranks.
std::vector<WholeExchange> exchanges() {
  return {WholeExchange::uniform(Layout::uniform(7, 3), 4), WholeExchange::uniform(Layout::uniform(7, 3), 4, true)};
}

// Each spoilt version of each rank's program must be found out. Returns how many there were.
template <class Versions>
int expect_found(const Choice& choice, const WholeExchange& exchange, Versions versions) {
  const auto programs = exchange.compile(choice);
  const auto contents = exchange.contents();
  EXPECT_EQ(verify(programs, contents), "");
  int count = 0;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    for (Program& version : versions(programs[rank])) {
      auto spoilt = programs;
      spoilt[rank] = std::move(version);
      EXPECT_NE(verify(spoilt, contents), "") << "spoilt:\n"
                                              << to_text(spoilt[rank]) << "sound:\n"
                                              << to_text(programs[rank]);
      ++count;
    }
  }
  return count;
}

class Spoilt : public testing::TestWithParam<Choice> {};

TEST_P(Spoilt, AStepLess) {
  for (const WholeExchange& exchange : exchanges()) {
    EXPECT_GT(expect_found(GetParam(), exchange,
                           [](const Program& program) {
                             std::vector<Program> versions;
                             for (StepId id = 0; id < program.steps.size(); ++id) {
                               if (program.steps[id].bytes > 0) {
                                 versions.push_back(rebuild(program, {.step = id, .edge = {}}));
                               }
                             }
                             return versions;
                           }),
              0);
  }
}

TEST_P(Spoilt, AWrongPeer) {
  for (const WholeExchange& exchange : exchanges()) {
    EXPECT_GT(expect_found(GetParam(), exchange,
                           [](const Program& program) {
                             std::vector<Program> versions;
                             for (StepId id = 0; id < program.steps.size(); ++id) {
                               if (program.steps[id].peer >= 0) {
                                 versions.push_back(program);
                                 Step& step = versions.back().steps[id];
                                 step.peer = (step.peer + 1) % program.ranks;
                               }
                             }
                             return versions;
                           }),
              0);
  }
}

TEST_P(Spoilt, ASliceShiftedOrShortened) {
  for (const WholeExchange& exchange : exchanges()) {
    EXPECT_GT(expect_found(GetParam(), exchange,
                           [](const Program& program) {
                             std::vector<Program> versions;
                             for (std::size_t slice = 0; slice < program.slices.size(); ++slice) {
                               versions.push_back(program);
                               ++versions.back().slices[slice].offset;
                               versions.push_back(program);
                               --versions.back().slices[slice].length;
                             }
                             return versions;
                           }),
              0);
  }
}

TEST_P(Spoilt, AMessageShortenedOnOneSide) {
  for (const WholeExchange& exchange : exchanges()) {
    EXPECT_GT(expect_found(GetParam(), exchange,
                           [](const Program& program) {
                             std::vector<Program> versions;
                             for (StepId id = 0; id < program.steps.size(); ++id) {
                               const Step& step = program.steps[id];
                               if (step.peer >= 0) {
                                 versions.push_back(program);
                                 std::uint64_t count = 0;
                                 for (const Range& slices : {step.source, step.target}) { // a put has both
                                   if (slices.count > 0) {
                                     Slice& last = versions.back().slices[slices.begin + slices.count - 1];
                                     --last.length;
                                     count = last.count;
                                   }
                                 }
                                 versions.back().steps[id].bytes -= count;
                               }
                             }
                             return versions;
                           }),
              0);
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Spoilt, testing::ValuesIn(rows()),
                         [](const auto& row) { return test_name(row.param); });

// Where an algorithm orders no two steps for the sake of pace, each edge is there for a reason.
TEST(Verifier, FindsAMissingEdgeWhereNoneIsIdle) {
  for (const auto* name : {"nonblocking", "hierarchical"}) {
    int count = 0;
    for (const WholeExchange& exchange : exchanges()) {
      count += expect_found(parse_choice(Collective::alltoall, name), exchange, [](const Program& program) {
        std::vector<Program> versions;
        for (std::size_t edge = 0; edge < program.successors.size(); ++edge) {
          versions.push_back(rebuild(program, {.step = {}, .edge = edge}));
        }
        return versions;
      });
    }
    EXPECT_GT(count, 0) << name;
  }
}

// The put's own edge to the last fence counts as well as that of its recv: a window is flushed for what its
// fence waits for.
TEST(Verifier, FindsAPutThatDoesNotWait) {
  int count = 0;
  for (const WholeExchange& exchange : exchanges()) {
    for (const auto* name : {"rma-fence", "rma-lock", "rma-fence-hierarchy"}) {
      count += expect_found(parse_choice(Collective::alltoall, name), exchange, [](const Program& program) {
        std::vector<Program> versions;
        std::size_t edge = 0;
        for (const Step& step : program.steps) {
          for (const StepId next : program.successors_of(step)) {
            const StepKind after = program.steps[next].kind;
            if ((step.kind == StepKind::fence && after == StepKind::put) ||
                (step.kind == StepKind::put && after == StepKind::fence) ||
                (step.kind == StepKind::recv && after == StepKind::fence) ||
                (step.kind == StepKind::copy && after == StepKind::recv)) {
              versions.push_back(rebuild(program, {.step = {}, .edge = edge}));
            }
            ++edge;
          }
        }
        return versions;
      });
    }
  }
  EXPECT_GT(count, 0);
}

TEST(Verifier, FindsMissingAndUnequalFences) {
  const auto exchange = WholeExchange::uniform(Layout::uniform(3, 1), 4);
  const auto sound = exchange.compile(parse_choice(Collective::alltoall, "rma-fence"));
  auto spoilt = sound;
  spoilt[1] = rebuild(sound[1], {.step = static_cast<StepId>(sound[1].steps.size() - 1), .edge = {}});
  EXPECT_NE(verify(spoilt, exchange.contents()).find("rank 1 has 1 fences, but rank 0 has 2"), std::string::npos);
  spoilt = sound;
  for (Step& step : spoilt[2].steps) {
    step.announced = step.kind == StepKind::recv;
  }
  EXPECT_NE(verify(spoilt, exchange.contents()).find("announced on one side only"), std::string::npos);
  spoilt = sound;
  for (const Step& step : sound[0].steps) {
    if (step.kind == StepKind::put) {
      ++spoilt[0].slices[step.target.begin].offset;
    }
  }
  EXPECT_NE(verify(spoilt, exchange.contents()).find("writes to another place than that of"), std::string::npos);
}

TEST(Verifier, FindsFencesInNoOrder) {
  std::vector<Program> programs;
  for (int rank = 0; rank < 2; ++rank) {
    Builder b(rank, 2, 0, 0);
    b.fence();
    b.fence();
    programs.push_back(std::move(b).finish());
  }
  const std::vector<Contents> nothing(2);
  EXPECT_NE(verify(programs, nothing).find("does not wait for the fence before it"), std::string::npos);
}

TEST(Verifier, FindsAStepThatReadsWhatWasPutBeforeTheFence) {
  std::vector<Program> programs;
  for (int rank = 0; rank < 2; ++rank) {
    Builder b(rank, 2, 4, 4);
    const Slice whole{Buffer::recv, 0, 4};
    const StepId recv = b.announced_recv(1 - rank, {&whole, 1});
    const Slice source{Buffer::send, 0, 4};
    const StepId put = b.put(1 - rank, {&source, 1}, whole, true);
    const Slice copy{Buffer::scratch, b.scratch(4), 4};
    b.copy(copy, whole, std::array{recv});
    b.fence(std::array{recv, put});
    programs.push_back(std::move(b).finish());
  }
  const std::vector<Contents> contents = {{{1, 2, 3, 4}, {0, 0, 0, 0}, {5, 6, 7, 8}},
                                          {{5, 6, 7, 8}, {0, 0, 0, 0}, {1, 2, 3, 4}}};
  EXPECT_NE(verify(programs, contents).find("is waited for by a step that is no fence"), std::string::npos);
}

} // namespace
} // namespace stoker::tests
