// SPDX-License-Identifier: BSD-3-Clause
// The simulator: exact where the answer can be written down, and what contention, overlap and helpers must do.
#include "radix_counts.hpp"

#include "algos/schedule/builder.hpp"
#include "algos/select/choice.hpp"
#include "algos/simulate/simulate.hpp"
#include "algos/verify/whole_distributed_vector.hpp"
#include "algos/verify/whole_exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stoker::tests {
namespace {

using namespace stoker::algos;
using topology::Layout;

// Every message is an eager one that costs alpha + beta m of its sender and nothing else, wherever it goes.
Machine hockney(double alpha, double beta) {
  Machine machine;
  machine.eager_bytes = ~std::uint64_t{0};
  for (MessageCost& cost : machine.message) {
    cost = {.send_overhead = alpha, .gap_per_byte = beta};
  }
  return machine;
}

ProgramOf alltoall_of(const std::string& algorithm, const Layout& layout, std::uint64_t bytes) {
  const Choice choice = resolve(parse_choice(Collective::alltoall, algorithm), layout);
  return [=, programs = WholeExchange::uniform(layout, bytes).compile(choice)](int rank) {
    return programs[static_cast<std::size_t>(rank)];
  };
}

double time_of(const std::string& algorithm, const Layout& layout, std::uint64_t bytes, const Machine& machine,
               const Scenario& scenario = {}) {
  return simulate(layout, machine, alltoall_of(algorithm, layout, bytes), scenario).seconds;
}

// Rank 0 sends one message to rank 1.
ProgramOf one_message(std::uint64_t bytes) {
  return [bytes](int rank) {
    Builder builder(rank, 2, bytes, bytes);
    if (rank == 0) {
      builder.send(1, Slice{Buffer::send, 0, bytes});
    } else {
      builder.recv(0, Slice{Buffer::recv, 0, bytes});
    }
    return std::move(builder).finish();
  };
}

const Layout two_nodes = Layout::uniform(2, 1);

// One of every cost, in sizes that do not hide each other.
Machine distinct() {
  Machine machine;
  machine.eager_bytes = 1000;
  machine.at(Distance::switched) = {.latency = 1,
                                    .send_overhead = 10,
                                    .receive_overhead = 100,
                                    .overhead_per_byte = 0.001,
                                    .gap = 0,
                                    .gap_per_byte = 0.01};
  machine.at(Distance::domain) = {.latency = 2, .send_overhead = 3, .receive_overhead = 5, .gap_per_byte = 0.02};
  return machine;
}

TEST(Simulate, AnEagerMessageIsLogGPs) {
  // o + m O, L + m G, o + m O.
  EXPECT_DOUBLE_EQ(simulate(two_nodes, distinct(), one_message(500)).seconds, (10 + .5) + (1 + 5) + (100 + .5));
  EXPECT_DOUBLE_EQ(simulate(two_nodes, distinct(), one_message(0)).seconds, 111);
}

TEST(Simulate, ALongMessageAsksFirst) {
  // The question, the answer, then the message: o L o, L, o + m O, L + m G, o + m O.
  EXPECT_DOUBLE_EQ(simulate(two_nodes, distinct(), one_message(2000)).seconds,
                   111 + 1 + (10 + 2) + (1 + 20) + (100 + 2) + 1);
  // A network that fetches needs no processor for the data.
  Machine fetches = distinct();
  fetches.remote_reads = true;
  EXPECT_DOUBLE_EQ(simulate(two_nodes, fetches, one_message(2000)).seconds, 111 + 1 + (1 + 20) + 100 + 1);
}

TEST(Simulate, AnAnnouncedMessageGoesWhenItsReceiverIsReady) {
  const Scenario announced{.long_messages = LongMessages::announced};
  // L of the announcement, o + m O, L + m G, o + m O.
  EXPECT_DOUBLE_EQ(simulate(two_nodes, distinct(), one_message(2000), announced).seconds,
                   1 + (10 + 2) + (1 + 20) + (100 + 2));
}

// Each rank hears first from the one after it, next from the second after it, and so on. So hardly any two send to the
// same rank at a time, and the ports are busy. If all ranks heard from rank 0 first, this would take twice as long.
TEST(Simulate, ReceiversAnnounceThemselvesInTheOrderInWhichTheyPost) {
  Machine machine = hockney(0, 0);
  machine.eager_bytes = 0;
  machine.post = 0.01;
  machine.port = {0, 1};
  const Layout layout = Layout::uniform(16, 1);
  const double seconds = time_of("nonblocking", layout, 100, machine, {.long_messages = LongMessages::announced});
  EXPECT_GE(seconds, 15 * 100);
  EXPECT_LE(seconds, 1.2 * 15 * 100);
}

TEST(Simulate, WithinANodeTheReceiverCopies) {
  const Layout one_node = Layout::uniform(2, 2);
  EXPECT_DOUBLE_EQ(simulate(one_node, distinct(), one_message(500)).seconds, 3 + 2 + (5 + 10));
}

TEST(Simulate, WithinANodeThePutterCopies) {
  const Layout one_node = Layout::uniform(2, 2);
  Machine slow = distinct();
  slow.at(Distance::domain).gap_per_byte = 1;
  const double slower = time_of("rma-fence", one_node, 500, slow) - time_of("rma-fence", one_node, 500, distinct());
  EXPECT_NEAR(slower, 500 * (1 - 0.02), 1e-9);
}

TEST(Simulate, DirectExchangesTakeOneMessageAfterTheOther) {
  for (const int ranks : {3, 8, 13}) {
    for (const char* algorithm : {"nonblocking", "pairwise", "batched:batch=2"}) {
      EXPECT_NEAR(time_of(algorithm, Layout::uniform(ranks, 1), 10, hockney(2, 0)), (ranks - 1) * 2.0, 1e-9)
          << algorithm;
    }
  }
}

// alpha K + beta D S: the radix paper's own model. Each round waits for the one before.
TEST(Simulate, TunableRadixIsWhatItsFormulasSay) {
  for (const int ranks : {8, 9, 11, 27, 64}) {
    for (const int radix : {2, 3, 5, 8}) {
      const RadixCounts counts = radix_counts(static_cast<std::uint64_t>(ranks), static_cast<std::uint64_t>(radix));
      Machine machine = hockney(2, 0);
      for (MessageCost& cost : machine.message) {
        cost.overhead_per_byte = 3; // of the sender's processor; the receiver's costs the same time again
      }
      // Sending and receiving take the rank's processor one after the other.
      const double expected =
          (static_cast<double>(counts.messages) * 2) + (2 * static_cast<double>(counts.blocks) * 10 * 3);
      EXPECT_NEAR(time_of("radix:r=" + std::to_string(radix), Layout::uniform(ranks, 1), 10, machine), expected, 1e-6)
          << ranks << " ranks, radix " << radix;
    }
  }
}

TEST(Simulate, ANodesPortIsShared) {
  Machine machine = hockney(0, 1);
  machine.port = {0, 1}; // as slow as one rank
  for (const int ranks_per_node : {1, 2, 8}) {
    const Layout layout = Layout::uniform(2 * ranks_per_node, ranks_per_node);
    Machine within = machine;
    for (const Distance distance : {Distance::domain, Distance::socket, Distance::node}) {
      within.at(distance) = {};
    }
    const double bytes_of_node = 10.0 * ranks_per_node * ranks_per_node;
    EXPECT_DOUBLE_EQ(time_of("nonblocking", layout, 10, within), bytes_of_node);
    within.ports = 2; // which messages that arrive may still share
    EXPECT_GE(time_of("nonblocking", layout, 10, within), bytes_of_node / 2);
    EXPECT_LE(time_of("nonblocking", layout, 10, within), bytes_of_node * (ranks_per_node == 1 ? 1 : 0.8));
  }
}

TEST(Simulate, LinksBetweenSwitchesAreShared) {
  Machine machine = hockney(0, 1);
  machine.port = {0, 1};
  machine.network = {.kind = Network::Kind::fat_tree, .nodes_per_switch = 4, .taper = 4};
  // Each rank sends 4 blocks of 10 bytes over the one link upwards that four nodes have, as wide as a port.
  const double between = 4 * 4 * 10.0;
  EXPECT_DOUBLE_EQ(time_of("nonblocking", Layout::uniform(8, 1), 10, machine), between);
  machine.network.taper = 1; // as wide as the ports, but for messages that meet
  EXPECT_GE(time_of("nonblocking", Layout::uniform(8, 1), 10, machine), 70);
  EXPECT_LE(time_of("nonblocking", Layout::uniform(8, 1), 10, machine), 80);
  machine.network = {.kind = Network::Kind::dragonfly, .nodes_per_switch = 4, .taper = 4};
  EXPECT_GE(time_of("nonblocking", Layout::uniform(8, 1), 10, machine), between);
}

TEST(Simulate, MemoryOfADomainIsShared) {
  Machine machine;
  machine.copy_per_byte = 1;
  machine.memory_per_byte = 0.5; // enough for two cores
  const auto copies = [](int rank) {
    Builder builder(rank, 8, 100, 100);
    builder.copy(Slice{Buffer::recv, 0, 100}, Slice{Buffer::send, 0, 100});
    return std::move(builder).finish();
  };
  EXPECT_DOUBLE_EQ(simulate(Layout::uniform(8, 8), machine, copies).seconds, 8 * 100 * 0.5);
  EXPECT_DOUBLE_EQ(simulate(Layout::uniform(8, 8, 4), machine, copies).seconds, 100);
}

TEST(Simulate, ASearchOfPostedReceivesTakesTime) {
  Machine machine = hockney(1, 0);
  const double free = time_of("nonblocking", Layout::uniform(32, 1), 1, machine);
  machine.match_per_posted = 0.5;
  // The first message finds 31 receives, the last one 1; half of them are looked at.
  EXPECT_NEAR(time_of("nonblocking", Layout::uniform(32, 1), 1, machine) - free, 0.5 * (31 * 16) / 2, 1e-6);
}

TEST(Simulate, ReceivesArePostedWhileTheirMessagesAreOnTheWay) {
  Machine machine = distinct();
  machine.post = 20;
  // The message arrives after 11: what is left of the posting delays its receive.
  EXPECT_DOUBLE_EQ(simulate(two_nodes, machine, one_message(0)).seconds, 20 + 100);
  machine.post = 7;
  EXPECT_DOUBLE_EQ(simulate(two_nodes, machine, one_message(0)).seconds, 111);
}

// Rank 0 sends to rank 1 twice. The first message lets rank 1 receive the second one, which is there by then, and send.
TEST(Simulate, ASendGoesBeforeAMessageThatIsThereEarly) {
  const auto program = [](int rank) {
    Builder builder(rank, 2, 8, 16);
    const Slice send{Buffer::send, 0, 8};
    if (rank == 0) {
      builder.send(1, send);
      builder.send(1, send);
      builder.recv(1, Slice{Buffer::recv, 0, 8});
    } else {
      const std::array first{builder.recv(0, Slice{Buffer::recv, 0, 8})};
      builder.recv(0, Slice{Buffer::recv, 8, 8}, first);
      builder.send(0, send, first);
    }
    return std::move(builder).finish();
  };
  Machine machine;
  machine.eager_bytes = 8;
  machine.at(Distance::switched) = {.latency = 1, .send_overhead = 10, .receive_overhead = 100};
  // Rank 1 has the first message after 111, and the answer goes before the second is taken.
  EXPECT_DOUBLE_EQ(simulate(two_nodes, machine, program).seconds, 111 + 10 + 1 + 100);
}

// ---- overlap ----

constexpr std::uint64_t longer = 2000;

TEST(Simulate, ALongMessageWaitsForARankThatComputes) {
  const double alone = simulate(two_nodes, distinct(), one_message(longer)).seconds;
  const Scenario computes{.computation = 10000};
  const Outcome outcome = simulate(two_nodes, distinct(), one_message(longer), computes);
  // The question is answered after the computation only: hardly anything is hidden.
  EXPECT_GT(outcome.seconds, 10000 + (alone / 2));
  // With tests only the receiver's own processor time is left: the answer, and the message.
  const Scenario tests{.computation = 10000, .test_every = 10};
  EXPECT_DOUBLE_EQ(simulate(two_nodes, distinct(), one_message(longer), tests).seconds, 10000 + 100 + (100 + 2));
}

TEST(Simulate, AHelperHidesTheExchange) {
  for (const LongMessages kind : {LongMessages::rendezvous, LongMessages::announced}) {
    const Scenario helped{.progress = Progress::helper, .computation = 10000, .long_messages = kind};
    const Outcome outcome = simulate(two_nodes, distinct(), one_message(longer), helped);
    EXPECT_DOUBLE_EQ(outcome.seconds, 10000);
    EXPECT_DOUBLE_EQ(outcome.exposed, 0);
  }
}

TEST(Simulate, AHelperThatSharesItsCoreTakesTimeFromTheComputation) {
  const Scenario shared{.progress = Progress::shared_helper, .computation = 10000};
  Machine machine = distinct();
  machine.helper = {.wake_up = 7, .nap = 1000};
  const Outcome outcome = simulate(two_nodes, machine, one_message(longer), shared);
  // A receiver's work is two tasks, each 100 and more, and naps of 1000 have their wake-ups.
  EXPECT_GT(outcome.seconds, 10000 + 202 + 70);
  EXPECT_LT(outcome.seconds, 10000 + 202 + 120);
  // Without computation its carrier does the work, at once.
  EXPECT_DOUBLE_EQ(simulate(two_nodes, machine, one_message(longer), {.progress = Progress::shared_helper}).seconds,
                   simulate(two_nodes, machine, one_message(longer)).seconds);
}

TEST(Simulate, AHelperServesItsRanksOneAfterTheOther) {
  const Layout layout = Layout::uniform(8, 4, 4);
  Machine machine = hockney(1, 0);
  for (const Distance distance : {Distance::domain, Distance::socket, Distance::node}) {
    machine.at(distance) = {};
  }
  const auto with = [&](int helpers) {
    return time_of("nonblocking", layout, 8, machine,
                   {.progress = Progress::helper, .helpers_per_node = helpers, .computation = 0.5});
  };
  EXPECT_DOUBLE_EQ(with(1), 16);
  EXPECT_DOUBLE_EQ(with(2), 8);
  EXPECT_DOUBLE_EQ(with(4), 4);
}

// ---- noise and lateness ----

TEST(Simulate, NoiseStretchesWorkByItsShare) {
  Machine machine;
  machine.noise = {.period = 10, .duration = 1};
  const auto nothing = [](int rank) { return Builder(rank, 2, 0, 0).finish(); };
  const double seconds = simulate(two_nodes, machine, nothing, {.computation = 9000}).seconds;
  EXPECT_NEAR(seconds, 10000, 10);
}

TEST(Simulate, LatenessAndNoiseFollowTheSeed) {
  Machine machine = distinct();
  machine.noise = {.period = 50, .duration = 5};
  const auto with = [&](std::uint64_t seed) {
    return time_of("pairwise", Layout::uniform(6, 1), 8, machine, {.late = 100, .seed = seed});
  };
  EXPECT_EQ(with(1), with(1));
  EXPECT_NE(with(1), with(2));
}

// ---- what comes out ----

TEST(Simulate, PhasesOfAHierarchyAddUp) {
  const Layout layout = Layout::uniform(32, 8);
  const Outcome outcome = simulate(layout, distinct(), alltoall_of("hierarchical", layout, 64));
  EXPECT_GT(outcome.phases.before, 0);
  EXPECT_GT(outcome.phases.between, 0);
  EXPECT_GT(outcome.phases.after, 0);
  EXPECT_NEAR(outcome.phases.before + outcome.phases.between + outcome.phases.after, outcome.seconds, 1e-9);
  EXPECT_EQ(outcome.network_messages, 4 * 3U);
  EXPECT_EQ(outcome.network_bytes, 4 * 3 * 8 * 8 * 64U);
}

TEST(Simulate, ActivitiesOfOneProcessorDoNotOverlap) {
  const Layout layout = Layout::uniform(8, 4, 2);
  const Scenario scenario{.progress = Progress::helper, .helpers_per_node = 2, .computation = 50, .observed = {0, 5}};
  const Outcome outcome = simulate(layout, distinct(), alltoall_of("node-aware", layout, 64), scenario);
  std::vector<double> until(8 + 4, 0);
  EXPECT_FALSE(outcome.activities.empty());
  for (const Activity& activity : outcome.activities) {
    const auto processor = static_cast<std::size_t>(activity.processor);
    EXPECT_TRUE(processor == 0 || processor == 5 || processor >= 8) << processor;
    if (activity.kind != Activity::Kind::wait) { // steps are carried out in it
      EXPECT_GE(activity.begin, until[processor] - 1e-9);
      until[processor] = activity.end;
    }
    EXPECT_LE(activity.end, outcome.seconds + 1e-9);
  }
}

TEST(Simulate, RanksWithProgramsThatAreAlikeShareOne) {
  const Layout layout = Layout::uniform(64, 8);
  EXPECT_EQ(simulate(layout, distinct(), alltoall_of("nonblocking", layout, 8)).different_programs, 1U);
  // Seven members of each node are alike on all nodes.
  EXPECT_LE(simulate(layout, distinct(), alltoall_of("hierarchical", layout, 8)).different_programs, 7 + 8U);
  for (const char* algorithm : {"node-aware", "locality-aware:groups=2", "radix2:r1=3,r2=8"}) {
    EXPECT_LE(simulate(layout, distinct(), alltoall_of(algorithm, layout, 8)).different_programs, 8U) << algorithm;
  }
}

TEST(Simulate, ThreadsThatCompileChangeNothing) {
  const Layout layout = Layout::uniform(132, 12, 2);
  const auto with = [&](int compilers) {
    return simulate(layout, typical_cluster(), alltoall_of("hierarchical", layout, 64), {}, {}, compilers);
  };
  const Outcome alone = with(1);
  for (const int compilers : {2, 3, 200}) {
    const Outcome outcome = with(compilers);
    EXPECT_EQ(outcome.seconds, alone.seconds);
    EXPECT_EQ(outcome.messages, alone.messages);
    EXPECT_EQ(outcome.different_programs, alone.different_programs);
  }
  const ProgramOf right = alltoall_of("bruck", layout, 8);
  const auto wrong = [&](int rank) { return right(rank == 101 ? 5 : rank); };
  try {
    static_cast<void>(simulate(layout, typical_cluster(), wrong, {}, {}, 3));
    FAIL() << "the program of another rank was taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("of rank 101 "), std::string::npos) << error.what();
  }
}

// ---- every algorithm ----

TEST(Simulate, EveryAlgorithmComesToAnEnd) {
  const Layout layouts[] = {Layout::uniform(13, 5, 2), Layout::uniform(1, 1)};
  for (const Layout& layout : layouts) {
    for (const Algorithm& algorithm : registry()) {
      if (pattern_of(algorithm.collective) == Pattern::neighborhood || algorithm.collective == Collective::alltoallv) {
        continue;
      }
      const Choice choice = resolve({&algorithm, {}}, layout);
      const auto programs = pattern_of(algorithm.collective) == Pattern::exchange
                                ? WholeExchange::uniform(layout, 24).compile(choice)
                                : WholeDistributedVector::uniform(algorithm.collective, layout, 40, 8).compile(choice);
      for (const Progress progress : {Progress::rank, Progress::helper, Progress::shared_helper}) {
        Machine machine = distinct();
        machine.eager_bytes = 30;
        const Outcome outcome =
            simulate(layout, machine, [&](int rank) { return programs[static_cast<std::size_t>(rank)]; },
                     {.progress = progress, .computation = 100, .test_every = 9});
        EXPECT_GE(outcome.seconds, 100) << name_of(algorithm.collective) << " " << algorithm.name;
        EXPECT_GE(outcome.exposed, 0) << name_of(algorithm.collective) << " " << algorithm.name;
      }
    }
  }
}

// ---- errors ----

std::string error_of(const Layout& layout, const ProgramOf& programs, const Scenario& scenario = {}) {
  try {
    static_cast<void>(simulate(layout, distinct(), programs, scenario));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

TEST(Simulate, ARunIsGivenUpWhenItsTimeIsOver) {
  const Layout layout = Layout::uniform(8, 4);
  const double seconds = time_of("pairwise", layout, 64, typical_cluster());
  EXPECT_EQ(time_of("pairwise", layout, 64, typical_cluster(), {.give_up_after = seconds}), seconds);
  EXPECT_TRUE(std::isinf(time_of("pairwise", layout, 64, typical_cluster(), {.give_up_after = 0.9 * seconds})));
}

TEST(Simulate, ErrorsNameWhatIsWrong) {
  const auto to_nobody = [](int rank) {
    Builder builder(rank, 2, 8, 8);
    if (rank == 0) {
      builder.send(1, Slice{Buffer::send, 0, 8});
    }
    return std::move(builder).finish();
  };
  EXPECT_EQ(error_of(two_nodes, to_nobody),
            "rank 0, step 0: a message of 8 bytes to rank 1, which does not receive it");
  const auto from_nobody = [](int rank) {
    Builder builder(rank, 2, 8, 8);
    if (rank == 1) {
      builder.recv(0, Slice{Buffer::recv, 0, 8});
    }
    return std::move(builder).finish();
  };
  EXPECT_EQ(error_of(two_nodes, from_nobody),
            "steps wait for each other, or for messages that nobody sends: rank 1 has 1 left");
  EXPECT_EQ(error_of(two_nodes, one_message(8), {.progress = Progress::helper, .helpers_per_node = 2}),
            "2 helpers on each node; expected 1 to 1, as node 0 has that many domains");
  EXPECT_EQ(error_of(two_nodes, one_message(8), {.computation = -1}),
            "computation is -1.000000; expected 0 or more seconds");
  EXPECT_EQ(error_of(two_nodes, one_message(8), {.observed = {2}}), "rank 2 is to be observed; expected 0 to 1");
}

} // namespace
} // namespace stoker::tests
