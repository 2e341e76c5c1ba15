// SPDX-License-Identifier: BSD-3-Clause
// Which blocking and nonblocking calls are the engine's, and how those are started.
//
// Every decision is made by what MPI requires to be equal on all ranks: the collective, the root, the operation, sizes in bytes where
// every rank knows them, MPI_IN_PLACE where all or none have to give it; and by what was agreed when the communicator was made.
#pragma once

#include "api/pmpi/anchored.hpp"
#include "api/pmpi/call.hpp"
#include "api/pmpi/communicators.hpp"
#include "api/pmpi/errors.hpp"
#include "api/pmpi/kept_types.hpp"
#include "api/pmpi/mpi_calls.hpp"
#include "api/pmpi/state.hpp"
#include "engine/calls/nonblocking.hpp"

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <vector>

namespace stoker::pmpi {

// Null, and counted, where the call is the MPI library's.
[[nodiscard]] Communicator* covering(Form form, const CollectiveCall& call);

// Of a call that is the engine's what it returns to the application, once `carry_out` is done with it; nothing where it is left to
// the MPI library.
template <class CarryOut>
std::optional<int> if_covered(Form form, const CollectiveCall& call, CarryOut&& carry_out) {
  try {
    Communicator* const communicator = covering(form, call);
    if (communicator == nullptr) {
      return std::nullopt;
    }
    carry_out(*communicator);
    return MPI_SUCCESS;
  } catch (const engine::Error& error) {
    if (error.code() == engine::Code::unsupported) { // on all ranks alike
      count_fallback(form, call.family, Reason::unsupported);
      return std::nullopt;
    }
    return report_error(call.comm, error);
  } catch (const std::bad_alloc&) {
    return report_error(call.comm, engine::Error(engine::Code::resource, "out of memory"));
  }
}

// Arguments as the engine takes them, which live as long as the call does. Stays where it is.
class CallArguments {
public:
  CallArguments(const CollectiveCall& call, Communicator& communicator);
  CallArguments(const CallArguments&) = delete;
  CallArguments& operator=(const CallArguments&) = delete;

  // Local. Throws what NonblockingCalls::start() does.
  [[nodiscard]] std::unique_ptr<engine::NonblockingCall> start(engine::Executor executor);
  // For the summary, once the call that start() returned is finished.
  void record(Form form, const engine::NonblockingCall& finished) const;

private:
  [[nodiscard]] std::unique_ptr<engine::NonblockingCall> start_vector(engine::Executor executor);
  [[nodiscard]] std::unique_ptr<engine::NonblockingCall> start_exchange(engine::Executor executor);
  [[nodiscard]] engine::MpiStart mpi_start();
  void keep_types();

  CollectiveCall call_; // single counts and types point to what follows, arrays to the application's
  Communicator& communicator_;
  std::array<int, 2> narrow_counts_{};
  std::array<MPI_Count, 2> wide_counts_{};
  std::array<MPI_Datatype, 2> types_{};
  std::optional<KeptTypes> kept_sendtypes_; // for MPI, where it is called later
  std::optional<KeptTypes> kept_recvtypes_;
  std::vector<MPI_Count> wide_sendcounts_;
  std::vector<MPI_Count> wide_recvcounts_;
  std::vector<MPI_Aint> wide_sdispls_;
  std::vector<MPI_Aint> wide_rdispls_;
  NarrowArrays narrow_arrays_;
  std::optional<Anchored> send_;
  std::optional<Anchored> recv_;
  std::uint64_t bytes_ = 0;
};

} // namespace stoker::pmpi
