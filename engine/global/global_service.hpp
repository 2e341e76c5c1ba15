// SPDX-License-Identifier: BSD-3-Clause
// What the global memories of one engine share: their part of this process's helper, with communicators of its own, and
// the numbers of segments.
#pragma once

#include "engine/base/own_comm.hpp"
#include "engine/core/engine.hpp"
#include "engine/transport/mpi_transport.hpp"

#include <atomic>
#include <cstdint>
#include <optional>

namespace stoker::engine {

class GlobalAccess;

class GlobalService {
public:
  explicit GlobalService(Engine& engine) : engine_(engine) {}

  // Called for each global memory, by all ranks alike; the first open() is collective. While one is open the helpers
  // look for what other nodes want.
  void open();
  void close();
  // No rank hands out a number twice, nor one that another does.
  [[nodiscard]] std::uint64_t next_segment();

private:
  void serve(bool on);

  Engine& engine_;
  OwnedComm short_messages_; // between nodes, once there has been a global memory
  OwnedComm data_;
  OwnedComm ready_;
  std::optional<MpiTransport> transport_; // over these three
  bool opened_ = false;
  int open_ = 0;
  GlobalAccess* access_ = nullptr; // the helper's
  std::atomic<std::uint64_t> segments_{0};
};

} // namespace stoker::engine
