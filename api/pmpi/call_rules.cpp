// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/call_rules.hpp"

#include "api/pmpi/operators.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/mpi_identity.hpp"
#include "engine/base/named_type.hpp"
#include "engine/base/type_size.hpp"
#include "engine/data/operation.hpp"

#include <cstddef>

namespace stoker::pmpi {
namespace {

using algos::Number;
using engine::Numbers;

// Whether MPI_IN_PLACE is given for a buffer that has no such form.
bool is_misplaced(const CollectiveCall& call, bool at_root) {
  const algos::CollectiveTraits& traits = traits_of(call.collective);
  const bool scatters = traits.send.root_only;
  const bool sends = at_root || !traits.send.root_only;
  const bool receives = at_root || !traits.recv.root_only;
  const bool own = at_root || !traits.has_root; // this rank keeps its part
  const bool may_send = own && !scatters && traits.pattern != algos::Pattern::neighborhood;
  const bool may_receive = own && scatters;
  return (call.sendbuf == MPI_IN_PLACE && sends && !may_send) ||
         (call.recvbuf == MPI_IN_PLACE && receives && !may_receive);
}

// Whether the MPI library refuses the datatype, which is not null: it is not committed. Without an engine
// nobody asks before the MPI library has.
bool is_refused(MPI_Datatype type) {
  std::byte nothing{};
  int position = 0;
  return the_engine() != nullptr && !engine::is_named(type) &&
         PMPI_Pack(&nothing, 0, type, &nothing, 0, &position, the_engine()->control()) != MPI_SUCCESS;
}

} // namespace

std::optional<std::uint64_t> known_bytes(const CollectiveCall& call, const Place& place) {
  const algos::CollectiveTraits& traits = traits_of(call.collective);
  if (traits.sizes != algos::SizesKnownTo::all) {
    return std::nullopt;
  }
  const bool at_root = place.rank == call.root;
  // Ranks may expect more than they are sent, so what a rank sends by itself says more.
  const bool blocks_are_equal = traits.send.counts == Number::one && traits.recv.counts == Number::one;
  const bool by_send = (at_root && traits.send.root_only) ||
                       (blocks_are_equal && !traits.send.root_only && call.sendbuf != MPI_IN_PLACE) ||
                       (!at_root && traits.recv.root_only);
  const Number form = (by_send ? traits.send : traits.recv).counts;
  if (form == Number::none) {
    return 0; // a barrier
  }
  const Numbers<MPI_Count>& counts = by_send ? call.sendcounts : call.recvcounts;
  const auto ranks = static_cast<std::size_t>(place.ranks);
  MPI_Count sum = 0;
  for (std::size_t b = 0; b < (form == Number::each ? ranks : 1); ++b) {
    sum += counts.at(b);
  }
  MPI_Count size = 0;
  engine::check_mpi(engine::get_size(by_send ? *call.sendtypes : *call.recvtypes, &size), "MPI_Type_size");
  const std::size_t blocks = form == Number::one && algos::has_blocks(call.collective) ? ranks : 1;
  return static_cast<std::uint64_t>(sum * size) * blocks;
}

bool is_mistake(const CollectiveCall& call, const Place& place) {
  const algos::CollectiveTraits& traits = traits_of(call.collective);
  const bool at_root = place.rank == call.root;
  if ((traits.has_root && (call.root < 0 || call.root >= place.ranks)) || (traits.combines && call.op == MPI_OP_NULL) ||
      is_misplaced(call, at_root)) {
    return true;
  }
  // MPICH does not look at the type of a block without elements.
  const bool empty_has_type = traits.own_types && engine::mpi_identity().family != engine::MpiFamily::mpich;
  const auto is_wrong = [&](const Numbers<MPI_Count>& numbers, const Numbers<MPI_Aint>& displs, std::size_t count,
                            const MPI_Datatype* types, const algos::BufferTraits& buffer) {
    const bool lacks_displs = buffer.counts == Number::each && !traits.combines && !displs.given();
    if (count > 0 && (!numbers.given() || (traits.own_types && types == nullptr))) {
      return true;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const bool needs_type = traits.own_types && (empty_has_type || numbers.at(i) != 0);
      if (numbers.at(i) < 0 || (lacks_displs && numbers.at(i) != 0) || (needs_type && types[i] == MPI_DATATYPE_NULL) ||
          (traits.own_types && numbers.at(i) != 0 && is_refused(types[i]))) {
        return true;
      }
    }
    return !traits.own_types && types != nullptr && (*types == MPI_DATATYPE_NULL || is_refused(*types));
  };
  // Only these have datatypes for each neighbor, of which some may be wrong.
  const bool by_neighbors = traits.own_types && traits.pattern == algos::Pattern::neighborhood;
  const engine::Significant read = significant(
      call, by_neighbors ? engine::peers_of(call, call.comm)
                         : engine::Peers{.ranks = static_cast<std::size_t>(place.ranks), .at_root = at_root});
  return (read.send && is_wrong(call.sendcounts, call.sdispls, read.sendcounts, call.sendtypes, traits.send)) ||
         (read.recv && is_wrong(call.recvcounts, call.rdispls, read.recvcounts, call.recvtypes, traits.recv));
}

bool is_combined_by_mpi(const CollectiveCall& call) {
  return combines(call.collective) && is_predefined(call.op) && !engine::combines_elements(call.op, *call.recvtypes);
}

std::optional<Reason> reason_in(const CollectiveCall& call, const Place& place) {
  if (is_mistake(call, place)) {
    return Reason::mistake;
  }
  if (combines(call.collective) && !is_predefined(call.op)) {
    return Reason::operation;
  }
  if (is_combined_by_mpi(call)) {
    return Reason::operator_on_type;
  }
  if (call.sendbuf == MPI_IN_PLACE && traits_of(call.collective).sizes == algos::SizesKnownTo::nobody) {
    return Reason::in_place;
  }
  return std::nullopt;
}

bool may_be_small(Collective collective, std::uint64_t bytes) {
  const algos::CollectiveTraits& traits = traits_of(collective);
  return traits.send.counts != Number::each && traits.recv.counts != Number::each &&
         (bytes > 0 || collective == Collective::barrier);
}

} // namespace stoker::pmpi
