// SPDX-License-Identifier: BSD-3-Clause
// Distribution of the rows, and the plan of the halo exchange.
#include "distributed.hpp"

#include <algorithm>
#include <numeric>

namespace conjugate_gradient {
namespace {

int rows_of(const Matrix& whole, MPI_Comm comm) {
  int rows = whole.rows;
  MPI_Bcast(&rows, 1, MPI_INT, 0, comm);
  return rows;
}

int size_of(MPI_Comm comm) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  return size;
}

std::size_t index(int i) { return static_cast<std::size_t>(i); }

} // namespace

DistributedMatrix::DistributedMatrix(const Matrix& whole, MPI_Comm comm)
    : blocks_(rows_of(whole, comm), size_of(comm)) {
  receive_rows(whole, comm);
  plan_halo(comm);
}

void DistributedMatrix::receive_rows(const Matrix& whole, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  first_row_ = blocks_.first_row(rank);
  local_.rows = blocks_.first_row(rank + 1) - first_row_;
  std::vector<int> row_counts, row_displs, counts, displs, lengths;
  if (rank == 0) {
    for (int r = 0; r < blocks_.ranks; ++r) {
      const int begin = blocks_.first_row(r);
      const int end = blocks_.first_row(r + 1);
      row_displs.push_back(begin);
      row_counts.push_back(end - begin);
      displs.push_back(whole.first[index(begin)]);
      counts.push_back(whole.first[index(end)] - whole.first[index(begin)]);
    }
    lengths.resize(index(whole.rows));
    std::transform(whole.first.begin() + 1, whole.first.end(), whole.first.begin(), lengths.begin(), std::minus<>());
  }
  std::vector<int> own(index(local_.rows));
  MPI_Scatterv(lengths.data(), row_counts.data(), row_displs.data(), MPI_INT, own.data(), local_.rows, MPI_INT, 0,
               comm);
  local_.first.resize(own.size() + 1);
  std::inclusive_scan(own.begin(), own.end(), local_.first.begin() + 1);
  const int entries = local_.first.back();
  local_.column.resize(index(entries));
  local_.value.resize(index(entries));
  MPI_Scatterv(whole.column.data(), counts.data(), displs.data(), MPI_INT, local_.column.data(), entries, MPI_INT, 0,
               comm);
  MPI_Scatterv(whole.value.data(), counts.data(), displs.data(), MPI_DOUBLE, local_.value.data(), entries, MPI_DOUBLE,
               0, comm);
}

void DistributedMatrix::plan_halo(MPI_Comm comm) {
  const int end = first_row_ + local_.rows;
  const auto foreign = [&](int column) { return column < first_row_ || column >= end; };
  std::vector<int> halo; // columns of other ranks, ascending: by owner
  std::ranges::copy_if(local_.column, std::back_inserter(halo), foreign);
  std::ranges::sort(halo);
  halo.erase(std::unique(halo.begin(), halo.end()), halo.end());
  local_.columns = local_.rows + static_cast<int>(halo.size());

  for (int r = 0; r < blocks_.ranks; ++r) {
    const auto begin = std::ranges::lower_bound(halo, blocks_.first_row(r));
    counts_.recv.push_back(static_cast<int>(std::ranges::lower_bound(halo, blocks_.first_row(r + 1)) - begin));
  }
  // Each owner learns which entries are wanted of it.
  counts_.send.resize(index(blocks_.ranks));
  MPI_Alltoall(counts_.recv.data(), 1, MPI_INT, counts_.send.data(), 1, MPI_INT, comm);
  std::vector<int> recv_displs(index(blocks_.ranks)), send_displs(index(blocks_.ranks));
  std::exclusive_scan(counts_.recv.begin(), counts_.recv.end(), recv_displs.begin(), 0);
  std::exclusive_scan(counts_.send.begin(), counts_.send.end(), send_displs.begin(), 0);
  outgoing_.resize(index(send_displs.back() + counts_.send.back()));
  MPI_Alltoallv(halo.data(), counts_.recv.data(), recv_displs.data(), MPI_INT, outgoing_.data(), counts_.send.data(),
                send_displs.data(), MPI_INT, comm);
  for (int& column : outgoing_) {
    column -= first_row_;
  }

  for (int row = 0; row < local_.rows; ++row) {
    bool needs_halo = false;
    for (int i = local_.first[index(row)]; i < local_.first[index(row) + 1]; ++i) {
      int& column = local_.column[index(i)];
      if (foreign(column)) {
        needs_halo = true;
        column = local_.rows + static_cast<int>(std::ranges::lower_bound(halo, column) - halo.begin());
      } else {
        column -= first_row_;
      }
    }
    (needs_halo ? boundary_ : interior_).push_back(row);
  }
}

std::vector<double> DistributedMatrix::diagonal() const {
  std::vector<double> diagonal(index(local_.rows));
  for (int row = 0; row < local_.rows; ++row) {
    for (int i = local_.first[index(row)]; i < local_.first[index(row) + 1]; ++i) {
      if (local_.column[index(i)] == row) {
        diagonal[index(row)] = local_.value[index(i)];
      }
    }
  }
  return diagonal;
}

void DistributedMatrix::multiply(Halo& halo, std::span<double> y) const {
  const std::span<const double> x = halo.vector();
  std::ranges::transform(outgoing_, halo.outgoing().begin(), [&](int i) { return x[index(i)]; });
  halo.start();
  for (const int row : interior_) {
    multiply_row(local_, row, x, y);
  }
  halo.wait();
  for (const int row : boundary_) {
    multiply_row(local_, row, x, y);
  }
}

} // namespace conjugate_gradient
