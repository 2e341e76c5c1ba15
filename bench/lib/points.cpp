// SPDX-License-Identifier: BSD-3-Clause
// Points of a benchmark: see points.hpp.
#include "bench/lib/points.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

namespace stoker::bench {

void PointOptions::add_to(CLI::App& app) {
  app.add_option("--collective", collectives, "which exchanges")
      ->delimiter(',')
      ->check(CLI::IsMember(collective_names))
      ->capture_default_str();
  add_bytes_to(app, "sizes per pair of ranks, or of the vector (allreduce, reduce, bcast)");
  app.add_option("--algorithm", algorithm, "stoker's algorithm; its own choice when not given");
  add_ways_to(app);
}

void PointOptions::add_bytes_to(CLI::App& app, const std::string& description) {
  app.add_option("--bytes", bytes, description + "; K and M are powers of 1024")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
}

void PointOptions::add_ways_to(CLI::App& app) {
  app.add_option("--executors", executors, "stoker's executors to measure; none: the MPI library alone")
      ->delimiter(',')
      ->check(CLI::IsMember({"engine", "inline", "none"}))
      ->capture_default_str();
  app.add_option("--buffers", buffers,
                 "memory for everybody's buffers: ordinary heap, stoker_alloc's, or a device's; "
                 "the MPI library then gets copies in pinned memory of the host")
      ->delimiter(',')
      ->check(CLI::IsMember({"heap", "mapped", "device"}))
      ->capture_default_str();
  app.add_option("--inits", inits, "how often each request is initialised, for the median time of its init")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--unchanged-inputs", unchanged_inputs,
               "where runs are back to back, do not write what is sent before each of them");
  app.add_flag("--validate", validate_always, "check the data of every timed region, not only once per point");
}

Place Point::place_of(Session& session, Engine* engine, const std::string& buffers) {
  Place place;
  place.mapped_from = buffers == "mapped" ? engine : nullptr;
  if (buffers == "device") {
    place.device = session.device();
    if (place.device == nullptr) {
      throw std::invalid_argument("--buffers device: this process finds no CUDA driver, or no device");
    }
  }
  return place;
}

Operation* Point::add(const std::function<std::unique_ptr<Operation>()>& make) {
  std::unique_ptr<Operation> operation;
  std::vector<double> inits;
  do {
    operation.reset(); // before the next one is made: it may hold something of which there is only one
    operation = make();
    if (operation == nullptr) {
      return nullptr;
    }
    if (const auto init = operation->init_us()) {
      inits.push_back(*init);
    }
  } while (!inits.empty() && inits.size() < static_cast<std::size_t>(options_.inits));
  if (!inits.empty()) {
    init_times_[operation.get()] = summarize(slowest_rank(session_.comm(), std::move(inits)));
  }
  helpers_.set(operation->needs_helpers());
  validate(*operation, exchange_);
  operations_.push_back(std::move(operation));
  return operations_.back().get();
}

std::optional<Summary> Point::init_times(const Operation* operation) const {
  const auto found = init_times_.find(operation);
  return found == init_times_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> Point::init_us(const Operation* operation) const {
  const std::optional<Summary> times = init_times(operation);
  return times ? std::optional(times->median) : std::nullopt;
}

std::vector<Operation*> Point::add_stoker(const std::string& algorithm) {
  std::vector<Operation*> added;
  if (engine_ != nullptr) {
    for (const std::string& executor : options_.executors) {
      helpers_.set(true);
      try {
        added.push_back(add([&] { return stoker_persistent(exchange_, *engine_, executor, algorithm); }));
      } catch (const Error& error) { // on all ranks
        const bool left_out = error.code() == STOKER_ERR_UNSUPPORTED ||
                              (executor == "device" && error.code() == STOKER_ERR_ACCESS); // of these buffers
        if (!left_out) {
          throw;
        }
        session_.report().note(fmt::format("left out: {}, {}: {}", algorithm, executor, error.what()));
      }
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

// Adds the phases of all ranks together, between two readings of one operation. Adds nothing if nobody sends to other
// nodes, or if the phases are not known. Collective.
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
                              const Row& common, bool breakdown, Baseline baseline) {
  point.helpers().set(false);
  const double exchange_us = estimate_us(session.comm(), [&] { operations[0]->run(); });
  const int batch = batch_for(exchange_us, session.budget());

  std::vector<Variant> variants;
  const bool writes = point.writes_inputs();
  for (Operation* operation : operations) {
    variants.push_back(point.variant(operation, [&point, writes, operation] {
      if (writes) {
        point.exchange().write_again();
      }
      operation->run();
    }));
  }
  std::vector<std::optional<PhaseSums>> phases;
  for (const Operation* operation : operations) {
    phases.push_back(operation->phases());
  }
  const auto times = measure(session.comm(), variants, batch, session.budget());
  std::size_t reference = 0;
  for (std::size_t i = 1; i < operations.size() && baseline == Baseline::fastest_mpi; ++i) {
    if (operations[i]->algorithm() == "mpi" && times[i].median < times[reference].median) {
      reference = i;
    }
  }
  std::vector<Row> rows;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    Row row = common;
    row.collective = name_of(point.exchange().collective());
    row.algorithm = operations[i]->algorithm();
    row.executor = operations[i]->name();
    row.bytes = point.exchange().bytes();
    row.time = times[i];
    row.baseline_us = times[reference].median;
    row.baseline = operations[reference]->name();
    row.ratio = times[i].median / times[reference].median;
    row.more["batch"] = batch;
    row.init_us = point.init_us(operations[i]);
    if (breakdown) {
      add_phases(row, session.comm(), phases[i], operations[i]->phases());
    }
    session.report().add(row);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<Engine> begin_points(Session& session, const PointOptions& options, std::vector<std::string> columns) {
  const auto has = [](const std::vector<std::string>& names, const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::optional<Engine> engine;
  if (!has(options.executors, "none")) {
    engine.emplace(session.make_engine(has(options.executors, "engine") ? "engine" : "inline", options.settings));
    session.describe(*engine);
  } else if (has(options.buffers, "mapped")) {
    throw std::invalid_argument("--buffers mapped needs an engine: --executors must not be none");
  }
  session.report().note(fmt::format(
      "buffers: {}; inputs {}; data checked {}", fmt::join(options.buffers, ", "),
      options.unchanged_inputs ? "unchanged" : "written before each run, if that is back to back with others",
      options.validate_always ? "after every timed region" : "before each point's timing"));
  session.report().table(std::move(columns));
  return engine;
}

void for_each_point(Session& session, const PointOptions& options, std::vector<std::string> columns,
                    const std::function<void(Point&)>& visit) {
  std::optional<Engine> engine = begin_points(session, options, std::move(columns));
  for (const std::string& name : options.collectives) {
    for (const std::uint64_t bytes : options.bytes) {
      for (const std::string& buffers : options.buffers) {
        Point point(session, options, engine ? &*engine : nullptr, buffers, collective_of(name), bytes);
        visit(point);
      }
    }
  }
}

} // namespace stoker::bench
