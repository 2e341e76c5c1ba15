// SPDX-License-Identifier: BSD-3-Clause
// stoker: the C++ interface. Move-only handles over the C interface (stoker.h). Each function here calls the C function
// of the same name, whose comment holds for semantics, ownership, threads and states of requests. Errors are thrown as
// stoker::Error instead of returned. A moved-from or default-constructed handle is empty: it may be destroyed or
// assigned; every other use throws STOKER_ERR_REQUEST.
#pragma once

#include "stoker.h"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stoker {

// The error of a stoker call. what() names the rank, the argument and what was expected; code() is one of the
// STOKER_ERR_* values.
class Error : public std::runtime_error {
public:
  Error(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

private:
  int code_;
};

namespace detail {
inline void check(int code) {
  if (code != STOKER_SUCCESS) {
    throw Error(code, stoker_error_message());
  }
}
} // namespace detail

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

// A persistent collective request, owned. Destroying an active one waits for it first, and ignores its error.
class Request {
public:
  Request() noexcept = default;
  explicit Request(stoker_request handle) noexcept : handle_(handle) {} // takes ownership
  Request(Request&& other) noexcept : handle_(std::exchange(other.handle_, STOKER_REQUEST_NULL)) {}
  Request& operator=(Request&& other) noexcept {
    if (this != &other) {
      release();
      handle_ = std::exchange(other.handle_, STOKER_REQUEST_NULL);
    }
    return *this;
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request() { release(); }

  // Starts an epoch. The request must be inactive. Local.
  void start() { detail::check(stoker_start(live())); }
  // Returns whether the request is complete, and makes it inactive then. Local; never waits. Throws the epoch's error,
  // once.
  [[nodiscard]] bool test() {
    int flag = 0;
    detail::check(stoker_test(live(), &flag));
    return flag != 0;
  }
  // Waits until the request is complete and makes it inactive. Throws the epoch's error, once.
  void wait() { detail::check(stoker_wait(live())); }
  // What the request did since init; strings in it are valid until the request is destroyed.
  [[nodiscard]] stoker_statistics statistics() const {
    stoker_statistics s{};
    s.size = sizeof s;
    detail::check(stoker_request_statistics(live(), &s));
    return s;
  }
  // Whether this is not empty.
  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != STOKER_REQUEST_NULL; }
  // The C handle, which this keeps; STOKER_REQUEST_NULL if empty.
  [[nodiscard]] stoker_request handle() const noexcept { return handle_; }

private:
  [[nodiscard]] stoker_request live() const {
    if (handle_ == STOKER_REQUEST_NULL) {
      throw Error(STOKER_ERR_REQUEST, "this stoker::Request is empty (default-constructed or moved from)");
    }
    return handle_;
  }
  void release() noexcept {
    if (handle_ != STOKER_REQUEST_NULL) {
      (void)stoker_wait(handle_);
      (void)stoker_request_free(&handle_);
      handle_ = STOKER_REQUEST_NULL;
    }
  }
  stoker_request handle_ = STOKER_REQUEST_NULL;
};

namespace detail {
inline std::vector<stoker_request> handles_of(std::span<Request> requests) {
  std::vector<stoker_request> handles;
  handles.reserve(requests.size());
  for (const Request& r : requests) {
    handles.push_back(r.handle());
  }
  return handles;
}
} // namespace detail

// Starts all requests in their order. At the first error the later ones are not started.
inline void start_all(std::span<Request> requests) {
  for (Request& r : requests) {
    r.start();
  }
}
// Waits until all requests are complete; empty and inactive ones are. Throws the first error, after all are complete.
inline void wait_all(std::span<Request> requests) {
  const auto handles = detail::handles_of(requests);
  detail::check(stoker_waitall(static_cast<int>(handles.size()), handles.data()));
}
// Returns whether all requests are complete, and makes all inactive then; else changes none. Throws the first error.
[[nodiscard]] inline bool test_all(std::span<Request> requests) {
  const auto handles = detail::handles_of(requests);
  int flag = 0;
  detail::check(stoker_testall(static_cast<int>(handles.size()), handles.data(), &flag));
  return flag != 0;
}
// Waits until one of the active requests is complete, makes it inactive and returns its index; nothing if none is
// active. Throws that request's error.
[[nodiscard]] inline std::optional<std::size_t> wait_any(std::span<Request> requests) {
  const auto handles = detail::handles_of(requests);
  int index = MPI_UNDEFINED;
  detail::check(stoker_waitany(static_cast<int>(handles.size()), handles.data(), &index));
  return index == MPI_UNDEFINED ? std::nullopt : std::optional(static_cast<std::size_t>(index));
}

// Memory from stoker_alloc, owned, as size() uninitialised elements. It may outlive its engine, but no request that
// uses it may outlive it. Made by Engine::allocate.
template <class T>
class MappedArray {
public:
  MappedArray() noexcept = default;
  MappedArray(MappedArray&& other) noexcept : data_(std::exchange(other.data_, {})) {}
  MappedArray& operator=(MappedArray&& other) noexcept {
    if (this != &other) {
      release();
      data_ = std::exchange(other.data_, {});
    }
    return *this;
  }
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;
  ~MappedArray() { release(); }

  [[nodiscard]] T* data() const noexcept { return data_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return data_.size(); }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] T* begin() const noexcept { return data_.data(); }
  [[nodiscard]] T* end() const noexcept { return data_.data() + data_.size(); }

private:
  friend class Engine;
  MappedArray(T* data, std::size_t size) noexcept : data_(data, size) {}
  void release() noexcept {
    if (data_.data() != nullptr) {
      (void)stoker_dealloc(data_.data());
      data_ = {};
    }
  }
  std::span<T> data_;
};

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
} // namespace detail

// Tag for the in-place forms, which stand for MPI_IN_PLACE.
struct InPlace {};
inline constexpr InPlace in_place{};

// Key and value, as stoker_setting.
using Setting = std::pair<std::string, std::string>;

// An engine, owned. Construction and destruction are collective over the communicator; destruction ignores errors.
//
// The functions named *_init make inactive requests and are collective over `comm`. Their spans are the buffers of the
// C function: they must stay valid until the request is destroyed, and have the sizes that the comments say. T is a
// type for datatype_of. Errors are those that stoker.h lists for its init functions. A span of a wrong size is
// STOKER_ERR_ARGUMENT on its rank, and an error on the other ranks, too; but alltoall_init finds it before it speaks to
// the others, which wait.
class Engine {
public:
  // `settings` are copied, and must be equal on all ranks.
  explicit Engine(MPI_Comm comm, std::span<const Setting> settings = {}) {
    std::vector<stoker_setting> list;
    list.reserve(settings.size());
    for (const auto& [key, value] : settings) {
      list.push_back({key.c_str(), value.c_str()});
    }
    detail::check(stoker_engine_create(comm, list.data(), list.size(), &handle_));
  }
  Engine(MPI_Comm comm, std::initializer_list<Setting> settings)
      : Engine(comm, std::span<const Setting>(settings.begin(), settings.size())) {}
  Engine(Engine&& other) noexcept : handle_(std::exchange(other.handle_, STOKER_ENGINE_NULL)) {}
  Engine& operator=(Engine&& other) noexcept {
    if (this != &other) {
      release();
      handle_ = std::exchange(other.handle_, STOKER_ENGINE_NULL);
    }
    return *this;
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() { release(); }

  // Pause and resume the helper of this rank's domain. Local.
  void pause() { detail::check(stoker_pause(handle_)); }
  void resume() { detail::check(stoker_resume(handle_)); }
  // What the engine is, as seen from this rank. Local.
  [[nodiscard]] stoker_engine_facts facts() const {
    stoker_engine_facts f{};
    f.size = sizeof f;
    detail::check(stoker_engine_get_facts(handle_, &f));
    return f;
  }
  // What the helper of this rank's domain has done so far. Local.
  [[nodiscard]] stoker_helper_statistics helper_statistics() const {
    stoker_helper_statistics s{};
    s.size = sizeof s;
    detail::check(stoker_helper_get_statistics(handle_, &s));
    return s;
  }

  // `count` uninitialised elements that helpers reach without a copy. Local. Throws STOKER_ERR_RESOURCE.
  template <class T>
  [[nodiscard]] MappedArray<T> allocate(std::size_t count) {
    void* memory = nullptr;
    detail::check(stoker_alloc(handle_, count * sizeof(T), &memory));
    return MappedArray<T>(static_cast<T*>(memory), count);
  }

  // All-to-all. Both spans hold comm size equal blocks; block i goes to, or comes from, rank i. In place, arriving
  // blocks replace those that were sent.
  template <class T>
  [[nodiscard]] Request alltoall_init(std::span<const T> send, std::span<T> recv, MPI_Comm comm,
                                      MPI_Info info = MPI_INFO_NULL) {
    const MPI_Datatype type = datatype_of<T>();
    return alltoall(send.data(), block_count(send.size(), ranks_of(comm), "send"), type, recv.data(),
                    block_count(recv.size(), ranks_of(comm), "recv"), type, comm, info);
  }
  template <class T>
  [[nodiscard]] Request alltoall_init(InPlace, std::span<T> buffer, MPI_Comm comm, MPI_Info info = MPI_INFO_NULL) {
    const MPI_Datatype type = datatype_of<T>();
    return alltoall(MPI_IN_PLACE, 0, type, buffer.data(), block_count(buffer.size(), ranks_of(comm), "buffer"), type,
                    comm, info);
  }
  // The same with any committed datatypes; counts are elements per block. `send` may be MPI_IN_PLACE.
  [[nodiscard]] Request alltoall_init(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* recv,
                                      MPI_Count recv_count, MPI_Datatype recv_type, MPI_Comm comm,
                                      MPI_Info info = MPI_INFO_NULL) {
    return alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm, info);
  }

  // All-to-all with counts. Counts and displacements are in elements, comm size of each. Blocks must lie within the
  // spans.
  template <class T>
  [[nodiscard]] Request alltoallv_init(std::span<const T> send, std::span<const MPI_Count> send_counts,
                                       std::span<const MPI_Aint> send_displs, std::span<T> recv,
                                       std::span<const MPI_Count> recv_counts, std::span<const MPI_Aint> recv_displs,
                                       MPI_Comm comm, MPI_Info info = MPI_INFO_NULL) {
    const MPI_Datatype type = datatype_of<T>();
    return collectively(
        [&] {
          check_blocks(send.size(), send_counts, send_displs, ranks_of(comm), "send");
          check_blocks(recv.size(), recv_counts, recv_displs, ranks_of(comm), "recv");
        },
        [&](bool refuse, stoker_request* request) {
          return stoker_alltoallv_init_c(send.data(), send_counts.data(), send_displs.data(), type, recv.data(),
                                         refuse ? nullptr : recv_counts.data(), recv_displs.data(), type, comm, info,
                                         handle_, request);
        });
  }

  // Neighborhood all-to-all: equal blocks, one for each destination and one from each source of comm's topology, in
  // MPI's order.
  template <class T>
  [[nodiscard]] Request neighbor_alltoall_init(std::span<const T> send, std::span<T> recv, MPI_Comm comm,
                                               MPI_Info info = MPI_INFO_NULL) {
    const detail::Degrees degrees(comm);
    const MPI_Datatype type = datatype_of<T>();
    MPI_Count send_count = -1; // refused
    MPI_Count recv_count = -1;
    return collectively(
        [&] {
          send_count = block_count(send.size(), degrees.targets, "send");
          recv_count = block_count(recv.size(), degrees.sources, "recv");
        },
        [&](bool, stoker_request* request) {
          return stoker_neighbor_alltoall_init_c(send.data(), send_count, type, recv.data(), recv_count, type, comm,
                                                 info, handle_, request);
        });
  }
  // The same with counts and displacements in elements, one for each destination and one for each source. Blocks to
  // send may overlap.
  template <class T>
  [[nodiscard]] Request neighbor_alltoallv_init(std::span<const T> send, std::span<const MPI_Count> send_counts,
                                                std::span<const MPI_Aint> send_displs, std::span<T> recv,
                                                std::span<const MPI_Count> recv_counts,
                                                std::span<const MPI_Aint> recv_displs, MPI_Comm comm,
                                                MPI_Info info = MPI_INFO_NULL) {
    const detail::Degrees degrees(comm);
    const MPI_Datatype type = datatype_of<T>();
    return collectively(
        [&] {
          check_blocks(send.size(), send_counts, send_displs, degrees.targets, "send");
          check_blocks(recv.size(), recv_counts, recv_displs, degrees.sources, "recv");
        },
        [&](bool refuse, stoker_request* request) {
          return stoker_neighbor_alltoallv_init_c(
              send.data(), refuse ? nullptr : send_counts.data(), send_displs.data(), type, recv.data(),
              refuse ? nullptr : recv_counts.data(), recv_displs.data(), type, comm, info, handle_, request);
        });
  }

  // Reduction to all ranks; in place, `buffer` holds operand and result. Both spans have the same length, equal on all
  // ranks. `op`, here and below: one of MPI's, or one from MPI_Op_create, which must live until the request is
  // destroyed.
  template <class T>
  [[nodiscard]] Request allreduce_init(std::span<const T> send, std::span<T> recv, MPI_Op op, MPI_Comm comm,
                                       MPI_Info info = MPI_INFO_NULL) {
    return vector_call<T>(
        recv.size(), [&] { check_size(send.size(), recv.size(), "send"); },
        [&](MPI_Count count, MPI_Datatype type, stoker_request* request) {
          return stoker_allreduce_init_c(send.data(), recv.data(), count, type, op, comm, info, handle_, request);
        });
  }
  template <class T>
  [[nodiscard]] Request allreduce_init(InPlace, std::span<T> buffer, MPI_Op op, MPI_Comm comm,
                                       MPI_Info info = MPI_INFO_NULL) {
    return vector_call<T>(
        buffer.size(), [] {},
        [&](MPI_Count count, MPI_Datatype type, stoker_request* request) {
          return stoker_allreduce_init_c(MPI_IN_PLACE, buffer.data(), count, type, op, comm, info, handle_, request);
        });
  }
  // Reduction to the root. `recv` is as long as `send` at the root, and not used elsewhere.
  template <class T>
  [[nodiscard]] Request reduce_init(std::span<const T> send, std::span<T> recv, MPI_Op op, int root, MPI_Comm comm,
                                    MPI_Info info = MPI_INFO_NULL) {
    return vector_call<T>(
        send.size(),
        [&] {
          if (rank_in(comm) == root) {
            check_size(recv.size(), send.size(), "recv");
          }
        },
        [&](MPI_Count count, MPI_Datatype type, stoker_request* request) {
          return stoker_reduce_init_c(send.data(), recv.data(), count, type, op, root, comm, info, handle_, request);
        });
  }
  // The same: `buffer` holds the operand of every rank; at the root the result takes its place.
  template <class T>
  [[nodiscard]] Request reduce_init(InPlace, std::span<T> buffer, MPI_Op op, int root, MPI_Comm comm,
                                    MPI_Info info = MPI_INFO_NULL) {
    const bool at_root = rank_in(comm) == root;
    return vector_call<T>(
        buffer.size(), [] {},
        [&](MPI_Count count, MPI_Datatype type, stoker_request* request) {
          return stoker_reduce_init_c(at_root ? MPI_IN_PLACE : buffer.data(), buffer.data(), count, type, op, root,
                                      comm, info, handle_, request);
        });
  }
  // Reduction whose result is dealt out: rank i gets recv_counts[i] elements. `send` holds the sum of all.
  template <class T>
  [[nodiscard]] Request reduce_scatter_init(std::span<const T> send, std::span<T> recv,
                                            std::span<const MPI_Count> recv_counts, MPI_Op op, MPI_Comm comm,
                                            MPI_Info info = MPI_INFO_NULL) {
    const MPI_Datatype type = datatype_of<T>();
    return collectively(
        [&] {
          check_size(recv_counts.size(), ranks_of(comm), "recv_counts");
          check_size(send.size(), total(recv_counts), "send");
          check_size(recv.size(), static_cast<std::size_t>(recv_counts[static_cast<std::size_t>(rank_in(comm))]),
                     "recv");
        },
        [&](bool refuse, stoker_request* request) {
          return stoker_reduce_scatter_init_c(send.data(), recv.data(), refuse ? nullptr : recv_counts.data(), type, op,
                                              comm, info, handle_, request);
        });
  }
  // The same: `buffer` holds all operands; afterwards its first recv_counts[rank] elements are the result.
  template <class T>
  [[nodiscard]] Request reduce_scatter_init(InPlace, std::span<T> buffer, std::span<const MPI_Count> recv_counts,
                                            MPI_Op op, MPI_Comm comm, MPI_Info info = MPI_INFO_NULL) {
    const MPI_Datatype type = datatype_of<T>();
    return collectively(
        [&] {
          check_size(recv_counts.size(), ranks_of(comm), "recv_counts");
          check_size(buffer.size(), total(recv_counts), "buffer");
        },
        [&](bool refuse, stoker_request* request) {
          return stoker_reduce_scatter_init_c(MPI_IN_PLACE, buffer.data(), refuse ? nullptr : recv_counts.data(), type,
                                              op, comm, info, handle_, request);
        });
  }
  // Reduction whose result is dealt out in equal blocks. `send` holds comm size times as many elements as `recv`.
  template <class T>
  [[nodiscard]] Request reduce_scatter_block_init(std::span<const T> send, std::span<T> recv, MPI_Op op, MPI_Comm comm,
                                                  MPI_Info info = MPI_INFO_NULL) {
    return vector_call<T>(
        recv.size(), [&] { check_size(send.size(), recv.size() * ranks_of(comm), "send"); },
        [&](MPI_Count count, MPI_Datatype type, stoker_request* request) {
          return stoker_reduce_scatter_block_init_c(send.data(), recv.data(), count, type, op, comm, info, handle_,
                                                    request);
        });
  }
  // Inclusive prefix reduction. Both spans have the same length.
  template <class T>
  [[nodiscard]] Request scan_init(std::span<const T> send, std::span<T> recv, MPI_Op op, MPI_Comm comm,
                                  MPI_Info info = MPI_INFO_NULL) {
    return vector_call<T>(
        recv.size(), [&] { check_size(send.size(), recv.size(), "send"); },
        [&](MPI_Count count, MPI_Datatype type, stoker_request* request) {
          return stoker_scan_init_c(send.data(), recv.data(), count, type, op, comm, info, handle_, request);
        });
  }
  // Exclusive prefix reduction. Rank 0's `recv` keeps its contents.
  template <class T>
  [[nodiscard]] Request exscan_init(std::span<const T> send, std::span<T> recv, MPI_Op op, MPI_Comm comm,
                                    MPI_Info info = MPI_INFO_NULL) {
    return vector_call<T>(
        recv.size(), [&] { check_size(send.size(), recv.size(), "send"); },
        [&](MPI_Count count, MPI_Datatype type, stoker_request* request) {
          return stoker_exscan_init_c(send.data(), recv.data(), count, type, op, comm, info, handle_, request);
        });
  }

  // Broadcast of the root's `buffer`, of equal length on all ranks.
  template <class T>
  [[nodiscard]] Request bcast_init(std::span<T> buffer, int root, MPI_Comm comm, MPI_Info info = MPI_INFO_NULL) {
    return vector_call<T>(
        buffer.size(), [] {},
        [&](MPI_Count count, MPI_Datatype type, stoker_request* request) {
          return stoker_bcast_init_c(buffer.data(), count, type, root, comm, info, handle_, request);
        });
  }
  // Gathers a block of each rank on all ranks. `recv` holds comm size times as many elements as `send`.
  template <class T>
  [[nodiscard]] Request allgather_init(std::span<const T> send, std::span<T> recv, MPI_Comm comm,
                                       MPI_Info info = MPI_INFO_NULL) {
    return vector_call<T>(
        send.size(), [&] { check_size(recv.size(), send.size() * ranks_of(comm), "recv"); },
        [&](MPI_Count count, MPI_Datatype type, stoker_request* request) {
          return stoker_allgather_init_c(send.data(), count, type, recv.data(), count, type, comm, info, handle_,
                                         request);
        });
  }
  // The same: each rank's block lies in its place in `buffer`.
  template <class T>
  [[nodiscard]] Request allgather_init(InPlace, std::span<T> buffer, MPI_Comm comm, MPI_Info info = MPI_INFO_NULL) {
    const MPI_Datatype type = datatype_of<T>();
    MPI_Count count = -1; // refused
    return collectively([&] { count = block_count(buffer.size(), ranks_of(comm), "buffer"); },
                        [&](bool, stoker_request* request) {
                          return stoker_allgather_init_c(MPI_IN_PLACE, 0, type, buffer.data(), count, type, comm, info,
                                                         handle_, request);
                        });
  }
  // The same with blocks of different sizes. Counts and displacements are in elements, comm size of each.
  template <class T>
  [[nodiscard]] Request allgatherv_init(std::span<const T> send, std::span<T> recv,
                                        std::span<const MPI_Count> recv_counts, std::span<const MPI_Aint> recv_displs,
                                        MPI_Comm comm, MPI_Info info = MPI_INFO_NULL) {
    return vector_call<T>(
        send.size(), [&] { check_blocks(recv.size(), recv_counts, recv_displs, ranks_of(comm), "recv"); },
        [&](MPI_Count count, MPI_Datatype type, stoker_request* request) {
          return stoker_allgatherv_init_c(send.data(), count, type, recv.data(), recv_counts.data(), recv_displs.data(),
                                          type, comm, info, handle_, request);
        });
  }
  // Gathers a block of each rank at the root, where `recv` holds comm size times as many elements as `send`. Elsewhere
  // `recv` is not used.
  template <class T>
  [[nodiscard]] Request gather_init(std::span<const T> send, std::span<T> recv, int root, MPI_Comm comm,
                                    MPI_Info info = MPI_INFO_NULL) {
    return vector_call<T>(
        send.size(),
        [&] {
          if (rank_in(comm) == root) {
            check_size(recv.size(), send.size() * ranks_of(comm), "recv");
          }
        },
        [&](MPI_Count count, MPI_Datatype type, stoker_request* request) {
          return stoker_gather_init_c(send.data(), count, type, recv.data(), count, type, root, comm, info, handle_,
                                      request);
        });
  }
  // The same with blocks of different sizes. `recv` and its counts and displacements are read at the root only.
  template <class T>
  [[nodiscard]] Request gatherv_init(std::span<const T> send, std::span<T> recv, std::span<const MPI_Count> recv_counts,
                                     std::span<const MPI_Aint> recv_displs, int root, MPI_Comm comm,
                                     MPI_Info info = MPI_INFO_NULL) {
    return vector_call<T>(
        send.size(),
        [&] {
          if (rank_in(comm) == root) {
            check_blocks(recv.size(), recv_counts, recv_displs, ranks_of(comm), "recv");
          }
        },
        [&](MPI_Count count, MPI_Datatype type, stoker_request* request) {
          return stoker_gatherv_init_c(send.data(), count, type, recv.data(), recv_counts.data(), recv_displs.data(),
                                       type, root, comm, info, handle_, request);
        });
  }
  // Deals the root's blocks out. At the root `send` holds comm size times as many elements as `recv`; elsewhere it is
  // not used.
  template <class T>
  [[nodiscard]] Request scatter_init(std::span<const T> send, std::span<T> recv, int root, MPI_Comm comm,
                                     MPI_Info info = MPI_INFO_NULL) {
    return vector_call<T>(
        recv.size(),
        [&] {
          if (rank_in(comm) == root) {
            check_size(send.size(), recv.size() * ranks_of(comm), "send");
          }
        },
        [&](MPI_Count count, MPI_Datatype type, stoker_request* request) {
          return stoker_scatter_init_c(send.data(), count, type, recv.data(), count, type, root, comm, info, handle_,
                                       request);
        });
  }
  // The same with blocks of different sizes. `send` and its counts and displacements are read at the root only.
  template <class T>
  [[nodiscard]] Request scatterv_init(std::span<const T> send, std::span<const MPI_Count> send_counts,
                                      std::span<const MPI_Aint> send_displs, std::span<T> recv, int root, MPI_Comm comm,
                                      MPI_Info info = MPI_INFO_NULL) {
    return vector_call<T>(
        recv.size(),
        [&] {
          if (rank_in(comm) == root) {
            check_blocks(send.size(), send_counts, send_displs, ranks_of(comm), "send");
          }
        },
        [&](MPI_Count count, MPI_Datatype type, stoker_request* request) {
          return stoker_scatterv_init_c(send.data(), send_counts.data(), send_displs.data(), type, recv.data(), count,
                                        type, root, comm, info, handle_, request);
        });
  }
  // Barrier: an epoch is complete on no rank before every rank has started it.
  [[nodiscard]] Request barrier_init(MPI_Comm comm, MPI_Info info = MPI_INFO_NULL) {
    stoker_request request = STOKER_REQUEST_NULL;
    detail::check(stoker_barrier_init(comm, info, handle_, &request));
    return Request(request);
  }

  // Mark the beginning and the end of a region of the caller's time in the trace. `name` must have static storage.
  void trace_begin(const char* name) { (void)stoker_trace_begin(handle_, name); }
  void trace_end() { (void)stoker_trace_end(handle_); }

  // The C handle, which this keeps.
  [[nodiscard]] stoker_engine handle() const noexcept { return handle_; }

private:
  Request alltoall(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* recv, MPI_Count recv_count,
                   MPI_Datatype recv_type, MPI_Comm comm, MPI_Info info) {
    stoker_request request = STOKER_REQUEST_NULL;
    detail::check(stoker_alltoall_init_c(send, send_count, send_type, recv, recv_count, recv_type, comm, info, handle_,
                                         &request));
    return Request(request);
  }
  static std::size_t ranks_of(MPI_Comm comm) {
    int size = 1;
    MPI_Comm_size(comm, &size);
    return static_cast<std::size_t>(size);
  }
  static int rank_in(MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
  }
  static std::size_t total(std::span<const MPI_Count> counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0},
                           [](std::size_t sum, MPI_Count count) { return sum + static_cast<std::size_t>(count); });
  }
  static void check_size(std::size_t elements, std::size_t expected, const char* name) {
    if (elements != expected) {
      throw Error(STOKER_ERR_ARGUMENT, std::string(name) + " has " + std::to_string(elements) + " elements; expected " +
                                           std::to_string(expected));
    }
  }
  // `call` gets `count`, or a count that is refused, and the datatype of T.
  template <class T, class Check, class Call>
  static Request vector_call(std::size_t count, Check&& check, Call&& call) {
    const MPI_Datatype type = datatype_of<T>();
    return collectively(check, [&](bool refuse, stoker_request* request) {
      return call(refuse ? MPI_Count{-1} : static_cast<MPI_Count>(count), type, request);
    });
  }
  // `check` throws errors that only this rank may find. `call` then has to be refused, so that the other ranks get an
  // error, too.
  template <class Check, class Call>
  static Request collectively(Check&& check, Call&& call) {
    std::optional<Error> wrong;
    try {
      check();
    } catch (const Error& error) {
      wrong = error;
    }
    stoker_request request = STOKER_REQUEST_NULL;
    const int code = call(wrong.has_value(), &request);
    if (wrong) {
      if (request != STOKER_REQUEST_NULL) { // a rank without neighbors, on which nobody depends
        (void)stoker_request_free(&request);
      }
      throw Error(*wrong);
    }
    detail::check(code);
    return Request(request);
  }
  static MPI_Count block_count(std::size_t elements, std::size_t blocks, const char* name) {
    if (blocks != 0 && elements % blocks != 0) {
      throw Error(STOKER_ERR_ARGUMENT, std::string(name) + ": " + std::to_string(elements) +
                                           " elements do not divide into " + std::to_string(blocks) + " equal blocks");
    }
    return blocks == 0 ? 0 : static_cast<MPI_Count>(elements / blocks);
  }
  static void check_blocks(std::size_t elements, std::span<const MPI_Count> counts, std::span<const MPI_Aint> displs,
                           std::size_t blocks, const char* name) {
    if (counts.size() != blocks || displs.size() != blocks) {
      throw Error(STOKER_ERR_ARGUMENT, std::string(name) + ": expected " + std::to_string(blocks) +
                                           " counts and displacements, got " + std::to_string(counts.size()) + " and " +
                                           std::to_string(displs.size()));
    }
    for (std::size_t i = 0; i < blocks; ++i) {
      if (counts[i] > 0 &&
          (displs[i] < 0 || static_cast<std::size_t>(displs[i]) + static_cast<std::size_t>(counts[i]) > elements)) {
        throw Error(STOKER_ERR_ARGUMENT, std::string(name) + ": block " + std::to_string(i) + " reaches beyond the " +
                                             std::to_string(elements) + " elements of the span");
      }
    }
  }
  void release() noexcept {
    if (handle_ != STOKER_ENGINE_NULL) {
      (void)stoker_engine_destroy(&handle_);
    }
  }
  stoker_engine handle_ = STOKER_ENGINE_NULL;
};

} // namespace stoker
