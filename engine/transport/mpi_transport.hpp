// SPDX-License-Identifier: BSD-3-Clause
// The MPI library as a transport: a communicator of the engine's own for each channel.
#pragma once

#include "engine/transport/transport.hpp"

#include <array>

namespace stoker::engine {

class MpiTransport : public Transport {
public:
  // By channel; null for those that are not used. They return errors, and outlive the transport.
  explicit MpiTransport(const std::array<MPI_Comm, channels>& comms) : comms_(comms) {}

  [[nodiscard]] int send(Channel channel, const void* data, std::uint64_t bytes, int peer, int tag,
                         MPI_Request* request) override;
  [[nodiscard]] int receive(Channel channel, void* data, std::uint64_t bytes, int peer, int tag,
                            MPI_Request* request) override;
  [[nodiscard]] int test_some(std::span<MPI_Request> requests, int* count, int* indices, MPI_Status* statuses) override;
  [[nodiscard]] std::uint64_t received(const MPI_Status& status) const override;
  void cancel(MPI_Request& request) override;
  void wait(MPI_Request& request) override;
  void abandon(MPI_Request& request) override;
  [[nodiscard]] std::string text_of(int code) const override;

protected:
  [[nodiscard]] MPI_Comm comm(Channel channel) const { return comms_[static_cast<std::size_t>(channel)]; }

private:
  std::array<MPI_Comm, channels> comms_;
};

} // namespace stoker::engine
