// SPDX-License-Identifier: BSD-3-Clause
// The shared memory of one node as one process sees it: every rank's arena, and at its root the words by which a rank
// and its helper talk.
#pragma once

#include "engine/shared/arena.hpp"
#include "engine/shared/attached_memory.hpp"
#include "engine/shared/block.hpp"
#include "engine/shared/doorbell.hpp"
#include "engine/shared/helper_counters.hpp"
#include "engine/shared/peer_watch.hpp"
#include "engine/shared/ring.hpp"

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace stoker::engine {

// What was found damaged in a rank's shared memory, or why its helper cannot work on it.
enum class Damage : std::uint32_t { none, root, ring, request, buffers, state, operation, helper_without_memory };

// First allocation of every arena.
struct RankRoot {
  SubmissionRing ring; // this rank submits, its domain's helper drains
  Doorbell completion; // this rank sleeps on it in Wait
  Doorbell helper;     // the helper hosted by this rank sleeps on it; unused where there is none
  alignas(cache_line) std::atomic<std::uint32_t> paused{0}; // of the helper hosted by this rank
  std::atomic<std::uint32_t> waiting{0};                    // ranks of the domain that need the helper although paused
  alignas(cache_line) HelperCounters counters;              // of the helper hosted by this rank
  alignas(cache_line) std::atomic<std::uint32_t> blocks_given_back{
      0}; // of this rank's requests, of which its helper knew
  // Not 0: this rank's shared memory is damaged, and whoever waits for it fails. Whoever finds it says so here.
  std::atomic<std::uint32_t> damage{0};

  // Whether the words that its helper goes by can be right.
  [[nodiscard]] bool plausible() const {
    constexpr std::uint32_t most = 1U << 20U; // of threads of a node
    return helper.plausible(most) && paused.load(std::memory_order_relaxed) <= 1 &&
           waiting.load(std::memory_order_relaxed) <= most;
  }
};

struct NodeMemoryOptions {
  std::uint64_t bytes = 0; // address space for each arena; 0: default_arena_bytes()
  int numa = -1;           // this rank's NUMA node by OS index; -1: no placement
  bool attachable = false; // others may attach to this process's memory even where the system's default forbids it
  bool xpmem = false;      // by XPMEM, too, where all ranks of the node say so and can
};

// The arenas of the node's ranks, in the order of their ranks. Kept alive by everything that holds a pointer into one.
class NodeMemory {
public:
  // What a rank tells its node, as bytes.
  struct Introduction {
    ArenaDescriptor arena;
    std::uint64_t root = 0;
    std::uint64_t probe_address = 0; // of a word in private memory ...
    std::uint64_t probe_value = 0;   // ... that holds this
    std::uint64_t arena_address = 0; // where the arena is in the rank's own process
    std::int64_t xpmem_segment = -1; // of its address space; -1: there is none
  };

  // Collective over the ranks of the node. Throws on every rank of the node when it fails on one.
  NodeMemory(MPI_Comm node, const NodeMemoryOptions& options);
  // In two steps without MPI: this rank's own arena, then, once all ranks of the node have one, the others', in the
  // order of their ranks. `self`: which one this is. Until a rank has attached, the others must exist.
  NodeMemory(std::uint64_t bytes, int numa) { create(bytes, numa); }
  [[nodiscard]] Introduction introduction() const;
  void attach(std::uint32_t self, std::span<const Introduction> ranks);

  // The other ranks' arenas are not looked at any more: what is in them goes with their processes.
  void detach();

  [[nodiscard]] std::uint32_t self() const { return self_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(bases_.size()); }
  [[nodiscard]] Arena& arena() { return *own_; }
  [[nodiscard]] std::byte* base(std::uint32_t arena) const { return bases_[arena]; }
  [[nodiscard]] pid_t pid(std::uint32_t arena) const { return pids_[arena]; }
  [[nodiscard]] PeerWatch& watch() { return watch_; } // over the processes, by arena
  [[nodiscard]] RankRoot& root(std::uint32_t arena) const { return *roots_[arena]; }

  template <class T>
  [[nodiscard]] T* at(SharedRef place) const {
    return reinterpret_cast<T*>(bases_[place.arena] + place.offset);
  }

  // A copy of the header of a request's block. Throws Error(peer_lost) if there is none at that place.
  [[nodiscard]] BlockHeader header(SharedRef place) const;

  void note_damage(std::uint32_t arena, Damage what) const;
  void note_first_damage(std::uint32_t arena, Damage what) const; // unless some was noted
  // Notes it, and throws Error(peer_lost).
  [[noreturn]] void refuse(std::uint32_t arena, Damage what) const;
  [[nodiscard]] bool damaged(std::uint32_t arena) const {
    return roots_[arena]->damage.load(std::memory_order_relaxed) != 0;
  }
  [[nodiscard]] std::string damage(std::uint32_t arena) const; // "(pid ...) is damaged: ...", or the like

  // errno of a real cross-memory attach to each rank of the node; 0 where it works.
  [[nodiscard]] const std::vector<int>& attach_errors() const { return attach_errors_; }
  // Whether it works between all ranks of the node: equal on all of them.
  [[nodiscard]] bool attach_works() const { return attach_works_; }

  // Why XPMEM is not used, as far as this rank is concerned; empty: it works from here. Whether it works between all
  // ranks of the node is equal on all of them, and then so does cross-memory attach, for what XPMEM refuses.
  [[nodiscard]] const std::string& xpmem_refusal() const { return xpmem_refusal_; }
  [[nodiscard]] bool xpmem_works() const { return !attached_.empty(); }
  // Where it works: memory of another rank's process; null if it is refused. Any thread.
  [[nodiscard]] std::shared_ptr<const AttachedRange> attach_by_xpmem(std::uint32_t arena, std::uint64_t address,
                                                                     std::uint64_t bytes) const {
    return attached_[arena]->attach(address, bytes);
  }

private:
  void create(std::uint64_t bytes, int numa);
  void probe_xpmem(std::span<const Introduction> ranks);

  std::unique_ptr<Arena> own_;
  std::uint64_t root_ = 0;  // in own_
  std::uint64_t probe_ = 0; // peers attach to it while they look whether they can
  std::vector<Mapping> others_;
  std::vector<std::byte*> bases_;
  std::vector<pid_t> pids_;
  PeerWatch watch_;
  std::vector<RankRoot*> roots_;
  std::vector<int> attach_errors_;
  bool attach_works_ = false;
  std::vector<std::unique_ptr<AttachedMemory>> attached_; // by arena, but for this rank's own; empty: XPMEM is not used
  std::string xpmem_refusal_ = "it is not asked for";
  std::uint32_t self_ = 0;
};

} // namespace stoker::engine
