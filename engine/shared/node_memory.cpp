// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/node_memory.hpp"

#include "engine/base/agreement.hpp"
#include "engine/shared/access.hpp"

#include <algorithm>
#include <new>
#include <optional>

#include <sys/prctl.h>
#include <unistd.h>

namespace stoker::engine {
namespace {

// A stamp of everything that processes of one node read in each other's memory. It differs between incompatible builds.
constexpr std::uint64_t layout_stamp = (sizeof(RankRoot) << 32U) ^ (sizeof(Block) << 16U) ^ sizeof(LoweredStep);

// The facts that a rank tells the others of its node.
struct Introduction {
  ArenaDescriptor arena;
  std::uint64_t root = 0;
  std::uint64_t probe_address = 0; // of a word in private memory ...
  std::uint64_t probe_value = 0;   // ... that holds this
};

} // namespace

NodeMemory::NodeMemory(MPI_Comm node, std::uint64_t bytes, int numa) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &ranks);
  self_ = static_cast<std::uint32_t>(rank);
  const auto count = static_cast<std::size_t>(ranks);

  Introduction mine;
  std::uint64_t probe = 0x70726f6265000000U + static_cast<std::uint64_t>(getpid());
  agree(node, attempt([&] {
          own_ = std::make_shared<Arena>(ArenaOptions{.bytes = bytes, .layout_stamp = layout_stamp, .numa_node = numa});
          mine.arena = own_->descriptor();
          mine.root = own_->allocate(sizeof(RankRoot), alignof(RankRoot));
          new (own_->at<RankRoot>(mine.root)) RankRoot();
          mine.probe_address = reinterpret_cast<std::uint64_t>(&probe);
          mine.probe_value = probe;
#ifdef PR_SET_PTRACER
          // Under Yama's restricted mode only declared processes may attach; elsewhere this changes nothing.
          prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
        }));
  std::vector<Introduction> all(count);
  check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, node), "MPI_Allgather");

  attach_errors_.assign(count, 0);
  const auto failure = attempt([&] {
    for (std::size_t i = 0; i < count; ++i) {
      pids_.push_back(all[i].arena.pid);
      if (i == self_) {
        bases_.push_back(own_->base());
      } else {
        others_.push_back(MappedArena::attach(all[i].arena, layout_stamp));
        bases_.push_back(others_.back().base());
        attach_errors_[i] = probe_cross_memory_attach(all[i].arena.pid, all[i].probe_address, all[i].probe_value);
      }
      roots_.push_back(reinterpret_cast<RankRoot*>(bases_[i] + all[i].root));
    }
  });
  agree(node, failure); // also: from here on every peer has attached and probed
  own_->close_descriptor();

  const int works = std::ranges::all_of(attach_errors_, [](int error) { return error == 0; }) ? 1 : 0;
  int everywhere = 0;
  check_mpi(MPI_Allreduce(&works, &everywhere, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce");
  attach_works_ = everywhere == 1;
}

} // namespace stoker::engine
