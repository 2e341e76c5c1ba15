// SPDX-License-Identifier: BSD-3-Clause
// Sums over all ranks with MPI and with stoker.
#include "reduction.hpp"

#include <limits>
#include <utility>
#include <vector>

namespace conjugate_gradient {
namespace {

class MpiReduction : public Reduction {
public:
  MpiReduction(bool blocking, std::size_t count, MPI_Comm comm)
      : blocking_(blocking), comm_(comm), send_(count), recv_(count) {
    addends_ = send_;
    sums_ = recv_;
  }
  void start() override {
    const int count = static_cast<int>(send_.size());
    if (blocking_) {
      MPI_Allreduce(send_.data(), recv_.data(), count, MPI_DOUBLE, MPI_SUM, comm_);
    } else {
      MPI_Iallreduce(send_.data(), recv_.data(), count, MPI_DOUBLE, MPI_SUM, comm_, &request_);
    }
  }
  void wait() override { MPI_Wait(&request_, MPI_STATUS_IGNORE); }

private:
  bool blocking_;
  MPI_Comm comm_;
  std::vector<double> send_, recv_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

class StokerReduction : public Reduction {
public:
  StokerReduction(std::size_t count, std::shared_ptr<stoker::Engine> engine, MPI_Comm comm)
      : engine_(std::move(engine)), send_(engine_->allocate<double>(count)), recv_(engine_->allocate<double>(count)) {
    addends_ = send_;
    sums_ = recv_;
    request_ = engine_->allreduce_init<double>(addends_, sums_, MPI_SUM, comm);
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
  stoker::MappedArray<double> send_, recv_;
  stoker::Request request_;
};

} // namespace

const char* name_of(Reduce reduce) {
  switch (reduce) {
  case Reduce::stoker:
    return "stoker";
  case Reduce::mpi:
    return "mpi";
  case Reduce::blocking:
    return "blocking";
  }
  return "?";
}

double Reduction::hidden() const { return std::numeric_limits<double>::quiet_NaN(); }

std::unique_ptr<Reduction> make_reduction(Reduce reduce, std::size_t count, std::shared_ptr<stoker::Engine> engine,
                                          MPI_Comm comm) {
  if (reduce == Reduce::stoker) {
    return std::make_unique<StokerReduction>(count, std::move(engine), comm);
  }
  return std::make_unique<MpiReduction>(reduce == Reduce::blocking, count, comm);
}

} // namespace conjugate_gradient
