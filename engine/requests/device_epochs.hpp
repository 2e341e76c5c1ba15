// SPDX-License-Identifier: BSD-3-Clause
// The epochs of a request that the kernel of a device carries out: one launch for all ranks of its communicator, by
// whichever process is the last to start the epoch.
//
// Rank 0 owns what the launches of all processes use: on the device the program, the words of all ranks and their
// scratch; in its arena, pages that the device maps, the words below. Each process has tables of its own with the
// addresses at which it reaches all that.
//
// Which acquire meets which release, of the words in the pages:
//   started    of a rank: its data are in their places. Stored by the rank's Start, or by its stream (release); the
//              launching process, or its stream, acquires it before the kernel.
//   called     of a rank: its Start has been called. launched: the newest epoch that somebody has undertaken to launch.
//              All sequentially consistent: each Start stores its `called` before it reads the others', so the last one
//              of them sees all. Of those that see all, who moves `launched` on launches.
//   completed  of a rank: the kernel's last access for it in this epoch (release; see kernel.hpp); acquired by the rank,
//              or its stream.
//   failure    the text of a launch that failed: written before `failed` (release), acquired by all who wait. Then all
//              `completed` are more than any epoch's number, so that streams do not wait for ever.
//   users      processes that may still use what rank 0 owns. Each gives up its part when its launches are done and its
//              imports closed (release); rank 0 acquires 0 before it gives the memory back.
//
// Epochs are in order although each may be launched by another process, and before the one before is done: a rank has
// started an epoch only once it has completed the one before, and a kernel begins once all ranks have started.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/device/shared_memory.hpp"
#include "engine/device/stream_words.hpp"
#include "engine/device_kernel/device_program.hpp"
#include "engine/requests/device_reach.hpp"
#include "engine/requests/request.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace stoker::engine {

class DeviceEpochs {
public:
  // Collective over the plan's communicator. `program`: this rank's. Throws Error on all ranks.
  DeviceEpochs(Engine& engine, const RequestPlan& plan, const algos::Program& program);
  DeviceEpochs(const DeviceEpochs&) = delete;
  DeviceEpochs& operator=(const DeviceEpochs&) = delete;
  // Every epoch that this rank has started is complete, and the engine lives, or all of its requests are complete.
  ~DeviceEpochs();

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
  // Throws Error(access) if a launch is known to have failed, or the device. Only looks at a word.
  void check_launches() const;
  // Asks the device.
  void note_failure() const;
  // The ranks that have not started it, as text; "": all have.
  [[nodiscard]] std::string missing(std::uint64_t epoch) const;

private:
  struct Words;
  struct RankWords;
  struct Owned;
  class Leftovers;
  struct Layout;

  [[nodiscard]] Words& words() const { return *reinterpret_cast<Words*>(pages_); }
  [[nodiscard]] RankWords& of(int rank) const;
  [[nodiscard]] std::uint64_t pages_bytes() const;
  [[nodiscard]] Driver::Address of_device(const std::uint64_t& word) const { return mapped_.of_device(&word); }
  void own(const device::DeviceProgram& program, const Layout& layout);
  void fill_tables(const Layout& layout);
  void launch_what_can_be();
  void launch(std::uint64_t epoch);
  void fail(const std::string& text) const; // the first one counts

  Engine& engine_;
  std::shared_ptr<CommContext> context_;
  std::shared_ptr<NodeMemory> memory_;
  std::shared_ptr<const DeviceReach> reach_;
  int rank_;
  int ranks_;
  bool has_stream_words_;
  std::unique_ptr<Owned> owned_;           // rank 0's
  std::optional<ImportedMemory> imported_; // of others
  std::byte* shared_ = nullptr;            // that memory, in this process
  std::byte* pages_ = nullptr;
  MappedPages mapped_;
  DeviceAllocation tables_;
  device::Launch arguments_;
  std::unique_ptr<OwnStream> stream_;
};

} // namespace stoker::engine
