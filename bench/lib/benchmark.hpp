// SPDX-License-Identifier: BSD-3-Clause
// The interface of a benchmark to the driver, and the list of benchmarks. A new one is one file, and one line here and
// in main.cpp.
#pragma once

#include "bench/lib/session.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace stoker::bench {

class Benchmark {
public:
  virtual ~Benchmark() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string description() const = 0;
  virtual void add_options(CLI::App& app) = 0;
  virtual void run(Session& session) = 0; // collective
};

std::unique_ptr<Benchmark> make_overlap();
std::unique_ptr<Benchmark> make_latency();
std::unique_ptr<Benchmark> make_alltoall();
std::unique_ptr<Benchmark> make_alltoallv();
std::unique_ptr<Benchmark> make_allreduce();
std::unique_ptr<Benchmark> make_reduce();
std::unique_ptr<Benchmark> make_bcast();
std::unique_ptr<Benchmark> make_init();
std::unique_ptr<Benchmark> make_footprint();
std::unique_ptr<Benchmark> make_call_cost();
std::unique_ptr<Benchmark> make_idle();
std::unique_ptr<Benchmark> make_fft();
std::unique_ptr<Benchmark> make_neighbor();
std::unique_ptr<Benchmark> make_putget();
std::unique_ptr<Benchmark> make_passive();
std::unique_ptr<Benchmark> make_gups();
std::unique_ptr<Benchmark> make_stencil();

} // namespace stoker::bench
