// SPDX-License-Identifier: BSD-3-Clause
// stoker: the C++ interface. Move-only handles over the C interface (stoker.h). Each function here calls the C function
// of the same name, whose comment holds for semantics, ownership, threads and states of requests. Errors are thrown as
// stoker::Error instead of returned. A moved-from or default-constructed handle is empty: it may be destroyed or
// assigned; every other use throws STOKER_ERR_REQUEST.
#pragma once

#include "stoker.h"
#include "stoker_error.hpp"
#include "stoker_request.hpp"
#include "stoker_spans.hpp"

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stoker {

namespace detail {
inline int deallocate(void** memory) { return stoker_dealloc(*memory); }
} // namespace detail

// Memory from stoker_alloc, owned, as size() uninitialised elements. It may outlive its engine, but no request that
// uses it may outlive it. Made by Engine::allocate.
template <class T>
class MappedArray {
public:
  MappedArray() noexcept = default;

  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(static_cast<void*>(memory_)); }
  [[nodiscard]] std::size_t size() const noexcept { return data() != nullptr ? size_ : 0; }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return data()[i]; }
  [[nodiscard]] T* begin() const noexcept { return data(); }
  [[nodiscard]] T* end() const noexcept { return data() + size(); }

private:
  friend class Engine;
  MappedArray(void* memory, std::size_t size) noexcept : memory_(memory), size_(size) {}
  detail::Owned<void*, detail::deallocate> memory_;
  std::size_t size_ = 0;
};

// Key and value, as stoker_setting.
using Setting = std::pair<std::string, std::string>;

// An engine, owned. Construction and destruction are collective over the communicator; destruction ignores errors.
//
// The functions named *_init make inactive requests and are collective over `comm`. Their spans are the buffers of the
// C function: they must stay valid until the request is destroyed, and have the sizes that the comments say. T is a
// type for datatype_of. Errors are those that stoker.h lists for its init functions. A span of a wrong size is
// STOKER_ERR_ARGUMENT on its rank, and an error on the other ranks, too.
class Engine {
public:
  // `settings` are copied, and must be equal on all ranks.
  explicit Engine(MPI_Comm comm, std::span<const Setting> settings = {}) {
    std::vector<stoker_setting> list;
    list.reserve(settings.size());
    for (const auto& [key, value] : settings) {
      list.push_back({key.c_str(), value.c_str()});
    }
    detail::check(stoker_engine_create(comm, list.data(), list.size(), handle_.address()));
  }
  Engine(MPI_Comm comm, std::initializer_list<Setting> settings)
      : Engine(comm, std::span<const Setting>(settings.begin(), settings.size())) {}

  // Pause and resume the helper of this rank's domain. Local.
  void pause() { detail::check(stoker_pause(handle_)); }
  void resume() { detail::check(stoker_resume(handle_)); }
  // What the engine is, as seen from this rank. Local.
  [[nodiscard]] stoker_engine_facts facts() const {
    return detail::sized_result_of<stoker_engine_facts>(stoker_engine_get_facts, handle_);
  }
  // What the helper of this rank's domain has done so far. Local.
  [[nodiscard]] stoker_helper_statistics helper_statistics() const {
    return detail::sized_result_of<stoker_helper_statistics>(stoker_helper_get_statistics, handle_);
  }

  // `count` uninitialised elements that helpers reach without a copy. Local. Throws STOKER_ERR_RESOURCE.
  template <class T>
  [[nodiscard]] MappedArray<T> allocate(std::size_t count) {
    return MappedArray<T>(detail::result_of<void*>(stoker_alloc, handle_, count * sizeof(T)), count);
  }

  // All-to-all. Both spans hold comm size equal blocks; block i goes to, or comes from, rank i. In place, arriving
  // blocks replace those that were sent.
  template <class T>
  [[nodiscard]] Request alltoall_init(std::span<const T> send, std::span<T> recv, MPI_Comm comm,
                                      MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    const std::size_t ranks = detail::ranks_of(comm);
    const MPI_Count send_count = a.block_count(send.size(), ranks, "send"); // the first that is wrong is reported
    const MPI_Count recv_count = a.block_count(recv.size(), ranks, "recv");
    return a.init(stoker_alltoall_init_c, send.data(), send_count, a.type, recv.data(), recv_count, a.type, comm, info,
                  handle_);
  }
  template <class T>
  [[nodiscard]] Request alltoall_init(InPlace, std::span<T> buffer, MPI_Comm comm, MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    return a.init(stoker_alltoall_init_c, MPI_IN_PLACE, 0, a.type, buffer.data(),
                  a.block_count(buffer.size(), detail::ranks_of(comm), "buffer"), a.type, comm, info, handle_);
  }
  // The same with any committed datatypes; counts are elements per block. `send` may be MPI_IN_PLACE.
  [[nodiscard]] Request alltoall_init(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* recv,
                                      MPI_Count recv_count, MPI_Datatype recv_type, MPI_Comm comm,
                                      MPI_Info info = MPI_INFO_NULL) {
    return Request(detail::result_of<stoker_request>(stoker_alltoall_init_c, send, send_count, send_type, recv,
                                                     recv_count, recv_type, comm, info, handle_));
  }

  // All-to-all with counts. Counts and displacements are in elements, comm size of each. Blocks must lie within the
  // spans.
  template <class T>
  [[nodiscard]] Request alltoallv_init(std::span<const T> send, std::span<const MPI_Count> send_counts,
                                       std::span<const MPI_Aint> send_displs, std::span<T> recv,
                                       std::span<const MPI_Count> recv_counts, std::span<const MPI_Aint> recv_displs,
                                       MPI_Comm comm, MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    a.check_blocks(send.size(), send_counts, send_displs, detail::ranks_of(comm), "send");
    a.check_blocks(recv.size(), recv_counts, recv_displs, detail::ranks_of(comm), "recv");
    return a.init(stoker_alltoallv_init_c, send.data(), send_counts.data(), send_displs.data(), a.type, recv.data(),
                  a.counts(recv_counts), recv_displs.data(), a.type, comm, info, handle_);
  }

  // Neighborhood all-to-all: equal blocks, one for each destination and one from each source of comm's topology, in
  // MPI's order.
  template <class T>
  [[nodiscard]] Request neighbor_alltoall_init(std::span<const T> send, std::span<T> recv, MPI_Comm comm,
                                               MPI_Info info = MPI_INFO_NULL) {
    const detail::Degrees degrees(comm);
    detail::SpanArguments<T> a;
    const MPI_Count send_count = a.block_count(send.size(), degrees.targets, "send");
    const MPI_Count recv_count = a.block_count(recv.size(), degrees.sources, "recv");
    return a.init(stoker_neighbor_alltoall_init_c, send.data(), send_count, a.type, recv.data(), recv_count, a.type,
                  comm, info, handle_);
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
    detail::SpanArguments<T> a;
    a.check_blocks(send.size(), send_counts, send_displs, degrees.targets, "send");
    a.check_blocks(recv.size(), recv_counts, recv_displs, degrees.sources, "recv");
    return a.init(stoker_neighbor_alltoallv_init_c, send.data(), a.counts(send_counts), send_displs.data(), a.type,
                  recv.data(), a.counts(recv_counts), recv_displs.data(), a.type, comm, info, handle_);
  }

  // Reduction to all ranks; in place, `buffer` holds operand and result. Both spans have the same length, equal on all
  // ranks. `op`, here and below: one of MPI's, or one from MPI_Op_create, which must live until the request is
  // destroyed.
  template <class T>
  [[nodiscard]] Request allreduce_init(std::span<const T> send, std::span<T> recv, MPI_Op op, MPI_Comm comm,
                                       MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    a.check_size(send.size(), recv.size(), "send");
    return a.init(stoker_allreduce_init_c, send.data(), recv.data(), a.count(recv.size()), a.type, op, comm, info,
                  handle_);
  }
  template <class T>
  [[nodiscard]] Request allreduce_init(InPlace, std::span<T> buffer, MPI_Op op, MPI_Comm comm,
                                       MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    return a.init(stoker_allreduce_init_c, MPI_IN_PLACE, buffer.data(), a.count(buffer.size()), a.type, op, comm, info,
                  handle_);
  }
  // Reduction to the root. `recv` is as long as `send` at the root, and not used elsewhere.
  template <class T>
  [[nodiscard]] Request reduce_init(std::span<const T> send, std::span<T> recv, MPI_Op op, int root, MPI_Comm comm,
                                    MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    if (detail::rank_in(comm) == root) {
      a.check_size(recv.size(), send.size(), "recv");
    }
    return a.init(stoker_reduce_init_c, send.data(), recv.data(), a.count(send.size()), a.type, op, root, comm, info,
                  handle_);
  }
  // The same: `buffer` holds the operand of every rank; at the root the result takes its place.
  template <class T>
  [[nodiscard]] Request reduce_init(InPlace, std::span<T> buffer, MPI_Op op, int root, MPI_Comm comm,
                                    MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    const void* const send = detail::rank_in(comm) == root ? MPI_IN_PLACE : buffer.data();
    return a.init(stoker_reduce_init_c, send, buffer.data(), a.count(buffer.size()), a.type, op, root, comm, info,
                  handle_);
  }
  // Reduction whose result is dealt out: rank i gets recv_counts[i] elements. `send` holds the sum of all.
  template <class T>
  [[nodiscard]] Request reduce_scatter_init(std::span<const T> send, std::span<T> recv,
                                            std::span<const MPI_Count> recv_counts, MPI_Op op, MPI_Comm comm,
                                            MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    a.check_size(recv_counts.size(), detail::ranks_of(comm), "recv_counts");
    a.check_size(send.size(), detail::total(recv_counts), "send");
    if (const auto rank = static_cast<std::size_t>(detail::rank_in(comm)); rank < recv_counts.size()) {
      a.check_size(recv.size(), static_cast<std::size_t>(recv_counts[rank]), "recv");
    }
    return a.init(stoker_reduce_scatter_init_c, send.data(), recv.data(), a.counts(recv_counts), a.type, op, comm, info,
                  handle_);
  }
  // The same: `buffer` holds all operands; afterwards its first recv_counts[rank] elements are the result.
  template <class T>
  [[nodiscard]] Request reduce_scatter_init(InPlace, std::span<T> buffer, std::span<const MPI_Count> recv_counts,
                                            MPI_Op op, MPI_Comm comm, MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    a.check_size(recv_counts.size(), detail::ranks_of(comm), "recv_counts");
    a.check_size(buffer.size(), detail::total(recv_counts), "buffer");
    return a.init(stoker_reduce_scatter_init_c, MPI_IN_PLACE, buffer.data(), a.counts(recv_counts), a.type, op, comm,
                  info, handle_);
  }
  // Reduction whose result is dealt out in equal blocks. `send` holds comm size times as many elements as `recv`.
  template <class T>
  [[nodiscard]] Request reduce_scatter_block_init(std::span<const T> send, std::span<T> recv, MPI_Op op, MPI_Comm comm,
                                                  MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    a.check_size(send.size(), recv.size() * detail::ranks_of(comm), "send");
    return a.init(stoker_reduce_scatter_block_init_c, send.data(), recv.data(), a.count(recv.size()), a.type, op, comm,
                  info, handle_);
  }
  // Inclusive prefix reduction. Both spans have the same length.
  template <class T>
  [[nodiscard]] Request scan_init(std::span<const T> send, std::span<T> recv, MPI_Op op, MPI_Comm comm,
                                  MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    a.check_size(send.size(), recv.size(), "send");
    return a.init(stoker_scan_init_c, send.data(), recv.data(), a.count(recv.size()), a.type, op, comm, info, handle_);
  }
  // Exclusive prefix reduction. Rank 0's `recv` keeps its contents.
  template <class T>
  [[nodiscard]] Request exscan_init(std::span<const T> send, std::span<T> recv, MPI_Op op, MPI_Comm comm,
                                    MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    a.check_size(send.size(), recv.size(), "send");
    return a.init(stoker_exscan_init_c, send.data(), recv.data(), a.count(recv.size()), a.type, op, comm, info,
                  handle_);
  }

  // Broadcast of the root's `buffer`, of equal length on all ranks.
  template <class T>
  [[nodiscard]] Request bcast_init(std::span<T> buffer, int root, MPI_Comm comm, MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    return a.init(stoker_bcast_init_c, buffer.data(), a.count(buffer.size()), a.type, root, comm, info, handle_);
  }
  // Gathers a block of each rank on all ranks. `recv` holds comm size times as many elements as `send`.
  template <class T>
  [[nodiscard]] Request allgather_init(std::span<const T> send, std::span<T> recv, MPI_Comm comm,
                                       MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    a.check_size(recv.size(), send.size() * detail::ranks_of(comm), "recv");
    return a.init(stoker_allgather_init_c, send.data(), a.count(send.size()), a.type, recv.data(), a.count(send.size()),
                  a.type, comm, info, handle_);
  }
  // The same: each rank's block lies in its place in `buffer`.
  template <class T>
  [[nodiscard]] Request allgather_init(InPlace, std::span<T> buffer, MPI_Comm comm, MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    return a.init(stoker_allgather_init_c, MPI_IN_PLACE, 0, a.type, buffer.data(),
                  a.block_count(buffer.size(), detail::ranks_of(comm), "buffer"), a.type, comm, info, handle_);
  }
  // The same with blocks of different sizes. Counts and displacements are in elements, comm size of each.
  template <class T>
  [[nodiscard]] Request allgatherv_init(std::span<const T> send, std::span<T> recv,
                                        std::span<const MPI_Count> recv_counts, std::span<const MPI_Aint> recv_displs,
                                        MPI_Comm comm, MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    a.check_blocks(recv.size(), recv_counts, recv_displs, detail::ranks_of(comm), "recv");
    return a.init(stoker_allgatherv_init_c, send.data(), a.count(send.size()), a.type, recv.data(),
                  a.counts(recv_counts), recv_displs.data(), a.type, comm, info, handle_);
  }
  // Gathers a block of each rank at the root, where `recv` holds comm size times as many elements as `send`. Elsewhere
  // `recv` is not used.
  template <class T>
  [[nodiscard]] Request gather_init(std::span<const T> send, std::span<T> recv, int root, MPI_Comm comm,
                                    MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    if (detail::rank_in(comm) == root) {
      a.check_size(recv.size(), send.size() * detail::ranks_of(comm), "recv");
    }
    return a.init(stoker_gather_init_c, send.data(), a.count(send.size()), a.type, recv.data(), a.count(send.size()),
                  a.type, root, comm, info, handle_);
  }
  // The same with blocks of different sizes. `recv` and its counts and displacements are read at the root only.
  template <class T>
  [[nodiscard]] Request gatherv_init(std::span<const T> send, std::span<T> recv, std::span<const MPI_Count> recv_counts,
                                     std::span<const MPI_Aint> recv_displs, int root, MPI_Comm comm,
                                     MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    if (detail::rank_in(comm) == root) {
      a.check_blocks(recv.size(), recv_counts, recv_displs, detail::ranks_of(comm), "recv");
    }
    return a.init(stoker_gatherv_init_c, send.data(), a.count(send.size()), a.type, recv.data(), a.counts(recv_counts),
                  recv_displs.data(), a.type, root, comm, info, handle_);
  }
  // Deals the root's blocks out. At the root `send` holds comm size times as many elements as `recv`; elsewhere it is
  // not used.
  template <class T>
  [[nodiscard]] Request scatter_init(std::span<const T> send, std::span<T> recv, int root, MPI_Comm comm,
                                     MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    if (detail::rank_in(comm) == root) {
      a.check_size(send.size(), recv.size() * detail::ranks_of(comm), "send");
    }
    return a.init(stoker_scatter_init_c, send.data(), a.count(recv.size()), a.type, recv.data(), a.count(recv.size()),
                  a.type, root, comm, info, handle_);
  }
  // The same with blocks of different sizes. `send` and its counts and displacements are read at the root only.
  template <class T>
  [[nodiscard]] Request scatterv_init(std::span<const T> send, std::span<const MPI_Count> send_counts,
                                      std::span<const MPI_Aint> send_displs, std::span<T> recv, int root, MPI_Comm comm,
                                      MPI_Info info = MPI_INFO_NULL) {
    detail::SpanArguments<T> a;
    if (detail::rank_in(comm) == root) {
      a.check_blocks(send.size(), send_counts, send_displs, detail::ranks_of(comm), "send");
    }
    return a.init(stoker_scatterv_init_c, send.data(), a.counts(send_counts), send_displs.data(), a.type, recv.data(),
                  a.count(recv.size()), a.type, root, comm, info, handle_);
  }
  // Barrier: an epoch is complete on no rank before every rank has started it.
  [[nodiscard]] Request barrier_init(MPI_Comm comm, MPI_Info info = MPI_INFO_NULL) {
    return Request(detail::result_of<stoker_request>(stoker_barrier_init, comm, info, handle_));
  }

  // Mark the beginning and the end of a region of the caller's time in the trace. `name` is copied.
  void trace_begin(const char* name) { (void)stoker_trace_begin(handle_, name); }
  void trace_end() { (void)stoker_trace_end(handle_); }

  // The C handle, which this keeps.
  [[nodiscard]] stoker_engine handle() const noexcept { return handle_; }

private:
  detail::Owned<stoker_engine, stoker_engine_destroy> handle_;
};

} // namespace stoker
