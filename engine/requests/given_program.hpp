// SPDX-License-Identifier: BSD-3-Clause
// Requests that carry out a program of the caller's own, in the place of one that an algorithm has compiled.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/requests/request.hpp"

#include <mpi.h>

#include <memory>

namespace stoker::engine {

struct GivenProgram {
  algos::Collective collective; // that it stands for
  const algos::Program& program;
  void* send = nullptr; // as long as the program says, as is recv
  void* recv = nullptr;
  MPI_Op op = MPI_OP_NULL; // of a collective that combines elements of this type
  MPI_Datatype element = MPI_DATATYPE_NULL;
};

// Collective over comm. The programs of the ranks have to match, and to be free of defects: see algos/verify. Puts are
// messages. Throws Error on every rank.
[[nodiscard]] std::unique_ptr<Request> init_program(const std::shared_ptr<Engine>& engine, MPI_Comm comm,
                                                    const GivenProgram& given);

} // namespace stoker::engine
