// SPDX-License-Identifier: BSD-3-Clause
// The last checks of `stoker doctor`: an engine with the settings in effect, and whether exchanges through it deliver
// the right data.
#include "api/cli/job_checks.hpp"

#include "api/c/engine_of.hpp"
#include "engine/base/agreement.hpp"
#include "engine/core/engine.hpp"
#include <stoker/stoker.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace stoker::cli {
namespace {

constexpr std::size_t words_per_pair = 8192; // 64 KiB: beyond what is staged anyway
constexpr int epochs_of_check = 3;

std::uint64_t word_of(int from, int to, int epoch, std::size_t index) {
  return (static_cast<std::uint64_t>(from) << 48U) + (static_cast<std::uint64_t>(to) << 32U) +
         (static_cast<std::uint64_t>(epoch) << 24U) + index;
}

Finding check_helpers(stoker_engine engine) {
  stoker_engine_facts facts{};
  facts.size = sizeof facts;
  stoker_engine_get_facts(engine, &facts);
  const bool carries = facts.helpers != 0 && facts.carrier == stoker::engine::rank_in(MPI_COMM_WORLD);
  const std::array<int, 2> mine{carries ? 1 : 0, carries && facts.helper_reserved != 0 ? 1 : 0};
  std::array<int, 2> sum{};
  MPI_Allreduce(mine.data(), sum.data(), 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const auto [helpers, reserved] = sum;
  if (helpers == 0) {
    return {"helper threads", Verdict::slow,
            "none: each rank progresses its requests inside stoker calls only, without overlap",
            "MPI_THREAD_MULTIPLE and executor=auto or engine"};
  }
  if (reserved < helpers) {
    return {"helper threads", Verdict::slow,
            fmt::format("{} running, {} of them on CPUs where ranks run too", helpers, helpers - reserved),
            "leave cores free of ranks: stoker plan says which and how; if there are none to spare, large messages "
            "overlap all the same"};
  }
  return {"helper threads", Verdict::ok, fmt::format("{} running, each on a core free of ranks", helpers), ""};
}

// Runs one persistent alltoall over buffers of the caller, with new data in each epoch. Returns the error, if there is
// one, and the statistics of the request.
std::string exchange(stoker_engine engine, const MpiSession& session, std::uint64_t* send, std::uint64_t* recv,
                     MPI_Info info, stoker_statistics& statistics) {
  stoker_request request = STOKER_REQUEST_NULL;
  const int count = words_per_pair;
  statistics = {};
  if (stoker_alltoall_init(send, count, MPI_UINT64_T, recv, count, MPI_UINT64_T, MPI_COMM_WORLD, info, engine,
                           &request) != STOKER_SUCCESS) {
    return stoker_error_message();
  }
  std::string problem;
  for (int epoch = 1; epoch <= epochs_of_check && problem.empty(); ++epoch) {
    for (int peer = 0; peer < session.size(); ++peer) {
      for (std::size_t i = 0; i < words_per_pair; ++i) {
        const std::size_t at = static_cast<std::size_t>(peer) * words_per_pair + i;
        send[at] = word_of(session.rank(), peer, epoch, i);
        recv[at] = 0;
      }
    }
    if (stoker_start(request) != STOKER_SUCCESS || stoker_wait(request) != STOKER_SUCCESS) {
      problem = stoker_error_message();
      break;
    }
    for (int peer = 0; peer < session.size() && problem.empty(); ++peer) {
      for (std::size_t i = 0; i < words_per_pair; ++i) {
        if (recv[static_cast<std::size_t>(peer) * words_per_pair + i] != word_of(peer, session.rank(), epoch, i)) {
          problem = fmt::format("rank {} received wrong data from rank {} in epoch {}", session.rank(), peer, epoch);
          break;
        }
      }
    }
  }
  statistics.size = sizeof statistics;
  stoker_request_statistics(request, &statistics);
  stoker_request_free(&request);
  return problem;
}

Finding check_exchange(stoker_engine engine, const MpiSession& session) {
  const std::size_t words = words_per_pair * static_cast<std::size_t>(session.size());
  std::vector<std::uint64_t> send(words);
  std::vector<std::uint64_t> recv(words);
  stoker_statistics statistics{};
  std::string problem = exchange(engine, session, send.data(), recv.data(), MPI_INFO_NULL, statistics);
  const std::string private_access = problem.empty() ? statistics.send_access : "";

  // All ranks take this branch or none, because the exchange is collective.
  void* mapped_send = nullptr;
  void* mapped_recv = nullptr;
  const bool mine = stoker_alloc(engine, words * sizeof(std::uint64_t), &mapped_send) == STOKER_SUCCESS &&
                    stoker_alloc(engine, words * sizeof(std::uint64_t), &mapped_recv) == STOKER_SUCCESS;
  const std::string allocation = mine ? "" : stoker_error_message();
  std::string mapped_access;
  if (stoker::engine::on_all(MPI_COMM_WORLD, mine)) {
    const std::string second = exchange(engine, session, static_cast<std::uint64_t*>(mapped_send),
                                        static_cast<std::uint64_t*>(mapped_recv), MPI_INFO_NULL, statistics);
    mapped_access = second.empty() ? statistics.send_access : "";
    problem = problem.empty() ? second : problem;
  } else {
    problem = allocation.empty() ? "stoker_alloc failed on another rank" : allocation;
  }
  stoker_dealloc(mapped_send);
  stoker_dealloc(mapped_recv);

  std::set<std::string> private_paths;
  std::set<std::string> mapped_paths;
  for (const std::string& text : gather(nlohmann::json({problem, private_access, mapped_access}).dump())) {
    const auto theirs = nlohmann::json::parse(text).get<std::array<std::string, 3>>();
    if (!theirs[0].empty()) {
      return {"exchange", Verdict::fails, theirs[0],
              "run again with STOKER_LOG=debug; STOKER_ACCESS=staged needs the least of the system"};
    }
    private_paths.insert(theirs[1]);
    mapped_paths.insert(theirs[2]);
  }
  return {
      "exchange", Verdict::ok,
      fmt::format(
          "alltoall of {} rank{}, 64 KiB a pair, is right; buffers of malloc are reached by {}, of stoker_alloc by {}",
          session.size(), session.size() == 1 ? "" : "s", fmt::join(private_paths, " or "),
          fmt::join(mapped_paths, " or ")),
      ""};
}

// Whether the MPI library's windows work between these ranks, and what is done where they do not. Nothing here can wait
// for ever: windows are tried by creating one, which fails on all ranks alike, and are used with puts and flushes of
// single targets only, which work where fences hang.
Finding check_one_sided(stoker_engine engine, const MpiSession& session) {
  const std::size_t words = words_per_pair * static_cast<std::size_t>(session.size());
  std::vector<std::uint64_t> send(words);
  std::vector<std::uint64_t> recv(words);
  std::vector<std::string> executors = {"inline"};
  stoker_engine_facts facts{};
  facts.size = sizeof facts;
  stoker_engine_get_facts(engine, &facts);
  if (stoker::engine::on_all(MPI_COMM_WORLD, facts.helpers != 0)) {
    executors.insert(executors.begin(), "engine");
  }
  std::vector<std::string> ways;
  for (const std::string& executor : executors) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "stoker_algorithm", "rma-fence");
    MPI_Info_set(info, "stoker_executor", executor.c_str());
    stoker_statistics statistics{};
    const std::string problem = exchange(engine, session, send.data(), recv.data(), info, statistics);
    MPI_Info_free(&info);
    for (const std::string& theirs : gather(problem)) {
      if (!theirs.empty()) {
        return {"one-sided", Verdict::fails, theirs, "STOKER_RMA=messages does without the MPI library's windows"};
      }
    }
    ways.push_back((executor == "engine" ? "helpers: " : "inline: ") + std::string(statistics.puts));
  }
  const std::string found = fmt::format("rma-fence is right; {}", fmt::join(ways, ", "));
  stoker::engine::Engine& core = *api::engine_of(engine);
  if (core.settings().rma == stoker::engine::RmaChoice::messages) {
    return {"one-sided", Verdict::ok, found + ", as the setting rma=messages has it", ""};
  }
  if (core.put_windows().possible(core.context(MPI_COMM_WORLD), false, {.memory = core.memory().get()})) {
    return {"one-sided", Verdict::ok, found, ""};
  }
  return {"one-sided", Verdict::slow,
          found + ", since the MPI library has no windows between these ranks, or cross-memory attach is refused",
          "messages do as well over TCP; for RDMA: Open MPI with --mca pml ucx --mca osc ucx, or MPICH"};
}

} // namespace

Findings check_engine(const MpiSession& session) {
  stoker_engine engine = STOKER_ENGINE_NULL;
  if (stoker_engine_create(MPI_COMM_WORLD, nullptr, 0, &engine) != STOKER_SUCCESS) {
    return {{"engine", Verdict::fails, stoker_error_message(), "as the message says"}};
  }
  Findings findings{check_helpers(engine), check_exchange(engine, session), check_one_sided(engine, session)};
  stoker_engine_destroy(&engine);
  return findings;
}

} // namespace stoker::cli
