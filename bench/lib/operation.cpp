// SPDX-License-Identifier: BSD-3-Clause
// The ways to carry out an exchange: see operation.hpp.
#include "bench/lib/operation.hpp"

#include <mpi.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include <stdexcept>
#include <utility>
#include <vector>

// Persistent collectives by the name that the library has for them.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define BENCH_PERSISTENT(call) MPI_##call
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define BENCH_PERSISTENT(call) MPIX_##call
#endif

namespace stoker::bench {

namespace {

class MpiBlocking final : public Operation {
public:
  explicit MpiBlocking(const Exchange& exchange) : x_(exchange) {}
  void start() override {
    switch (x_.collective()) {
    case Collective::alltoall:
      MPI_Alltoall(x_.send().data(), x_.count(), MPI_BYTE, x_.recv().data(), x_.count(), MPI_BYTE, x_.comm());
      break;
    case Collective::alltoallv:
      MPI_Alltoallv(x_.send().data(), x_.send_counts().data(), x_.send_displs().data(), MPI_BYTE, x_.recv().data(),
                    x_.recv_counts().data(), x_.recv_displs().data(), MPI_BYTE, x_.comm());
      break;
    case Collective::allreduce:
      MPI_Allreduce(x_.operand().data(), x_.result().data(), x_.elements(), MPI_DOUBLE, MPI_SUM, x_.comm());
      break;
    case Collective::reduce:
      MPI_Reduce(x_.operand().data(), x_.result().data(), x_.elements(), MPI_DOUBLE, MPI_SUM, root_rank, x_.comm());
      break;
    case Collective::bcast:
      MPI_Bcast(x_.vector().data(), x_.count(), MPI_BYTE, root_rank, x_.comm());
      break;
    }
  }
  bool test() override { return true; }
  void wait() override {}
  [[nodiscard]] std::string name() const override { return "mpi-blocking"; }

private:
  const Exchange& x_;
};

// Holds the request of a nonblocking or persistent operation.
class MpiRequest : public Operation {
public:
  MpiRequest() = default;
  MpiRequest(const MpiRequest&) = delete;
  MpiRequest& operator=(const MpiRequest&) = delete;
  ~MpiRequest() override {
    if (request_ != MPI_REQUEST_NULL) {
      MPI_Request_free(&request_);
    }
  }
  bool test() override {
    int flag = 0;
    MPI_Test(&request_, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
  }
  void wait() override { MPI_Wait(&request_, MPI_STATUS_IGNORE); }

protected:
  MPI_Request request_ = MPI_REQUEST_NULL;
};

class MpiNonblocking final : public MpiRequest {
public:
  explicit MpiNonblocking(const Exchange& exchange) : x_(exchange) {}
  void start() override {
    switch (x_.collective()) {
    case Collective::alltoall:
      MPI_Ialltoall(x_.send().data(), x_.count(), MPI_BYTE, x_.recv().data(), x_.count(), MPI_BYTE, x_.comm(),
                    &request_);
      break;
    case Collective::alltoallv:
      MPI_Ialltoallv(x_.send().data(), x_.send_counts().data(), x_.send_displs().data(), MPI_BYTE, x_.recv().data(),
                     x_.recv_counts().data(), x_.recv_displs().data(), MPI_BYTE, x_.comm(), &request_);
      break;
    case Collective::allreduce:
      MPI_Iallreduce(x_.operand().data(), x_.result().data(), x_.elements(), MPI_DOUBLE, MPI_SUM, x_.comm(), &request_);
      break;
    case Collective::reduce:
      MPI_Ireduce(x_.operand().data(), x_.result().data(), x_.elements(), MPI_DOUBLE, MPI_SUM, root_rank, x_.comm(),
                  &request_);
      break;
    case Collective::bcast:
      MPI_Ibcast(x_.vector().data(), x_.count(), MPI_BYTE, root_rank, x_.comm(), &request_);
      break;
    }
  }
  [[nodiscard]] std::string name() const override { return "mpi-nonblocking"; }

private:
  const Exchange& x_;
};

#ifdef BENCH_PERSISTENT
class MpiPersistent final : public MpiRequest {
public:
  explicit MpiPersistent(const Exchange& x) : init_(x.comm()) {
    switch (x.collective()) {
    case Collective::alltoall:
      BENCH_PERSISTENT(Alltoall_init)
      (x.send().data(), x.count(), MPI_BYTE, x.recv().data(), x.count(), MPI_BYTE, x.comm(), MPI_INFO_NULL, &request_);
      break;
    case Collective::alltoallv:
      BENCH_PERSISTENT(Alltoallv_init)
      (x.send().data(), x.send_counts().data(), x.send_displs().data(), MPI_BYTE, x.recv().data(),
       x.recv_counts().data(), x.recv_displs().data(), MPI_BYTE, x.comm(), MPI_INFO_NULL, &request_);
      break;
    case Collective::allreduce:
      BENCH_PERSISTENT(Allreduce_init)
      (x.operand().data(), x.result().data(), x.elements(), MPI_DOUBLE, MPI_SUM, x.comm(), MPI_INFO_NULL, &request_);
      break;
    case Collective::reduce:
      BENCH_PERSISTENT(Reduce_init)
      (x.operand().data(), x.result().data(), x.elements(), MPI_DOUBLE, MPI_SUM, root_rank, x.comm(), MPI_INFO_NULL,
       &request_);
      break;
    case Collective::bcast:
      BENCH_PERSISTENT(Bcast_init)
      (x.vector().data(), x.count(), MPI_BYTE, root_rank, x.comm(), MPI_INFO_NULL, &request_);
      break;
    }
    init_.stop();
  }
  void start() override { MPI_Start(&request_); }
  [[nodiscard]] std::string name() const override { return "mpi-persistent"; }
  [[nodiscard]] std::optional<double> init_us() const override { return init_.us(); }

private:
  InitTimer init_;
};
#endif

// An operation of the MPI library, which is not asked whether it knows devices, on copies in the memory of the host.
class HostStaged final : public Operation {
public:
  HostStaged(const Exchange& x, std::unique_ptr<Operation> inner) : x_(x), inner_(std::move(inner)) {}
  void start() override {
    x_.fetch_sent();
    inner_->start();
  }
  bool test() override {
    const bool done = inner_->test();
    if (done) {
      x_.deliver_received();
    }
    return done;
  }
  void wait() override {
    inner_->wait();
    x_.deliver_received();
  }
  [[nodiscard]] std::string name() const override { return inner_->name(); }
  [[nodiscard]] std::optional<double> init_us() const override { return inner_->init_us(); }

private:
  const Exchange& x_;
  std::unique_ptr<Operation> inner_;
};

std::unique_ptr<Operation> reaching(const Exchange& x, std::unique_ptr<Operation> operation) {
  return x.on_device() ? std::make_unique<HostStaged>(x, std::move(operation)) : std::move(operation);
}

class StokerPersistent final : public Operation {
public:
  StokerPersistent(const Exchange& x, Engine& engine, const std::string& executor, const std::string& algorithm)
      : init_(x.comm()) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "stoker_executor", executor.c_str());
    if (!algorithm.empty()) {
      MPI_Info_set(info, "stoker_algorithm", algorithm.c_str());
    }
    request_ = init(x, engine, info);
    MPI_Info_free(&info);
    init_.stop();
    if (name() != executor) {
      throw std::runtime_error("executor " + executor + " was asked for, and the engine chose " + name());
    }
  }
  void start() override { request_.start(); }
  bool test() override { return request_.test(); }
  void wait() override { request_.wait(); }
  [[nodiscard]] std::string name() const override { return request_.statistics().executor; }
  [[nodiscard]] std::string algorithm() const override { return request_.statistics().algorithm; }
  [[nodiscard]] bool needs_helpers() const override { return name() == "engine"; }
  [[nodiscard]] std::optional<double> init_us() const override { return init_.us(); }
  [[nodiscard]] std::optional<PhaseSums> phases() const override {
    const stoker_statistics s = request_.statistics();
    return PhaseSums{static_cast<double>(s.starts), s.before_wire_seconds, s.wire_seconds, s.exchange_seconds};
  }

private:
  static Request init(const Exchange& x, Engine& engine, MPI_Info info) {
    const auto counts = [](const std::vector<int>& c) { return std::vector<MPI_Count>(c.begin(), c.end()); };
    const auto displs = [](const std::vector<int>& d) { return std::vector<MPI_Aint>(d.begin(), d.end()); };
    const std::span<double> operand = Exchange::as_doubles(x.own_send());
    const std::span<double> result = Exchange::as_doubles(x.own_recv());
    switch (x.collective()) {
    case Collective::alltoall:
      return engine.alltoall_init<std::byte>(x.own_send(), x.own_recv(), x.comm(), info);
    case Collective::alltoallv:
      return engine.alltoallv_init<std::byte>(x.own_send(), counts(x.send_counts()), displs(x.send_displs()),
                                              x.own_recv(), counts(x.recv_counts()), displs(x.recv_displs()), x.comm(),
                                              info);
    case Collective::allreduce:
      return engine.allreduce_init<double>(operand, result, MPI_SUM, x.comm(), info);
    case Collective::reduce:
      return engine.reduce_init<double>(operand, result, MPI_SUM, root_rank, x.comm(), info);
    case Collective::bcast:
      return engine.bcast_init<std::byte>(x.own_vector(), root_rank, x.comm(), info);
    }
    throw std::logic_error("no such collective");
  }

  InitTimer init_;
  Request request_;
};

} // namespace

std::unique_ptr<Operation> mpi_blocking(const Exchange& exchange) {
  return reaching(exchange, std::make_unique<MpiBlocking>(exchange));
}

std::unique_ptr<Operation> mpi_nonblocking(const Exchange& exchange) {
  return reaching(exchange, std::make_unique<MpiNonblocking>(exchange));
}

std::unique_ptr<Operation> mpi_persistent([[maybe_unused]] const Exchange& exchange) {
#ifdef BENCH_PERSISTENT
  return reaching(exchange, std::make_unique<MpiPersistent>(exchange));
#else
  return nullptr;
#endif
}

std::unique_ptr<Operation> stoker_persistent(const Exchange& exchange, Engine& engine, const std::string& executor,
                                             const std::string& algorithm) {
  return std::make_unique<StokerPersistent>(exchange, engine, executor, algorithm);
}

void validate(Operation& operation, Exchange& exchange) {
  for (int epoch = 1; epoch <= 3; ++epoch) {
    exchange.fill(epoch);
    MPI_Barrier(exchange.comm());
    operation.run();
    exchange.check(epoch, operation.name());
  }
}

} // namespace stoker::bench
