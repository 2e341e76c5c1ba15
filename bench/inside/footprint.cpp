// SPDX-License-Identifier: BSD-3-Clause
// footprint: what the engine keeps on a node, for numbers of ranks that need not exist. Two ranks of the first node are
// made up one after the other, its leader, to which some algorithms give more, and another one; the node has one leader
// and as many others as it has ranks but one.
#include "algos/select/selection.hpp"
#include "bench/inside/one_rank.hpp"
#include "bench/lib/benchmark.hpp"
#include "engine/base/error.hpp"
#include "engine/calls/calls.hpp"
#include "engine/calls/shape.hpp"
#include "engine/core/engine.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace stoker::bench {

namespace {

constexpr double mib = 1 << 20;

class FootprintBenchmark final : public Benchmark {
public:
  [[nodiscard]] std::string name() const override { return "footprint"; }
  [[nodiscard]] std::string description() const override {
    return "what the engine keeps on a node, for jobs that need not exist";
  }

  void add_options(CLI::App& app) override {
    app.add_option("--ranks", ranks_, "of the job")
        ->delimiter(',')
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    app.add_option("--ranks-per-node", ranks_per_node_)->check(CLI::Range(1, 1 << 20))->capture_default_str();
    app.add_option("--bytes", bytes_, "of each block of an exchange, and of the vector of a reduction")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    app.add_option("--collective", collectives_, "of which")->delimiter(',')->capture_default_str();
    app.add_option("--algorithms", algorithms_, "with their parameters; when not given, all that stoker chooses from");
  }

  void run(Session& session) override {
    session.report().note("bytes a rank: the leader of its node, and the other ranks; helper: in its process, for one "
                          "rank; data: of the shared memory, blocks on their way; messages: posted at Start, at most; "
                          "lanes: requests that "
                          "nonblocking calls have; compile: processor time of the program alone; communicators, "
                          "mappings, descriptors and threads: at most, of a "
                          "process");
    session.report().table({"ranks", "ppn_assumed", "what", "leader_bytes", "rank_bytes", "helper_bytes", "data_bytes",
                            "messages", "tags", "lanes", "communicators", "mappings", "descriptors", "threads",
                            "node_mib", "compile_ms", "init_ms"});
    if (session.rank() != 0) {
      return;
    }
    for (const int ranks : ranks_) {
      const int ppn = std::min(ranks, ranks_per_node_);
      report_tables(session, ranks, ppn);
      const topology::Layout layout = topology::Layout::uniform(ranks, ppn);
      for (const std::string& collective : collectives_) {
        for (const Case& what : cases_of(collective, layout)) {
          report(session, layout, ppn, what);
        }
      }
    }
  }

private:
  [[nodiscard]] std::vector<Case> cases_of(const std::string& name, const topology::Layout& layout) const {
    const std::optional<algos::Collective> collective = algos::find_collective(name);
    if (!collective) {
      throw std::invalid_argument("--collective: there is no " + name);
    }
    std::vector<Case> cases;
    if (!algorithms_.empty()) {
      for (const std::string& algorithm : algorithms_) {
        cases.push_back({algos::resolve(algos::parse_choice(*collective, algorithm), layout), bytes_});
      }
      return cases;
    }
    for (const algos::Choice& choice : algos::candidates(*collective, layout, bytes_)) {
      cases.push_back({choice, bytes_});
    }
    if (*collective == algos::Collective::alltoallv) {
      cases.push_back({cases.front().choice, 1, true});
    }
    return cases;
  }

  [[nodiscard]] Row row_of(const topology::Layout& layout, int ppn, const std::string& what) const {
    Row row;
    row.benchmark = name();
    row.executor = "engine";
    row.time.iterations = 1;
    row.more["ranks"] = layout.ranks();
    row.more["ppn_assumed"] = ppn;
    row.more["what"] = what;
    return row;
  }

  // What ranks keep of the job, and of a communicator: where its ranks are, and which of the engine's they are. The
  // node shares these tables. A thread is the carrier's helper, and the one that initialises requests of a
  // communicator's nonblocking calls.
  void report_tables(Session& session, int ranks, int ppn) const {
    const std::uint64_t before = heap_in_use();
    const topology::Layout layout = topology::Layout::uniform(ranks, ppn);
    const std::uint64_t with_engine = heap_in_use();
    const topology::Layout same = layout.restricted_to(in_order(ranks));
    const std::uint64_t with_same = heap_in_use();
    std::vector<int> backwards = in_order(ranks);
    std::ranges::reverse(backwards);
    const topology::Layout other = layout.restricted_to(backwards);
    const std::uint64_t with_other = heap_in_use();
    const auto report_kept = [&](const std::string& what, std::uint64_t bytes, std::uint64_t tables, int communicators,
                                 const NodeResources& resources) {
      const std::uint64_t shared = ppn > 1 ? tables : 0;
      Row row = row_of(layout, ppn, what);
      row.more["leader_bytes"] = bytes;
      row.more["rank_bytes"] = bytes - shared;
      row.more["communicators"] = communicators;
      row.more["mappings"] = resources.mappings + (shared != 0 ? 1 : 0);
      row.more["descriptors"] = resources.descriptors;
      row.more["threads"] = 1;
      row.more["node_mib"] = static_cast<double>(shared + ((bytes - shared) * static_cast<std::uint64_t>(ppn))) / mib;
      session.report().add(row);
    };
    report_kept("engine", with_engine - before, layout.tables().size(), engine::Engine::most_comms,
                resources_of_node_memory(ppn));
    report_kept("communicator", with_same - with_engine, 0, engine::Calls::most_comms, {});
    report_kept("communicator, other order", with_other - with_same,
                other.tables().size() + std::as_bytes(std::span(backwards)).size(), engine::Calls::most_comms, {});
  }

  static std::vector<int> in_order(int ranks) {
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  void report(Session& session, const topology::Layout& layout, int ppn, const Case& what) const {
    Row row = row_of(layout, ppn, what.any_sizes ? "any sizes" : algos::to_text(what.choice));
    row.collective = algos::name_of(what.choice.algorithm->collective);
    row.bytes = what.bytes;
    std::vector<Footprint> sums;
    try {
      for (int rank = 0; rank < std::min(ppn, 2); ++rank) {
        sums.push_back(OneRank(layout, rank).footprint(what));
      }
    } catch (const engine::Error& error) {
      row.more["error"] = error.what();
      session.report().add(row);
      return;
    }
    const Footprint& leader = sums.front();
    const Footprint& other = sums.back();
    const auto rank_bytes = [](const Footprint& sum) { return sum.shared + sum.heap; };
    const std::uint64_t node =
        rank_bytes(leader) + leader.helper + (static_cast<std::uint64_t>(ppn - 1) * (rank_bytes(other) + other.helper));
    row.more["leader_bytes"] = rank_bytes(leader);
    row.more["rank_bytes"] = rank_bytes(other);
    row.more["helper_bytes"] = other.helper;
    row.more["data_bytes"] = other.data;
    row.more["messages"] = std::max(leader.messages, other.messages);
    row.more["tags"] = std::max(leader.tags, other.tags);
    row.more["lanes"] = engine::lanes_used(what.choice.algorithm->collective, layout.ranks(), false);
    row.more["node_mib"] = static_cast<double>(node) / mib;
    row.more["pair_bytes"] = sizeof(engine::PairInfo);
    row.more["compile_ms"] = 1e3 * std::max(leader.compile_seconds, other.compile_seconds);
    row.more["init_ms"] = 1e3 * std::max(leader.seconds, other.seconds);
    session.report().add(row);
  }

  std::vector<int> ranks_ = {64, 3584, 16384};
  int ranks_per_node_ = 112;
  std::uint64_t bytes_ = 8;
  std::vector<std::string> collectives_ = {"alltoall", "alltoallv", "allreduce", "bcast"};
  std::vector<std::string> algorithms_;
};

} // namespace

std::unique_ptr<Benchmark> make_footprint() { return std::make_unique<FootprintBenchmark>(); }

} // namespace stoker::bench
