// SPDX-License-Identifier: BSD-3-Clause
#include "topology/discover.hpp"

#include "topology/binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <numeric>
#include <utility>

namespace stoker::topology {

namespace {

void check_mpi(int code, const char* what) {
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    PMPI_Error_string(code, text, &length);
    throw TopologyError(fmt::format("{} failed: {}", what, std::string(text, static_cast<std::size_t>(length))));
  }
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check_mpi(PMPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  check_mpi(PMPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size;
}

// Runs `step` on every rank; when it throws on some, all ranks throw what the lowest of them met.
void agree(MPI_Comm comm, const std::function<void()>& step) {
  std::string error;
  try {
    step();
  } catch (const std::exception& e) {
    error = *e.what() == '\0' ? "unknown error" : e.what();
  }
  const int size = size_of(comm);
  const int mine = error.empty() ? size : rank_in(comm);
  int first = size;
  check_mpi(PMPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  if (first == size) {
    return;
  }
  int length = static_cast<int>(error.size());
  check_mpi(PMPI_Bcast(&length, 1, MPI_INT, first, comm), "MPI_Bcast");
  error.resize(static_cast<std::size_t>(length));
  check_mpi(PMPI_Bcast(error.data(), length, MPI_CHAR, first, comm), "MPI_Bcast");
  throw TopologyError(fmt::format("rank {}: {}", first, error));
}

class NodeComm {
public:
  NodeComm(MPI_Comm comm, int ranks_per_node) {
    const int rank = rank_in(comm);
    if (ranks_per_node > 0) {
      check_mpi(PMPI_Comm_split(comm, rank / ranks_per_node, rank, &comm_), "MPI_Comm_split");
    } else {
      check_mpi(PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm_), "MPI_Comm_split_type");
    }
  }
  ~NodeComm() { PMPI_Comm_free(&comm_); }
  NodeComm(const NodeComm&) = delete;
  NodeComm& operator=(const NodeComm&) = delete;
  [[nodiscard]] MPI_Comm get() const { return comm_; }

private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// The texts of all ranks of `comm`, in order.
std::vector<std::string> gather_texts(MPI_Comm comm, const std::string& text) {
  const auto size = static_cast<std::size_t>(size_of(comm));
  const int length = static_cast<int>(text.size());
  std::vector<int> lengths(size);
  check_mpi(PMPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm), "MPI_Allgather");
  std::vector<int> offsets(size);
  std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
  std::string all(static_cast<std::size_t>(offsets.back() + lengths.back()), '\0');
  check_mpi(PMPI_Allgatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, comm),
            "MPI_Allgatherv");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < size; ++i) {
    texts.push_back(all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(lengths[i])));
  }
  return texts;
}

std::vector<NodeRank> exchange_bindings(MPI_Comm node, const NodeRank& mine) {
  std::vector<int> ranks(static_cast<std::size_t>(size_of(node)));
  check_mpi(PMPI_Allgather(&mine.rank, 1, MPI_INT, ranks.data(), 1, MPI_INT, node), "MPI_Allgather");
  const std::vector<std::string> bindings = gather_texts(node, mine.binding.to_string());
  const std::vector<std::string> allowed = gather_texts(node, mine.allowed.to_string());
  std::vector<NodeRank> all;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const CpuSet binding = CpuSet::parse(bindings[i]);
    const CpuSet limit = CpuSet::parse(allowed[i]);
    all.push_back({ranks[i], binding, !binding.contains(limit), limit});
  }
  return all;
}

// Labels for Layout: a node is named by its lowest rank, a domain by its number on the node.
Place place_of(int rank, std::span<const NodeRank> node_ranks, std::span<const NodeDomain> domains) {
  for (std::size_t d = 0; d < domains.size(); ++d) {
    if (std::find(domains[d].ranks.begin(), domains[d].ranks.end(), rank) != domains[d].ranks.end()) {
      const int domain = static_cast<int>(d);
      return {node_ranks.front().rank, domain};
    }
  }
  throw std::logic_error("a rank without a domain");
}

} // namespace

std::vector<NodeDomain> Discovery::node_domains() const {
  std::vector<NodeDomain> domains;
  for (const NodeRank& member : node_ranks) {
    const std::span<const int> ranks = layout.domain_ranks(layout.domain_of(member.rank));
    if (ranks.front() == member.rank) { // domains are numbered by their lowest ranks
      domains.push_back({{domain_numa.at(domains.size())}, {ranks.begin(), ranks.end()}});
    }
  }
  return domains;
}

LogicalIndex Discovery::numa_of(int rank) const {
  const std::vector<NodeDomain> domains = node_domains();
  return std::ranges::find_if(
             domains,
             [&](const NodeDomain& domain) { return std::ranges::find(domain.ranks, rank) != domain.ranks.end(); })
      ->numa;
}

Discovery discover(MPI_Comm comm, const Machine& machine, const DiscoverOptions& options) {
  NodeRank mine;
  agree(comm, [&] {
    if (options.ranks_per_node < 0) {
      throw TopologyError(fmt::format("ranks_per_node is {}, expected 0 (real nodes) or more", options.ranks_per_node));
    }
    mine.rank = rank_in(comm);
    mine.binding = process_binding(machine);
    mine.allowed = machine.allowed_cpus();
  });

  const NodeComm node(comm, options.ranks_per_node);
  const std::vector<NodeRank> node_ranks = exchange_bindings(node.get(), mine);
  std::vector<NodeDomain> domains;
  Place place;
  agree(comm, [&] {
    domains = assign_domains(machine, node_ranks, options.domains, options.threads_per_domain);
    place = place_of(mine.rank, node_ranks, domains);
  });

  const int labels[] = {place.node, place.domain};
  std::vector<int> all(2 * static_cast<std::size_t>(size_of(comm)));
  check_mpi(PMPI_Allgather(labels, 2, MPI_INT, all.data(), 2, MPI_INT, comm), "MPI_Allgather");
  std::vector<Place> places;
  for (std::size_t i = 0; i < all.size(); i += 2) {
    places.push_back({all[i], all[i + 1]});
  }
  std::vector<int> domain_numa;
  for (const NodeDomain& domain : domains) {
    domain_numa.push_back(domain.numa.value);
  }
  return {Layout(std::move(places)), node_ranks, domain_numa};
}

} // namespace stoker::topology
