// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/node_memory.hpp"

#include "engine/base/agreement.hpp"
#include "engine/shared/access.hpp"
#include "engine/shared/memory_limits.hpp"
#include "engine/shared/seal.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <new>
#include <system_error>

#include <sys/prctl.h>
#include <unistd.h>

namespace stoker::engine {
namespace {

// A stamp of everything that processes of one node read in each other's memory. It differs between incompatible builds.
constexpr std::uint64_t layout_stamp =
    (sizeof(RankRoot) << 32U) ^ (sizeof(Block) << 16U) ^ (sizeof(Channel) << 8U) ^ sizeof(LoweredStep);

// Collective: the same on all ranks of the node, as long as the one with least room can map them.
std::uint64_t agreed_arena_bytes(MPI_Comm node) {
  int ranks = 0;
  PMPI_Comm_size(node, &ranks);
  const std::uint64_t mine =
      default_arena_bytes(memory_limit(), address_space_left(), static_cast<std::uint64_t>(ranks));
  std::uint64_t least = mine;
  check_mpi(PMPI_Allreduce(&mine, &least, 1, MPI_UINT64_T, MPI_MIN, node), "MPI_Allreduce");
  return least;
}

// Under Yama's restricted mode (1) only declared processes may attach. This is not taken back: the MPI library, which
// attaches as well, may have declared the same.
void let_others_attach() {
#ifdef PR_SET_PTRACER
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  if (scope == 1) {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  }
#endif
}

} // namespace

void NodeMemory::create(std::uint64_t bytes, int numa) {
  own_ = std::make_unique<Arena>(ArenaOptions{.bytes = bytes, .layout_stamp = layout_stamp, .numa_node = numa});
  root_ = own_->allocate(sizeof(RankRoot), alignof(RankRoot));
  new (own_->at<RankRoot>(root_)) RankRoot();
  probe_ = 0x70726f6265000000U + static_cast<std::uint64_t>(getpid());
}

NodeMemory::Introduction NodeMemory::introduction() const {
  return {.arena = own_->descriptor(),
          .root = root_,
          .probe_address = reinterpret_cast<std::uint64_t>(&probe_),
          .probe_value = probe_,
          .arena_address = reinterpret_cast<std::uint64_t>(own_->base())};
}

void NodeMemory::attach(std::uint32_t self, std::span<const Introduction> ranks) {
  self_ = self;
  attach_errors_.assign(ranks.size(), 0);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Introduction& rank = ranks[i];
    pids_.push_back(rank.arena.pid);
    watch_.add(process_of(rank.arena.pid));
    if (i == self) {
      bases_.push_back(own_->base());
    } else {
      others_.push_back(attach_arena(rank.arena, layout_stamp));
      bases_.push_back(others_.back().base());
      attach_errors_[i] = probe_cross_memory_attach(rank.arena.pid, rank.probe_address, rank.probe_value);
    }
    roots_.push_back(reinterpret_cast<RankRoot*>(bases_[i] + rank.root));
  }
  attach_works_ = std::ranges::all_of(attach_errors_, [](int error) { return error == 0; });
}

void NodeMemory::detach() {
  for (std::uint32_t arena = 0; arena < size(); ++arena) {
    if (arena != self_) {
      bases_[arena] = nullptr;
      roots_[arena] = nullptr;
    }
  }
  attached_.clear();
  others_.clear();
}

// The word is one of the peer's arena, which stays as it is.
void NodeMemory::probe_xpmem(std::span<const Introduction> ranks) {
  xpmem_refusal_ = own_xpmem().refusal;
  for (std::size_t i = 0; i < ranks.size() && xpmem_refusal_.empty(); ++i) {
    const Introduction& rank = ranks[i];
    if (rank.xpmem_segment == -1) {
      xpmem_refusal_ = "another rank of the node has none";
      return;
    }
    attached_.push_back(i == self_ ? nullptr : std::make_unique<AttachedMemory>(rank.xpmem_segment));
    const std::uint64_t word = rank.arena_address + offsetof(ArenaHeader, identity);
    if (const int error = i == self_ ? 0 : attached_.back()->probe(word, rank.arena.identity)) {
      xpmem_refusal_ = std::system_category().message(error);
    }
  }
}

BlockHeader NodeMemory::header(SharedRef place) const {
  const auto header = copy_once(*at<BlockHeader>(place));
  if (header.magic != BlockHeader::magic_value || header.seal != header_seal(header) || header.place != place.offset ||
      header.arena != place.arena) {
    refuse(place.arena, Damage::request);
  }
  return header;
}

void NodeMemory::note_damage(std::uint32_t arena, Damage what) const {
  roots_[arena]->damage.store(static_cast<std::uint32_t>(what), std::memory_order_relaxed);
}

void NodeMemory::note_first_damage(std::uint32_t arena, Damage what) const {
  if (!damaged(arena)) {
    note_damage(arena, what);
  }
}

void NodeMemory::refuse(std::uint32_t arena, Damage what) const {
  note_damage(arena, what);
  throw Error(Code::peer_lost, "the shared memory of local rank {} {}", arena, damage(arena));
}

std::string NodeMemory::damage(std::uint32_t arena) const {
  static constexpr const char* names[] = {
      "", "its helper", "submissions", "a request", "where buffers are", "an epoch", "an operation on global memory"};
  const std::uint32_t what = roots_[arena]->damage.load(std::memory_order_relaxed);
  if (what == static_cast<std::uint32_t>(Damage::helper_without_memory)) {
    return fmt::format("(pid {}) is not worked on: its helper is out of memory", pids_[arena]);
  }
  return fmt::format("(pid {}) is damaged: what it says of {} was overwritten", pids_[arena],
                     what < std::size(names) ? names[what] : "the damage itself");
}

NodeMemory::NodeMemory(MPI_Comm node, const NodeMemoryOptions& options) {
  const std::uint64_t bytes = options.bytes != 0 ? options.bytes : agreed_arena_bytes(node);
  Introduction mine;
  agree(node, attempt([&] {
          create(bytes, options.numa);
          mine = introduction();
          mine.xpmem_segment = options.xpmem ? own_xpmem().segment : -1;
        }));
  if (options.attachable) {
    let_others_attach();
  }
  const std::vector<Introduction> all = gathered(node, mine);
  agree(node, attempt([&] {
          attach(static_cast<std::uint32_t>(rank_in(node)), all);
          if (options.xpmem) {
            probe_xpmem(all);
          }
        })); // and every peer has attached and probed
  own_->close_descriptor();
  attach_works_ = on_all(node, attach_works_);
  if (options.xpmem && !on_all(node, attach_works_ && xpmem_refusal_.empty())) {
    attached_.clear();
  }
}

} // namespace stoker::engine
