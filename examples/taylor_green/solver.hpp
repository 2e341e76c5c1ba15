// SPDX-License-Identifier: BSD-3-Clause
// Incompressible Navier-Stokes on a periodic cube, pseudo-spectral, in rotational form:
//
//   du/dt = P(u x omega) + nu laplace(u),   omega = curl u,   P the projection onto divergence-free fields
//
// Classical Runge-Kutta of order 4, the viscous term by integrating factor. A right-hand side transposes nine
// components: three of velocity and three of vorticity to physical space, three of u x omega back. They form one
// pipeline: while a transpose is under way, the transforms of other components and of other chunks of planes are
// computed.
#pragma once

#include "grid.hpp"
#include "structure.hpp"
#include "transforms.hpp"

#include "examples/transposes/exchange.hpp"

#include <array>
#include <functional>
#include <optional>
#include <vector>

namespace taylor_green {

using Field = std::array<std::vector<Complex>, 3>; // spectral slabs of x, y and z
using Vector = std::array<double, 3>;

class Solver {
public:
  // Collective. The exchange must outlive the solver, which describes its transposes to it. With `statistics` every
  // step also takes the structure functions of the velocity that it starts from.
  Solver(const Grid& grid, double nu, double dt, bool statistics, Exchange& exchange);

  // Starts again from a velocity given at the points of the grid. Collective.
  void set_velocity(const std::function<Vector(double x, double y, double z)>& velocity);
  void step();

  [[nodiscard]] const Field& velocity() const { return velocity_; }
  [[nodiscard]] const Grid& grid() const { return grid_; }
  // Structure functions of the velocity before the latest step, by separation; empty without statistics. Collective.
  [[nodiscard]] std::vector<StructureFunctions::Entry> structure_functions(MPI_Comm comm);
  // |omega| at one z, [y][x], on the rank that has this plane; zero on the others. Collective.
  [[nodiscard]] std::vector<double> vorticity_slice(int z);

private:
  struct Transpose { // of one component, in one direction
    std::span<Complex> send;
    std::span<Complex> recv;
    std::vector<std::size_t> chunks; // numbers of the all-to-alls
  };
  Transpose make_transpose();
  void nonlinear(const Field& velocity, int stage);
  void backward(
      const Field& velocity, const std::function<void(int)>& on_chunk, const std::function<void()>& meanwhile = [] {});
  void work_on_statistics(int portion);
  void keep_for_statistics(int c);
  void fill_panel(const Field& velocity, int component, int row);
  void send_to_spectral(std::size_t component, int c);
  [[nodiscard]] double* plane_of(std::size_t component, int i) const {
    return &planes_[component][i * grid_.n * grid_.n];
  }
  void finish_forward();
  [[nodiscard]] std::array<Complex, 3> projected(std::size_t i, double kx, double ky, double kz) const;
  template <class Visit>
  void for_each_mode(Visit visit) const;
  void update(int stage);

  Grid grid_;
  double dt_;
  Exchange& exchange_;
  Transforms transforms_;
  std::vector<double> decay_; // exp(-nu k^2 dt / 2) for k = 0..kmax
  Field velocity_;
  Field stage_;                                // the velocity at which the right-hand side is taken
  Field sum_;                                  // of the Runge-Kutta stages so far
  std::array<Transpose, 6> backward_;          // velocity, vorticity
  std::array<Transpose, 3> forward_;           // u x omega
  std::array<AlignedArray<double>, 6> planes_; // of one chunk, in physical space
  std::optional<StructureFunctions> statistics_;
};

} // namespace taylor_green
