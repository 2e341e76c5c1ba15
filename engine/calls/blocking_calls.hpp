// SPDX-License-Identifier: BSD-3-Clause
// What blocking calls on one communicator keep: requests, and the memory that these are bound to. Goes with the
// communicator or the engine. Used by one thread at a time.
#pragma once

#include "engine/data/operation.hpp"
#include "engine/requests/request.hpp"
#include "engine/shared/node_memory.hpp"
#include "engine/wisdom/recall.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace stoker::engine {

// The key under which a request is kept; equal on all ranks.
struct BlockingKey {
  algos::Collective collective = algos::Collective::barrier;
  int root = 0;
  OperationCode code;
  bool user_defined = false; // any operation of the application: each call brings its own
  bool commutative = true;
  std::uint64_t element_bytes = 1;
  std::vector<std::uint64_t> sizes; // rounded up
  bool operator==(const BlockingKey& other) const;
};

// Memory in this rank's arena, with one piece for each power of two that was asked for. Calls come one after the other
// and share it.
class StagingMemory {
public:
  explicit StagingMemory(std::shared_ptr<NodeMemory> memory) : memory_(std::move(memory)) {}
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;
  ~StagingMemory();
  // Null for no bytes. Throws Error(resource).
  [[nodiscard]] std::byte* at_least(std::uint64_t bytes);

private:
  std::shared_ptr<NodeMemory> memory_;
  std::map<std::uint64_t, std::uint64_t> offsets_; // by size
};

struct BoundRequest {
  BlockingKey key;
  BufferSizes memory;               // how much of it the request reads and writes
  std::byte* send = nullptr;        // of StagingMemory
  std::byte* recv = nullptr;        //
  std::unique_ptr<Request> request; // null: there was none to be had, for no rank
};

class BlockingCalls {
public:
  explicit BlockingCalls(const std::shared_ptr<NodeMemory>& memory) : send(memory), recv(memory) {}

  // The least recently used one makes room for a new one, at the same call on all ranks.
  static constexpr std::size_t most_requests = 128;

  // Null if there is none.
  [[nodiscard]] BoundRequest* find(const BlockingKey& key);
  BoundRequest& add(BoundRequest bound);

  StagingMemory send;
  StagingMemory recv;

private:
  std::list<BoundRequest> requests_; // the one used last first
};

} // namespace stoker::engine
