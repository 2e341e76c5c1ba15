// SPDX-License-Identifier: BSD-3-Clause
// How the calls on a communicator begin and end.
#include "engine/base/agreement.hpp"
#include "engine/calls/calls.hpp"
#include "engine/calls/forwarded_errors.hpp"

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace stoker::engine {

Calls::Calls(std::shared_ptr<Engine> engine, MPI_Comm comm, bool trials, std::optional<int> tag)
    : engine_(std::move(engine)), stands_in_(true), trials_(trials), threaded_(engine_->is_threaded()),
      waiting_(MPI_COMM_NULL) {
  std::vector<int> ranks = engine_->ranks_of(comm);
  CommsTogether together(comm, engine_->control(), tag);
  if (threaded_) {
    mpi_comm_ = together.like();
    together.note(with_rank(rank_in(comm), attempt(Initialiser::have_threads)));
  }
  context_ = engine_->private_context(comm, std::move(ranks), together);
  waiting_ = WaitingCalls(threaded_ ? MPI_Comm{mpi_comm_} : context_->comm());
  if (threaded_) {
    forward_errors(mpi_comm_, comm);
  }
}

Calls::Calls(std::shared_ptr<Engine> engine, std::shared_ptr<CommContext> context)
    : engine_(std::move(engine)), context_(std::move(context)), stands_in_(false),
      send_memory_(std::make_shared<EpochMemory>(engine_->memory())),
      recv_memory_(std::make_shared<EpochMemory>(engine_->memory())), trials_(false), waiting_(context_->comm()) {}

Calls::Calls(std::shared_ptr<Engine> engine, MPI_Comm comm, GraphLease lease)
    : engine_(std::move(engine)), context_(lease.context()), stands_in_(true), lease_(std::move(lease)),
      neighbors_(lease_->neighbors_in_context(comm)), trials_(false), threaded_(true), waiting_(MPI_COMM_NULL) {
  CommsTogether together(comm, engine_->control(), lease_->tag());
  mpi_comm_ = together.like();
  together.agree();
  waiting_ = WaitingCalls(mpi_comm_);
  forward_errors(mpi_comm_, comm);
}

void Calls::outlive_comm(MPI_Comm errors) { redirect_errors(mpi_comm_, errors); }

bool Calls::at_rest() {
  const auto lock = guard();
  bool answered = true;
  shapes_.for_each([&](Shape& shape) { answered = shape.agreement.progress() && answered; });
  return answered && initialiser_.idle() && (!lease_ || lease_->at_rest());
}

void Calls::close() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      return;
    }
    closed_ = true;
  }
  PutOffStarts::of_process().remove(*this);
  initialiser_.end();
  int finalized = 0;
  PMPI_Finalized(&finalized);
  shapes_.for_each([&](Shape& shape) {
    if (lease_) {
      lease_->give_back(shape);
    }
    for (Lane& lane : shape.lanes) {
      lane.request.reset();
    }
    if (finalized == 0) {
      shape.agreement.wait(); // all ranks have asked
    }
  });
  stop_forwarding(mpi_comm_);
  mpi_comm_ = OwnedComm();
  if (stands_in_ && !lease_) {
    context_->free();
  }
  lease_.reset();
}

} // namespace stoker::engine
