// SPDX-License-Identifier: BSD-3-Clause
// Small calls: which of them the MPI library carries out without a look.
#include "engine/base/named_type.hpp"
#include "engine/calls/calls.hpp"

#include <mutex>

namespace stoker::engine {
namespace {

SmallCall small_call(const CollectiveCall& call, std::uint64_t bytes, Executor executor) {
  const bool combines = algos::combines(call.collective);
  return {.collective = call.collective,
          .root = algos::has_root(call.collective) ? call.root : 0,
          .op = combines ? call.op : MPI_OP_NULL,
          .type = combines ? *call.recvtypes : MPI_DATATYPE_NULL,
          .bytes = bytes,
          .in_place = call.in_place() && !algos::has_root(call.collective),
          .executor = executor};
}

} // namespace

bool Calls::takes_small_calls(Executor executor) const {
  return trials_ && threaded_ && context_->layout().nodes() > 1 && possible(executor) == Executor::engine;
}

MPI_Comm Calls::comm_to_pass(const CollectiveCall& call, std::uint64_t bytes, Executor executor) {
  const auto lock = guard();
  switch (shapes_.of_next_small_call(small_call(call, bytes, executor), waiting_.empty())) {
  case KeptShapes::Needs::nothing:
    return mpi_comm_;
  case KeptShapes::Needs::no_place:
    return call.comm;
  case KeptShapes::Needs::a_look:
    break;
  }
  return MPI_COMM_NULL;
}

void Calls::note_small(const CollectiveCall& call, std::uint64_t bytes, Executor executor, Shape* shape) {
  if (!algos::combines(call.collective) || is_named(*call.recvtypes)) { // else another type may have the handle later
    shapes_.note_small(small_call(call, bytes, executor), shape);
  }
}

} // namespace stoker::engine
