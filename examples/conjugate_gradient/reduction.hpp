// SPDX-License-Identifier: BSD-3-Clause
// A few sums over all ranks, needed again in every iteration; with MPI or with stoker behind them. All ranks get the
// same sums to the bit, as MPI demands: decisions may rest on them.
#pragma once

#include <stoker/stoker.hpp>

#include <mpi.h>

#include <memory>
#include <span>
#include <string>

namespace conjugate_gradient {

enum class Reduce {
  stoker,  // a persistent request
  mpi,     // MPI_Iallreduce in start(), MPI_Wait in wait()
  blocking // MPI_Allreduce in start()
};
inline constexpr Reduce all_reduces[] = {Reduce::stoker, Reduce::mpi, Reduce::blocking};
const char* name_of(Reduce reduce);

class Reduction {
public:
  virtual ~Reduction() = default;

  // This rank's addends; not to be written between start() and wait().
  [[nodiscard]] std::span<double> addends() const { return addends_; }
  // Valid from wait() to the next start().
  [[nodiscard]] std::span<const double> sums() const { return sums_; }

  virtual void start() = 0;
  virtual void wait() = 0;

  // Share of the reduction that passed outside stoker's calls, by its own count; NaN for MPI.
  [[nodiscard]] virtual double hidden() const;
  // The executor: a helper, the rank itself, or MPI.
  [[nodiscard]] virtual std::string executor() const { return "MPI"; }

protected:
  std::span<double> addends_;
  std::span<double> sums_;
};

// Collective over the communicator, which must outlive the reduction. MPI's ways ignore the engine.
std::unique_ptr<Reduction> make_reduction(Reduce reduce, std::size_t count, std::shared_ptr<stoker::Engine> engine,
                                          MPI_Comm comm);

} // namespace conjugate_gradient
