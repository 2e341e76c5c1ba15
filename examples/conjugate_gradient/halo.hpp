// SPDX-License-Identifier: BSD-3-Clause
// The halo exchange: the entries of a distributed vector that other ranks' rows need, as an all-to-all with counts that
// is described once and repeated in every iteration; with MPI or with stoker behind it.
#pragma once

#include <stoker/stoker.hpp>

#include <mpi.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace conjugate_gradient {

enum class Variant {
  mpi,             // MPI_Alltoallv in start()
  mpi_nonblocking, // MPI_Ialltoallv in start(), MPI_Wait in wait()
  stoker,          // a persistent request that a progress thread executes
  stoker_inline    // a persistent request that this rank executes
};
inline constexpr Variant all_variants[] = {Variant::mpi, Variant::mpi_nonblocking, Variant::stoker,
                                           Variant::stoker_inline};
const char* name_of(Variant variant);
bool is_stoker(Variant variant);

// Entries to send to and receive from each rank, in the order of the ranks.
struct HaloCounts {
  std::vector<int> send;
  std::vector<int> recv;
};

using Settings = std::vector<std::pair<std::string, std::string>>;

class Halo {
public:
  virtual ~Halo() = default;

  [[nodiscard]] std::span<double> outgoing() const { return outgoing_; }
  // A vector of this rank's own entries, followed by the halo.
  [[nodiscard]] std::span<double> vector() const { return vector_; }

  virtual void start() = 0;
  virtual void wait() = 0;

  // Share of the exchange that passed outside stoker's calls, by its own count; NaN for MPI.
  [[nodiscard]] virtual double hidden() const;
  // The executor: a helper, the rank itself, or MPI.
  [[nodiscard]] virtual std::string executor() const { return "MPI"; }

protected:
  std::span<double> outgoing_;
  std::span<double> vector_;
};

// An engine, which stoker's ways of exchange need; null for MPI's. Collective over the communicator, which must outlive
// the engine.
std::shared_ptr<stoker::Engine> make_engine(Variant variant, const Settings& settings, MPI_Comm comm);

// Collective over the communicator, which must outlive the halo. `own` is the number of own entries; MPI's ways ignore
// the engine.
std::unique_ptr<Halo> make_halo(Variant variant, const HaloCounts& counts, int own,
                                std::shared_ptr<stoker::Engine> engine, MPI_Comm comm);

} // namespace conjugate_gradient
