// SPDX-License-Identifier: BSD-3-Clause
// The solver: the tasks of a Runge-Kutta step.
#include "solver.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace taylor_green {
namespace {

Complex times_i(Complex a) { return {-a.imag(), a.real()}; }

// Calls visit(rank, chunk, plane, z) for the z of all ranks.
template <class Visit>
void for_each_plane(const Grid& grid, Visit visit) {
  for (int chunk = 0; chunk < grid.chunks; ++chunk) {
    const Range planes = grid.planes_of(chunk);
    for (int rank = 0; rank < grid.ranks; ++rank) {
      for (int plane = planes.begin; plane < planes.end; ++plane) {
        visit(rank, chunk, plane, grid.z_of(rank, chunk, plane));
      }
    }
  }
}

// Calls visit(rank, chunk, row, ky) for the ky of all ranks.
template <class Visit>
void for_each_row(const Grid& grid, Visit visit) {
  for (int rank = 0; rank < grid.ranks; ++rank) {
    for (int chunk = 0; chunk < grid.chunks; ++chunk) {
      const Range rows = grid.rows_of(chunk);
      for (int row = rows.begin; row < rows.end && grid.row_in_use(rank, row); ++row) {
        visit(rank, chunk, row, grid.ky(rank, row));
      }
    }
  }
}

} // namespace

Solver::Solver(const Grid& grid, double nu, double dt, bool statistics, Exchange& exchange)
    : grid_(grid), dt_(dt), exchange_(exchange), transforms_(grid), backward_(grid, 6, exchange),
      forward_(grid, 3, exchange), panel_(aligned_array<Complex>(grid.panel())) {
  if (statistics) {
    statistics_.emplace(grid);
  }
  for (int k = 0; k <= grid.kmax(); ++k) {
    decay_.push_back(std::exp(-nu * dt / 2 * k * k));
  }
  for (Field* field : {&velocity_, &stage_, &sum_}) {
    for (auto& component : *field) {
      component.resize(grid.slab());
    }
  }
  for (auto& slope : slope_) {
    slope = aligned_array<Complex>(grid.panel());
  }
  for (auto& physical : physical_) {
    physical = aligned_array<double>(grid.points());
  }
}

std::vector<Task> Solver::tasks() const {
  std::vector<Task> all;
  const auto add = [&](Task::Kind kind, int stage) {
    for (int chunk = 0; chunk < grid_.chunks; ++chunk) {
      all.push_back({.kind = kind, .stage = stage, .chunk = chunk});
    }
  };
  add(Task::Kind::first_rows, 0);
  for (int stage = 0; stage < Task::stages; ++stage) {
    all.push_back({.kind = Task::Kind::statistics, .stage = stage});
    add(Task::Kind::planes, stage);
    add(Task::Kind::rows, stage);
  }
  return all;
}

void Solver::run(const Task& task) {
  switch (task.kind) {
  case Task::Kind::statistics:
    // The velocity of stage 0 is kept; the three stages that follow and stage 0 of the next step do a quarter each.
    work_on_statistics((task.stage + StructureFunctions::portions - 1) % StructureFunctions::portions);
    break;
  case Task::Kind::planes:
    planes(task);
    break;
  case Task::Kind::first_rows:
  case Task::Kind::rows:
    rows(task);
  }
}

void Solver::step() {
  exchange_.begin("step");
  for (const Task& task : tasks()) {
    run(task);
  }
  exchange_.end();
}

// --- rows ---

void Solver::rows(const Task& task) {
  if (task.receives()) {
    forward_.wait_for_rows(task.chunk);
  }
  exchange_.begin("rows");
  const Range range = grid_.rows_of(task.chunk);
  for (int row = range.begin; row < range.end && grid_.row_in_use(grid_.rank, row); ++row) {
    if (task.receives()) {
      receive_row(task.chunk, row);
      update_row(task.stage, row);
    }
    if (task.sends()) {
      send_row(task.receives() ? stage_ : velocity_, task.chunk, row);
    }
  }
  exchange_.end();
  if (task.sends()) {
    backward_.start_rows(task.chunk);
  }
}

// Leaves the divergence-free part of a row of u x omega in slope_.
void Solver::receive_row(int chunk, int row) {
  for (int component = 0; component < 3; ++component) {
    Complex* panel = slope_[static_cast<std::size_t>(component)].get();
    for_each_plane(grid_, [&](int rank, int plane_chunk, int plane, int z) {
      std::copy_n(forward_.received(rank, component, plane_chunk, plane, chunk, row), grid_.columns(),
                  panel + z * grid_.columns());
    });
    transforms_.z_forward(panel);
    exchange_.poll();
  }
  project_row(row);
}

void Solver::send_row(const Field& velocity, int chunk, int row) {
  for (int component = 0; component < 6; ++component) {
    fill_panel(velocity, component, row);
    transforms_.z_backward(panel_.get());
    for_each_plane(grid_, [&](int rank, int plane_chunk, int plane, int z) {
      std::copy_n(&panel_[z * grid_.columns()], grid_.columns(),
                  backward_.to_send(rank, component, plane_chunk, plane, chunk, row));
    });
    exchange_.poll();
  }
}

// One row's panel of velocity (components 0, 1, 2) or vorticity (3, 4, 5).
void Solver::fill_panel(const Field& velocity, int component, int row) {
  const std::size_t first = static_cast<std::size_t>(row) * grid_.panel();
  if (component < 3) {
    std::copy_n(&velocity[static_cast<std::size_t>(component)][first], grid_.panel(), panel_.get());
    return;
  }
  const int axis = component - 3;
  const auto next = static_cast<std::size_t>((axis + 1) % 3);
  const auto last = static_cast<std::size_t>((axis + 2) % 3);
  const Complex* a = &velocity[last][first];
  const Complex* b = &velocity[next][first];
  Complex* out = panel_.get();
  const double ky = grid_.ky(grid_.rank, row);
  for (int z = 0; z < grid_.n; ++z) {
    const double kz = grid_.kz(z);
    for (int x = 0; x < grid_.columns(); ++x) {
      const Vector k{static_cast<double>(x), ky, kz};
      *out++ = times_i(k[next] * *a++ - k[last] * *b++);
    }
  }
}

// Calls visit(index in the panel, kx, kz) for every mode of a row that is kept. The others are never written and stay
// zero.
template <class Visit>
void Solver::for_each_mode(Visit visit) const {
  for (int z = 0; z < grid_.n; ++z) {
    const int kz = grid_.kz(z);
    if (std::abs(kz) <= grid_.kmax()) {
      std::size_t i = product(z, grid_.columns());
      for (int kx = 0; kx < grid_.columns(); ++kx, ++i) {
        visit(i, kx, kz);
      }
    }
  }
}

// Replaces slope_ by its divergence-free part.
void Solver::project_row(int row) {
  const double n = grid_.n;
  const double scale = 1 / (n * n * n);
  const double ky = grid_.ky(grid_.rank, row);
  for_each_mode([&](std::size_t i, double kx, double kz) {
    Complex& a = slope_[0][i];
    Complex& b = slope_[1][i];
    Complex& c = slope_[2][i];
    const double square = kx * kx + ky * ky + kz * kz;
    const Complex along = square == 0 ? Complex{} : (kx * a + ky * b + kz * c) / square;
    a = scale * (a - kx * along);
    b = scale * (b - ky * along);
    c = scale * (c - kz * along);
  });
}

// One stage of Runge-Kutta with the integrating factor e = exp(-nu k^2 dt / 2), N the right-hand side of the stage:
//   stage 0:  next = e (u + dt/2 N)     sum = e^2 (u + dt/6 N)
//   stage 1:  next = e u + dt/2 N       sum += dt/3 e N
//   stage 2:  next = e^2 u + dt e N     sum += dt/3 e N
//   stage 3:  u = sum + dt/6 N
void Solver::update_row(int stage, int row) {
  const auto factor = [this](int k) { return decay_[static_cast<std::size_t>(std::abs(k))]; };
  const std::size_t first = static_cast<std::size_t>(row) * grid_.panel();
  const double factor_y = factor(grid_.ky(grid_.rank, row));
  for_each_mode([&](std::size_t i, int kx, int kz) {
    const double e = factor(kx) * factor_y * factor(kz);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Complex n = dt_ * slope_[axis][i];
      Complex& u = velocity_[axis][first + i];
      Complex& next = stage_[axis][first + i];
      Complex& sum = sum_[axis][first + i];
      switch (stage) {
      case 0:
        next = e * (u + n / 2.0);
        sum = e * e * (u + n / 6.0);
        break;
      case 1:
        next = e * u + n / 2.0;
        sum += e / 3 * n;
        break;
      case 2:
        next = e * e * u + e * n;
        sum += e / 3 * n;
        break;
      default:
        u = sum + n / 6.0;
      }
    }
  });
}

// --- planes ---

void Solver::planes(const Task& task) {
  backward_.wait_for_planes(task.chunk);
  exchange_.begin("planes");
  const Range range = grid_.planes_of(task.chunk);
  for (int plane = range.begin; plane < range.end; ++plane) {
    receive_plane(task.chunk, plane);
    for (std::size_t component = 0; statistics_ && task.stage == 0 && component < 3; ++component) {
      statistics_->keep(component, plane, physical_[component].get());
    }
    take_product();
    send_plane(task.chunk, plane);
  }
  exchange_.end();
  forward_.start_planes(task.chunk);
}

void Solver::receive_plane(int chunk, int plane) {
  for (int component = 0; component < 6; ++component) {
    transforms_.clear_plane();
    for_each_row(grid_, [&](int rank, int row_chunk, int row, int ky) {
      std::copy_n(backward_.received(rank, component, chunk, plane, row_chunk, row), grid_.columns(),
                  transforms_.line(ky));
    });
    transforms_.to_physical(physical_[static_cast<std::size_t>(component)].get());
    exchange_.poll();
  }
}

void Solver::take_product() {
  const auto& [u, v, w, a, b, g] = physical_;
  for (std::size_t i = 0; i < grid_.points(); ++i) {
    const Vector cross{v[i] * g[i] - w[i] * b[i], w[i] * a[i] - u[i] * g[i], u[i] * b[i] - v[i] * a[i]};
    u[i] = cross[0];
    v[i] = cross[1];
    w[i] = cross[2];
  }
}

// The first three components of physical_.
void Solver::send_plane(int chunk, int plane) {
  for (int component = 0; component < 3; ++component) {
    transforms_.to_spectral(physical_[static_cast<std::size_t>(component)].get());
    for_each_row(grid_, [&](int rank, int row_chunk, int row, int ky) {
      std::copy_n(transforms_.line(ky), grid_.columns(),
                  forward_.to_send(rank, component, chunk, plane, row_chunk, row));
    });
    exchange_.poll();
  }
}

void Solver::work_on_statistics(int portion) {
  if (statistics_) {
    exchange_.begin("statistics");
    statistics_->work(portion, [this] { exchange_.poll(); });
    exchange_.end();
  }
}

// --- before and after the steps ---

void Solver::set_velocity(const std::function<Vector(double, double, double)>& velocity) {
  const double h = 2 * std::numbers::pi / grid_.n;
  for (int chunk = 0; chunk < grid_.chunks; ++chunk) {
    const Range range = grid_.planes_of(chunk);
    for (int plane = range.begin; plane < range.end; ++plane) {
      std::size_t i = 0;
      for (int y = 0; y < grid_.n; ++y) {
        for (int x = 0; x < grid_.n; ++x, ++i) {
          const Vector value = velocity(h * x, h * y, h * grid_.z_of(grid_.rank, chunk, plane));
          for (std::size_t axis = 0; axis < 3; ++axis) {
            physical_[axis][i] = value[axis];
          }
        }
      }
      send_plane(chunk, plane);
    }
    forward_.start_planes(chunk);
  }
  for (int chunk = 0; chunk < grid_.chunks; ++chunk) {
    forward_.wait_for_rows(chunk);
    const Range range = grid_.rows_of(chunk);
    for (int row = range.begin; row < range.end && grid_.row_in_use(grid_.rank, row); ++row) {
      receive_row(chunk, row);
      const std::size_t first = static_cast<std::size_t>(row) * grid_.panel();
      for_each_mode([&](std::size_t i, int, int) {
        for (std::size_t axis = 0; axis < 3; ++axis) {
          velocity_[axis][first + i] = slope_[axis][i];
        }
      });
    }
  }
}

std::vector<StructureFunctions::Entry> Solver::structure_functions(MPI_Comm comm) {
  if (!statistics_) {
    return {};
  }
  work_on_statistics(StructureFunctions::portions - 1);
  return statistics_->result(comm);
}

std::vector<double> Solver::vorticity_slice(int z) {
  for (int chunk = 0; chunk < grid_.chunks; ++chunk) {
    rows({.kind = Task::Kind::first_rows, .chunk = chunk});
  }
  std::vector<double> slice(grid_.points());
  for (int chunk = 0; chunk < grid_.chunks; ++chunk) {
    backward_.wait_for_planes(chunk);
    const Range range = grid_.planes_of(chunk);
    for (int plane = range.begin; plane < range.end; ++plane) {
      if (grid_.z_of(grid_.rank, chunk, plane) == z) {
        receive_plane(chunk, plane);
        for (std::size_t i = 0; i < slice.size(); ++i) {
          slice[i] = std::hypot(physical_[3][i], physical_[4][i], physical_[5][i]);
        }
      }
    }
  }
  return slice;
}

} // namespace taylor_green
