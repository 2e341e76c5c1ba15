// SPDX-License-Identifier: BSD-3-Clause
// A persistent collective where neither the engine nor the MPI library has one: a nonblocking call of the MPI library's at each
// start, with copies of the arguments.
#pragma once

#include "api/pmpi/call.hpp"
#include "api/pmpi/request.hpp"

#include <memory>

namespace stoker::pmpi {

// Collective. Throws engine::Error.
//
// Ranks may start their requests in different orders, which nonblocking calls must not be, so each request has a communicator of
// its own. To free that is collective, and to free a request is not: it is kept until MPI is finalized.
[[nodiscard]] std::unique_ptr<Request> make_emulated(const CollectiveCall& call);
// This process has not yet made so many that it might run out of communicators.
[[nodiscard]] bool can_emulate_more();

} // namespace stoker::pmpi
