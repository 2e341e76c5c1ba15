// SPDX-License-Identifier: BSD-3-Clause
// One all-to-all exchange: its buffers, counts and data. What moves the data is in operation.hpp; every way of moving it uses
// the same buffers.
#pragma once

#include <stoker/stoker.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
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
  // An alltoallv with counts of its own: this rank sends send_counts[r] bytes to rank r, packed in the order of the ranks.
  // Collective.
  Exchange(MPI_Comm comm, std::vector<int> send_counts, Engine* mapped_from);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] Collective collective() const { return collective_; }
  // Per pair of ranks; nothing where pairs differ.
  [[nodiscard]] std::optional<std::uint64_t> bytes() const { return bytes_; }
  [[nodiscard]] std::span<std::byte> send() const { return send_.bytes; }
  [[nodiscard]] std::span<std::byte> recv() const { return recv_.bytes; }
  // As the MPI calls take them; in bytes.
  [[nodiscard]] int count() const { return static_cast<int>(bytes_.value()); }
  [[nodiscard]] const std::vector<int>& send_counts() const { return send_.counts; }
  [[nodiscard]] const std::vector<int>& send_displs() const { return send_.displs; }
  [[nodiscard]] const std::vector<int>& recv_counts() const { return recv_.counts; }
  [[nodiscard]] const std::vector<int>& recv_displs() const { return recv_.displs; }
  [[nodiscard]] int ranks() const { return static_cast<int>(send_.counts.size()); }

  // New data to send, and a receive buffer that holds none of what is expected.
  void fill(int epoch);
  // Throws when the receive buffer does not hold that epoch's data; `what` names the way it was moved.
  void check(int epoch, const std::string& what) const;

private:
  // One direction: a block for each rank, one behind the other.
  struct Side {
    void allocate(std::vector<int> block_counts, const std::string& name, Engine* mapped_from);

    std::vector<int> counts;
    std::vector<int> displs;
    std::vector<std::byte> heap;
    MappedArray<std::byte> mapped;
    std::span<std::byte> bytes;
  };

  MPI_Comm comm_;
  Collective collective_;
  std::optional<std::uint64_t> bytes_;
  int rank_ = 0;
  Side send_, recv_;
};

} // namespace stoker::bench
