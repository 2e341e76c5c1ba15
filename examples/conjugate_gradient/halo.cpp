// SPDX-License-Identifier: BSD-3-Clause
// Halo exchange with MPI and with stoker.
#include "halo.hpp"

#include <limits>
#include <numeric>
#include <utility>

namespace conjugate_gradient {
namespace {

template <class T>
std::vector<T> displacements(const std::vector<int>& counts) {
  std::vector<T> displs(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), T{0});
  return displs;
}

std::size_t total(const std::vector<int>& counts) {
  return static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), 0));
}

class MpiHalo : public Halo {
public:
  MpiHalo(bool blocking, const HaloCounts& counts, int own, MPI_Comm comm)
      : blocking_(blocking), comm_(comm), counts_(counts), send_displs_(displacements<int>(counts.send)),
        recv_displs_(displacements<int>(counts.recv)), send_(total(counts.send)),
        own_and_halo_(static_cast<std::size_t>(own) + total(counts.recv)), halo_(own_and_halo_.data() + own) {
    outgoing_ = send_;
    vector_ = own_and_halo_;
  }
  void start() override {
    if (blocking_) {
      MPI_Alltoallv(send_.data(), counts_.send.data(), send_displs_.data(), MPI_DOUBLE, halo_, counts_.recv.data(),
                    recv_displs_.data(), MPI_DOUBLE, comm_);
    } else {
      MPI_Ialltoallv(send_.data(), counts_.send.data(), send_displs_.data(), MPI_DOUBLE, halo_, counts_.recv.data(),
                     recv_displs_.data(), MPI_DOUBLE, comm_, &request_);
    }
  }
  void wait() override { MPI_Wait(&request_, MPI_STATUS_IGNORE); }

private:
  bool blocking_;
  MPI_Comm comm_;
  HaloCounts counts_;
  std::vector<int> send_displs_, recv_displs_;
  std::vector<double> send_, own_and_halo_;
  double* halo_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

class StokerHalo : public Halo {
public:
  StokerHalo(const HaloCounts& counts, int own, std::shared_ptr<stoker::Engine> engine, MPI_Comm comm)
      : engine_(std::move(engine)), send_(engine_->allocate<double>(total(counts.send))),
        own_and_halo_(engine_->allocate<double>(static_cast<std::size_t>(own) + total(counts.recv))) {
    outgoing_ = send_;
    vector_ = own_and_halo_;
    const std::vector<MPI_Count> send_counts(counts.send.begin(), counts.send.end());
    const std::vector<MPI_Count> recv_counts(counts.recv.begin(), counts.recv.end());
    request_ = engine_->alltoallv_init<double>(outgoing_, send_counts, displacements<MPI_Aint>(counts.send),
                                               vector_.subspan(static_cast<std::size_t>(own)), recv_counts,
                                               displacements<MPI_Aint>(counts.recv), comm);
  }
  void start() override { request_.start(); }
  void wait() override { request_.wait(); }
  [[nodiscard]] double hidden() const override {
    const stoker_statistics s = request_.statistics();
    return s.hidden_seconds / s.exchange_seconds;
  }
  [[nodiscard]] std::string executor() const override { return request_.statistics().executor; }

private:
  std::shared_ptr<stoker::Engine> engine_;
  stoker::MappedArray<double> send_, own_and_halo_;
  stoker::Request request_;
};

} // namespace

const char* name_of(Variant variant) {
  switch (variant) {
  case Variant::mpi:
    return "mpi";
  case Variant::mpi_nonblocking:
    return "mpi-nonblocking";
  case Variant::stoker:
    return "stoker";
  case Variant::stoker_inline:
    return "stoker-inline";
  }
  return "?";
}

bool is_stoker(Variant variant) { return variant == Variant::stoker || variant == Variant::stoker_inline; }

double Halo::hidden() const { return std::numeric_limits<double>::quiet_NaN(); }

std::shared_ptr<stoker::Engine> make_engine(Variant variant, const Settings& settings, MPI_Comm comm) {
  if (!is_stoker(variant)) {
    return nullptr;
  }
  Settings chosen = settings;
  if (variant == Variant::stoker_inline) {
    chosen.emplace_back("executor", "inline");
  }
  return std::make_shared<stoker::Engine>(comm, chosen);
}

std::unique_ptr<Halo> make_halo(Variant variant, const HaloCounts& counts, int own,
                                std::shared_ptr<stoker::Engine> engine, MPI_Comm comm) {
  if (!is_stoker(variant)) {
    return std::make_unique<MpiHalo>(variant == Variant::mpi, counts, own, comm);
  }
  return std::make_unique<StokerHalo>(counts, own, std::move(engine), comm);
}

} // namespace conjugate_gradient
