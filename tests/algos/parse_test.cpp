// SPDX-License-Identifier: BSD-3-Clause
// Programs as texts: what is printed is read back as it was, for every algorithm; what is wrong is refused with line
// and reason; what is written by hand, as docs/algorithms.md shows it, is verified.
#include "cases.hpp"

#include "algos/schedule/parse.hpp"
#include "algos/schedule/print.hpp"
#include "algos/verify/whole_call.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>

namespace stoker::algos {
namespace {

using topology::Layout;

void expect_equal(const Program& read, const Program& printed) {
  EXPECT_EQ(read.rank, printed.rank);
  EXPECT_EQ(read.ranks, printed.ranks);
  EXPECT_EQ(read.send_bytes, printed.send_bytes);
  EXPECT_EQ(read.recv_bytes, printed.recv_bytes);
  EXPECT_EQ(read.scratch_bytes, printed.scratch_bytes);
  EXPECT_EQ(read.element_bytes, printed.element_bytes);
  ASSERT_EQ(read.steps.size(), printed.steps.size());
  for (std::size_t id = 0; id < read.steps.size(); ++id) {
    const Step& a = read.steps[id];
    const Step& b = printed.steps[id];
    const bool equal = a.kind == b.kind && a.peer == b.peer && a.message == b.message &&
                       a.predecessors == b.predecessors && a.bytes == b.bytes && a.announced == b.announced &&
                       std::ranges::equal(read.sources(a), printed.sources(b)) &&
                       std::ranges::equal(read.targets(a), printed.targets(b)) &&
                       std::ranges::equal(read.successors_of(a), printed.successors_of(b));
    EXPECT_TRUE(equal) << describe(b, static_cast<StepId>(id));
  }
}

// A call of 6 ranks.
WholeCall call_of(Collective collective, bool in_place) {
  WholeCall call;
  call.collective = collective;
  if (collective != Collective::barrier) {
    call.bytes = {192};
  }
  const Pattern pattern = pattern_of(collective);
  if (pattern == Pattern::distributed_vector && collective != Collective::barrier) {
    call.element_bytes = 8;
  }
  call.root = has_root(collective) ? 4 : 0;
  call.in_place = in_place;
  if (pattern == Pattern::neighborhood) {
    call.grid = {3, 2};
  }
  return call;
}

class EveryAlgorithm : public ::testing::TestWithParam<Algorithm> {};

TEST_P(EveryAlgorithm, IsReadBackAsItWasPrinted) {
  const Algorithm& algorithm = GetParam();
  const Layout layout = Layout::uniform(6, 2);
  const Choice choice = resolve({&algorithm, {}}, layout);
  for (const bool in_place : {false, true}) {
    WholeCall call = call_of(algorithm.collective, in_place);
    std::vector<Program> programs;
    try {
      programs = call.compile(choice, layout);
    } catch (const std::invalid_argument&) { // there is no such form
      ASSERT_TRUE(in_place);
      continue;
    }
    const WrittenCall read = parse_call(to_text(call, programs));
    EXPECT_EQ(read.call, call);
    ASSERT_EQ(read.programs.size(), programs.size());
    for (std::size_t rank = 0; rank < programs.size(); ++rank) {
      expect_equal(read.programs[rank], programs[rank]);
    }
    Terms terms;
    const std::vector<Contents> contents = read.call.contents(6, terms);
    EXPECT_EQ(verify(read.programs, contents, terms), "");
  }
}

std::vector<Algorithm> algorithms() {
  std::vector<Algorithm> result;
  for (const Algorithm& algorithm : registry()) {
    // Their sizes are in no call's text.
    if (algorithm.collective != Collective::alltoallv && algorithm.collective != Collective::neighbor_alltoallv) {
      result.push_back(algorithm);
    }
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryAlgorithm, ::testing::ValuesIn(algorithms()), [](const auto& test) {
  std::string name = std::string(name_of(test.param.collective)) + "_" + std::string(test.param.name);
  std::ranges::replace(name, '-', '_');
  return name;
});

std::string refusal(const std::string& text) {
  try {
    (void)parse_call(text);
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

// Two ranks swap a block: `line` takes the place of rank 1's first step.
std::string swap_with(const std::string& line) {
  return "call alltoall of 8 B # two of them\n"
         "rank 0 of 2: send 16 B, recv 16 B, scratch 0 B\n"
         "  0: send to 1: send[8..16)\n"
         "  1: recv from 1: recv[8..16)\n"
         "  2: copy: recv[0..8) = send[0..8)\n"
         "\n"
         "rank 1 of 2: send 16 B, recv 16 B, scratch 0 B\n" +
         line +
         "\n"
         "  1: recv from 0: recv[0..8)\n"
         "  2: copy: recv[8..16) = send[8..16)\n";
}

TEST(Parse, RefusesWithLineAndReason) {
  EXPECT_EQ(refusal(swap_with("  0: send to 0: send[0..8)")), "");
  for (const auto& [line, reason] : std::vector<std::pair<std::string, std::string>>{
           {"  0: sned to 0: send[0..8)",
            "expected send to, recv from, copy, reduce, put to or fence, not \"sned to 0: send[0..8)\""},
           {"  1: send to 0: send[0..8)", "expected step 0, not \"1: send to 0: send[0..8)\""},
           {"  send to 0: send[0..8)", "expected the number of a step, or the heading of a rank, a whole number, not "
                                       "\"send to 0: send[0..8)\""},
           {"  0: send to 2: send[0..8)", "expected another rank, of 0 to 1, not \"2: send[0..8)\""},
           {"  0: send to 1: send[0..8)", "expected another rank, of 0 to 1, not \"1: send[0..8)\""},
           {"  0: send 0: send[0..8)", "expected \"to\", not \"0: send[0..8)\""},
           {"  0: send to 0: sendbuf[0..8)",
            "expected a slice of send, recv or scratch, as in recv[0..8), not \"sendbuf[0..8)\""},
           {"  0: send to 0: send[0..8]", "expected \")\", not \"]\""},
           {"  0: send to 0: send[8..8)", "expected a first byte before the end, not \"8..8)\""},
           {"  0: send to 0: send[0..99999999999999999999)",
            "expected the end, at most 18446744073709551615, not \"99999999999999999999)\""},
           {"  0: send to 0, 9 B: send[0..8)", "expected the bytes of the slices, 8 B, not \"9 B: send[0..8)\""},
           {"  0: send to 0: send[0..8), after 0", "expected another earlier step, not \"0\""},
           {"  0: send to 0: send[0..8) = recv[0..8)", "expected the end of the line, not \"= recv[0..8)\""},
           {"  0: send to 0:", "expected a slice of send, recv or scratch, as in recv[0..8), not the end of the line"},
           {"  0: copy: recv[0..8)", "expected \"=\", not the end of the line"},
           {"  0: reduce: recv[0..8) = send[0..8)", "expected \"(op)\", not the end of the line"},
       }) {
    EXPECT_EQ(refusal(swap_with(line)), "line 8: " + reason);
  }
  // What only the whole program shows is said of its heading.
  EXPECT_EQ(refusal(swap_with("  0: send to 0: send[16..24)")).find("line 7: rank 1, step 0"), 0U)
      << refusal(swap_with("  0: send to 0: send[16..24)"));
  EXPECT_EQ(refusal(swap_with("  0: copy: recv[0..8) = send[0..8)")).find("line 7: rank 1, "), 0U);
}

TEST(Parse, RefusesHeadings) {
  const std::string rank_0 = "rank 0 of 2: send 16 B, recv 16 B, scratch 0 B\n";
  const std::string rank_1 = "rank 1 of 2: send 16 B, recv 16 B, scratch 0 B\n";
  const std::string call = "call alltoall of 8 B\n";
  EXPECT_EQ(refusal(call + rank_0 + rank_1), "");
  EXPECT_EQ(refusal(call + rank_1 + rank_0), "");
  EXPECT_EQ(refusal(""), "line 1: expected the call, as in call allreduce of 64 B in elements of 8 B, not the end of "
                         "the line");
  EXPECT_EQ(refusal(call), "line 2: there is no program; expected a heading, as in rank 0 of 2: send 8 B, recv 8 B, "
                           "scratch 0 B");
  EXPECT_EQ(refusal(call + rank_1), "line 3: the program of rank 0 is missing; expected those of all 2 ranks");
  EXPECT_EQ(refusal(call + rank_0), "line 3: the program of rank 1 is missing; expected those of all 2 ranks");
  EXPECT_EQ(refusal(call + rank_0 + rank_0), "line 3: rank 0 for the second time; expected each rank once");
  EXPECT_EQ(refusal(call + rank_0 + "rank 1 of 3: send 16 B, recv 16 B, scratch 0 B\n"),
            "line 3: rank 1 of 3; expected ranks of 2, as in the first heading");
  EXPECT_EQ(refusal(call + "rank 0 of 1: send 8 B, recv 8 B, scratch 0 B, 2 steps\n  0: copy: recv[0..8) = send[0..8)"),
            "line 2: rank 0 has 1 steps; expected 2, as its heading says");
  EXPECT_EQ(refusal(call + "  0: copy: recv[0..8) = send[0..8)").find("line 2: expected the heading of a rank"), 0U);
  EXPECT_EQ(refusal("call alltoal of 8 B\n" + rank_0).find("line 1: expected a collective: alltoall, "), 0U);
  EXPECT_EQ(refusal("call allreduce of B\n"), "line 1: expected a length in bytes, a whole number, not \"B\"");
  EXPECT_EQ(refusal("call allreduce of 8 B, upside down\n"),
            "line 1: expected root, in place or grid, not \"upside down\"");
}

TEST(Parse, CallsThatAreNone) {
  const auto complaint = [](const std::string& line, int ranks) -> std::string {
    const std::string one = "rank 0 of 1: send 0 B, recv 0 B, scratch 0 B\n";
    const WholeCall call = parse_call(line + "\n" + one).call;
    EXPECT_EQ(to_text(call), line);
    Terms terms;
    try {
      (void)call.contents(ranks, terms);
      return "";
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  };
  EXPECT_EQ(complaint("call allgatherv of 8 0 16 B", 3), "");
  EXPECT_EQ(complaint("call allgatherv of 8 B", 3), "");
  EXPECT_EQ(complaint("call barrier", 3), "");
  EXPECT_EQ(complaint("call reduce of 64 B in elements of 8 B, root 2, in place", 3), "");
  EXPECT_EQ(complaint("call neighbor_alltoall of 8 B, grid 3x2", 6), "");
  EXPECT_EQ(complaint("call allgatherv of 8 0 16 B", 4),
            "call allgatherv of 8 0 16 B: 3 lengths for 4 ranks; expected one, or one for each rank");
  EXPECT_EQ(complaint("call allgather of 8 8 B", 2), "call allgather of 8 8 B: 2 lengths for 2 ranks; expected one");
  EXPECT_EQ(complaint("call reduce of 8 B, root 3", 3), "call reduce of 8 B, root 3: expected a root of 0 to 2");
  EXPECT_EQ(complaint("call allreduce of 8 B, root 1", 3),
            "call allreduce of 8 B, root 1: expected a collective that has a root");
  EXPECT_EQ(complaint("call bcast of 8 B, in place", 3),
            "call bcast of 8 B, in place: the collective has no such form");
}

// A damaged text is refused, or is another good one; nothing else happens.
TEST(Parse, AnyTextIsReadOrRefused) {
  WholeCall call = call_of(Collective::allreduce, false);
  const Layout layout = Layout::uniform(6, 2);
  const std::string good =
      to_text(call, call.compile(resolve({find(Collective::allreduce, "recursive-exchange"), {}}, layout), layout));
  std::mt19937 random(7);
  for (int i = 0; i < 4000; ++i) {
    std::string text = good;
    for (int change = 0; change < 3; ++change) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
      case 0:
        text.erase(at, 1 + random() % 4);
        break;
      case 1:
        text.insert(at, 1, "0123456789,:)x+=\n#"[random() % 18]);
        break;
      default:
        text.replace(at, 1, 1, text[random() % text.size()]);
      }
    }
    const std::string reason = refusal(text);
    EXPECT_TRUE(reason.empty() || reason.starts_with("line ")) << reason;
  }
}

// ---- the text that docs/algorithms.md shows ----

std::string shown_text() {
  std::ifstream page(STOKER_SOURCE_ROOT "/docs/algorithms.md");
  std::string text;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("call ")) {
      inside = true;
    }
    if (inside && line == "```") {
      return text;
    }
    text += inside ? line + "\n" : "";
  }
  return text;
}

TEST(Parse, TheTextInTheDocumentationIsRight) {
  const WrittenCall written = parse_call(shown_text());
  Terms terms;
  const std::vector<Contents> contents = written.call.contents(static_cast<int>(written.programs.size()), terms);
  EXPECT_EQ(verify(written.programs, contents, terms), "");
}

} // namespace
} // namespace stoker::algos
