// SPDX-License-Identifier: BSD-3-Clause
// What the init functions of all collectives have in common: the choices, how others reach the buffers, what the ranks must
// agree on, and the placing of the program.
#pragma once

#include "algos/select/choice.hpp"
#include "engine/base/error.hpp"
#include "engine/core/engine.hpp"
#include "engine/requests/request.hpp"
#include "engine/wisdom/recall.hpp"

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stoker::engine {

// The same error with the rank in front: which rank it is of the request's communicator.
[[nodiscard]] std::optional<Error> with_rank(const CommContext& context, const std::optional<Error>& error);

// Of a key of `info`, which may be MPI_INFO_NULL.
[[nodiscard]] std::optional<std::string> info_value(MPI_Info info, const char* key);

// Info key, then the effective setting; without an algorithm: to be selected. A setting that does not fit the communicator is
// adapted, with a warning the first time; an info key throws Error(setting).
[[nodiscard]] algos::Choice requested_choice(Engine& engine, algos::Collective collective, const CommContext& context,
                                             MPI_Info info);
// Throws Error(setting), or Error(unsupported) where helpers are demanded and there are none.
[[nodiscard]] Executor chosen_executor(const Engine& engine, MPI_Info info);

// Who but this process has to reach a buffer.
struct Readers {
  bool helper = false; // the domain's helper is in another process
  bool peers = false;  // ranks of the node fetch messages that are too long for a channel's slot
};
// Of this rank's buffers. `longest_in_node`: of its blocks for other ranks of its node; `bundles`: messages may be longer.
[[nodiscard]] Readers readers_of(const Engine& engine, const CommContext& context, Executor executor,
                                 std::uint64_t longest_in_node, bool bundles);
// How the readers get there. `name` is the argument's. Throws Error(access) where what the settings demand cannot be had.
[[nodiscard]] Path chosen_path(const Engine& engine, const UserBuffer& buffer, const Readers& readers,
                               const char* name);

// The same for the buffer of one epoch of a rebindable request: `bytes` of data within [lowest, lowest + span), which lie there
// as the program has them or have to be staged. Settings that ask for another way than there is give way.
[[nodiscard]] Path chosen_path(const Engine& engine, const std::byte* lowest, std::uint64_t span, std::uint64_t bytes,
                               const Readers& readers);

// Where the blocks begin in the buffer as the program sees it: by displacement in place, or where they are staged.
[[nodiscard]] std::vector<std::uint64_t> program_offsets(const UserBuffer& buffer, Path path);

// How long the buffer is as the program sees it.
[[nodiscard]] std::uint64_t program_bytes(const UserBuffer& buffer, Path path);

// Collective: the default choice of the candidates, which are the same on all ranks. `compile` gives this rank's program of
// one.
[[nodiscard]] algos::Choice select(const Engine& engine, const CommContext& context,
                                   const std::vector<algos::Choice>& candidates, Executor executor,
                                   const std::function<algos::Program(const algos::Choice&)>& compile);

// What the ranks of reductions and rooted collectives have to have in common, too.
struct Terms {
  int root = 0;
  bool deterministic = false;
};
// Collective, checks that all ranks are about to initialise the same: collective, in place or not (unless it has a root),
// operation, terms, executor, algorithm. Throws Error(mismatch).
void agree_on_choice(const CommContext& context, algos::Collective collective, const RequestPlan& plan,
                     const Terms& terms = {});

// Collective: whether the puts of the plan's algorithm, if it has any, go through a window; else they are messages. Throws
// Error(unsupported) on all ranks where the settings demand what cannot be had.
[[nodiscard]] bool puts_through_window(Engine& engine, const RequestPlan& plan);

// Collective: compiles and places the program and makes the request known to the peers. The plan lacks only what comes of
// that. `begin_ns`: when init began.
[[nodiscard]] std::unique_ptr<Request> make_request(const std::shared_ptr<Engine>& engine, RequestPlan plan,
                                                    Path send_path, Path recv_path,
                                                    const std::function<CompiledProgram()>& compile,
                                                    std::uint64_t begin_ns);

} // namespace stoker::engine
