// SPDX-License-Identifier: BSD-3-Clause
// Calls of all ranks with buffers of their own, and persistent requests for them: what `stoker` tries and measures.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/data/collective_call.hpp"
#include "engine/requests/request.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stoker::cli {

// The arguments of a call on MPI_COMM_WORLD with equal blocks, or a vector. Every collective looks at those that it has.
class EqualCall {
public:
  EqualCall(algos::Collective collective, std::uint64_t bytes);
  EqualCall(const EqualCall&) = delete;
  EqualCall& operator=(const EqualCall&) = delete;
  ~EqualCall() = default;
  [[nodiscard]] const engine::CollectiveCall& call() const { return call_; }

private:
  MPI_Datatype type_ = MPI_BYTE;
  std::vector<int> counts_;
  std::vector<int> displacements_;
  std::vector<std::byte> send_;
  std::vector<std::byte> recv_;
  engine::CollectiveCall call_;
};

using InfoKeys = std::vector<std::pair<const char*, std::string>>;

// Collective. Null on all ranks where the engine does not serve the call with these keys.
[[nodiscard]] std::unique_ptr<engine::Request> request_for(const std::shared_ptr<engine::Engine>& engine,
                                                           const EqualCall& call, const InfoKeys& keys);

} // namespace stoker::cli
