// SPDX-License-Identifier: BSD-3-Clause
// One collective exchange: its buffers, counts and data. What moves the data is in operation.hpp; every way of moving
// it uses the same buffers.
#pragma once

#include "bench/lib/device.hpp"

#include <stoker/stoker.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stoker::bench {

enum class Collective : std::uint8_t { alltoall, alltoallv, allreduce, reduce, bcast };
inline const std::vector<std::string> collective_names = {"alltoall", "alltoallv", "allreduce", "reduce", "bcast"};
const std::string& name_of(Collective collective);
Collective collective_of(const std::string& name); // one of collective_names
// Whether the collective works on one vector, rather than on a block for each pair of ranks.
constexpr bool has_vector(Collective collective) { return collective >= Collective::allreduce; }
inline constexpr int root_rank = 0; // of reduce and bcast

// Whose memory the buffers are: mapped memory of an engine, a device's, or else ordinary memory of the heap.
struct Place {
  Engine* mapped_from = nullptr;
  std::shared_ptr<Device> device;
};

class Exchange {
public:
  // Each rank sends `bytes` to each other one. For allreduce, reduce (both sums of doubles) and bcast, the vector has
  // that size.
  Exchange(MPI_Comm comm, Collective collective, std::uint64_t bytes, const Place& place);
  // An alltoallv with counts of its own: this rank sends send_counts[r] bytes to rank r, packed in the order of the
  // ranks. Collective.
  Exchange(MPI_Comm comm, std::vector<int> send_counts, const Place& place);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] Collective collective() const { return collective_; }
  // Per pair of ranks, or of the vector; nothing where pairs differ.
  [[nodiscard]] std::optional<std::uint64_t> bytes() const { return bytes_; }
  // In the memory of the host: buffers on a device have copies there.
  [[nodiscard]] std::span<std::byte> send() const { return send_.bytes; }
  [[nodiscard]] std::span<std::byte> recv() const { return recv_.bytes; }
  // The buffers themselves, which may be on a device.
  [[nodiscard]] std::span<std::byte> own_send() const { return send_.own(); }
  [[nodiscard]] std::span<std::byte> own_recv() const { return recv_.own(); }
  [[nodiscard]] bool on_device() const { return on_device_; }
  // What the MPI library is given instead of buffers on a device: the copy of what is sent, and back of what came.
  void fetch_sent() const { send_.device.download(); }
  void deliver_received() const { recv_.device.upload(); }
  // The operand and the result of allreduce and reduce; empty on ranks that have none.
  [[nodiscard]] std::span<double> operand() const { return as_doubles(send()); }
  [[nodiscard]] std::span<double> result() const { return as_doubles(recv()); }
  [[nodiscard]] static std::span<double> as_doubles(std::span<std::byte> bytes) {
    return {reinterpret_cast<double*>(bytes.data()), bytes.size() / sizeof(double)};
  }
  // The vector of a bcast, which this rank has or gets.
  [[nodiscard]] std::span<std::byte> vector() const { return rank_ == root_rank ? send() : recv(); }
  [[nodiscard]] std::span<std::byte> own_vector() const { return rank_ == root_rank ? own_send() : own_recv(); }
  // Counts and displacements as the MPI calls take them, in bytes.
  [[nodiscard]] int count() const { return static_cast<int>(bytes_.value()); }
  [[nodiscard]] const std::vector<int>& send_counts() const { return send_.counts; }
  [[nodiscard]] const std::vector<int>& send_displs() const { return send_.displs; }
  [[nodiscard]] const std::vector<int>& recv_counts() const { return recv_.counts; }
  [[nodiscard]] const std::vector<int>& recv_displs() const { return recv_.displs; }
  [[nodiscard]] int elements() const { return count() / static_cast<int>(sizeof(double)); } // of operand and result
  [[nodiscard]] int ranks() const { return ranks_; }

  // New data to send, and a receive buffer that holds none of what is expected.
  void fill(int epoch);
  // Writes what this rank sends once more, with the same data: all of it, computed from other memory as a program does.
  // Its peers then lack it. Not on a device.
  void write_again() const;
  // Throws when the receive buffer does not hold that epoch's data; `what` names the way it was moved.
  void check(int epoch, const std::string& what) const;

private:
  // One direction: a block for each rank, one behind the other, or the vector.
  struct Side {
    void allocate(std::vector<int> block_counts, const std::string& name, const Place& place);
    [[nodiscard]] std::span<std::byte> own() const { return device.memory().empty() ? bytes : device.memory(); }

    std::vector<int> counts;
    std::vector<int> displs;
    std::vector<std::byte> heap;
    MappedArray<std::byte> mapped;
    DeviceArray device;
    std::span<std::byte> bytes;
  };

  void allocate_vector(const Place& place);
  void fill_blocks(int epoch);
  void fill_vector(int epoch);
  void check_vector(int epoch, const std::string& what) const;
  [[noreturn]] void wrong_data(int epoch, const std::string& what, const std::string& where) const;

  MPI_Comm comm_;
  Collective collective_;
  std::optional<std::uint64_t> bytes_;
  int rank_ = 0;
  int ranks_ = 0;
  bool on_device_ = false;
  Side send_, recv_;
  std::vector<std::byte> complement_; // of what is sent, in memory that only this rank reads
};

} // namespace stoker::bench
