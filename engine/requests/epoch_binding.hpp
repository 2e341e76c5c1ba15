// SPDX-License-Identifier: BSD-3-Clause
// The buffers of a rebindable request, which is made for sizes and not for buffers: every epoch brings its own. The
// program sees all blocks one behind the other. Where the application's lie like that, and can be reached, they are
// used where they are; else they are copied to memory of this rank's, which is had when it is first needed, and kept.
//
// Which of the two a rank does is its own business: others read in the epoch's descriptor how they get there.
#pragma once

#include "engine/base/error.hpp"
#include "engine/core/engine.hpp"
#include "engine/data/bound_data.hpp"
#include "engine/execute/rebind.hpp"
#include "engine/requests/reach.hpp"
#include "engine/requests/request.hpp"
#include "engine/wisdom/recall.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace stoker::engine {

// Memory that is kept from one epoch to the next: in this rank's arena, or, if that is exhausted, private to its
// process. Requests of which one is active at a time may share it.
class EpochMemory {
public:
  explicit EpochMemory(std::shared_ptr<NodeMemory> memory) : memory_(std::move(memory)) {}
  EpochMemory(const EpochMemory&) = delete;
  EpochMemory& operator=(const EpochMemory&) = delete;
  ~EpochMemory() { release(); }

  // Memory of at least so many bytes; earlier contents may be lost.
  std::byte* at_least(std::uint64_t bytes);
  // The same, in the arena only. Throws Error(resource), and keeps what there is.
  void reserve(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t offset() const { return offset_; } // in the arena; 0: it is not there

private:
  void keep(std::uint64_t bytes, std::uint64_t offset, std::unique_ptr<std::byte[]> own);
  void release();

  std::shared_ptr<NodeMemory> memory_;
  std::uint64_t bytes_ = 0;
  std::uint64_t offset_ = 0;
  std::unique_ptr<std::byte[]> own_;
};

class EpochBinding {
public:
  // `sizes`: of the buffers, unless the request is one of any sizes. `send_readers` and `recv_readers`: who but this
  // process reaches them; of any sizes: longest messages in the node.
  EpochBinding(const Engine& engine, const Program& program, const RequestPlan& plan, const BufferSizes& sizes,
               const Readers& send_readers, const Readers& recv_readers);

  // Takes in advance all memory that some epoch might need, so that none can fail for lack of it. Throws
  // Error(resource).
  void reserve(const Program& program);
  // Before an epoch: what is sent is where the program finds it. Where sizes may be any, memory that others can reach
  // may be exhausted by now, on this rank alone. It takes part all the same, without data, so that nobody waits for it:
  // the epoch fails here and on those that it sends to.
  void bind(Program& program, EpochBuffers buffers);
  // After a complete epoch: results are where the caller wants them, unless it has failed. Throws what bind() met.
  void unbind(const Program& program, bool failed);

private:
  [[nodiscard]] BufferDescriptor reach(const BoundData& data, std::uint64_t bytes, const Readers& readers,
                                       EpochMemory& memory, bool copies, std::byte*& staged) const;
  static void list_parts(const BoundData& data, algos::Buffer buffer, bool staged, std::vector<algos::Slice>& parts);
  void place(Program& program);
  void withhold(Program& program);

  const Engine& engine_;
  Rebinding rebinding_;
  std::uint64_t eager_bytes_;
  BufferSizes sizes_;
  Readers send_readers_;
  Readers recv_readers_;
  std::shared_ptr<EpochMemory> send_memory_;
  std::shared_ptr<EpochMemory> recv_memory_;
  EpochMemory bounce_memory_;
  std::vector<algos::Slice> outgoing_; // by rank, of any sizes
  std::vector<algos::Slice> incoming_; // at most
  std::vector<std::uint64_t> received_;
  std::optional<Error> failure_; // of the epoch that runs
  // What belongs to the epoch that runs.
  EpochBuffers buffers_;
  std::byte* send_staged_ = nullptr;
  std::byte* recv_staged_ = nullptr;
};

// Collective over the plan's context. Throw Error on all ranks. The plan is that of
// init_rebindable_distributed_vector(), and has the request's algorithm afterwards.
[[nodiscard]] std::unique_ptr<Request> init_rebindable(const std::shared_ptr<Engine>& engine,
                                                       algos::Collective collective, RequestPlan plan,
                                                       const std::vector<std::uint64_t>& sizes);
// For exchanges in which every block goes straight to its rank: the parts of the data are the ranks'.
[[nodiscard]] std::unique_ptr<Request> init_rebindable_exchange(const std::shared_ptr<Engine>& engine,
                                                                RequestPlan plan);

} // namespace stoker::engine
