// SPDX-License-Identifier: BSD-3-Clause
// A persistent collective as a nonblocking call of the MPI library's at each start, with copies of the arguments.
#pragma once

#include "api/pmpi/call.hpp"
#include "api/pmpi/kept_types.hpp"
#include "api/pmpi/mpi_calls.hpp"
#include "api/pmpi/operators.hpp"
#include "api/pmpi/private_comms.hpp"
#include "api/pmpi/request.hpp"

#include <vector>

namespace stoker::pmpi {

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
  KeptCall(const CollectiveCall& given, const Significant& read);
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
  // Local. Throws engine::Error.
  explicit Emulated(const CollectiveCall& call) : Request(call.comm), kept_(call, significant(call)) {}
  // Before it is started.
  void use(CommLease own) { own_ = std::move(own); }
  [[nodiscard]] PrivateComm& own() const { return *own_; }

  [[nodiscard]] bool persistent() const override { return true; }
  [[nodiscard]] bool active() const override { return active_; }
  void start() override;
  [[nodiscard]] bool done() override;
  void wait() override;
  void finish() override;

private:
  KeptCall kept_;
  NarrowArrays arrays_;
  CommLease own_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  int code_ = MPI_SUCCESS;
  bool active_ = false;
};

} // namespace stoker::pmpi
