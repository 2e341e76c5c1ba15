// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/gathered_texts.hpp"

#include <cstddef>
#include <numeric>

namespace stoker::engine {
namespace {

// In which round each text comes.
std::vector<int> rounds_of(const std::vector<int>& lengths, std::int64_t most_at_once) {
  std::vector<int> rounds;
  int round = 0;
  std::int64_t bytes = 0;
  for (const int length : lengths) {
    if (bytes > 0 && bytes + length > most_at_once) {
      ++round;
      bytes = 0;
    }
    bytes += length;
    rounds.push_back(round);
  }
  return rounds;
}

} // namespace

std::vector<std::string> gathered_texts(const std::string& mine, MPI_Comm comm, std::int64_t most_at_once) {
  int rank = 0;
  int size = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(rank == 0 ? static_cast<std::size_t>(size) : 0);
  PMPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, comm);
  const std::vector<int> rounds = rounds_of(lengths, most_at_once);
  int last = rounds.empty() ? 0 : rounds.back();
  PMPI_Bcast(&last, 1, MPI_INT, 0, comm);
  int own = 0;
  PMPI_Scatter(rounds.data(), 1, MPI_INT, &own, 1, MPI_INT, 0, comm);
  std::vector<std::string> texts;
  for (int round = 0; round <= last; ++round) {
    std::vector<int> counts = lengths;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] = rounds[i] == round ? counts[i] : 0;
    }
    std::vector<int> offsets(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
    std::string all(counts.empty() ? 0 : static_cast<std::size_t>(offsets.back() + counts.back()), '\0');
    PMPI_Gatherv(mine.data(), own == round ? length : 0, MPI_CHAR, all.data(), counts.data(), offsets.data(), MPI_CHAR,
                 0, comm);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (rounds[i] == round) {
        texts.push_back(all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(counts[i])));
      }
    }
  }
  return texts;
}

} // namespace stoker::engine
