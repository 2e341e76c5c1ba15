// SPDX-License-Identifier: BSD-3-Clause
// The epochs of a request that kernels of devices carry out: one launch on each device, for the ranks whose data are
// there, by whichever of their processes is the last to start the epoch. The launch waits in its stream for ranks of
// other devices that have not started yet.
//
// The lowest rank of each device owns what its ranks use: on the device the program, and the words and the scratch of
// these ranks, so that only flags, messages and puts go from device to device; in its arena, pages that all devices
// map, with the words below. Each process has tables of its own with the addresses at which it reaches all that.
//
// Which acquire meets which release, of the words in the pages:
//   started    of a rank: its data are in their places. Stored by the rank's Start, or by its stream (release); each
//              launching process, or its stream, acquires it before the kernel.
//   called     of a rank: its Start has been called. launched, of a device: the newest epoch that somebody has
//              undertaken to launch there. All sequentially consistent: each Start stores its `called` before it reads
//              those of its device's other ranks, so the last one of them sees all. Of those that see all, who moves
//              `launched` on launches.
//   completed  of a rank: the kernel's last access to its data in this epoch (release; see kernel.hpp); acquired by the
//              rank, or its stream.
//   failure    what has failed: written before `failed` (release), acquired by all who wait. Then the epochs of all
//              ranks are abandoned (device::Control), so that no stream and no kernel waits for ever. (A stream that
//              was to write `started` may do so after that, and others then wait for the rank's next epoch. The next
//              one to see the failure abandons all epochs once more.)
//   users      of a device: processes that may still use what its lowest rank owns. Each gives up its part when its
//              launches are done and its imports closed (release); the owner acquires 0 before it gives the memory
//              back.
//
// Epochs are in order although each may be launched by another process, and before the one before is done: a rank has
// started an epoch only once it has completed the one before, and a kernel begins once all ranks have started.
//
// Kernels of several devices wait for each other, so all of them must get onto their devices. Those of other requests,
// which may wait in another order, leave them room: see ReservedBlocks.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/device/shared_memory.hpp"
#include "engine/device/stream_words.hpp"
#include "engine/device_kernel/device_program.hpp"
#include "engine/device_kernel/reserved_blocks.hpp"
#include "engine/requests/device_reach.hpp"
#include "engine/requests/request.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace stoker::engine {

class DeviceEpochs {
public:
  // Collective over the plan's communicator. `program`: this rank's. Throws Error on all ranks.
  DeviceEpochs(Engine& engine, const RequestPlan& plan, const algos::Program& program);
  DeviceEpochs(const DeviceEpochs&) = delete;
  DeviceEpochs& operator=(const DeviceEpochs&) = delete;
  // Every epoch that this rank has started is complete, and the engine lives, or all of its requests are complete.
  ~DeviceEpochs();
  // If an epoch is not complete: what they have stays, except for room on the device, which others get once nothing is
  // under way.
  static void abandon(std::unique_ptr<DeviceEpochs> epochs);

  // This rank starts the epoch, which comes after the one before. Throw Error(access) if its buffers are gone, before
  // anything has begun.
  void start(std::uint64_t epoch);
  // The same once the stream gets there; the epoch before may not be complete yet.
  void start_on(Driver::Stream stream, std::uint64_t epoch);
  // Throws Error(unsupported) if the stream is being captured into a graph.
  void check_stream(Driver::Stream stream) const { check_not_captured(reach_->device(), stream); }
  // What follows in the stream waits for the epoch.
  void wait_on(Driver::Stream stream, std::uint64_t epoch) const;
  [[nodiscard]] bool has_stream_words() const { return has_stream_words_; }

  [[nodiscard]] bool reached(std::uint64_t epoch) const;
  // Throws what a rank has failed for, if a rank has and the epoch was not complete by then. Else it only looks at words
  // of this rank.
  void check_failure(std::uint64_t epoch) const;
  // Asks this rank's device.
  void note_failure() const;
  // No epoch under way will complete: all ranks' waits throw that, unless there was a failure before.
  void fail(const Error& failure) const;
  // The ranks that have not started it, as text; "": all have.
  [[nodiscard]] std::string missing(std::uint64_t epoch) const;

private:
  struct Words;
  struct RankWords;
  struct Owned;
  class Leftovers;
  struct Layout;
  struct Place;

  [[nodiscard]] std::size_t own_device() const { return reach_->device_of(rank_); }
  [[nodiscard]] RankWords& of(int rank) const { return *words_of_[static_cast<std::size_t>(rank)]; }
  // This rank's device has it there.
  [[nodiscard]] Driver::Address of_device(int rank, const void* place) const;
  [[nodiscard]] std::uint64_t pages_bytes(std::size_t device) const;
  void own(const device::DeviceProgram& program, const Layout& layout);
  void find(std::size_t device, const MemoryHandle& memory, std::uint64_t pages);
  void fill_tables(std::span<const Layout> layouts);
  [[nodiscard]] std::uint32_t blocks_of_launch() const {
    return static_cast<std::uint32_t>(reach_->ranks_on(own_device()).size()) * arguments_.blocks;
  }
  static void give_back_room_of_abandoned();
  void abandon(int rank) const; // its epochs
  void launch_what_can_be();
  void launch(std::uint64_t epoch);

  Engine& engine_;
  std::shared_ptr<CommContext> context_;
  std::shared_ptr<NodeMemory> memory_;
  std::shared_ptr<const DeviceReach> reach_;
  int rank_;
  int ranks_;
  bool has_stream_words_;
  std::unique_ptr<Owned> owned_;     // of the lowest rank of a device
  std::vector<Place> places_;        // by device
  std::vector<RankWords*> words_of_; // by rank
  DeviceAllocation tables_;
  device::Launch arguments_;
  device::ReservedBlocks reserved_;
  std::unique_ptr<OwnStream> stream_;
};

} // namespace stoker::engine
