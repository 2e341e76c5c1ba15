// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/mpi_calls.hpp"

#include "api/pmpi/handles.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/request.hpp"
#include "engine/base/agreement.hpp"
#include "engine/data/mpi_collectives.hpp"

#include <memory>

namespace stoker::pmpi {
namespace {

// Tells the error handler of a code that was found here: the MPI library has not done so.
int reported(const CollectiveCall& call, int code, const engine::NarrowArrays& arrays) {
  if (!arrays.fit) {
    PMPI_Comm_call_errhandler(call.comm, code);
  }
  return code;
}

// A nonblocking call with narrowed arrays, which have to live as long as it.
class NarrowedRequest final : public Request {
public:
  explicit NarrowedRequest(MPI_Comm comm) : Request(comm) {}
  [[nodiscard]] bool persistent() const override { return false; }
  [[nodiscard]] bool active() const override { return active_; }
  void start() override { throw engine::Error(engine::Code::state, "request is not persistent"); }
  [[nodiscard]] bool done() override {
    int flag = 0;
    code_ = code_ != MPI_SUCCESS ? code_ : real().MPI_Test(&request_, &flag, MPI_STATUS_IGNORE);
    return flag != 0 || code_ != MPI_SUCCESS;
  }
  void wait() override { code_ = code_ != MPI_SUCCESS ? code_ : real().MPI_Wait(&request_, MPI_STATUS_IGNORE); }
  void finish() override {
    active_ = false;
    engine::check_mpi(code_, "a nonblocking collective");
  }
  [[nodiscard]] int begin(const CollectiveCall& call) {
    return reported(call, engine::start_mpi(call, call.comm, &request_, arrays_), arrays_);
  }

private:
  MPI_Request request_ = MPI_REQUEST_NULL;
  engine::NarrowArrays arrays_;
  int code_ = MPI_SUCCESS;
  bool active_ = true;
};

} // namespace

int call_narrowed(const CollectiveCall& call) {
  engine::NarrowArrays arrays;
  return reported(call, engine::call_mpi(call, call.comm, arrays), arrays);
}

int start_narrowed(const CollectiveCall& call, MPI_Request* request) {
  auto kept = std::make_unique<NarrowedRequest>(call.comm);
  const int code = kept->begin(call);
  if (code == MPI_SUCCESS) {
    *request = insert(std::move(kept));
  }
  return code;
}

} // namespace stoker::pmpi
