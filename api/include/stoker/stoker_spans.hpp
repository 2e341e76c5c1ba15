// SPDX-License-Identifier: BSD-3-Clause
// stoker: how the spans of the C++ interface become counts and datatypes of the C interface. Included by stoker.hpp.
#pragma once

#include "stoker.h"
#include "stoker_error.hpp"
#include "stoker_request.hpp"

#include <complex>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace stoker {

// The MPI datatype of an arithmetic C++ type, std::byte or std::complex; other types do not compile.
template <class T>
inline MPI_Datatype datatype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, char>) return MPI_CHAR;
  else if constexpr (std::is_same_v<U, std::byte> || std::is_same_v<U, unsigned char>) return MPI_BYTE;
  else if constexpr (std::is_same_v<U, signed char>) return MPI_SIGNED_CHAR;
  else if constexpr (std::is_same_v<U, bool>) return MPI_CXX_BOOL;
  else if constexpr (std::is_same_v<U, short>) return MPI_SHORT;
  else if constexpr (std::is_same_v<U, unsigned short>) return MPI_UNSIGNED_SHORT;
  else if constexpr (std::is_same_v<U, int>) return MPI_INT;
  else if constexpr (std::is_same_v<U, unsigned>) return MPI_UNSIGNED;
  else if constexpr (std::is_same_v<U, long>) return MPI_LONG;
  else if constexpr (std::is_same_v<U, unsigned long>) return MPI_UNSIGNED_LONG;
  else if constexpr (std::is_same_v<U, long long>) return MPI_LONG_LONG;
  else if constexpr (std::is_same_v<U, unsigned long long>) return MPI_UNSIGNED_LONG_LONG;
  else if constexpr (std::is_same_v<U, float>) return MPI_FLOAT;
  else if constexpr (std::is_same_v<U, double>) return MPI_DOUBLE;
  else if constexpr (std::is_same_v<U, long double>) return MPI_LONG_DOUBLE;
  else if constexpr (std::is_same_v<U, std::complex<float>>) return MPI_CXX_FLOAT_COMPLEX;
  else if constexpr (std::is_same_v<U, std::complex<double>>) return MPI_CXX_DOUBLE_COMPLEX;
  else {
    static_assert(sizeof(T) == 0, "no MPI datatype for this element type: use the overload that takes MPI_Datatype");
  }
}

// Tag for the in-place forms, which stand for MPI_IN_PLACE.
struct InPlace {};
inline constexpr InPlace in_place{};

namespace detail {
// How many destinations and sources a rank has in the topology of a communicator.
struct Degrees {
  explicit Degrees(MPI_Comm comm) {
    int topology = MPI_UNDEFINED;
    MPI_Topo_test(comm, &topology);
    int n = 0;
    int m = 0;
    if (topology == MPI_CART) {
      MPI_Cartdim_get(comm, &n);
      n = m = 2 * n;
    } else if (topology == MPI_GRAPH) {
      int rank = 0;
      MPI_Comm_rank(comm, &rank);
      MPI_Graph_neighbors_count(comm, rank, &n);
      m = n;
    } else if (topology == MPI_DIST_GRAPH) {
      int weighted = 0;
      MPI_Dist_graph_neighbors_count(comm, &n, &m, &weighted);
    } else {
      throw Error(STOKER_ERR_ARGUMENT,
                  "comm has no topology; expected a Cartesian, graph or distributed graph communicator");
    }
    sources = static_cast<std::size_t>(n);
    targets = static_cast<std::size_t>(m);
  }
  std::size_t sources = 0;
  std::size_t targets = 0;
};

inline std::size_t ranks_of(MPI_Comm comm) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  return static_cast<std::size_t>(size);
}
inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}
inline std::size_t total(std::span<const MPI_Count> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0},
                         [](std::size_t sum, MPI_Count count) { return sum + static_cast<std::size_t>(count); });
}

// The arguments of an init function that come from spans of T. What is wrong with them only this rank may know: it is
// kept until the function has been called with a count or an array that it refuses, so that the other ranks get an
// error, too.
template <class T>
class SpanArguments {
public:
  const MPI_Datatype type = datatype_of<T>();

  void check_size(std::size_t elements, std::size_t expected, const char* name) {
    if (elements != expected) {
      refuse(std::string(name) + " has " + std::to_string(elements) + " elements; expected " +
             std::to_string(expected));
    }
  }
  void check_blocks(std::size_t elements, std::span<const MPI_Count> counts, std::span<const MPI_Aint> displs,
                    std::size_t blocks, const char* name) {
    if (counts.size() != blocks || displs.size() != blocks) {
      return refuse(std::string(name) + ": expected " + std::to_string(blocks) + " counts and displacements, got " +
                    std::to_string(counts.size()) + " and " + std::to_string(displs.size()));
    }
    for (std::size_t i = 0; i < blocks; ++i) {
      if (counts[i] > 0 &&
          (displs[i] < 0 || static_cast<std::size_t>(displs[i]) + static_cast<std::size_t>(counts[i]) > elements)) {
        refuse(std::string(name) + ": block " + std::to_string(i) + " reaches beyond the " + std::to_string(elements) +
               " elements of the span");
      }
    }
  }
  // The count of each of so many equal blocks.
  [[nodiscard]] MPI_Count block_count(std::size_t elements, std::size_t blocks, const char* name) {
    if (blocks != 0 && elements % blocks != 0) {
      refuse(std::string(name) + ": " + std::to_string(elements) + " elements do not divide into " +
             std::to_string(blocks) + " equal blocks");
      return -1;
    }
    return blocks == 0 ? 0 : static_cast<MPI_Count>(elements / blocks);
  }
  // To be asked for after all checks.
  [[nodiscard]] MPI_Count count(std::size_t elements) const {
    return wrong_ ? MPI_Count{-1} : static_cast<MPI_Count>(elements);
  }
  [[nodiscard]] const MPI_Count* counts(std::span<const MPI_Count> counts) const {
    return wrong_ ? nullptr : counts.data();
  }

  // Calls the init function with these arguments and the address of the request.
  template <class Function, class... Arguments>
  [[nodiscard]] Request init(Function* function, const Arguments&... arguments) const {
    stoker_request request = STOKER_REQUEST_NULL;
    const int code = function(arguments..., &request);
    if (wrong_) {
      if (request != STOKER_REQUEST_NULL) { // a rank without neighbors, on which nobody depends
        (void)stoker_request_free(&request);
      }
      throw Error(*wrong_);
    }
    check(code);
    return Request(request);
  }

private:
  void refuse(const std::string& message) {
    if (!wrong_) {
      wrong_.emplace(STOKER_ERR_ARGUMENT, message);
    }
  }
  std::optional<Error> wrong_; // the first
};
} // namespace detail

} // namespace stoker
