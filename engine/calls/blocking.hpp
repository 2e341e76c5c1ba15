// SPDX-License-Identifier: BSD-3-Clause
// Blocking collectives of the C interface. Their requests are kept with the communicator: see calls.hpp.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/data/collective_call.hpp"

#include <memory>

namespace stoker::engine {

// Carries out a collective of Pattern::distributed_vector; info is not looked at. Collective over the communicator, on
// which one thread calls at a time. The MPI library's own function does what no request can be kept for: gatherv and
// scatterv, whose sizes the root alone knows, and operations of the application on elements with gaps; and everything
// else for which no request could be had for want of memory or tags.
//
// Throws Error. What is wrong with this rank's arguments is found before the others are asked for anything, and thrown
// on this rank alone, if they are right on the others: those wait, as they do in MPI.
void call_blocking(const std::shared_ptr<Engine>& engine, const CollectiveCall& call);

} // namespace stoker::engine
