// SPDX-License-Identifier: BSD-3-Clause
// A persistent collective that the MPI library carries out, with copies of the arguments: by its own persistent call where that is
// there and right, else by a nonblocking one at each start.
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

class ByMpi final : public Request {
public:
  // Local. Throws engine::Error.
  explicit ByMpi(const CollectiveCall& call) : Request(call.comm), kept_(call, significant(call)) {}
  ByMpi(const ByMpi&) = delete;
  ByMpi& operator=(const ByMpi&) = delete;
  ~ByMpi() override;
  // Collective over the lease's communicator; before it is started. Throws engine::Error.
  void init(CommLease own);
  // Where init() has failed on some rank: the others' calls may have begun.
  void spoil() {
    if (own_.given()) {
      own_->spoiled = true;
    }
  }
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
  MPI_Request request_ = MPI_REQUEST_NULL; // the library's persistent one, or that of the call under way
  bool by_persistent_ = false;
  bool active_ = false;
  bool done_ = false; // of the active call
  int code_ = MPI_SUCCESS;
};

// Whether the MPI library's own persistent requests can be given to the application: MPICH 4.0's and Open MPI 4's cannot.
[[nodiscard]] bool own_requests_can_be_given();
// Whether the MPI library is known to get such a call wrong, in whatever form.
[[nodiscard]] bool is_wrong_by_mpi(const CollectiveCall& call);

} // namespace stoker::pmpi
