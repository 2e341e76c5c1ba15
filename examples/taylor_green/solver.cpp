// SPDX-License-Identifier: BSD-3-Clause
// The solver: the pipeline of a right-hand side, and the Runge-Kutta step around it.
#include "solver.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace taylor_green {
namespace {

Complex times_i(Complex a) { return {-a.imag(), a.real()}; }

} // namespace

Solver::Solver(const Grid& grid, double nu, double dt, bool statistics, Exchange& exchange)
    : grid_(grid), dt_(dt), exchange_(exchange), transforms_(grid) {
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
  int most = 0; // planes in a chunk
  for (int c = 0; c < grid.chunks; ++c) {
    most = std::max(most, grid.chunk(c).size());
  }
  for (auto& planes : planes_) {
    planes = aligned_array<double>(static_cast<std::size_t>(most) * grid.points());
  }
  std::ranges::generate(backward_, [this] { return make_transpose(); });
  std::ranges::generate(forward_, [this] { return make_transpose(); });
}

Solver::Transpose Solver::make_transpose() {
  Transpose t{.send = exchange_.allocate(grid_.slab()), .recv = exchange_.allocate(grid_.slab()), .chunks = {}};
  for (int c = 0; c < grid_.chunks; ++c) {
    const std::size_t size = static_cast<std::size_t>(grid_.ranks) * grid_.block(c);
    t.chunks.push_back(
        exchange_.add(t.send.subspan(grid_.chunk_offset(c), size), t.recv.subspan(grid_.chunk_offset(c), size)));
  }
  return t;
}

// One row's panel of velocity (components 0, 1, 2) or vorticity (3, 4, 5).
void Solver::fill_panel(const Field& velocity, int component, int row) {
  if (component < 3) {
    transforms_.gather(velocity[static_cast<std::size_t>(component)].data(), row);
    return;
  }
  const int axis = component - 3;
  const int next = (axis + 1) % 3;
  const int last = (axis + 2) % 3;
  const auto columns = static_cast<std::size_t>(grid_.columns());
  const double ky = grid_.ky(grid_.rank, row);
  Complex* out = transforms_.panel();
  for (int z = 0; z < grid_.n; ++z) {
    const double kz = grid_.kz(z);
    const std::size_t first = static_cast<std::size_t>(z) * grid_.layer() + static_cast<std::size_t>(row) * columns;
    const Complex* a = velocity[static_cast<std::size_t>(last)].data() + first;
    const Complex* b = velocity[static_cast<std::size_t>(next)].data() + first;
    for (std::size_t x = 0; x < columns; ++x) {
      const Vector k{static_cast<double>(x), ky, kz};
      *out++ = times_i(k[static_cast<std::size_t>(next)] * a[x] - k[static_cast<std::size_t>(last)] * b[x]);
    }
  }
}

// Takes velocity and vorticity to physical space and calls on_chunk(c) when all six components of a chunk are there;
// before that meanwhile(), which has the time of the first chunk's transposes. Half of the chunks are started as soon
// as they can be, the rest when a chunk has arrived: a chunk that is needed soon shall not queue behind all that are
// needed later.
void Solver::backward(const Field& velocity, const std::function<void(int)>& on_chunk,
                      const std::function<void()>& meanwhile) {
  const int ahead = (grid_.chunks + 1) / 2;
  exchange_.begin("z transforms");
  for (int component = 0; component < 6; ++component) {
    const Transpose& t = backward_[static_cast<std::size_t>(component)];
    for (int row = 0; row < grid_.rows(); ++row) {
      fill_panel(velocity, component, row);
      transforms_.z_backward();
      transforms_.scatter(t.send.data(), row);
      exchange_.poll();
    }
    for (int c = 0; c < ahead; ++c) {
      exchange_.start(t.chunks[static_cast<std::size_t>(c)]);
    }
  }
  exchange_.end();
  meanwhile();

  for (int c = 0; c < grid_.chunks; ++c) {
    const Range range = grid_.chunk(c);
    for (std::size_t component = 0; component < 6; ++component) {
      const Transpose& t = backward_[component];
      exchange_.wait(t.chunks[static_cast<std::size_t>(c)]);
      if (c + ahead < grid_.chunks) {
        exchange_.start(t.chunks[static_cast<std::size_t>(c) + static_cast<std::size_t>(ahead)]);
      }
      exchange_.begin("plane transforms");
      for (int plane = range.begin; plane < range.end; ++plane) {
        transforms_.to_physical(t.recv.data(), c, plane, plane_of(component, plane - range.begin));
        exchange_.poll();
      }
      exchange_.end();
    }
    on_chunk(c);
  }
}

// Takes the chunk's planes of one component to spectral space along x and y and starts their transpose.
void Solver::send_to_spectral(std::size_t component, int c) {
  const Transpose& t = forward_[component];
  const Range range = grid_.chunk(c);
  exchange_.begin("plane transforms");
  for (int plane = range.begin; plane < range.end; ++plane) {
    transforms_.to_spectral(plane_of(component, plane - range.begin), c, plane, t.send.data());
    exchange_.poll();
  }
  exchange_.end();
  exchange_.start(t.chunks[static_cast<std::size_t>(c)]);
}

void Solver::finish_forward() {
  for (const Transpose& t : forward_) {
    for (const std::size_t i : t.chunks) {
      exchange_.wait(i);
    }
    exchange_.begin("z transforms");
    for (int row = 0; row < grid_.rows(); ++row) {
      transforms_.gather(t.recv.data(), row);
      transforms_.z_forward();
      transforms_.scatter(t.recv.data(), row);
      exchange_.poll();
    }
    exchange_.end();
  }
}

void Solver::work_on_statistics(int portion) {
  if (statistics_) {
    exchange_.begin("statistics");
    statistics_->work(portion, [this] { exchange_.poll(); });
    exchange_.end();
  }
}

void Solver::keep_for_statistics(int c) {
  const Range range = grid_.chunk(c);
  for (std::size_t component = 0; component < 3; ++component) {
    for (int plane = range.begin; statistics_ && plane < range.end; ++plane) {
      statistics_->keep(component, plane, plane_of(component, plane - range.begin));
    }
  }
}

// Leaves u x omega in the receive buffers of forward_, n^3 times too large. The velocity of stage 0 is kept for the
// statistics; the three stages that follow and stage 0 of the next step do a quarter of that work each.
void Solver::nonlinear(const Field& velocity, int stage) {
  const auto multiply = [&](int c) {
    if (stage == 0) {
      keep_for_statistics(c);
    }
    exchange_.begin("product");
    const int points = grid_.chunk(c).size() * grid_.n * grid_.n;
    const auto& [u, v, w, a, b, g] = planes_;
    for (int i = 0; i < points; ++i) {
      const Vector cross{v[i] * g[i] - w[i] * b[i], w[i] * a[i] - u[i] * g[i], u[i] * b[i] - v[i] * a[i]};
      u[i] = cross[0];
      v[i] = cross[1];
      w[i] = cross[2];
    }
    exchange_.end();
    for (std::size_t component = 0; component < 3; ++component) {
      send_to_spectral(component, c);
    }
  };
  backward(velocity, multiply, [&] { work_on_statistics((stage + 3) % StructureFunctions::portions); });
  finish_forward();
}

// The divergence-free part of what forward_ received.
std::array<Complex, 3> Solver::projected(std::size_t i, double kx, double ky, double kz) const {
  const double n = grid_.n;
  const double scale = 1 / (n * n * n);
  const Complex a = scale * forward_[0].recv[i];
  const Complex b = scale * forward_[1].recv[i];
  const Complex c = scale * forward_[2].recv[i];
  const double square = kx * kx + ky * ky + kz * kz;
  const Complex along = square == 0 ? Complex{} : (kx * a + ky * b + kz * c) / square;
  return {a - kx * along, b - ky * along, c - kz * along};
}

// Calls visit(index, kx, ky, kz) for every mode that is kept. The others are never written and stay zero.
template <class Visit>
void Solver::for_each_mode(Visit visit) const {
  for (int z = 0; z < grid_.n; ++z) {
    const int kz = grid_.kz(z);
    if (std::abs(kz) > grid_.kmax()) {
      continue;
    }
    std::size_t i = static_cast<std::size_t>(z) * grid_.layer();
    for (int row = 0; row < grid_.rows() && grid_.row_in_use(grid_.rank, row); ++row) {
      const int ky = grid_.ky(grid_.rank, row);
      for (int kx = 0; kx < grid_.columns(); ++kx, ++i) {
        visit(i, kx, ky, kz);
      }
    }
  }
}

// One stage of Runge-Kutta with the integrating factor e = exp(-nu k^2 dt / 2), N the right-hand side of the stage:
//   stage 0:  next = e (u + dt/2 N)     sum = e^2 (u + dt/6 N)
//   stage 1:  next = e u + dt/2 N       sum += dt/3 e N
//   stage 2:  next = e^2 u + dt e N     sum += dt/3 e N
//   stage 3:  u = sum + dt/6 N
void Solver::update(int stage) {
  exchange_.begin("update");
  for_each_mode([&](std::size_t i, int kx, int ky, int kz) {
    const auto k = [](int wavenumber) { return static_cast<std::size_t>(std::abs(wavenumber)); };
    const double e = decay_[k(kx)] * decay_[k(ky)] * decay_[k(kz)];
    const auto slope = projected(i, kx, ky, kz);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Complex n = dt_ * slope[axis];
      Complex& u = velocity_[axis][i];
      Complex& next = stage_[axis][i];
      Complex& sum = sum_[axis][i];
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
  exchange_.end();
}

void Solver::step() {
  exchange_.begin("step");
  for (int stage = 0; stage < 4; ++stage) {
    nonlinear(stage == 0 ? velocity_ : stage_, stage);
    update(stage);
  }
  exchange_.end();
}

void Solver::set_velocity(const std::function<Vector(double, double, double)>& velocity) {
  const double h = 2 * std::numbers::pi / grid_.n;
  for (int c = 0; c < grid_.chunks; ++c) {
    const Range range = grid_.chunk(c);
    int i = 0;
    for (int plane = range.begin; plane < range.end; ++plane) {
      for (int y = 0; y < grid_.n; ++y) {
        for (int x = 0; x < grid_.n; ++x, ++i) {
          const Vector value = velocity(h * x, h * y, h * grid_.z_of(c, plane));
          for (std::size_t axis = 0; axis < 3; ++axis) {
            planes_[axis][i] = value[axis];
          }
        }
      }
    }
    for (std::size_t component = 0; component < 3; ++component) {
      send_to_spectral(component, c);
    }
  }
  finish_forward();
  for_each_mode([this](std::size_t i, int kx, int ky, int kz) {
    const auto value = projected(i, kx, ky, kz);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      velocity_[axis][i] = value[axis];
    }
  });
}

std::vector<StructureFunctions::Entry> Solver::structure_functions(MPI_Comm comm) {
  if (!statistics_) {
    return {};
  }
  work_on_statistics(StructureFunctions::portions - 1);
  return statistics_->result(comm);
}

std::vector<double> Solver::vorticity_slice(int z) {
  const int points = grid_.n * grid_.n;
  std::vector<double> slice(static_cast<std::size_t>(points));
  backward(velocity_, [&](int c) {
    const Range range = grid_.chunk(c);
    for (int plane = range.begin; plane < range.end; ++plane) {
      if (grid_.z_of(c, plane) == z) {
        const int first = (plane - range.begin) * points;
        for (int i = 0; i < points; ++i) {
          slice[static_cast<std::size_t>(i)] =
              std::hypot(planes_[3][first + i], planes_[4][first + i], planes_[5][first + i]);
        }
      }
    }
  });
  return slice;
}

} // namespace taylor_green
