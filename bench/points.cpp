// SPDX-License-Identifier: BSD-3-Clause
// Points of a benchmark: see points.hpp.
#include "bench/points.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

namespace stoker::bench {

void PointOptions::add_to(CLI::App& app) {
  app.add_option("--collective", collectives, "which exchanges")
      ->delimiter(',')
      ->check(CLI::IsMember({"alltoall", "alltoallv"}))
      ->capture_default_str();
  app.add_option("--bytes", bytes, "sizes per pair of ranks; K and M are powers of 1024")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--executors", executors, "stoker's executors to measure; none: the MPI library alone")
      ->delimiter(',')
      ->check(CLI::IsMember({"engine", "inline", "none"}))
      ->capture_default_str();
  app.add_option("--algorithm", algorithm, "stoker's algorithm; its own choice when not given");
  app.add_option("--buffers", buffers, "memory for everybody's buffers: ordinary heap, or stoker_alloc's")
      ->check(CLI::IsMember({"heap", "mapped"}))
      ->capture_default_str();
  app.add_flag("--validate", validate_always, "check the data of every timed region, not only once per point");
}

Point::Point(Session& session, const PointOptions& options, Collective collective, std::uint64_t bytes, Engine* engine)
    : options_(options), engine_(engine), helpers_(engine),
      exchange_(session.comm(), collective, bytes, options.buffers == "mapped" ? engine : nullptr) {}

Operation* Point::add(std::unique_ptr<Operation> operation) {
  if (operation == nullptr) {
    return nullptr;
  }
  helpers_.set(operation->needs_helpers());
  validate(*operation, exchange_);
  operations_.push_back(std::move(operation));
  return operations_.back().get();
}

std::vector<Operation*> Point::add_stoker(const std::string& algorithm) {
  std::vector<Operation*> added;
  if (engine_ != nullptr) {
    for (const std::string& executor : options_.executors) {
      helpers_.set(true);
      added.push_back(add(stoker_persistent(exchange_, *engine_, executor, algorithm)));
    }
  }
  return added;
}

Variant Point::variant(Operation* operation, std::function<void()> body) {
  const bool running = operation != nullptr && operation->needs_helpers();
  Variant variant;
  variant.body = std::move(body);
  if (options_.validate_always && operation != nullptr) {
    variant.enter = [this, running] {
      helpers_.set(running);
      exchange_.fill(++epoch_);
    };
    variant.leave = [this, operation] { exchange_.check(epoch_, operation->name()); };
  } else {
    variant.enter = [this, running] { helpers_.set(running); };
  }
  return variant;
}

namespace {

// Of all ranks together, between two readings of one operation. Nothing where nobody sends to other nodes, or where it is not
// known. Collective.
void add_phases(Row& row, MPI_Comm comm, const std::optional<PhaseSums>& before,
                const std::optional<PhaseSums>& after) {
  if (!before || !after) {
    return;
  }
  const double epochs = after->epochs - before->epochs;
  const bool sends = after->between > before->between;
  std::array<double, 4> sums{};
  if (sends && epochs > 0) {
    const double to_us = 1e6 / epochs;
    const double first = (after->before - before->before) * to_us;
    const double second = (after->between - before->between) * to_us;
    sums = {1, first, second, ((after->all - before->all) * to_us) - first - second};
  }
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM, comm);
  if (sums[0] > 0) {
    row.more["before_us"] = sums[1] / sums[0];
    row.more["between_us"] = sums[2] / sums[0];
    row.more["after_us"] = sums[3] / sums[0];
  }
}

} // namespace

std::vector<Row> compare_runs(Session& session, Point& point, const std::vector<Operation*>& operations,
                              const std::string& benchmark, bool breakdown) {
  point.helpers().set(false);
  const double exchange_us = estimate_us(session.comm(), [&] { operations[0]->run(); });
  const int batch = batch_for(exchange_us, session.budget());

  std::vector<Variant> variants;
  for (Operation* operation : operations) {
    variants.push_back(point.variant(operation, [operation] { operation->run(); }));
  }
  std::vector<std::optional<PhaseSums>> phases;
  for (const Operation* operation : operations) {
    phases.push_back(operation->phases());
  }
  const auto times = measure(session.comm(), variants, batch, session.budget());
  std::vector<Row> rows;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    Row row;
    row.benchmark = benchmark;
    row.collective = name_of(point.exchange().collective());
    row.algorithm = operations[i]->algorithm();
    row.executor = operations[i]->name();
    row.bytes = point.exchange().bytes();
    row.time = times[i];
    row.baseline_us = times[0].median;
    row.baseline = operations[0]->name();
    row.ratio = times[i].median / times[0].median;
    row.more["batch"] = batch;
    if (const auto init = operations[i]->init_seconds()) {
      row.more["init_us"] = 1e6 * slowest_rank(session.comm(), {*init}).front();
    }
    if (breakdown) {
      add_phases(row, session.comm(), phases[i], operations[i]->phases());
    }
    session.report().add(row);
    rows.push_back(std::move(row));
  }
  return rows;
}

void for_each_point(Session& session, const PointOptions& options, std::vector<std::string> columns,
                    const std::function<void(Point&)>& visit) {
  const auto has = [&](const char* executor) {
    return std::find(options.executors.begin(), options.executors.end(), executor) != options.executors.end();
  };
  std::optional<Engine> engine;
  if (!has("none")) {
    engine.emplace(session.make_engine(has("engine") ? "engine" : "inline", options.settings));
    session.describe(*engine);
  } else if (options.buffers == "mapped") {
    throw std::invalid_argument("--buffers mapped needs an engine: --executors must not be none");
  }
  session.report().constant("buffers", options.buffers);
  session.report().note(
      fmt::format("buffers: {}; data checked {}", options.buffers,
                  options.validate_always ? "after every timed region" : "before each point's timing"));
  session.report().table(std::move(columns));
  for (const std::string& name : options.collectives) {
    for (const std::uint64_t bytes : options.bytes) {
      Point point(session, options, name == "alltoall" ? Collective::alltoall : Collective::alltoallv, bytes,
                  engine ? &*engine : nullptr);
      visit(point);
    }
  }
}

} // namespace stoker::bench
