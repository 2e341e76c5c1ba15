// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/job_facts.hpp"

#include "api/cli/equal_call.hpp"
#include "engine/core/engine.hpp"
#include "topology/binding.hpp"
#include "topology/discover.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace stoker::cli {
namespace {

using nlohmann::ordered_json;

// The result of the engine's probe, a real cross-memory attach to every other rank of the node: "works", or the
// system's error.
std::string attach_result(const engine::NodeMemory* memory) {
  if (memory == nullptr) {
    return "not tried";
  }
  const auto& errors = memory->attach_errors();
  const auto refused = std::ranges::find_if(errors, [](int error) { return error != 0; });
  return refused == errors.end() ? "works" : std::strerror(*refused);
}

// The same for XPMEM, which is in nobody's way where there is none.
std::string xpmem_result(const engine::NodeMemory* memory) {
  if (memory == nullptr) {
    return "not tried";
  }
  const std::string& refusal = memory->xpmem_refusal();
  if (memory->xpmem_works() || !refusal.empty()) {
    return memory->xpmem_works() ? "works" : refusal;
  }
  return memory->attach_works() ? "refused on another rank" : "needs cross-memory attach, which is refused";
}

// Sorts the ranks' own reports by node and domain. The report of a domain's carrier, its first rank, about the helper
// holds for the domain.
ordered_json arrange(const std::vector<ordered_json>& ranks) {
  ordered_json nodes = ordered_json::array();
  for (const ordered_json& rank : ranks) {
    const auto node_number = rank.at("node").get<std::size_t>();
    if (node_number == nodes.size()) { // nodes and domains are numbered in the order of their lowest ranks
      nodes.push_back({{"node", node_number}, {"host", rank.at("host")}, {"domains", ordered_json::array()}});
    }
    ordered_json& domains = nodes.at(node_number).at("domains");
    auto domain =
        std::ranges::find_if(domains, [&](const ordered_json& d) { return d.at("domain") == rank.at("domain"); });
    if (domain == domains.end()) {
      domains.push_back({{"domain", rank.at("domain")},
                         {"numa", rank.at("numa")},
                         {"carrier", rank.at("carrier")},
                         {"helper", rank.at("helper")},
                         {"ranks", ordered_json::array()}});
      domain = std::prev(domains.end());
    }
    domain->at("ranks").push_back({{"rank", rank.at("rank")},
                                   {"cpus", rank.at("cpus")},
                                   {"cross_memory_attach", rank.at("attach")},
                                   {"xpmem", rank.at("xpmem")}});
  }
  return nodes;
}

// What carries out puts between all ranks, by executor. One that there is not here is missing.
ordered_json puts_between(const std::shared_ptr<engine::Engine>& engine) {
  const EqualCall call(algos::Collective::alltoall, 1);
  ordered_json puts = ordered_json::object();
  for (const char* executor : {"engine", "inline"}) {
    const InfoKeys keys{{"stoker_algorithm", "rma-fence"}, {"stoker_executor", executor}};
    if (const auto request = request_for(engine, call, keys)) {
      puts[executor] = request->puts_name();
    }
  }
  return puts;
}

} // namespace

ordered_json gather_job(const MpiSession& session, std::span<const engine::SettingText> call_settings) {
  const auto engine = std::make_shared<engine::Engine>(MPI_COMM_WORLD, call_settings);
  const int rank = session.rank();
  const topology::Machine& machine = engine->machine();
  const topology::Layout& layout = engine->layout();

  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  ordered_json mine{{"rank", rank},
                    {"host", host.data()},
                    {"node", layout.node_of(rank)},
                    {"domain", layout.domain_of(rank)},
                    {"numa", engine->discovery().numa_of(rank).value},
                    {"cpus", topology::process_binding(machine).to_string()},
                    {"carrier", engine->carrier()},
                    {"helper", nullptr},
                    {"attach", attach_result(engine->memory().get())},
                    {"xpmem", xpmem_result(engine->memory().get())}};
  if (engine->helper() != nullptr) {
    mine["helper"] = {{"cpus", engine->helper()->binding().obtained.to_string()},
                      {"reserved", engine->helper_facts().reserved != 0},
                      {"placement", engine->helper_explanation()}};
  }
  const ordered_json puts = puts_between(engine);
  engine->destroy();
  std::vector<ordered_json> ranks;
  for (const std::string& text : gather(mine.dump())) {
    ranks.push_back(ordered_json::parse(text));
  }
  return {{"nodes", arrange(ranks)}, {"puts", puts}};
}

} // namespace stoker::cli
