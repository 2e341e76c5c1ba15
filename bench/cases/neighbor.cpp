// SPDX-License-Identifier: BSD-3-Clause
// neighbor: a neighborhood all-to-all with counts on a ring of ranks, each with so many neighbors on either side, Start
// and Wait back to back against MPI_Neighbor_alltoallv: every neighbor gets the same block, as in the halo of a sparse
// matrix-vector product, or one of its own.
#include "bench/lib/benchmark.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace stoker::bench {

namespace {

// One exchange: its graph and its buffers.
class Ring {
public:
  Ring(MPI_Comm comm, int reach, std::uint64_t bytes, bool same) {
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    std::vector<int> neighbors;
    for (int distance = 1; distance <= reach; ++distance) {
      for (const int neighbor : {(rank + distance) % ranks, (rank + ranks - distance) % ranks}) {
        if (neighbor != rank && std::ranges::find(neighbors, neighbor) == neighbors.end()) {
          neighbors.push_back(neighbor);
        }
      }
    }
    const auto degree = neighbors.size();
    const int n = static_cast<int>(degree);
    MPI_Dist_graph_create_adjacent(comm, n, neighbors.data(), MPI_UNWEIGHTED, n, neighbors.data(), MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm_);
    counts_.assign(degree, static_cast<int>(bytes));
    for (std::size_t i = 0; i < degree; ++i) {
      recv_displs_.push_back(static_cast<int>(i * bytes));
    }
    send_displs_ = same ? std::vector<int>(degree, 0) : recv_displs_;
    send_.resize(same ? bytes : degree * bytes);
    recv_.resize(degree * bytes);
    for (std::size_t i = 0; i < send_.size(); ++i) {
      send_[i] = static_cast<std::byte>((i * 7) + (static_cast<std::size_t>(rank) * 31));
    }
    with_mpi(); // what MPI delivers is what has to arrive
    expected_ = recv_;
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() { MPI_Comm_free(&comm_); }

  void with_mpi() {
    MPI_Neighbor_alltoallv(send_.data(), counts_.data(), send_displs_.data(), MPI_BYTE, recv_.data(), counts_.data(),
                           recv_displs_.data(), MPI_BYTE, comm_);
  }
  // Three epochs of it have delivered the right data.
  [[nodiscard]] Request request(Engine& engine, const std::string& executor, const std::string& algorithm) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "stoker_executor", executor.c_str());
    MPI_Info_set(info, "stoker_algorithm", algorithm.c_str());
    const std::vector<MPI_Count> counts(counts_.begin(), counts_.end());
    const std::vector<MPI_Aint> send_displs(send_displs_.begin(), send_displs_.end());
    const std::vector<MPI_Aint> recv_displs(recv_displs_.begin(), recv_displs_.end());
    Request request =
        engine.neighbor_alltoallv_init<std::byte>(send_, counts, send_displs, recv_, counts, recv_displs, comm_, info);
    MPI_Info_free(&info);
    for (int epoch = 0; epoch < 3; ++epoch) {
      std::ranges::fill(recv_, std::byte{0xee});
      request.start();
      request.wait();
      if (recv_ != expected_) {
        throw std::runtime_error(fmt::format("wrong data: neighbor_alltoallv, {}, {}", algorithm, executor));
      }
    }
    return request;
  }

private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<int> counts_, send_displs_, recv_displs_;
  std::vector<std::byte> send_, recv_, expected_;
};

class Neighbor final : public Benchmark {
public:
  [[nodiscard]] std::string name() const override { return "neighbor"; }
  [[nodiscard]] std::string description() const override {
    return "neighborhood exchanges, of equal and of different data, against MPI_Neighbor_alltoallv";
  }

  void add_options(CLI::App& app) override {
    app.add_option("--bytes", bytes_, "of each block; K and M are powers of 1024")
        ->delimiter(',')
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    app.add_option("--reach", reach_, "neighbors of a rank on either side")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
  }

  void run(Session& session) override {
    Engine engine = session.make_engine("engine");
    session.describe(engine);
    HelperSwitch helpers(&engine);
    session.report().table({"data", "bytes", "executor", "algorithm", "iterations", "median_us", "mad_us", "ratio",
                            "init_us", "break_even"});
    for (const bool same : {true, false}) {
      for (const std::uint64_t bytes : bytes_) {
        run_point(session, engine, helpers, bytes, same);
      }
    }
  }

private:
  void run_point(Session& session, Engine& engine, HelperSwitch& helpers, std::uint64_t bytes, bool same) const {
    Ring ring(session.comm(), reach_, bytes, same);
    helpers.set(false);
    std::vector<Request> requests;
    std::vector<Variant> variants = {{[&] { ring.with_mpi(); }, [&] { helpers.set(false); }}};
    const int batch = batch_for(estimate_us(session.comm(), variants.front().body), session.budget());
    for (const char* algorithm : {"auto", "nonblocking", "locality-aware"}) {
      for (const char* executor : {"engine", "inline"}) {
        helpers.set(true);
        requests.push_back(ring.request(engine, executor, algorithm));
      }
    }
    for (Request& request : requests) {
      const bool running = std::string(request.statistics().executor) == "engine";
      variants.push_back({[&] {
                            request.start();
                            request.wait();
                          },
                          [&helpers, running] { helpers.set(running); }});
    }
    helpers.set(false);
    const auto times = measure(session.comm(), variants, batch, session.budget());
    for (std::size_t i = 0; i < variants.size(); ++i) {
      Row row;
      row.benchmark = name();
      row.collective = "neighbor_alltoallv";
      row.algorithm = i == 0 ? "mpi" : requests[i - 1].statistics().algorithm;
      row.executor = i == 0 ? "mpi-blocking" : requests[i - 1].statistics().executor;
      row.bytes = bytes;
      row.time = times[i];
      row.baseline_us = times[0].median;
      row.baseline = "mpi-blocking";
      row.ratio = times[i].median / times[0].median;
      if (i > 0) {
        row.init_us = slowest_rank(session.comm(), {1e6 * requests[i - 1].statistics().init_seconds}).front();
      }
      row.more["data"] = same ? "equal" : "different";
      row.more["reach"] = reach_;
      session.report().add(row);
    }
  }

  std::vector<std::uint64_t> bytes_ = {64, 4U << 10U, 64U << 10U, 256U << 10U};
  int reach_ = 3;
};

} // namespace

std::unique_ptr<Benchmark> make_neighbor() { return std::make_unique<Neighbor>(); }

} // namespace stoker::bench
