// SPDX-License-Identifier: BSD-3-Clause
// Communicators for the MPI library's own calls of persistent requests. Ranks may start their requests in different orders, which
// calls on one communicator must not be in, so each request has a duplicate of the application's communicator to itself. To free
// that is collective, and to free a request is not: it is kept for the next request.
#pragma once

#include "engine/calls/route_agreement.hpp"

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace stoker::pmpi {

struct PrivateComm {
  MPI_Comm comm = MPI_COMM_NULL;      // errors are returned
  engine::RouteAgreement agreement{}; // in it
  std::atomic<bool> in_use{true};
  bool spoiled = false;  // calls on it may have begun on some ranks only: not used again
  bool orphaned = false; // the application's communicator is gone
};

// A request's use of one.
class CommLease {
public:
  CommLease() = default;
  explicit CommLease(std::shared_ptr<PrivateComm> leased) : leased_(std::move(leased)) {}
  CommLease(CommLease&&) noexcept = default;
  CommLease& operator=(CommLease&& other) noexcept {
    std::swap(leased_, other.leased_);
    return *this;
  }
  ~CommLease();
  [[nodiscard]] bool given() const { return leased_ != nullptr; }
  [[nodiscard]] PrivateComm& operator*() const { return *leased_; }
  [[nodiscard]] PrivateComm* operator->() const { return leased_.get(); }

private:
  std::shared_ptr<PrivateComm> leased_;
};

// One that is not used again. Collective over `comm`. Throws engine::Error.
[[nodiscard]] CommLease make_private_comm(MPI_Comm comm);
// Communicators of this kind that this process has. MPI libraries have few thousands of all kinds.
[[nodiscard]] int private_comms_made();

// Of one communicator of the application's. Used by one thread at a time, as its collectives are.
class PrivateComms {
public:
  static constexpr std::size_t most_kept = 512;
  using Bits = std::array<std::uint64_t, most_kept / 64>; // one for each that there may be

  // Local. Those that a request of this rank's needs, and all that there are not.
  [[nodiscard]] Bits in_use();
  // Collective over `parent`. `in_use`: on any rank. Throws engine::Error.
  [[nodiscard]] CommLease take(MPI_Comm parent, const Bits& in_use);
  // As the communicator is freed, which MPI does not make a rank wait for others in, and may put off differently on each (MPI-4.1,
  // section 7.4.3). So what is still in use here is freed by its lease.
  void free_unused();

private:
  std::vector<std::shared_ptr<PrivateComm>> kept_; // in the same order on all ranks
};
// The first that is not in use.
[[nodiscard]] std::optional<std::size_t> first_unused(const PrivateComms::Bits& in_use);

} // namespace stoker::pmpi
