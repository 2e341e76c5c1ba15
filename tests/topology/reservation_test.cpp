// SPDX-License-Identifier: BSD-3-Clause
// Where helpers go, on described machines: one row per situation.
#include "topology/reservation.hpp"

#include "tests/topology/described_machines.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stoker::topology {
namespace {

struct Situation {
  const char* machine;
  std::vector<std::string> bindings; // of ranks 0, 1, ...; "" is an unbound rank
  const char* request;
  int threads_per_domain = 1;
  bool best_effort = false;
  std::vector<std::string> allowed = {}; // of the ranks' processes, when it is less than the machine
};

std::vector<HelperPlace> places(const Situation& situation) {
  const Machine machine(situation.machine);
  std::vector<NodeRank> ranks;
  for (std::size_t i = 0; i < situation.bindings.size(); ++i) {
    const CpuSet allowed = situation.allowed.empty() ? machine.allowed_cpus() : CpuSet::parse(situation.allowed[i]);
    const bool bound = !situation.bindings[i].empty();
    ranks.push_back({static_cast<int>(i), bound ? CpuSet::parse(situation.bindings[i]) : allowed, bound, allowed});
  }
  const std::vector<NodeDomain> domains =
      assign_domains(machine, ranks, DomainKind::numa, situation.threads_per_domain);
  return reserve(machine, ranks, domains, Reservation::parse(situation.request, situation.best_effort));
}

// "3" a reserved CPU, "3!" a CPU or CPUs shared with ranks; one per domain.
std::string outcome(const Situation& situation) {
  std::string text;
  for (const HelperPlace& place : places(situation)) {
    EXPECT_EQ(place.reserved, place.shared_with.empty());
    EXPECT_EQ(place.core.has_value(), place.cpus.size() == 1);
    EXPECT_FALSE(place.explanation.empty());
    EXPECT_EQ(place.explanation.find('\n'), std::string::npos);
    text += (text.empty() ? "" : " ") + place.cpus.to_string() + (place.reserved ? "" : "!");
  }
  return text;
}

std::string error_of(const Situation& situation) {
  try {
    return "no error: " + outcome(situation);
  } catch (const TopologyError& error) {
    return error.what();
  }
}

std::string explanation(const Situation& situation) { return places(situation).front().explanation; }

TEST(Reserve, AutomaticTakesAFreeCoreOfTheDomain) {
  EXPECT_EQ(outcome({one_numa, {"0", "1"}, "auto"}), "2");
  EXPECT_EQ(outcome({one_numa, {"1-3"}, "auto"}), "0");
  EXPECT_EQ(outcome({two_by_four, {"0", "1", "4", "5"}, "auto"}), "2 6");
  EXPECT_EQ(outcome({two_by_four, {"4", "0"}, "auto"}), "5 1"); // domain 0 is the one of rank 0
  EXPECT_EQ(outcome({two_by_four, {"0", "1"}, "auto", 2}), "2 3");
  EXPECT_EQ(explanation({one_numa, {"0"}, "auto"}), "CPU 1, free of ranks");
}

TEST(Reserve, AutomaticLooksFurtherWhenTheDomainIsFull) {
  EXPECT_EQ(outcome({two_by_four, {"0-3", "4"}, "auto"}), "6 5"); // its own helper goes first
  EXPECT_EQ(explanation({two_by_four, {"0-3", "4"}, "auto"}), "CPU 6, free of ranks, in another package");
  EXPECT_EQ(outcome({four_numa_smt, {"0-7", "16"}, "auto"}), "8 18"); // the same package before another
  EXPECT_EQ(explanation({four_numa_smt, {"0-7", "16"}, "auto"}), "CPU 8, free of ranks, in another NUMA domain");
}

TEST(Reserve, AutomaticWantsWholeCores) {
  // Every core has a rank on one of its hardware threads: the siblings are not taken unasked.
  EXPECT_EQ(outcome({"core:2 pu:2", {"0", "2"}, "auto"}), "0-3!");
  EXPECT_EQ(outcome({"core:3 pu:2", {"0", "2"}, "auto"}), "4");
}

TEST(Reserve, AutomaticSharesWhereNothingIsFree) {
  EXPECT_EQ(outcome({one_numa, {"0", "1", "2", "3"}, "auto"}), "0-3!");
  EXPECT_EQ(explanation({one_numa, {"0", "1", "2", "3"}, "auto"}),
            "CPUs 0-3, shared with ranks 0, 1, 2, 3: no core is left that is free of ranks");
  EXPECT_EQ(outcome({two_by_four, {"0-3", "4-6"}, "auto"}), "0-3! 7"); // one is left, for its own domain
  EXPECT_EQ(outcome({two_by_four, {"", ""}, "auto"}), "0-3! 4-7!");
  EXPECT_EQ(explanation({two_by_four, {"", ""}, "auto"}),
            "CPUs 0-3, shared with ranks 0, 1: the ranks are not bound, so no core is known to be free");
  EXPECT_EQ(outcome({one_numa, {"0", ""}, "auto"}), "0-3!"); // one unbound rank may be anywhere
  EXPECT_EQ(explanation({"core:12 pu:1", {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"}, "auto"}),
            "CPUs 0-11, shared with ranks 0, 1, 2, 3, 4, 5, 6, 7 and 4 more: no core is left that is free of ranks");
}

TEST(Reserve, OnlyCpusThatTheCarrierMayUse) {
  EXPECT_EQ(outcome({one_numa, {"0", "1"}, "auto", 1, false, {"0-1", "0-1"}}), "0-1!");
  EXPECT_EQ(outcome({one_numa, {"0", "1"}, "auto", 1, false, {"0-1,3", "0-1,3"}}), "3");
  // Each process has a control group of its own: what rank 1 may use is of no use to the helper in rank 0.
  EXPECT_EQ(outcome({one_numa, {"0", "2"}, "auto", 1, false, {"0-1", "2-3"}}), "1");
  EXPECT_EQ(outcome({one_numa, {"0-1", "2"}, "auto", 1, false, {"0-1", "2-3"}}), "0-1!");
}

TEST(Reserve, None) {
  EXPECT_EQ(outcome({two_by_four, {"0", "4"}, "none"}), "0-3! 4-7!");
  EXPECT_EQ(explanation({two_by_four, {"0", "4"}, "none"}), "CPUs 0-3, shared with rank 0: reserve=none");
  EXPECT_EQ(outcome({"core:1 pu:1", {"0"}, "none"}), "0!");
}

TEST(Reserve, ListIsHandedOutByNearness) {
  EXPECT_EQ(outcome({one_numa, {"0", "1"}, "list:3"}), "3");
  EXPECT_EQ(outcome({two_by_four, {"0", "4"}, "list:3,7"}), "3 7");
  EXPECT_EQ(outcome({two_by_four, {"4", "0"}, "list:3,7"}), "7 3");
  EXPECT_EQ(outcome({two_by_four, {"0", "4"}, "list:6-7"}), "7 6");
  EXPECT_EQ(outcome({one_numa, {"0"}, "list:1-3"}), "1"); // more than helpers
  EXPECT_EQ(outcome({"core:2 pu:2", {"0"}, "list:1"}), "1");
  EXPECT_EQ(explanation({"core:2 pu:2", {"0"}, "list:1"}), "CPU 1, SMT sibling of rank 0");
}

TEST(Reserve, ListThatCannotBeHad) {
  EXPECT_EQ(
      error_of({one_numa, {"0", "1"}, "list:1"}),
      "reserve=list:1 cannot be had: rank 1 may run on CPU 1. Free of ranks: CPU 2-3; reserve=auto or best_effort=1 "
      "shares instead of failing");
  EXPECT_EQ(
      error_of({one_numa, {"0", "1-3"}, "list:1"}),
      "reserve=list:1 cannot be had: rank 1 may run on CPU 1. No core is free of ranks: start fewer ranks per node "
      "('stoker plan' prints launch lines); reserve=auto or best_effort=1 shares instead of failing");
  EXPECT_EQ(
      error_of({one_numa, {"", ""}, "list:3"}),
      "reserve=list:3 cannot be had: ranks 0, 1 may run on CPU 3. Not bound to cores: ranks 0, 1; 'stoker plan' prints "
      "launch lines that bind ranks and leave cores to helpers (mpiexec -bind-to user:..., mpirun --bind-to "
      "cpu-list:ordered, srun --cpu-bind=map_cpu:...); reserve=auto or best_effort=1 shares instead of failing");
  EXPECT_NE(error_of({one_numa, {"0"}, "list:3-4"}).find("CPU 4 does not exist; this machine has 0-3."),
            std::string::npos);
  EXPECT_NE(error_of({two_by_four, {"0", "4"}, "list:3"}).find("2 helpers on this node need 2 CPUs, but 1 is listed"),
            std::string::npos);
  EXPECT_NE(error_of({one_numa, {"0"}, "list:3", 1, false, {"0-1"}})
                .find("CPU 3 is outside this job's allocation, which is 0-1"),
            std::string::npos);
  EXPECT_NE(error_of({two_by_four, {"0", "4"}, "list:2-3", 1, false, {"0-3", "4-7"}})
                .find("no listed CPU is left where rank 1 may run a thread: 4-7"),
            std::string::npos);
}

TEST(Reserve, ListWithBestEffort) {
  EXPECT_EQ(outcome({one_numa, {"0", "1"}, "list:1", 1, true}), "1!");
  EXPECT_EQ(explanation({one_numa, {"0", "1"}, "list:1", 1, true}), "CPU 1, shared with rank 1");
  EXPECT_EQ(outcome({one_numa, {"0", "1"}, "list:1-2", 1, true}), "2"); // the free one of them
  EXPECT_EQ(outcome({two_by_four, {"0", "4"}, "list:3", 1, true}), "3 4-7!");
  EXPECT_EQ(outcome({one_numa, {"0"}, "list:9", 1, true}), "0-3!");
  EXPECT_EQ(
      explanation({one_numa, {"0"}, "list:9", 1, true}),
      "CPUs 0-3, shared with rank 0: reserve=list:9 was not possible (CPU 9 does not exist; this machine has 0-3)");
}

TEST(Reserve, PerNumaDomain) {
  EXPECT_EQ(outcome({two_by_four, {"0", "4"}, "per-numa:1"}), "1 5");
  EXPECT_EQ(outcome({two_by_four, {"0", "1", "4", "5"}, "per-numa:2", 2}), "2 3 6 7");
  EXPECT_EQ(outcome({four_numa_smt, {"0", "8", "16", "24"}, "per-numa:3"}), "2 10 18 26");
  EXPECT_NE(error_of({two_by_four, {"0-3", "4"}, "per-numa:1"})
                .find("reserve=per-numa:1 cannot be had: NUMA domain 0 (CPUs 0-3) has no core free of ranks. Free of "
                      "ranks: CPU "
                      "5-7;"),
            std::string::npos);
  EXPECT_NE(error_of({two_by_four, {"0", "4-6"}, "per-numa:2"})
                .find("NUMA domain 1 (CPUs 4-7) has only 1 core free of ranks"),
            std::string::npos);
  EXPECT_NE(error_of({one_numa, {"0", "1"}, "per-numa:1", 2})
                .find("NUMA domain 0 has 2 helpers: ask for per-numa:2, or lower threads_per_domain"),
            std::string::npos);
  EXPECT_EQ(outcome({two_by_four, {"0-3", "4"}, "per-numa:1", 1, true}), "0-3! 5");
  // The first free core is not one that the carrier may use.
  EXPECT_EQ(outcome({one_numa, {"2", "0"}, "per-numa:1", 1, false, {"2-3", "0-1"}}), "3");
  EXPECT_EQ(outcome({one_numa, {"0", "1"}, "per-numa:1", 2, true}), "2 0-3!");
}

TEST(Reserve, SmtSibling) {
  EXPECT_EQ(outcome({four_numa_smt, {"0", "8"}, "smt"}), "1 9");
  EXPECT_EQ(explanation({four_numa_smt, {"0", "8"}, "smt"}), "CPU 1, SMT sibling of rank 0");
  EXPECT_EQ(outcome({"core:2 pu:2", {"0-1", "2"}, "smt"}), "3"); // the carrier's core is full, rank 1's is not
  EXPECT_EQ(outcome({"core:2 pu:2(indexes=0,2,1,3)", {"0", "1"}, "smt", 2}), "2 3");
  EXPECT_EQ(error_of({one_numa, {"0"}, "smt"}),
            "reserve=smt cannot be had: this machine has one hardware thread per core, so no core has a sibling to "
            "spare. Free "
            "of ranks: CPU 1-3; reserve=auto or best_effort=1 shares instead of failing");
  EXPECT_NE(error_of({"core:2 pu:2", {"0-1", "2-3"}, "smt"})
                .find("no core of ranks 0, 1 has a hardware thread that is free of ranks; bind each rank to one "
                      "hardware thread"),
            std::string::npos);
  EXPECT_EQ(outcome({one_numa, {"0"}, "smt", 1, true}), "0-3!");
  EXPECT_EQ(outcome({"core:2 pu:2", {"0-1", "2-3"}, "smt", 1, true}), "0-3!");
}

TEST(Reserve, NoTwoHelpersShareACpu) {
  const std::vector<std::string> bindings{"0", "1", "4", "5"};
  for (const char* request : {"auto", "list:2-3,6-7", "per-numa:2"}) {
    CpuSet used;
    for (const HelperPlace& place : places({two_by_four, bindings, request, 2})) {
      EXPECT_TRUE(place.reserved) << request;
      EXPECT_FALSE(used.intersects(place.cpus)) << request;
      used |= place.cpus;
    }
    EXPECT_EQ(used.to_string(), "2-3,6-7") << request;
  }
}

TEST(ParseReservation, WhatIsAccepted) {
  EXPECT_EQ(Reservation::parse("auto").mode, ReserveMode::automatic);
  EXPECT_EQ(Reservation::parse("none").mode, ReserveMode::none);
  EXPECT_EQ(Reservation::parse("smt", true).mode, ReserveMode::smt);
  EXPECT_TRUE(Reservation::parse("smt", true).best_effort);
  EXPECT_FALSE(Reservation::parse("smt").best_effort);
  const Reservation list = Reservation::parse("list:2-5,9");
  EXPECT_EQ(list.mode, ReserveMode::list);
  EXPECT_EQ(list.cores.to_string(), "2-5,9");
  const Reservation per_numa = Reservation::parse("per-numa:12");
  EXPECT_EQ(per_numa.mode, ReserveMode::per_numa);
  EXPECT_EQ(per_numa.count, 12);
}

TEST(ParseReservation, WhatIsNot) {
  for (const char* text :
       {"", "Auto", "automatic", "list", "list:", "list:a", "list:1,", "list:3-1", "list: 1", "per-numa",
        "per-numa:", "per-numa:0", "per-numa:-1", "per-numa:2x", "per-numa:99999999999", "smt:1", "2,3"}) {
    EXPECT_THROW((void)Reservation::parse(text), TopologyError) << text;
  }
  try {
    (void)Reservation::parse("per-numa:0");
    FAIL();
  } catch (const TopologyError& error) {
    EXPECT_STREQ(error.what(),
                 "reserve is 'per-numa:0' (N must be a whole number of at least 1): expected auto, none, smt, "
                 "list:CPUS (such as list:2,3 or list:2-5) or per-numa:N (such as per-numa:1)");
  }
}

} // namespace
} // namespace stoker::topology
