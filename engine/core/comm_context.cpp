// SPDX-License-Identifier: BSD-3-Clause
#include "engine/core/comm_context.hpp"

#include "engine/base/agreement.hpp"
#include "engine/shared/shared_table.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

namespace stoker::engine {
namespace {

// Smaller ones are not worth a mapping: there may be many communicators.
bool is_large(std::span<const std::byte> table) { return table.size() >= CommContext::least_shared_bytes; }

bool are_first(std::span<const int> ranks) {
  return ranks.front() == 0 &&
         std::ranges::adjacent_find(ranks, [](int a, int b) { return b != a + 1; }) == ranks.end();
}

} // namespace

std::vector<int> translate(MPI_Comm comm, MPI_Group engine_group) {
  int inter = 0;
  check_mpi(PMPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  if (inter != 0) {
    throw Error(Code::unsupported, "comm is an intercommunicator; expected an intracommunicator");
  }
  MPI_Group group = MPI_GROUP_NULL;
  check_mpi(PMPI_Comm_group(comm, &group), "MPI_Comm_group");
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> translated(ranks.size());
  const int code = PMPI_Group_translate_ranks(group, size, ranks.data(), engine_group, translated.data());
  PMPI_Group_free(&group);
  check_mpi(code, "MPI_Group_translate_ranks");
  for (int r = 0; r < size; ++r) {
    if (translated[static_cast<std::size_t>(r)] == MPI_UNDEFINED) {
      throw Error(
          Code::argument,
          "rank {} of comm is not a rank of the engine's communicator; expected a communicator whose ranks all are", r);
    }
  }
  return translated;
}

CommContext::CommContext(MPI_Comm comm, std::vector<int> engine_ranks, const topology::Layout& engine_layout,
                         CommsTogether& together)
    : layout_(engine_layout.restricted_to(engine_ranks)), comm_(together.like()), rank_(rank_in(comm)) {
  if (layout_.nodes() > 1) {
    node_ = together.part(node_ranks());
  }
  together.agree();
  if (layout_.tables().data() != engine_layout.tables().data() && is_large(layout_.tables())) {
    if (auto tables = shared_table(node(), layout_.tables())) {
      layout_ = topology::Layout::over(std::move(tables));
    }
  }
  if (!are_first(engine_ranks)) {
    auto kept = std::make_shared<const std::vector<int>>(std::move(engine_ranks));
    const auto bytes = std::as_bytes(std::span(*kept));
    auto shared = is_large(bytes) ? shared_table(node(), bytes) : nullptr;
    engine_ranks_ = shared ? std::shared_ptr<const int>(shared, reinterpret_cast<const int*>(shared.get()))
                           : std::shared_ptr<const int>(kept, kept->data());
  }
}

int CommContext::rank_of(int engine_rank) const {
  if (!engine_ranks_) {
    return engine_rank < ranks() ? engine_rank : -1;
  }
  const std::span all(engine_ranks_.get(), static_cast<std::size_t>(ranks()));
  const auto found = std::ranges::find(all, engine_rank);
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

void CommContext::free() {
  attachments_.clear();
  node_ = OwnedComm();
  comm_ = OwnedComm();
}

} // namespace stoker::engine
