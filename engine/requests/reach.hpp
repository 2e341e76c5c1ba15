// SPDX-License-Identifier: BSD-3-Clause
// How others than this process get at a request's buffers, and where blocks lie in them as programs see it.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/data/bound_data.hpp"
#include "engine/data/collective_call.hpp"
#include "engine/data/datatype.hpp"
#include "engine/requests/request.hpp"

#include <cstdint>
#include <vector>

namespace stoker::engine {

// Local: checks the arguments of an exchange or a neighborhood collective, whose neighbors these are, and puts its
// buffers into the plan, which has the context. Throws Error.
void take_buffers(Engine& engine, const CollectiveCall& call, const Neighbors* neighbors, RequestPlan& plan);

// Which other processes have to reach a buffer.
struct Readers {
  bool helper = false; // the domain's helper is in another process
  bool peers = false;  // ranks of the node fetch messages that are too long for a channel's slot
};
// The readers of this rank's buffers. `longest_in_node`: the longest of its blocks for other ranks of its node; the whole
// vector, where the collective is no exchange. `bundles`: whether messages may be longer than that.
[[nodiscard]] Readers readers_of(const Engine& engine, const CommContext& context, algos::Collective collective,
                                 Executor executor, std::uint64_t longest_in_node, bool bundles);
// The longest message between ranks of a node that goes through a channel's slot. Equal on all ranks of the node.
// `vector_bytes`, `any_sizes`: see RequestPlan.
[[nodiscard]] std::uint64_t eager_bytes_of(const Engine& engine, const CommContext& context,
                                           algos::Collective collective, std::uint64_t vector_bytes,
                                           bool any_sizes = false);
// How the readers reach the buffer. `name` is that of the argument. Throws Error(access) if the way that the settings
// demand does not exist.
[[nodiscard]] Path chosen_path(const Engine& engine, const UserBuffer& buffer, const Readers& readers,
                               const char* name);

// Whether the program's offsets into the staging of `buffer` are those into the buffer itself.
[[nodiscard]] bool is_packed(const UserBuffer& buffer);
// Whether an epoch may do without the staging of such a buffer: processes of the node can then reach it all the same.
[[nodiscard]] bool may_be_direct(const Engine& engine);
// The same for the data of one epoch of a rebindable request, which are runs: they lie there as the program has them, or
// have to be staged. An `access` setting that they cannot serve is ignored.
[[nodiscard]] Path chosen_path(const Engine& engine, const BoundData& data, const Readers& readers);

// Where the blocks begin in the buffer as the program sees it: at their displacements, or at their places in staging.
[[nodiscard]] std::vector<std::uint64_t> program_offsets(const UserBuffer& buffer, Path path);

// The length of the buffer as the program sees it.
[[nodiscard]] std::uint64_t program_bytes(const UserBuffer& buffer, Path path);

} // namespace stoker::engine
