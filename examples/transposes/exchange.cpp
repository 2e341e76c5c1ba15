// SPDX-License-Identifier: BSD-3-Clause
// The exchanges: MPI's three ways, and stoker.
#include "examples/transposes/exchange.hpp"

#include <stoker/stoker.hpp>

#include <algorithm>

namespace transposes {
namespace {

class Memory {
public:
  std::span<Complex> allocate(std::size_t count) {
    arrays_.push_back(aligned_array<Complex>(count));
    return {arrays_.back().get(), count};
  }

private:
  std::vector<AlignedArray<Complex>> arrays_;
};

class MpiExchange : public Exchange {
public:
  MpiExchange(Variant variant, MPI_Comm comm) : variant_(variant), comm_(comm) { MPI_Comm_size(comm, &ranks_); }

  std::span<Complex> allocate(std::size_t count) override { return memory_.allocate(count); }

  std::size_t add(std::span<const Complex> send, std::span<Complex> recv) override {
    return add({.sum = false,
                .send = send.data(),
                .recv = recv.data(),
                .doubles = static_cast<int>(2 * send.size() / static_cast<std::size_t>(ranks_))});
  }

  std::size_t add_sum(std::span<const Complex> addends, std::span<Complex> sums) override {
    return add(
        {.sum = true, .send = addends.data(), .recv = sums.data(), .doubles = static_cast<int>(2 * addends.size())});
  }

protected:
  void do_start(std::size_t i) override {
    const auto& [sum, send, recv, doubles] = calls_[i];
    if (variant_ == Variant::mpi_blocking) {
      if (sum) {
        MPI_Allreduce(send, recv, doubles, MPI_DOUBLE, MPI_SUM, comm_);
      } else {
        MPI_Alltoall(send, doubles, MPI_DOUBLE, recv, doubles, MPI_DOUBLE, comm_);
      }
      return;
    }
    if (sum) {
      MPI_Iallreduce(send, recv, doubles, MPI_DOUBLE, MPI_SUM, comm_, &requests_[i]);
    } else {
      MPI_Ialltoall(send, doubles, MPI_DOUBLE, recv, doubles, MPI_DOUBLE, comm_, &requests_[i]);
    }
    under_way_.push_back(i);
  }
  void do_wait(std::size_t i) override {
    MPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
    std::erase(under_way_, i);
  }
  // A test of one progresses all.
  void do_poll() override {
    if (variant_ == Variant::mpi_nonblocking_test && !under_way_.empty()) {
      int flag = 0;
      MPI_Test(&requests_[under_way_.front()], &flag, MPI_STATUS_IGNORE);
      if (flag != 0) {
        under_way_.erase(under_way_.begin());
      }
    }
  }

private:
  struct Call {
    bool sum; // or an all-to-all
    const Complex* send;
    Complex* recv;
    int doubles; // of all, or of a block
  };
  std::size_t add(const Call& call) {
    calls_.push_back(call);
    requests_.push_back(MPI_REQUEST_NULL);
    return calls_.size() - 1;
  }

  Variant variant_;
  MPI_Comm comm_;
  int ranks_ = 1;
  Memory memory_;
  std::vector<Call> calls_;
  std::vector<MPI_Request> requests_;
  std::vector<std::size_t> under_way_; // in the order of their starts
};

class StokerExchange : public Exchange {
public:
  StokerExchange(MPI_Comm comm, const EngineOptions& options, bool tests)
      : comm_(comm), engine_(comm, options.settings), mapped_buffers_(options.mapped_buffers), tests_(tests) {}

  std::span<Complex> allocate(std::size_t count) override {
    if (!mapped_buffers_) {
      return memory_.allocate(count);
    }
    arrays_.push_back(engine_.allocate<Complex>(count));
    std::fill(arrays_.back().begin(), arrays_.back().end(), Complex{});
    return arrays_.back();
  }

  std::size_t add(std::span<const Complex> send, std::span<Complex> recv) override {
    return add(engine_.alltoall_init(send, recv, comm_));
  }

  std::size_t add_sum(std::span<const Complex> addends, std::span<Complex> sums) override {
    // Real and imaginary parts, which is what an array of std::complex is.
    return add(engine_.allreduce_init<double>({reinterpret_cast<const double*>(addends.data()), 2 * addends.size()},
                                              {reinterpret_cast<double*>(sums.data()), 2 * sums.size()}, MPI_SUM,
                                              comm_));
  }

  void begin(const char* region) override { engine_.trace_begin(region); }
  void end() override { engine_.trace_end(); }

  [[nodiscard]] ExchangeTimes times() const override {
    ExchangeTimes times = Exchange::times();
    times.helper = engine_.facts().helper_cpu_seconds;
    for (const stoker::Request& request : requests_) {
      const stoker_statistics s = request.statistics();
      times.exchange += s.exchange_seconds;
      times.hidden += s.hidden_seconds;
    }
    return times;
  }
  [[nodiscard]] std::string executor() const override {
    return requests_.empty() ? "none" : requests_.front().statistics().executor;
  }

protected:
  void do_start(std::size_t i) override {
    begin("start");
    requests_[i].start();
    end();
  }
  void do_wait(std::size_t i) override {
    begin("wait");
    requests_[i].wait();
    end();
  }
  void do_poll() override {
    if (tests_) {
      (void)stoker::test_all(requests_); // each is waited for later
    }
  }

private:
  std::size_t add(stoker::Request request) {
    requests_.push_back(std::move(request));
    return requests_.size() - 1;
  }

  MPI_Comm comm_;
  stoker::Engine engine_;
  bool mapped_buffers_;
  bool tests_;
  Memory memory_;
  std::vector<stoker::MappedArray<Complex>> arrays_;
  std::vector<stoker::Request> requests_;
};

} // namespace

const char* name_of(Variant variant) {
  switch (variant) {
  case Variant::mpi_blocking:
    return "mpi-blocking";
  case Variant::mpi_nonblocking:
    return "mpi-nonblocking";
  case Variant::mpi_nonblocking_test:
    return "mpi-nonblocking-test";
  case Variant::stoker:
    return "stoker";
  case Variant::stoker_test:
    return "stoker-test";
  case Variant::stoker_inline:
    return "stoker-inline";
  }
  return "?";
}

bool is_stoker(Variant variant) { return variant >= Variant::stoker; }

void Exchange::start(std::size_t i) {
  const double before = MPI_Wtime();
  do_start(i);
  exposed_ += MPI_Wtime() - before;
}

void Exchange::wait(std::size_t i) {
  const double before = MPI_Wtime();
  do_wait(i);
  exposed_ += MPI_Wtime() - before;
}

void Exchange::poll() {
  const double before = MPI_Wtime();
  do_poll();
  exposed_ += MPI_Wtime() - before;
}

std::unique_ptr<Exchange> make_exchange(Variant variant, MPI_Comm comm, const EngineOptions& options) {
  if (!is_stoker(variant)) {
    return std::make_unique<MpiExchange>(variant, comm);
  }
  EngineOptions chosen = options;
  if (variant == Variant::stoker_inline) {
    chosen.settings.emplace_back("executor", "inline");
  }
  return std::make_unique<StokerExchange>(comm, chosen, variant != Variant::stoker);
}

} // namespace transposes
