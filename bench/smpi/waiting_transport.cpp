// SPDX-License-Identifier: BSD-3-Clause
#include "bench/smpi/waiting_transport.hpp"

#include "bench/smpi/platform.hpp"

#include <simgrid/s4u.hpp>
#include <smpi/smpi.h>

#include <array>
#include <string>

namespace stoker::bench {

namespace this_actor = simgrid::s4u::this_actor;

namespace {

std::uint32_t rank_of(const simgrid::s4u::Host* host) {
  return static_cast<std::uint32_t>(std::stoul(host->get_name().substr(host_prefix.size())));
}

// Within a node the receiver's processor copies the message.
double receive_seconds(const algos::Machine& machine, algos::Distance distance, std::uint64_t bytes) {
  const algos::MessageCost& cost = machine.at(distance);
  const double per_byte = leaves_node(distance) ? cost.overhead_per_byte : cost.gap_per_byte;
  return cost.receive_overhead + (static_cast<double>(bytes) * per_byte);
}

double send_seconds(const algos::Machine& machine, algos::Distance distance, std::uint64_t bytes) {
  const algos::MessageCost& cost = machine.at(distance);
  return cost.send_overhead + (leaves_node(distance) ? static_cast<double>(bytes) * cost.overhead_per_byte : 0);
}

} // namespace

void charge_messages(const algos::Machine& machine, const algos::Places& places, Receivers receivers) {
  const auto distance = [&](const simgrid::s4u::Host* from, const simgrid::s4u::Host* to) {
    return places.distance(rank_of(from), rank_of(to));
  };
  for (const SmpiOperation operation : {SmpiOperation::SEND, SmpiOperation::ISEND}) {
    smpi_register_op_cost_callback(operation, [&, distance](size_t bytes, auto* from, auto* to) {
      return send_seconds(machine, distance(from, to), bytes);
    });
  }
  smpi_register_op_cost_callback(SmpiOperation::RECV, [&, distance, receivers](size_t bytes, auto* from, auto* to) {
    return receivers == Receivers::by_smpi ? receive_seconds(machine, distance(from, to), bytes) : 0.0;
  });
}

namespace {

std::array<MPI_Comm, engine::Transport::channels> communicators() {
  std::array<MPI_Comm, engine::Transport::channels> comms{};
  for (MPI_Comm& comm : comms) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  }
  return comms;
}

} // namespace

WaitingTransport::WaitingTransport(const algos::Machine& machine, const algos::Places& places)
    : MpiTransport(communicators()), machine_(machine), places_(places) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  rank_ = static_cast<std::uint32_t>(rank);
}

WaitingTransport::~WaitingTransport() {
  for (std::size_t channel = 0; channel < channels; ++channel) {
    MPI_Comm own = comm(static_cast<Channel>(channel));
    MPI_Comm_free(&own);
  }
}

int WaitingTransport::receive(Channel channel, void* data, std::uint64_t bytes, int peer, int tag,
                              MPI_Request* request) {
  if (leaves_node(places_.distance(rank_, static_cast<std::uint32_t>(peer))) && machine_.post > 0) {
    this_actor::sleep_for(machine_.post);
  }
  return MpiTransport::receive(channel, data, bytes, peer, tag, request);
}

// All that is there at this moment, as MPI_Testsome would have it. SMPI's own makes an event of each request that it
// looks at, and would go on to later moments with each message that it charges for.
int WaitingTransport::test_some(std::span<MPI_Request> requests, int* count, int* indices, MPI_Status* statuses) {
  const auto size = static_cast<int>(requests.size());
  double seconds = 0;
  *count = 0;
  int code = MPI_Waitany(size, requests.data(), indices, statuses);
  int done = *indices != MPI_UNDEFINED ? 1 : 0;
  while (code == MPI_SUCCESS && done != 0) {
    const MPI_Status& status = statuses[(*count)++];
    const auto source = static_cast<std::uint32_t>(status.MPI_SOURCE);
    if (source != rank_) { // a receive
      seconds += receive_seconds(machine_, places_.distance(source, rank_), received(status));
    }
    if (*count == size) {
      break;
    }
    code = MPI_Testany(size, requests.data(), indices + *count, &done, statuses + *count);
    done = indices[*count] == MPI_UNDEFINED ? 0 : done;
  }
  this_actor::sleep_for(seconds);
  return code;
}

std::uint64_t WaitingTransport::received(const MPI_Status& status) const {
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  return static_cast<std::uint64_t>(bytes);
}

} // namespace stoker::bench
