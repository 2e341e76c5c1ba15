// SPDX-License-Identifier: BSD-3-Clause
// Communicators for persistent requests that the MPI library carries out. Ranks may start requests in different orders,
// but calls on one communicator must be in the same order. So each request has its own duplicate of the application's
// communicator. Freeing a communicator is collective, freeing a request is not: the communicator is kept for the next
// request.
#pragma once

#include "engine/base/own_comm.hpp"
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

namespace stoker::engine {

struct PrivateComm {
  PrivateComm() = default;
  PrivateComm(const PrivateComm&) = delete;
  PrivateComm& operator=(const PrivateComm&) = delete;
  // What nobody has freed by now may not be, as ranks may be at different places. So it still counts as taken.
  ~PrivateComm() { (void)comm.OwnedHandle::release(); }

  OwnedComm comm;
  RouteAgreement agreement{}; // in it
  std::atomic<bool> in_use{true};
  bool spoiled = false;  // calls on it may have begun on some ranks only: not used again
  bool orphaned = false; // the application's communicator is gone
};

// A request's use of a private communicator.
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

// A private communicator that will not be used again.
[[nodiscard]] CommLease make_private_comm(OwnedComm comm);

// The private communicators of one communicator of the application's. Used by one thread at a time, as its collectives
// are.
class PrivateComms {
public:
  static constexpr std::size_t most_kept = 512;
  using Bits = std::array<std::uint64_t, most_kept / 64>; // one for each that there may be

  // Local. The bits of those that a request of this rank's uses, and of those that do not exist.
  [[nodiscard]] Bits in_use();
  // Collective over `parent`, a communicator of the engine's ranks, which `engine_comm` has all. `in_use`: on any rank.
  // Throws Error.
  [[nodiscard]] CommLease take(MPI_Comm parent, MPI_Comm engine_comm, const Bits& in_use);
  // Called when the communicator is freed. MPI need not synchronise ranks there, and may delay it differently on each
  // (MPI-4.1, section 7.4.3). So communicators that are still in use here are freed by their lease.
  void free_unused();

private:
  std::vector<std::shared_ptr<PrivateComm>> kept_; // in the same order on all ranks
};
// The first that is not in use.
[[nodiscard]] std::optional<std::size_t> first_unused(const PrivateComms::Bits& in_use);

} // namespace stoker::engine
