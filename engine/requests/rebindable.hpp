// SPDX-License-Identifier: BSD-3-Clause
// A request that is made for sizes and not for buffers: every epoch brings its own. The program sees all blocks one behind the
// other. Where the application's lie like that, and can be reached, they are used where they are; else they are copied to
// memory of this rank's, which is had when it is first needed, and kept.
//
// Which of the two a rank does is its own business: others read in the epoch's descriptor how they get there.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/data/bound_data.hpp"
#include "engine/requests/reach.hpp"
#include "engine/requests/request.hpp"
#include "engine/wisdom/recall.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace stoker::engine {

// Memory that is kept from one epoch to the next: in this rank's arena, or else, where that is exhausted, its process's own.
class EpochMemory {
public:
  explicit EpochMemory(std::shared_ptr<NodeMemory> memory) : memory_(std::move(memory)) {}
  EpochMemory(const EpochMemory&) = delete;
  EpochMemory& operator=(const EpochMemory&) = delete;
  ~EpochMemory() { release(); }

  // What was there may be gone.
  std::byte* at_least(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t offset() const { return offset_; } // in the arena; 0: it is not there

private:
  void release();

  std::shared_ptr<NodeMemory> memory_;
  std::uint64_t bytes_ = 0;
  std::uint64_t offset_ = 0;
  std::unique_ptr<std::byte[]> own_;
};

class RebindableRequest {
public:
  struct Buffers {
    BoundData send;
    BoundData recv;         // empty: results are not wanted, or there are none
    bool set_aside = false; // what is sent lies where results will
    bool in_place = false;  // the program's operand is in recv
  };

  // `request` is made to be rebound; `sizes` are those of its buffers, unless it is one of any sizes. `send_readers` and
  // `recv_readers`: who but this process reaches them; of any sizes: longest messages in the node.
  RebindableRequest(std::shared_ptr<Engine> engine, std::unique_ptr<Request> request, const BufferSizes& sizes,
                    const Readers& send_readers, const Readers& recv_readers);

  // Takes the memory without which an epoch could fail, depending on its buffers. Throws Error(resource).
  void reserve();
  // Start. Local. Throws Error(resource) where memory that others can reach is exhausted, and was not reserved: this rank's part is
  // missing then.
  void start(Buffers buffers);
  // Of a complete one: results are where the caller wants them. Throws the epoch's error.
  void finish();
  [[nodiscard]] Request& request() { return *request_; }

private:
  struct Resized {
    std::uint32_t step = 0;
    std::size_t part = 0;
    bool outgoing = false;
    bool in_node = false;
  };
  // A message that goes through the process at the endpoint, which may not address the buffer that it is in.
  struct Bounced {
    std::uint32_t step = 0;
    std::size_t buffer = 0;
  };
  [[nodiscard]] BufferDescriptor reach(const BoundData& data, std::uint64_t bytes, const Readers& readers,
                                       EpochMemory& memory, bool as_it_lies, std::byte*& staged) const;
  void note_steps(Block& block);
  void resize(Block& block) const;
  void take_bounce_memory(std::uint64_t bytes);
  void set_bounces(Block& block);

  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Request> request_;
  bool any_sizes_;
  BufferSizes sizes_;
  Readers send_readers_;
  Readers recv_readers_;
  std::int32_t pid_;
  std::vector<Resized> resized_;
  std::vector<std::uint32_t> wire_roots_;
  std::uint32_t own_copy_ = 0;
  std::vector<Bounced> bounced_;
  EpochMemory send_memory_;
  EpochMemory recv_memory_;
  EpochMemory bounce_memory_;
  // Of the epoch.
  Buffers buffers_;
  std::byte* send_staged_ = nullptr;
  std::byte* recv_staged_ = nullptr;
};

// Collective over the plan's context. Throw Error on all ranks. The plan is that of init_rebindable_distributed_vector(), and has the
// request's algorithm afterwards.
[[nodiscard]] std::unique_ptr<RebindableRequest> make_rebindable(const std::shared_ptr<Engine>& engine,
                                                                 algos::Collective collective, RequestPlan plan,
                                                                 const std::vector<std::uint64_t>& sizes);
// For exchanges in which every block goes straight to its rank: the parts of the data are the ranks'.
[[nodiscard]] std::unique_ptr<RebindableRequest> make_rebindable_exchange(const std::shared_ptr<Engine>& engine,
                                                                          RequestPlan plan);

} // namespace stoker::engine
