// SPDX-License-Identifier: BSD-3-Clause
// SMPI as the engine's transport. It waits where the engine looks: every look would be an event of the simulation, and
// a rank that is a node of its own has nothing else to do by then.
#pragma once

#include "algos/select/machine.hpp"
#include "algos/simulate/places.hpp"
#include "engine/transport/mpi_transport.hpp"

#include <cstdint>

namespace stoker::bench {

// Who charges receivers for their messages. SMPI does so at the end of each message by itself, the transport for all
// messages at a time that the engine has found.
enum class Receivers : std::uint8_t { by_smpi, by_transport };
// What the processors spend on messages, for all ranks of this SMPI; machine and places outlive all messages.
void charge_messages(const algos::Machine& machine, const algos::Places& places, Receivers receivers);

class WaitingTransport final : public engine::MpiTransport {
public:
  // Collective over MPI_COMM_WORLD. The arguments outlive the transport.
  WaitingTransport(const algos::Machine& machine, const algos::Places& places);
  ~WaitingTransport() override;

  [[nodiscard]] int receive(Channel channel, void* data, std::uint64_t bytes, int peer, int tag,
                            MPI_Request* request) override;
  [[nodiscard]] int test_some(std::span<MPI_Request> requests, int* count, int* indices, MPI_Status* statuses) override;
  [[nodiscard]] std::uint64_t received(const MPI_Status& status) const override; // without MPI_Get_elements_x

private:
  const algos::Machine& machine_;
  const algos::Places& places_;
  std::uint32_t rank_ = 0;
};

} // namespace stoker::bench
