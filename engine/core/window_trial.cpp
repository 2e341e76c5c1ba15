// SPDX-License-Identifier: BSD-3-Clause
#include "engine/core/window_trial.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"
#include "engine/transport/window.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace stoker::engine {
namespace {

constexpr std::size_t most_peers = 2;
constexpr std::size_t turns = 5;
constexpr int tag = 0; // the communicator is the engine's, and has no other messages meanwhile

class Contest {
public:
  Contest(MPI_Comm comm, const WindowTrial& trial) : comm_(comm), bytes_(trial.bytes) {
    const int rank = rank_in(comm);
    const std::vector<int> takes_part = gathered(comm, trial.takes_part ? 1 : 0);
    for (std::size_t r = 0; r < takes_part.size(); ++r) {
      if (takes_part[r] != 0) {
        others_.push_back(static_cast<int>(r));
      }
    }
    const auto self = std::ranges::find(others_, rank);
    if (self != others_.end()) { // the next ones first
      std::rotate(others_.begin(), self, others_.end());
      others_.erase(others_.begin());
    } else {
      others_.clear();
    }
    peers_ = std::min(others_.size(), most_peers);
    attempt_on_all(comm, [&] {
      send_.resize(peers_ > 0 ? bytes_ : 0);
      recv_.resize(peers_ * bytes_);
    });
  }
  [[nodiscard]] bool has_peers() const { return peers_ > 0; }

  [[nodiscard]] bool open_window(bool dynamic) {
    window_ = dynamic ? Window::dynamic(comm_) : Window::over(comm_, recv_.data(), recv_.size());
    if (window_ == nullptr) {
      return false;
    }
    std::uint64_t place = 0;
    if (dynamic && !recv_.empty()) {
      place = window_->attach(recv_.data(), recv_.size()).value_or(0);
    }
    places_ = gathered(comm_, place);
    const bool works = on_all(comm_, !dynamic || recv_.empty() || place != 0);
    if (!works) {
      close_window();
    }
    return works;
  }

  void close_window() {
    PMPI_Barrier(comm_); // nobody puts any more
    if (!places_.empty() && places_[static_cast<std::size_t>(rank_in(comm_))] != 0) {
      window_->detach(recv_.data());
    }
    window_->free();
  }

  void by_messages() {
    std::array<MPI_Request, 2 * most_peers> requests{};
    requests.fill(MPI_REQUEST_NULL);
    for (std::size_t p = 0; p < peers_; ++p) {
      const int size = static_cast<int>(bytes_);
      note(PMPI_Irecv(recv_.data() + (p * bytes_), size, MPI_BYTE, source(p), tag, comm_, &requests[2 * p]));
      note(PMPI_Isend(send_.data(), size, MPI_BYTE, target(p), tag, comm_, &requests[(2 * p) + 1]));
    }
    note(PMPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  }

  void by_window() {
    for (std::size_t p = 0; p < peers_; ++p) {
      const std::uint64_t place = places_[static_cast<std::size_t>(target(p))] + (p * bytes_);
      note(window_->put(send_.data(), bytes_, target(p), place));
    }
    note(window_->flush_all());
    MPI_Request fence = MPI_REQUEST_NULL;
    note(PMPI_Ibarrier(comm_, &fence));
    note(PMPI_Wait(&fence, MPI_STATUS_IGNORE));
  }

  // Whether a call has failed. This rank goes on with the others all the same.
  [[nodiscard]] bool failed() const { return failed_; }

private:
  void note(int code) { failed_ = failed_ || code != MPI_SUCCESS; }
  // Rank r puts its p-th message to the rank p + 1 places further on, so that it gets that of the rank as many back.
  [[nodiscard]] int target(std::size_t p) const { return others_[p]; }
  [[nodiscard]] int source(std::size_t p) const { return others_[others_.size() - 1 - p]; }

  MPI_Comm comm_;
  std::uint64_t bytes_;
  std::vector<int> others_; // that take part, in cyclic order from this rank on
  std::size_t peers_ = 0;
  std::vector<std::byte> send_;
  std::vector<std::byte> recv_;
  std::shared_ptr<Window> window_;
  std::vector<std::uint64_t> places_; // displacements of the ranks' memory
  bool failed_ = false;
};

std::uint64_t median(std::array<std::uint64_t, turns> times) {
  std::ranges::nth_element(times, times.begin() + turns / 2);
  return times[turns / 2];
}

} // namespace

bool window_is_faster(MPI_Comm comm, const WindowTrial& trial) {
  Contest contest(comm, trial);
  if (on_all(comm, !contest.has_peers())) {
    return true;
  }
  if (!contest.open_window(trial.dynamic)) {
    return false;
  }
  std::array<std::uint64_t, turns> messages{};
  std::array<std::uint64_t, turns> puts{};
  const auto timed = [&](auto exchange) {
    PMPI_Barrier(comm);
    const std::uint64_t begin = now_ns();
    exchange();
    return now_ns() - begin;
  };
  for (std::size_t turn = 0; turn <= turns; ++turn) { // the first does not count: connections are made
    const std::uint64_t by_messages = timed([&] { contest.by_messages(); });
    const std::uint64_t by_window = timed([&] { contest.by_window(); });
    if (turn > 0) {
      messages[turn - 1] = by_messages;
      puts[turn - 1] = by_window;
    }
  }
  std::array<std::uint64_t, 3> slowest{median(messages), median(puts), contest.failed() ? 1U : 0U};
  check_mpi(PMPI_Allreduce(MPI_IN_PLACE, slowest.data(), slowest.size(), MPI_UINT64_T, MPI_MAX, comm), "MPI_Allreduce");
  contest.close_window();
  return slowest[1] < slowest[0] && slowest[2] == 0;
}

} // namespace stoker::engine
