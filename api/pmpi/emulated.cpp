// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/emulated.hpp"

#include "api/pmpi/kept_types.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/mpi_calls.hpp"
#include "api/pmpi/operators.hpp"
#include "engine/agreement.hpp"

#include <atomic>
#include <utility>
#include <vector>

namespace stoker::pmpi {
namespace {

using engine::check_mpi;

std::atomic<int> made{0}; // communicators, which are kept

template <class Wide>
class KeptNumbers {
public:
  KeptNumbers(const Numbers<Wide>& given, std::size_t count)
      : narrow_(given.narrow, given.narrow == nullptr ? nullptr : given.narrow + count),
        wide_(given.wide, given.wide == nullptr ? nullptr : given.wide + count) {
    narrow_.reserve(1); // where there is no neighbor Open MPI still refuses null
    wide_.reserve(1);
  }
  void put_into(Numbers<Wide>& numbers) const {
    numbers = {numbers.narrow == nullptr ? nullptr : narrow_.data(), numbers.wide == nullptr ? nullptr : wide_.data()};
  }

private:
  std::vector<int> narrow_;
  std::vector<Wide> wide_;
};

class KeptCall {
public:
  KeptCall(const CollectiveCall& given, const Significant& read)
      : call_(given), send_counts_(given.sendcounts, read.counts.send), send_displs_(given.sdispls, read.counts.send),
        recv_counts_(given.recvcounts, read.counts.recv), recv_displs_(given.rdispls, read.counts.recv),
        send_types_(given.sendtypes, types_of(given.family, read.counts.send), read.send),
        recv_types_(given.recvtypes, types_of(given.family, read.counts.recv), read.recv), op_(given.op) {
    send_counts_.put_into(call_.sendcounts);
    send_displs_.put_into(call_.sdispls);
    recv_counts_.put_into(call_.recvcounts);
    recv_displs_.put_into(call_.rdispls);
    call_.sendtypes = send_types_.data();
    call_.recvtypes = recv_types_.data();
  }
  [[nodiscard]] const CollectiveCall& call() const { return call_; }

private:
  CollectiveCall call_;
  KeptNumbers<MPI_Count> send_counts_;
  KeptNumbers<MPI_Aint> send_displs_;
  KeptNumbers<MPI_Count> recv_counts_;
  KeptNumbers<MPI_Aint> recv_displs_;
  KeptTypes send_types_;
  KeptTypes recv_types_;
  OperatorUse op_;
};

class Emulated final : public Request {
public:
  explicit Emulated(const CollectiveCall& call) : Request(call.comm), kept_(call, significant(call)) {
    check_mpi(MPI_Comm_dup(call.comm, &own_), "MPI_Comm_dup");
    made.fetch_add(1, std::memory_order_relaxed);
    MPI_Comm_set_errhandler(own_, MPI_ERRORS_RETURN);
  }

  [[nodiscard]] bool persistent() const override { return true; }
  [[nodiscard]] bool active() const override { return active_; }
  void start() override {
    check_mpi(start_mpi(kept_.call(), own_, &request_, arrays_), "the nonblocking collective of a persistent one");
    active_ = true;
    code_ = MPI_SUCCESS;
  }
  [[nodiscard]] bool done() override {
    if (request_ == MPI_REQUEST_NULL) {
      return true;
    }
    int flag = 0;
    code_ = real().MPI_Test(&request_, &flag, MPI_STATUS_IGNORE);
    return request_ == MPI_REQUEST_NULL || code_ != MPI_SUCCESS;
  }
  void wait() override {
    if (request_ != MPI_REQUEST_NULL) {
      code_ = real().MPI_Wait(&request_, MPI_STATUS_IGNORE);
    }
  }
  void finish() override {
    active_ = false;
    request_ = MPI_REQUEST_NULL;
    check_mpi(code_, "the nonblocking collective of a persistent one");
  }

private:
  KeptCall kept_;
  NarrowArrays arrays_;
  MPI_Comm own_ = MPI_COMM_NULL;
  MPI_Request request_ = MPI_REQUEST_NULL;
  int code_ = MPI_SUCCESS;
  bool active_ = false;
};

} // namespace

std::unique_ptr<Request> make_emulated(const CollectiveCall& call) { return std::make_unique<Emulated>(call); }

bool can_emulate_more() {
  constexpr int most = 512; // MPI libraries have a few thousands
  return made.load(std::memory_order_relaxed) < most;
}

} // namespace stoker::pmpi
