// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/tune_measurement.hpp"

#include "engine/data/collective_call.hpp"
#include "engine/requests/init.hpp"

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <utility>

namespace stoker::cli {
namespace {

using algos::Collective;

// The arguments of a call with equal blocks, or a vector. Every collective looks at those that it has.
class TimedCall {
public:
  TimedCall(Collective collective, std::uint64_t bytes) {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const bool doubles = algos::combines(collective) && bytes % sizeof(double) == 0;
    const std::uint64_t count = doubles ? bytes / sizeof(double) : bytes;
    if (count * static_cast<std::uint64_t>(ranks) > INT_MAX) {
      throw std::invalid_argument("--bytes " + std::to_string(bytes) + ": " + std::to_string(ranks) +
                                  " such blocks are more than MPI counts");
    }
    type_ = doubles ? MPI_DOUBLE : MPI_BYTE;
    counts_.assign(static_cast<std::size_t>(ranks), static_cast<int>(count));
    for (int rank = 0; rank < ranks; ++rank) {
      displacements_.push_back(rank * static_cast<int>(count));
    }
    send_.resize(bytes * static_cast<std::uint64_t>(ranks));
    recv_.resize(send_.size());
    call_ = {.collective = collective,
             .sendbuf = send_.data(),
             .sendcounts = counts_.data(),
             .sdispls = displacements_.data(),
             .sendtypes = &type_,
             .recvbuf = recv_.data(),
             .recvcounts = counts_.data(),
             .rdispls = displacements_.data(),
             .recvtypes = &type_,
             .op = doubles ? MPI_SUM : MPI_BOR,
             .root = 0,
             .comm = MPI_COMM_WORLD};
  }
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;
  ~TimedCall() = default;
  [[nodiscard]] const engine::CollectiveCall& call() const { return call_; }

private:
  MPI_Datatype type_ = MPI_BYTE;
  std::vector<int> counts_;
  std::vector<int> displacements_;
  std::vector<std::byte> send_;
  std::vector<std::byte> recv_;
  engine::CollectiveCall call_;
};

std::unique_ptr<engine::Request> request_with(const std::shared_ptr<engine::Engine>& engine, const TimedCall& call,
                                              const algos::Choice& choice) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "stoker_algorithm", to_text(choice).c_str());
  std::unique_ptr<engine::Request> request;
  try {
    request = engine::init(engine, call.call(), info);
  } catch (const engine::Error&) { // on all ranks alike
  }
  MPI_Info_free(&info);
  return request;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

} // namespace

std::vector<double> measured_seconds(const std::shared_ptr<engine::Engine>& engine,
                                     std::span<const algos::Choice> choices, std::uint64_t bytes, int repetitions) {
  const TimedCall call(choices.front().algorithm->collective, bytes);
  std::vector<std::unique_ptr<engine::Request>> requests;
  for (const algos::Choice& choice : choices) {
    requests.push_back(request_with(engine, call, choice));
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
