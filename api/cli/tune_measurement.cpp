// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/tune_measurement.hpp"

#include "api/cli/equal_call.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace stoker::cli {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

} // namespace

std::vector<double> measured_seconds(const std::shared_ptr<engine::Engine>& engine,
                                     std::span<const algos::Choice> choices, std::uint64_t bytes, int repetitions) {
  const EqualCall call(choices.front().algorithm->collective, bytes);
  std::vector<std::unique_ptr<engine::Request>> requests;
  for (const algos::Choice& choice : choices) {
    requests.push_back(request_for(engine, call, {{"stoker_algorithm", to_text(choice)}}));
  }
  std::vector<std::vector<double>> seconds(choices.size());
  for (int repetition = -1; repetition < repetitions; ++repetition) { // the first one warms up
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (requests[i] == nullptr) {
        continue;
      }
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      requests[i]->start();
      requests[i]->wait();
      if (repetition >= 0) {
        seconds[i].push_back(MPI_Wtime() - begin);
      }
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& of_choice : seconds) {
    if (of_choice.empty()) {
      medians.push_back(std::numeric_limits<double>::infinity());
      continue;
    }
    MPI_Allreduce(MPI_IN_PLACE, of_choice.data(), static_cast<int>(of_choice.size()), MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
    medians.push_back(median(of_choice));
  }
  return medians;
}

} // namespace stoker::cli
