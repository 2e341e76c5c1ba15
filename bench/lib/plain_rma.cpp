// SPDX-License-Identifier: BSD-3-Clause
// Algorithms 1 to 3 of the paper: see plain_rma.hpp.
#include "bench/lib/plain_rma.hpp"
#include "bench/lib/native_rma.hpp"

#include <numeric>
#include <stdexcept>
#include <vector>

namespace stoker::bench {

namespace {

// The parts that the three algorithms have in common: the init, and the puts of Start.
class PlainAlltoallv : public Operation {
public:
  explicit PlainAlltoallv(const Exchange& x)
      : timer_(x.comm()), x_(x), window_(x.comm(), x.recv().data(), x.recv().size()),
        put_displs_(static_cast<std::size_t>(x.ranks())) {
    MPI_Alltoall(x.recv_displs().data(), 1, MPI_INT, put_displs_.data(), 1, MPI_INT, x.comm());
    std::vector<int> incoming(put_displs_.size());
    MPI_Alltoall(x.send_counts().data(), 1, MPI_INT, incoming.data(), 1, MPI_INT, x.comm());
    for (std::size_t p = 0; p < incoming.size(); ++p) {
      if (x.recv_counts()[p] < incoming[p]) {
        throw std::logic_error("a rank sends more than its peer expects");
      }
    }
  }
  bool test() override { throw std::logic_error("the plain one-sided forms have no test"); }
  [[nodiscard]] std::optional<double> init_us() const override { return timer_.us(); }

protected:
  void initialised() { timer_.stop(); }
  [[nodiscard]] MPI_Win window() const { return window_.get(); }
  [[nodiscard]] const Exchange& exchange() const { return x_; }
  void put(int target) {
    const auto p = static_cast<std::size_t>(target);
    MPI_Put(x_.send().data() + x_.send_displs()[p], x_.send_counts()[p], MPI_BYTE, target, put_displs_[p],
            x_.send_counts()[p], MPI_BYTE, window_.get());
  }

private:
  InitTimer timer_;
  const Exchange& x_;
  Window window_;
  std::vector<int> put_displs_; // in each peer's window
};

// Algorithm 1. The paper's first fence also asserts MPI_MODE_NOSTORE, which does not hold for a receive buffer that was
// poisoned, or used, since the last epoch.
class Fence : public PlainAlltoallv {
public:
  explicit Fence(const Exchange& x) : PlainAlltoallv(x), targets_(static_cast<std::size_t>(x.ranks())) {
    std::iota(targets_.begin(), targets_.end(), 0);
    initialised();
  }
  void start() override {
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window());
    for (const int target : targets_) {
      put(target);
    }
  }
  void wait() override { MPI_Win_fence(MPI_MODE_NOPUT | MPI_MODE_NOSUCCEED, window()); }
  [[nodiscard]] std::string name() const override { return "mpi-rma-fence"; }

protected:
  std::vector<int> targets_; // in the order of the puts
};

// Algorithm 2: targets on other nodes first.
class FenceHierarchy final : public Fence {
public:
  explicit FenceHierarchy(const Exchange& x) : Fence(x) {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(x.comm(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group local = MPI_GROUP_NULL;
    MPI_Comm_group(x.comm(), &all);
    MPI_Comm_group(node, &local);
    std::vector<int> in_node(targets_.size());
    MPI_Group_translate_ranks(all, x.ranks(), targets_.data(), local, in_node.data());
    MPI_Group_free(&local);
    MPI_Group_free(&all);
    MPI_Comm_free(&node);
    std::vector<int> remote;
    std::vector<int> near;
    for (std::size_t p = 0; p < targets_.size(); ++p) {
      (in_node[p] == MPI_UNDEFINED ? remote : near).push_back(targets_[p]);
    }
    targets_ = std::move(remote);
    targets_.insert(targets_.end(), near.begin(), near.end());
    initialised();
  }
  [[nodiscard]] std::string name() const override { return "mpi-rma-fence-hierarchy"; }
};

// Algorithm 3, with the barrier that the paper's text puts between its unlock and its lock. A rank that leaves the
// barrier first and starts again may put before its target has locked: the barrier before each timed region keeps
// epochs whose data are checked apart.
class Lock final : public PlainAlltoallv {
public:
  explicit Lock(const Exchange& x) : PlainAlltoallv(x) {
    MPI_Comm_rank(x.comm(), &rank_);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, window());
    initialised();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() override { MPI_Win_unlock(rank_, window()); }
  void start() override {
    MPI_Win_unlock(rank_, window());
    MPI_Win_lock_all(0, window());
    for (int target = 0; target < exchange().ranks(); ++target) {
      if (exchange().send_counts()[static_cast<std::size_t>(target)] > 0) {
        put(target);
      }
    }
  }
  void wait() override {
    MPI_Win_unlock_all(window());
    MPI_Barrier(exchange().comm());
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, window());
  }
  [[nodiscard]] std::string name() const override { return "mpi-rma-lock"; }

private:
  int rank_ = 0;
};

} // namespace

std::unique_ptr<Operation> plain_rma(const Exchange& exchange, PlainRma form) {
  switch (form) {
  case PlainRma::fence:
    return std::make_unique<Fence>(exchange);
  case PlainRma::lock:
    return std::make_unique<Lock>(exchange);
  case PlainRma::fence_hierarchy:
    return std::make_unique<FenceHierarchy>(exchange);
  }
  throw std::invalid_argument("no such form");
}

} // namespace stoker::bench
