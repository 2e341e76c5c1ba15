// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/job_facts.hpp"

#include "api/stoker.h"
#include "engine/error.hpp"
#include "engine/node_memory.hpp"
#include "topology/discover.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace stoker::cli {
namespace {

using nlohmann::ordered_json;

topology::DiscoverOptions discover_options(const engine::Settings& settings) {
  return {.machine = settings.machine,
          .ranks_per_node = settings.ranks_per_node,
          .domains = settings.domains == engine::DomainChoice::node ? topology::DomainKind::node : topology::DomainKind::numa,
          .threads_per_domain = settings.threads_per_domain};
}

// Of an engine that exists only to be asked.
stoker_engine_facts ask_engine(std::span<const engine::SettingText> call_settings) {
  std::vector<std::pair<std::string, std::string>> texts(call_settings.begin(), call_settings.end());
  std::vector<stoker_setting> list;
  for (const auto& [key, value] : texts) {
    list.push_back({key.c_str(), value.c_str()});
  }
  stoker_engine engine = STOKER_ENGINE_NULL;
  if (stoker_engine_create(MPI_COMM_WORLD, list.data(), list.size(), &engine) != STOKER_SUCCESS) {
    throw std::runtime_error(stoker_error_message());
  }
  stoker_engine_facts facts{};
  facts.size = sizeof facts;
  stoker_engine_get_facts(engine, &facts);
  stoker_engine_destroy(&engine);
  return facts;
}

// A real cross-memory attach to every other rank of the node: "works", or what the system says.
std::string probe_attach(int node, int rank) {
  constexpr std::uint64_t arena_bytes = std::uint64_t{1} << 20;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, node, rank, &comm);
  std::string result = "works";
  try {
    const engine::NodeMemory memory(comm, arena_bytes, -1);
    const auto& errors = memory.attach_errors();
    const auto refused = std::ranges::find_if(errors, [](int error) { return error != 0; });
    if (refused != errors.end()) {
      result = std::strerror(*refused);
    }
  } catch (const engine::Error& error) { // the same on all ranks of the node
    result = error.what();
  }
  MPI_Comm_free(&comm);
  return result;
}

// The NUMA domain that this rank's helper and staging belong to.
int numa_of(const topology::Discovery& discovery, int rank) {
  for (const topology::NodeDomain& domain : discovery.node_domains()) {
    if (std::ranges::find(domain.ranks, rank) != domain.ranks.end()) {
      return domain.numa.value;
    }
  }
  return -1;
}

// Sorts the ranks' own reports under their nodes and domains.
ordered_json arrange(const std::vector<ordered_json>& ranks) {
  ordered_json nodes = ordered_json::array();
  for (const ordered_json& rank : ranks) {
    const auto node_number = rank.at("node").get<std::size_t>();
    if (node_number == nodes.size()) { // nodes and domains are numbered in the order of their lowest ranks
      nodes.push_back({{"node", node_number}, {"host", rank.at("host")}, {"domains", ordered_json::array()}});
    }
    ordered_json& domains = nodes.at(node_number).at("domains");
    auto domain = std::ranges::find_if(domains, [&](const ordered_json& d) { return d.at("domain") == rank.at("domain"); });
    if (domain == domains.end()) {
      domains.push_back({{"domain", rank.at("domain")},
                         {"numa", rank.at("numa")},
                         {"carrier", rank.at("carrier")},
                         {"helper", rank.at("helper")},
                         {"ranks", ordered_json::array()}});
      domain = std::prev(domains.end());
    }
    domain->at("ranks").push_back(
      {{"rank", rank.at("rank")}, {"cpus", rank.at("cpus")}, {"cross_memory_attach", rank.at("attach")}});
  }
  return nodes;
}

} // namespace

ordered_json gather_job(const MpiSession& session, const topology::Machine& machine, const engine::Settings& settings,
                        std::span<const engine::SettingText> call_settings) {
  const topology::Discovery discovery = topology::discover(MPI_COMM_WORLD, machine, discover_options(settings));
  const int rank = session.rank();
  const int node = discovery.layout.node_of(rank);
  const stoker_engine_facts facts = ask_engine(call_settings);

  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const auto binding = std::ranges::find(discovery.node_ranks, rank, &topology::NodeRank::rank);
  ordered_json mine{{"rank", rank},
                    {"host", host.data()},
                    {"node", node},
                    {"domain", discovery.layout.domain_of(rank)},
                    {"numa", numa_of(discovery, rank)},
                    {"cpus", binding->binding.to_string()},
                    {"carrier", facts.carrier},
                    {"attach", probe_attach(node, rank)}};
  if (facts.helpers != 0) {
    mine["helper"] = {{"cpu", facts.helper_core}, {"reserved", facts.helper_reserved != 0}};
  } else {
    mine["helper"] = nullptr;
  }
  std::vector<ordered_json> ranks;
  for (const std::string& text : gather(mine.dump())) {
    ranks.push_back(ordered_json::parse(text));
  }
  return arrange(ranks);
}

} // namespace stoker::cli
