// SPDX-License-Identifier: BSD-3-Clause
// Which blocking and nonblocking calls are the engine's, and how those are started.
//
// Every decision depends only on what is equal on all ranks: by MPI's rules (the collective, root, operation, sizes in
// bytes if every rank knows them, MPI_IN_PLACE if all or none must give it), or by agreement when the communicator was
// made.
#pragma once

#include "api/pmpi/anchored.hpp"
#include "api/pmpi/call_path.hpp"
#include "api/pmpi/communicators.hpp"
#include "api/pmpi/errors.hpp"
#include "api/pmpi/state.hpp"
#include "engine/calls/calls.hpp"

#include <mpi.h>

#include <memory>
#include <new>
#include <optional>

namespace stoker::pmpi {

using engine::CollectiveCall;

// Whether there are no helpers, although the setting does not ask for the executor inline. What the engine carries out
// inline gets on in calls for its request only: a rank that is in MPI_Recv meanwhile, which MPI allows, would keep
// others waiting.
[[nodiscard]] bool lacks_helpers();

// Whose call it is.
struct Covering {
  Communicator* communicator = nullptr; // null: the MPI library's, and counted
  std::optional<std::uint64_t> small{}; // the bytes of a small call (see engine::Calls)
};
[[nodiscard]] Covering covering(Form form, const CollectiveCall& call);

// Return code if the engine ran the call, by `carry_out`; nullopt if MPI must, which that may find out, too.
template <class CarryOut>
std::optional<int> if_covered(Form form, const CollectiveCall& call, CarryOut&& carry_out) {
  try {
    const Covering found = covering(form, call);
    return found.communicator == nullptr || !carry_out(*found.communicator, found.small) ? std::nullopt
                                                                                         : std::optional(MPI_SUCCESS);
  } catch (const engine::Error& error) {
    if (error.code() == engine::Code::unsupported) { // on all ranks alike
      count_fallback(form, call.collective, Reason::no_place);
      return std::nullopt;
    }
    return report_error(call.comm, error);
  } catch (const std::bad_alloc&) {
    return report_error(call.comm, engine::Error(engine::Code::resource, "out of memory"));
  }
}

// A call that is the engine's. Stays where it is.
class CoveredCall {
public:
  CoveredCall(const CollectiveCall& call, Communicator& communicator)
      : anchored_(call, communicator.rank() == call.root, communicator.memory()), communicator_(communicator),
        path_(call_path(call.site)) {}
  CoveredCall(const CoveredCall&) = delete;
  CoveredCall& operator=(const CoveredCall&) = delete;

  // Local. Throws what engine::Calls::start() does, and Error(unsupported) where that returns null.
  [[nodiscard]] std::unique_ptr<engine::CallUnderWay> start(engine::Executor executor, bool blocking,
                                                            bool small = false) const;
  // For the summary, once the call that start() returned is finished.
  void record(Form form, const engine::CallUnderWay& finished) const;

private:
  AnchoredCall anchored_;
  Communicator& communicator_;
  CallPath path_;
};

} // namespace stoker::pmpi
