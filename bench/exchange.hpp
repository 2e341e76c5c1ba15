// SPDX-License-Identifier: BSD-3-Clause
// One all-to-all exchange of a given size: its buffers, counts and data. What moves the data is in operation.hpp; every
// way of moving it uses the same buffers.
#pragma once

#include <stoker/stoker.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stoker::bench {

enum class Collective { alltoall, alltoallv };
std::string name_of(Collective collective);

class Exchange {
public:
  // Each rank sends `bytes` to each. The buffers are mapped memory of `mapped_from`, ordinary heap memory where it is
  // null.
  Exchange(MPI_Comm comm, Collective collective, std::uint64_t bytes, Engine* mapped_from);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] Collective collective() const { return collective_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::span<std::byte> send() const { return send_; }
  [[nodiscard]] std::span<std::byte> recv() const { return recv_; }
  // As the MPI calls take them; in bytes.
  [[nodiscard]] int count() const { return static_cast<int>(bytes_); }
  [[nodiscard]] const int* counts() const { return counts_.data(); }
  [[nodiscard]] const int* displs() const { return displs_.data(); }
  [[nodiscard]] int ranks() const { return static_cast<int>(counts_.size()); }

  // New data to send, and a receive buffer that holds none of what is expected.
  void fill(int epoch);
  // Throws when the receive buffer does not hold that epoch's data; `what` names the way it was moved.
  void check(int epoch, const std::string& what) const;

private:
  MPI_Comm comm_;
  Collective collective_;
  std::uint64_t bytes_;
  int rank_ = 0;
  std::vector<int> counts_;
  std::vector<int> displs_;
  std::vector<std::byte> heap_send_, heap_recv_;
  MappedArray<std::byte> mapped_send_, mapped_recv_;
  std::span<std::byte> send_, recv_;
};

} // namespace stoker::bench
