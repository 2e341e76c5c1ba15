// SPDX-License-Identifier: BSD-3-Clause
// Incompressible Navier-Stokes on a periodic cube, pseudo-spectral, in rotational form:
//
//   du/dt = P(u x omega) + nu laplace(u),   omega = curl u,   P the projection onto divergence-free fields
//
// Classical Runge-Kutta of order 4, the viscous term by integrating factor. A right-hand side transposes nine
// components: three of velocity and three of vorticity to physical space, three of u x omega back. That is two tasks:
//
//   planes of a chunk   y and x transforms of six components, product, and back; starts their tiles to spectral space
//   rows of a chunk     z transforms of u x omega, the Runge-Kutta update, z transforms of the next velocity and
//                       vorticity; starts their tiles to physical space
//
// The update and the projection are pointwise in spectral space. So the first tiles of a stage are under way while the
// last ones of the stage before arrive, and a time step is one pipeline of tasks, which waits for the whole exchange
// only at its end. With MPI or stoker behind the exchange the tasks and their order are the same.
#pragma once

#include "grid.hpp"
#include "structure.hpp"
#include "tiles.hpp"
#include "transforms.hpp"

#include "examples/transposes/exchange.hpp"

#include <array>
#include <functional>
#include <optional>
#include <vector>

namespace taylor_green {

using Field = std::array<std::vector<Complex>, 3>; // spectral slabs of x, y and z
using Vector = std::array<double, 3>;

struct Task {
  static constexpr int stages = 4; // of Runge-Kutta
  enum class Kind {
    first_rows, // rows that only send the velocity at which the step starts
    statistics, // a quarter of them, while the first tiles of the stage are under way
    planes,
    rows // those of the last stage send nothing
  };
  Kind kind;
  int stage = 0;
  int chunk = 0;
  [[nodiscard]] bool receives() const { return kind == Kind::planes || kind == Kind::rows; }
  [[nodiscard]] bool sends() const { return kind != Kind::statistics && (kind != Kind::rows || stage + 1 < stages); }
};

class Solver {
public:
  // Collective. The exchange must outlive the solver, which describes its transposes to it. With `statistics` every
  // step also takes the structure functions of the velocity that it starts from.
  Solver(const Grid& grid, double nu, double dt, bool statistics, Exchange& exchange);

  // Starts again from a velocity given at the points of the grid. Collective.
  void set_velocity(const std::function<Vector(double x, double y, double z)>& velocity);
  // A step is its tasks in this order.
  [[nodiscard]] std::vector<Task> tasks() const;
  void run(const Task& task);
  void step();

  [[nodiscard]] const Field& velocity() const { return velocity_; }
  [[nodiscard]] const Grid& grid() const { return grid_; }
  // Structure functions of the velocity before the latest step, by separation; empty without statistics. Collective.
  [[nodiscard]] std::vector<StructureFunctions::Entry> structure_functions(MPI_Comm comm);
  // |omega| at one z, [y][x], on the rank that has this plane; zero on the others. Collective.
  [[nodiscard]] std::vector<double> vorticity_slice(int z);

private:
  void rows(const Task& task);
  void receive_row(int chunk, int row);
  void update_row(int stage, int row);
  void send_row(const Field& velocity, int chunk, int row);
  void fill_panel(const Field& velocity, int component, int row);
  void project_row(int row);
  template <class Visit>
  void for_each_mode(Visit visit) const;

  void planes(const Task& task);
  void receive_plane(int chunk, int plane);
  void send_plane(int chunk, int plane);
  void take_product();
  void work_on_statistics(int portion);

  Grid grid_;
  double dt_;
  Exchange& exchange_;
  Transforms transforms_;
  std::vector<double> decay_; // exp(-nu k^2 dt / 2) for k = 0..kmax
  Field velocity_;
  Field stage_;                                  // the velocity at which the right-hand side is taken
  Field sum_;                                    // of the Runge-Kutta stages so far
  Tiles backward_;                               // velocity, vorticity
  Tiles forward_;                                // u x omega
  std::array<AlignedArray<Complex>, 3> slope_;   // of one row: P(u x omega)
  AlignedArray<Complex> panel_;                  // of one row and component
  std::array<AlignedArray<double>, 6> physical_; // of one plane: velocity, vorticity, then u x omega
  std::optional<StructureFunctions> statistics_;
};

} // namespace taylor_green
