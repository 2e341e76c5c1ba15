// SPDX-License-Identifier: BSD-3-Clause
// Blocking collectives: requests that are initialised by the first call that needs them, kept with the communicator,
// and used again by every later call that they fit.
//
// Which call may use which request has to be decided alike on all ranks, since init is collective and a hit is not. So
// it is decided by what MPI requires to be equal on all ranks: the collective, the root, the operation, the kind of
// element, and sizes in bytes; never by addresses, datatypes' handles or MPI_IN_PLACE, which one rank may have seen
// before and another not. Requests are therefore bound to memory in this rank's arena, and every call copies its
// operands there and its results from there, after Jocksch et al., "Flexible allreduce for shared memory and networks",
// section 4. What that costs: a copy of each of the two buffers, at the speed of memory, and as much of it again as the
// longest call needed.
//
// Sizes are rounded up, so that calls of many sizes need few requests: up to 64 KiB to the next power of two, at least
// 64 elements (or bytes, where nothing is combined), and beyond that by an eighth at most. What is combined is filled
// up with zeros, which every operation of MPI's is defined for; operations of the application never see an element that
// is not the caller's, so their sizes, and sizes that differ between ranks, are not rounded.
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
