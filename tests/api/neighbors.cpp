// SPDX-License-Identifier: BSD-3-Clause
// Neighborhood all-to-alls on distributed graphs, graphs and grids, with an oracle that does not share a line with the
// library: every byte sent is a function of (epoch, source, place in its send buffer), and where it arrives is worked
// out from the lists of edges that all ranks know and the order that the MPI library's own call has.
#include "tests/api/mpi_main.hpp"
#include "tests/api/support.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>

namespace api_tests {
namespace {

// In elements of 4 bytes.
struct Edge {
  int source;
  int target;
  int count;
  int displacement; // in the source's send buffer
};
using Edges = std::vector<Edge>;

constexpr std::uint32_t poison = 0xdeadbeef;

std::uint32_t value(int epoch, int source, std::size_t place) {
  return static_cast<std::uint32_t>(
      mix((static_cast<std::uint64_t>(epoch) << 48U) ^ (static_cast<std::uint64_t>(source) << 32U) ^ place));
}

// Empty blocks, repeated edges, edges to oneself, blocks that overlap.
Edges random_edges(int ranks, int scale, std::uint64_t seed) {
  Random random(seed);
  Edges edges;
  const auto any = [&](int n) { return static_cast<int>(random.below(static_cast<std::size_t>(n))); };
  for (int i = 0; i < 5 * ranks; ++i) {
    const int source = any(ranks);
    const int target = any(ranks);
    const int count = any(4) == 0 ? 0 : 1 + any(scale);
    edges.push_back({source, target, count, any(3 * scale)});
  }
  return edges;
}

// Everybody's whole buffer to everybody.
Edges allgather_edges(int ranks, int count) {
  Edges edges;
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < ranks; ++b) {
      edges.push_back({a, b, count, 0});
    }
  }
  return edges;
}

MPI_Comm graph_of(const Edges& edges) {
  std::vector<int> sources;
  std::vector<int> targets;
  for (const Edge& edge : edges) {
    if (edge.target == world_rank()) {
      sources.push_back(edge.source);
    }
    if (edge.source == world_rank()) {
      targets.push_back(edge.target);
    }
  }
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                                 static_cast<int>(targets.size()), targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &comm);
  return comm;
}

// Whether the MPI library's own call hands over the blocks of several edges between two ranks in the reverse
// order.
bool mpi_reverses() {
  const std::vector<int> to_itself{0, 0};
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 2, to_itself.data(), MPI_UNWEIGHTED, 2, to_itself.data(),
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  const CommOwner owner(comm);
  const std::vector<int> sent{1, 2};
  const std::vector<int> counts{1, 1};
  const std::vector<int> displs{0, 1};
  std::vector<int> received{0, 0};
  MPI_Neighbor_alltoallv(sent.data(), counts.data(), displs.data(), MPI_INT, received.data(), counts.data(),
                         displs.data(), MPI_INT, comm);
  return received != sent;
}

// The edges to a rank, by the place in which their blocks arrive. The k-th from another rank arrives as the
// k-th block from there, or as the k-th from the end.
Edges arriving_at(int rank, const Edges& edges, bool reversed) {
  Edges arriving;
  std::ranges::copy_if(edges, std::back_inserter(arriving), [&](const Edge& edge) { return edge.target == rank; });
  if (reversed) {
    std::map<int, Edges> from;
    for (const Edge& edge : arriving) {
      from[edge.source].push_back(edge);
    }
    for (Edge& edge : arriving) {
      Edges& left = from[edge.source];
      edge = left.back();
      left.pop_back();
    }
  }
  return arriving;
}

// The exchange along a list of edges as one rank does it: blocks to receive lie one behind the other with a gap
// between.
class GraphExchange {
public:
  // strided: elements are two halves with a hole between them, at the sending end.
  GraphExchange(const Edges& edges, bool strided)
      : arriving_(arriving_at(world_rank(), edges, mpi_reverses())), stride_(strided ? 2 : 1) {
    std::size_t reach = 0;
    std::size_t end = 0;
    for (const Edge& edge : edges) {
      if (edge.source == world_rank()) {
        sendcounts_.push_back(edge.count);
        sdispls_.push_back(edge.displacement);
        reach = std::max(reach, static_cast<std::size_t>(edge.displacement + edge.count));
      }
    }
    for (const Edge& edge : arriving_) {
      recvcounts_.push_back(edge.count);
      rdispls_.push_back(static_cast<int>(end));
      end += static_cast<std::size_t>(edge.count) + 1;
    }
    send_.resize(reach * stride_);
    recv_.resize(end);
    expected_.resize(end);
    if (strided) {
      MPI_Type_create_resized(MPI_UINT32_T, 0, 8, &type_);
      MPI_Type_commit(&type_);
    }
  }
  GraphExchange(const GraphExchange&) = delete;
  GraphExchange& operator=(const GraphExchange&) = delete;
  ~GraphExchange() {
    EXPECT_TRUE(ok(stoker_request_free(&request_)));
    if (type_ != MPI_UINT32_T) {
      MPI_Type_free(&type_);
    }
  }

  int init(stoker_engine engine, MPI_Comm comm, const Settings& info) {
    const InfoOwner owner(info);
    return stoker_neighbor_alltoallv_init(send_.data(), sendcounts_.data(), sdispls_.data(), type_, recv_.data(),
                                          recvcounts_.data(), rdispls_.data(), MPI_UINT32_T, comm, owner.get(), engine,
                                          &request_);
  }

  void prepare(int epoch) {
    for (std::size_t i = 0; i < send_.size(); ++i) {
      send_[i] = i % stride_ == 0 ? value(epoch, world_rank(), i / stride_) : poison;
    }
    std::fill(recv_.begin(), recv_.end(), poison);
    expected_ = recv_;
    for (std::size_t block = 0; block < arriving_.size(); ++block) {
      const Edge& edge = arriving_[block];
      const auto place = static_cast<std::size_t>(rdispls_[block]);
      const auto origin = static_cast<std::size_t>(edge.displacement);
      for (std::size_t i = 0; i < static_cast<std::size_t>(edge.count); ++i) {
        expected_[place + i] = value(epoch, edge.source, origin + i);
      }
    }
  }
  [[nodiscard]] bool right() const { return recv_ == expected_; }
  [[nodiscard]] stoker_request request() const { return request_; }

private:
  Edges arriving_;
  std::size_t stride_;
  MPI_Datatype type_ = MPI_UINT32_T;
  std::vector<int> sendcounts_, sdispls_, recvcounts_, rdispls_;
  std::vector<std::uint32_t> send_, recv_, expected_;
  stoker_request request_ = STOKER_REQUEST_NULL;
};

using NeighborhoodParameters = std::tuple<std::string, std::string, std::string>; // ranks_per_node, executor, algorithm

class Neighborhoods : public ::testing::TestWithParam<NeighborhoodParameters> {
protected:
  [[nodiscard]] static Settings settings() {
    return {{"ranks_per_node", std::get<0>(GetParam())},
            {"executor", std::get<1>(GetParam())},
            {"wire_piece_bytes", std::get<0>(GetParam()) == "2" ? "1000" : "auto"}};
  }
  [[nodiscard]] static Settings info() {
    const std::string& algorithm = std::get<2>(GetParam());
    return algorithm == "auto" ? Settings{} : Settings{{"stoker_algorithm", algorithm}};
  }
};

TEST_P(Neighborhoods, EveryByteIsRightInEveryEpoch) {
  const EngineOwner engine(MPI_COMM_WORLD, settings());
  std::vector<std::unique_ptr<GraphExchange>> exchanges;
  std::vector<stoker_request> requests;
  const int ranks = world_size();
  const std::pair<Edges, bool> cases[] = {{random_edges(ranks, 3, 1), true},
                                          {random_edges(ranks, 400, 2), true},
                                          {random_edges(ranks, 20000, 3), false},
                                          {allgather_edges(ranks, 5000), false}};
  for (const auto& [edges, strided] : cases) {
    const CommOwner comm(graph_of(edges));
    exchanges.push_back(std::make_unique<GraphExchange>(edges, strided));
    ASSERT_TRUE(ok(exchanges.back()->init(engine.get(), comm.get(), info())));
    requests.push_back(exchanges.back()->request());
  }
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const auto& exchange : exchanges) {
      exchange->prepare(epoch);
    }
    for (const std::size_t i : permutation(requests.size(), static_cast<std::uint64_t>(world_rank()))) {
      EXPECT_TRUE(ok(stoker_start(requests[i])));
    }
    EXPECT_TRUE(ok(stoker_waitall(static_cast<int>(requests.size()), requests.data())));
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      EXPECT_TRUE(exchanges[i]->right()) << "exchange " << i << ", epoch " << epoch;
    }
  }
}

// Each block carries (sender, direction); what arrives in a place is what was sent from that side, in the opposite
// direction.
TEST_P(Neighborhoods, GridsAlsoOfOneAndTwoRanksInADirection) {
  const EngineOwner engine(MPI_COMM_WORLD, settings());
  const int ranks = world_size();
  std::vector<int> balanced(2, 0);
  MPI_Dims_create(ranks, 2, balanced.data());
  for (const std::vector<int>& dims : {balanced, std::vector{1, ranks}}) {
    for (const int periodic : {0, 1}) {
      const std::vector<int> periods(dims.size(), periodic);
      MPI_Comm cart = MPI_COMM_NULL;
      const int n = static_cast<int>(dims.size());
      MPI_Cart_create(MPI_COMM_WORLD, n, dims.data(), periods.data(), 0, &cart);
      const CommOwner owner(cart);
      const std::size_t blocks = 2 * dims.size();
      std::vector<int> send(2 * blocks);
      std::vector<int> recv(2 * blocks);
      std::vector<int> expected(2 * blocks);
      const InfoOwner info_owner(info());
      stoker_request request = STOKER_REQUEST_NULL;
      ASSERT_TRUE(ok(stoker_neighbor_alltoall_init(send.data(), 2, MPI_INT, recv.data(), 2, MPI_INT, cart,
                                                   info_owner.get(), engine.get(), &request)));
      for (int epoch = 1; epoch <= 3; ++epoch) {
        for (std::size_t b = 0; b < blocks; ++b) {
          send[2 * b] = (1000 * epoch) + world_rank();
          send[(2 * b) + 1] = static_cast<int>(b);
          int before = 0;
          int after = 0;
          MPI_Cart_shift(cart, static_cast<int>(b / 2), 1, &before, &after);
          const int from = b % 2 == 0 ? before : after;
          expected[2 * b] = from == MPI_PROC_NULL ? -7 : (1000 * epoch) + from;
          expected[(2 * b) + 1] = from == MPI_PROC_NULL ? -7 : static_cast<int>(b ^ 1U);
        }
        std::fill(recv.begin(), recv.end(), -7);
        EXPECT_TRUE(ok(stoker_start(request)));
        EXPECT_TRUE(ok(stoker_wait(request)));
        EXPECT_EQ(recv, expected) << n << " dimensions, periodic " << periodic << ", epoch " << epoch;
      }
      EXPECT_TRUE(ok(stoker_request_free(&request)));
    }
  }
}

std::string case_name(const ::testing::TestParamInfo<NeighborhoodParameters>& test) {
  const auto& [ranks_per_node, executor, algorithm] = test.param;
  std::string name = (ranks_per_node == "0" ? "one_node" : ranks_per_node + "_per_node") + "_" + executor + "_" +
                     (algorithm == "locality-aware" ? "locality_aware" : algorithm);
  return name;
}

INSTANTIATE_TEST_SUITE_P(Layouts, Neighborhoods,
                         ::testing::Combine(::testing::Values("0", "2", "3"), ::testing::Values("engine", "inline"),
                                            ::testing::Values("auto", "nonblocking", "locality-aware")),
                         case_name);

TEST(Neighbors, GraphTopology) {
  // A ring as a graph: everybody's two neighbors, the next one first.
  const int ranks = world_size();
  if (ranks < 3) {
    GTEST_SKIP() << "a ring without repeated edges needs 3 ranks";
  }
  std::vector<int> index;
  std::vector<int> edges;
  for (int r = 0; r < ranks; ++r) {
    edges.insert(edges.end(), {(r + 1) % ranks, (r + ranks - 1) % ranks});
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Graph_create(MPI_COMM_WORLD, ranks, index.data(), edges.data(), 0, &comm);
  const CommOwner owner(comm);
  const EngineOwner engine(MPI_COMM_WORLD, {{"ranks_per_node", "2"}});
  std::vector<int> send(2);
  std::vector<int> recv(2);
  stoker_request request = STOKER_REQUEST_NULL;
  ASSERT_TRUE(ok(stoker_neighbor_alltoall_init_c(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, comm, MPI_INFO_NULL,
                                                 engine.get(), &request)));
  for (int epoch = 1; epoch <= 3; ++epoch) {
    send = {(100 * epoch) + world_rank(), (-100 * epoch) - world_rank()}; // to the next one, to the one before
    recv = {0, 0};
    EXPECT_TRUE(ok(stoker_start(request)));
    EXPECT_TRUE(ok(stoker_wait(request)));
    EXPECT_EQ(recv, (std::vector{(-100 * epoch) - ((world_rank() + 1) % ranks),
                                 (100 * epoch) + ((world_rank() + ranks - 1) % ranks)}));
  }
  EXPECT_TRUE(ok(stoker_request_free(&request)));
}

// Against MPI's own call, where the libraries agree: no two edges between the same ranks.
TEST(Neighbors, AgreesWithMpi) {
  const int ranks = world_size();
  Edges edges;
  for (int a = 0; a < ranks; ++a) {
    for (int b = ranks; b-- > 0;) {
      if ((a * 3 + b * 5) % 4 != 0) {
        edges.push_back({a, b, 1 + ((a + b) % 3), b % 2});
      }
    }
  }
  const CommOwner comm(graph_of(edges));
  const EngineOwner engine(MPI_COMM_WORLD, {{"ranks_per_node", "2"}});
  std::vector<int> sendcounts, sdispls, recvcounts, rdispls;
  int end = 0;
  for (const Edge& edge : edges) {
    if (edge.source == world_rank()) {
      sendcounts.push_back(edge.count);
      sdispls.push_back(edge.displacement);
    }
    if (edge.target == world_rank()) {
      recvcounts.push_back(edge.count);
      rdispls.push_back(end);
      end += edge.count;
    }
  }
  std::vector<double> send(8);
  std::iota(send.begin(), send.end(), 10.0 * world_rank());
  std::vector<double> from_mpi(static_cast<std::size_t>(end), -1);
  std::vector<double> recv(static_cast<std::size_t>(end), -2);
  MPI_Neighbor_alltoallv(send.data(), sendcounts.data(), sdispls.data(), MPI_DOUBLE, from_mpi.data(), recvcounts.data(),
                         rdispls.data(), MPI_DOUBLE, comm.get());
  for (const char* algorithm : {"nonblocking", "locality-aware"}) {
    const InfoOwner info(Settings{{"stoker_algorithm", algorithm}});
    stoker_request request = STOKER_REQUEST_NULL;
    ASSERT_TRUE(ok(stoker_neighbor_alltoallv_init(send.data(), sendcounts.data(), sdispls.data(), MPI_DOUBLE,
                                                  recv.data(), recvcounts.data(), rdispls.data(), MPI_DOUBLE,
                                                  comm.get(), info.get(), engine.get(), &request)));
    std::fill(recv.begin(), recv.end(), -2);
    EXPECT_TRUE(ok(stoker_start(request)));
    EXPECT_TRUE(ok(stoker_wait(request)));
    EXPECT_EQ(recv, from_mpi) << algorithm;
    EXPECT_TRUE(ok(stoker_request_free(&request)));
  }
}

TEST(Neighbors, DuplicatesCrossBetweenNodesOnce) {
  const int ranks = world_size();
  if (ranks < 4) {
    GTEST_SKIP() << "two nodes of two ranks need 4 ranks";
  }
  const int count = 100;
  const Edges edges = allgather_edges(ranks, count);
  const CommOwner comm(graph_of(edges));
  const EngineOwner engine(MPI_COMM_WORLD, {{"ranks_per_node", "2"}});
  const auto wire_bytes = [&](const Settings& info, bool strided) {
    GraphExchange exchange(edges, strided);
    EXPECT_TRUE(ok(exchange.init(engine.get(), comm.get(), info)));
    stoker_statistics statistics{};
    statistics.size = sizeof statistics;
    EXPECT_TRUE(ok(stoker_request_statistics(exchange.request(), &statistics)));
    std::uint64_t sum = statistics.bytes_wire;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum;
  };
  const int nodes = (ranks + 1) / 2;
  std::uint64_t pairs = 0; // of ranks on different nodes
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < ranks; ++b) {
      pairs += a / 2 != b / 2 ? 1 : 0;
    }
  }
  const auto once = std::uint64_t{4} * static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(nodes - 1) *
                    static_cast<std::uint64_t>(count);
  for (const bool strided : {false, true}) { // packed where they are not contiguous: also once
    EXPECT_EQ(wire_bytes({{"stoker_algorithm", "nonblocking"}}, strided), pairs * count * 4);
    EXPECT_EQ(wire_bytes({{"stoker_algorithm", "locality-aware"}}, strided), once);
    const std::uint64_t by_default = wire_bytes({}, strided); // which of the two, is the machine model's to say
    EXPECT_TRUE(by_default == once || by_default == pairs * count * 4) << by_default;
  }
}

// The usual halo exchange: edges and halo are cells of one array, next to each other.
TEST(Neighbors, HaloWithinOneArray) {
  const int ranks = world_size();
  const int periodic = 1;
  MPI_Comm ring = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  const CommOwner owner(ring);
  const EngineOwner engine(MPI_COMM_WORLD, {{"ranks_per_node", "2"}});
  constexpr int cells = 4; // 0 and 5 are the halo
  std::vector<double> u(cells + 2);
  const std::vector<MPI_Count> counts = {1, 1};
  const std::vector<MPI_Aint> edges = {1, cells};
  const std::vector<MPI_Aint> halo = {0, cells + 1};
  const int before = (world_rank() + ranks - 1) % ranks;
  const int after = (world_rank() + 1) % ranks;
  for (const char* algorithm : {"nonblocking", "locality-aware"}) {
    const InfoOwner info(Settings{{"stoker_algorithm", algorithm}});
    stoker_request request = STOKER_REQUEST_NULL;
    ASSERT_TRUE(
        ok(stoker_neighbor_alltoallv_init_c(u.data(), counts.data(), edges.data(), MPI_DOUBLE, u.data(), counts.data(),
                                            halo.data(), MPI_DOUBLE, ring, info.get(), engine.get(), &request)));
    for (int epoch = 1; epoch <= 3; ++epoch) {
      const auto cell = [&](int rank, int i) { return (1000.0 * epoch) + (10.0 * rank) + i; };
      for (int i = 1; i <= cells; ++i) {
        u[static_cast<std::size_t>(i)] = cell(world_rank(), i);
      }
      u.front() = u.back() = -1;
      EXPECT_TRUE(ok(stoker_start(request)));
      EXPECT_TRUE(ok(stoker_wait(request)));
      EXPECT_EQ(u.front(), cell(before, cells)) << algorithm;
      EXPECT_EQ(u.back(), cell(after, 1)) << algorithm;
    }
    EXPECT_TRUE(ok(stoker_request_free(&request)));
  }
  // A cell that is sent and received.
  stoker_request request = STOKER_REQUEST_NULL;
  EXPECT_TRUE(refused(stoker_neighbor_alltoallv_init_c(u.data(), counts.data(), edges.data(), MPI_DOUBLE, u.data(),
                                                       counts.data(), edges.data(), MPI_DOUBLE, ring, MPI_INFO_NULL,
                                                       engine.get(), &request),
                      STOKER_ERR_ARGUMENT, {"sendbuf and recvbuf overlap"}));
}

TEST(Neighbors, WhatCannotWorkIsRefusedOnEveryRank) {
  const EngineOwner engine(MPI_COMM_WORLD);
  std::vector<int> send(16);
  std::vector<int> recv(16);
  stoker_request request = STOKER_REQUEST_NULL;
  EXPECT_TRUE(refused(stoker_neighbor_alltoall_init(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, MPI_COMM_WORLD,
                                                    MPI_INFO_NULL, engine.get(), &request),
                      STOKER_ERR_ARGUMENT, {"comm has no topology", "MPI_Dist_graph_create"}));

  const int dim = world_size();
  const int periodic = 1;
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &dim, &periodic, 0, &cart);
  const CommOwner owner(cart);
  const auto init = [&](const void* from, int sendcount, int recvcount, const Settings& settings) {
    const InfoOwner info(settings);
    return stoker_neighbor_alltoall_init(from, sendcount, MPI_INT, recv.data(), recvcount, MPI_INT, cart, info.get(),
                                         engine.get(), &request);
  };
  EXPECT_TRUE(refused(init(MPI_IN_PLACE, 1, 1, {}), STOKER_ERR_ARGUMENT, {"MPI_IN_PLACE", "neighborhood"}));
  EXPECT_TRUE(refused(init(nullptr, 1, 1, {}), STOKER_ERR_ARGUMENT, {"sendbuf is null"}));
  EXPECT_TRUE(refused(init(send.data(), -1, 1, {}), STOKER_ERR_ARGUMENT, {"sendcounts[0] is -1"}));
  EXPECT_TRUE(refused(init(send.data(), 1, 2, {}), STOKER_ERR_MISMATCH, {"sends 4 bytes", "expect 8"}));
  EXPECT_TRUE(refused(init(send.data(), 1, 1, {{"stoker_algorithm", "radix"}}), STOKER_ERR_SETTING,
                      {"there is no algorithm radix for neighbor_alltoall", "nonblocking, locality-aware"}));
  EXPECT_TRUE(refused(init(send.data(), 1, 1, {{"stoker_algorithm", "locality"}}), STOKER_ERR_SETTING,
                      {"did you mean locality-aware?"}));
  if (world_size() > 1) {
    const Settings choice = {{"stoker_algorithm", world_rank() == 0 ? "nonblocking" : "locality-aware"}};
    EXPECT_TRUE(refused(init(send.data(), 1, 1, choice), STOKER_ERR_MISMATCH, {"stoker_algorithm"}));
    // An edge that its target does not know.
    const int next = (world_rank() + 1) % dim;
    MPI_Comm crooked = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, nullptr, MPI_UNWEIGHTED, world_rank() == 0 ? 1 : 0, &next,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &crooked);
    const CommOwner crooked_owner(crooked);
    EXPECT_TRUE(refused(stoker_neighbor_alltoall_init(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, crooked,
                                                      MPI_INFO_NULL, engine.get(), &request),
                        STOKER_ERR_MISMATCH, {"topology", "rank 1"}));
  }
  EXPECT_EQ(request, STOKER_REQUEST_NULL);
}

} // namespace
} // namespace api_tests
