// SPDX-License-Identifier: BSD-3-Clause
#include "tests/api/vector_transfer.hpp"

#include "tests/api/mpi_main.hpp"

#include <algorithm>
#include <cstring>

namespace api_tests {
namespace {

using algos::Collective;

constexpr unsigned char poison = 0xa5;
constexpr std::size_t gapped_extent = 40;
constexpr std::array<std::size_t, 4> gapped_words = {4, 12, 16, 28};

using Matrix = std::array<std::uint32_t, 4>;

Matrix product(const Matrix& a, const Matrix& b) {
  return {(a[0] * b[0]) + (a[1] * b[2]), (a[0] * b[1]) + (a[1] * b[3]), (a[2] * b[0]) + (a[3] * b[2]),
          (a[2] * b[1]) + (a[3] * b[3])};
}

template <class Places>
void multiply(void* in, void* inout, int length, std::size_t extent, const Places& places) {
  for (int i = 0; i < length; ++i) {
    const auto* left = static_cast<const unsigned char*>(in) + (static_cast<std::size_t>(i) * extent);
    auto* right = static_cast<unsigned char*>(inout) + (static_cast<std::size_t>(i) * extent);
    Matrix a{};
    Matrix b{};
    for (std::size_t w = 0; w < a.size(); ++w) {
      std::memcpy(&a[w], left + places[w], sizeof a[w]);
      std::memcpy(&b[w], right + places[w], sizeof b[w]);
    }
    const Matrix c = product(a, b);
    for (std::size_t w = 0; w < c.size(); ++w) {
      std::memcpy(right + places[w], &c[w], sizeof c[w]);
    }
  }
}

// NOLINTBEGIN(readability-non-const-parameter): MPI_User_function says so.
void multiply_matrices(void* in, void* inout, int* length, MPI_Datatype* /*type*/) {
  multiply(in, inout, *length, sizeof(Matrix), std::array<std::size_t, 4>{0, 4, 8, 12});
}
void multiply_gapped(void* in, void* inout, int* length, MPI_Datatype* /*type*/) {
  multiply(in, inout, *length, gapped_extent, gapped_words);
}
void add_ints(void* in, void* inout, int* length, MPI_Datatype* /*type*/) {
  for (int i = 0; i < *length; ++i) {
    static_cast<std::uint32_t*>(inout)[i] += static_cast<const std::uint32_t*>(in)[i];
  }
}
// NOLINTEND(readability-non-const-parameter)

bool by_rank(Collective collective) {
  return collective == Collective::allgatherv || collective == Collective::gatherv ||
         collective == Collective::scatterv || collective == Collective::reduce_scatter;
}
bool has_displacements(Collective collective) {
  return by_rank(collective) && collective != Collective::reduce_scatter;
}
bool gathers(Collective collective) {
  return collective == Collective::allgather || collective == Collective::allgatherv ||
         collective == Collective::gather || collective == Collective::gatherv;
}
bool scatters(Collective collective) { return collective == Collective::scatter || collective == Collective::scatterv; }

} // namespace

std::string name_of(Elements elements) {
  switch (elements) {
  case Elements::ints:
    return "ints";
  case Elements::doubles:
    return "doubles";
  case Elements::greatest:
    return "greatest";
  case Elements::located:
    return "located";
  case Elements::user_sums:
    return "user sums";
  case Elements::matrices:
    return "matrices";
  case Elements::gapped_matrices:
    return "gapped matrices";
  }
  return {};
}

bool is_commutative(Elements elements) {
  return elements != Elements::matrices && elements != Elements::gapped_matrices;
}

std::string describe(const VectorSpec& spec) {
  return std::string(algos::name_of(spec.collective)) + " " + std::to_string(spec.id) + " of " +
         std::to_string(spec.count) + " " + name_of(spec.elements) + ", root " + std::to_string(spec.root) +
         (spec.in_place ? ", in place" : "") + (spec.wide ? ", wide" : "") + (spec.device ? ", on a device" : "") +
         ", algorithm \"" + spec.algorithm + "\", executor \"" + spec.executor + "\"";
}

VectorTransfer::VectorTransfer(const VectorSpec& spec, stoker_engine engine) : spec_(spec) {
  rank_ = world_rank();
  ranks_ = world_size();
  make_type();
  lay_out();
  if (spec.device) {
    send_on_device_ = device_tests::DeviceMemory(std::max<std::size_t>(send_.size(), 1));
    recv_on_device_ = device_tests::DeviceMemory(std::max<std::size_t>(recv_.size(), 1));
  }
  call_init(engine);
  if (own_type_) {
    MPI_Type_free(&type_); // the request has what it needs of it
  }
}

VectorTransfer::~VectorTransfer() {
  EXPECT_EQ(free(), STOKER_SUCCESS);
  if (own_op_) {
    MPI_Op_free(&op_);
  }
}

int VectorTransfer::free() { return request_ == STOKER_REQUEST_NULL ? STOKER_SUCCESS : stoker_request_free(&request_); }

void VectorTransfer::make_type() {
  extent_ = sizeof(std::uint32_t);
  words_ = {0};
  type_ = MPI_INT;
  op_ = MPI_SUM;
  switch (spec_.elements) {
  case Elements::ints:
    break;
  case Elements::greatest:
    op_ = MPI_MAX;
    break;
  case Elements::doubles:
    extent_ = sizeof(double);
    type_ = MPI_DOUBLE;
    break;
  case Elements::located:
    extent_ = 2 * sizeof(double);
    words_ = {0, sizeof(double)};
    type_ = MPI_DOUBLE_INT;
    op_ = MPI_MINLOC;
    break;
  case Elements::user_sums:
    MPI_Op_create(add_ints, 1, &op_);
    own_op_ = true;
    break;
  case Elements::matrices:
    extent_ = sizeof(Matrix);
    words_ = {0, 4, 8, 12};
    MPI_Type_contiguous(4, MPI_UNSIGNED, &type_);
    MPI_Op_create(multiply_matrices, 0, &op_);
    own_type_ = own_op_ = true;
    break;
  case Elements::gapped_matrices: {
    extent_ = gapped_extent;
    words_.assign(gapped_words.begin(), gapped_words.end());
    const std::array<MPI_Aint, 4> places = {4, 12, 16, 28};
    MPI_Datatype parts = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed_block(4, 1, places.data(), MPI_UNSIGNED, &parts);
    MPI_Type_create_resized(parts, 0, gapped_extent, &type_);
    MPI_Type_free(&parts);
    MPI_Op_create(multiply_gapped, 0, &op_);
    own_type_ = own_op_ = true;
    break;
  }
  }
  if (own_type_) {
    MPI_Type_commit(&type_);
  }
}

int VectorTransfer::size_of(int rank) const {
  return by_rank(spec_.collective) ? (spec_.count * ((rank * 5 + spec_.id) % 4)) / 2 : spec_.count;
}

int VectorTransfer::start_of(int rank) const {
  int start = 0;
  for (int r = 0; r < rank; ++r) {
    start += size_of(r);
  }
  return start;
}

void VectorTransfer::lay_out() {
  counts_.resize(static_cast<std::size_t>(ranks_));
  displs_.resize(counts_.size());
  const bool gaps = has_displacements(spec_.collective);
  int end = gaps ? rank_ : 0;        // on each rank they begin somewhere else
  for (int i = 0; i < ranks_; ++i) { // blocks with displacements: backwards, with gaps
    const int r = gaps ? ranks_ - 1 - i : i;
    displs_[static_cast<std::size_t>(r)] = end;
    counts_[static_cast<std::size_t>(r)] = size_of(r);
    end += size_of(r) + (gaps ? 2 : 0);
  }
  wide_counts_.assign(counts_.begin(), counts_.end());
  wide_displs_.assign(displs_.begin(), displs_.end());
  const auto bytes = [&](int elements) { return static_cast<std::size_t>(elements) * extent_; };
  switch (spec_.collective) {
  case Collective::bcast:
    recv_.resize(bytes(spec_.count));
    break;
  case Collective::reduce_scatter:
  case Collective::reduce_scatter_block:
    send_.resize(bytes(end));
    recv_.resize(bytes(spec_.in_place ? end : size_of(rank_)));
    break;
  default:
    send_.resize(bytes(scatters(spec_.collective) ? end : size_of(rank_)));
    recv_.resize(bytes(gathers(spec_.collective) ? end : size_of(rank_)));
    break;
  }
}

// Whole numbers that stay exact where they are added up.
VectorTransfer::Element VectorTransfer::operand(int rank, int place) const {
  Element element{};
  for (std::size_t w = 0; w < words_.size(); ++w) {
    const std::uint64_t key = (static_cast<std::uint64_t>(spec_.id) << 40U) ^ (epoch_ << 32U) ^
                              (static_cast<std::uint64_t>(rank) << 24U) ^ (static_cast<std::uint64_t>(place) << 2U) ^ w;
    element[w] = static_cast<std::uint32_t>(mix(key)) % 1000;
  }
  return element;
}

VectorTransfer::Element VectorTransfer::combined(int first, int last, int place) const {
  Element result = operand(first, place);
  for (int r = first + 1; r <= last; ++r) {
    const Element next = operand(r, place);
    switch (spec_.elements) {
    case Elements::greatest:
      result[0] = std::max(result[0], next[0]);
      break;
    case Elements::located:
      result = next[0] < result[0] || (next[0] == result[0] && next[1] < result[1]) ? next : result;
      break;
    case Elements::matrices:
    case Elements::gapped_matrices:
      result = product(result, next);
      break;
    default:
      result[0] += next[0];
      break;
    }
  }
  return result;
}

void VectorTransfer::write(Image& image, int place, const Element& element) const {
  unsigned char* const at = image.data() + (static_cast<std::size_t>(place) * extent_);
  const bool real = spec_.elements == Elements::doubles || spec_.elements == Elements::located;
  for (std::size_t w = 0; w < words_.size(); ++w) {
    if (real && w == 0) {
      const double value = element[w];
      std::memcpy(at, &value, sizeof value);
    } else {
      std::memcpy(at + words_[w], &element[w], sizeof element[w]);
    }
  }
}

void VectorTransfer::prepare() {
  ++epoch_;
  std::fill(send_.begin(), send_.end(), poison);
  std::fill(recv_.begin(), recv_.end(), poison);
  const auto fill = [&](Image& image, int count, int from, int to) {
    for (int i = 0; i < count; ++i) {
      write(image, to + i, operand(rank_, from + i));
    }
  };
  const Collective collective = spec_.collective;
  Image& source = spec_.in_place && !scatters(collective) ? recv_ : send_;
  if (collective == Collective::bcast) {
    if (at_root()) {
      fill(recv_, spec_.count, 0, 0);
    }
  } else if (gathers(collective)) {
    const bool placed = spec_.in_place && (!algos::has_root(collective) || at_root());
    fill(placed ? recv_ : send_, size_of(rank_), 0, placed ? displs_[static_cast<std::size_t>(rank_)] : 0);
  } else if (scatters(collective)) {
    for (int r = 0; r < ranks_ && at_root(); ++r) {
      fill(send_, size_of(r), start_of(r), displs_[static_cast<std::size_t>(r)]);
    }
  } else if (collective == Collective::reduce_scatter || collective == Collective::reduce_scatter_block) {
    fill(source, start_of(ranks_), 0, 0);
  } else {
    fill(collective == Collective::reduce && !at_root() ? send_ : source, spec_.count, 0, 0);
  }
  if (spec_.device) {
    send_on_device_.upload(send_.data(), send_.size());
    recv_on_device_.upload(recv_.data(), recv_.size());
  }
  expect();
}

void VectorTransfer::expect() {
  send_expected_ = send_;
  recv_expected_ = recv_;
  undefined_.assign(recv_.size(), false);
  const auto result = [&](int count, int place, int to, int first, int last) {
    for (int i = 0; i < count; ++i) {
      write(recv_expected_, to + i, combined(first, last, place + i));
    }
  };
  switch (spec_.collective) {
  case Collective::reduce:
    if (!at_root()) {
      break;
    }
    [[fallthrough]];
  case Collective::allreduce:
    result(spec_.count, 0, 0, 0, ranks_ - 1);
    break;
  case Collective::scan:
    result(spec_.count, 0, 0, 0, rank_);
    break;
  case Collective::exscan:
    if (rank_ > 0) {
      result(spec_.count, 0, 0, 0, rank_ - 1);
    }
    break;
  case Collective::reduce_scatter:
  case Collective::reduce_scatter_block:
    result(size_of(rank_), start_of(rank_), 0, 0, ranks_ - 1);
    std::fill(undefined_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(size_of(rank_)) * extent_),
              undefined_.end(), true);
    break;
  case Collective::bcast:
    result(spec_.count, 0, 0, spec_.root, spec_.root);
    break;
  case Collective::scatter:
  case Collective::scatterv:
    if (!spec_.in_place || !at_root()) {
      result(size_of(rank_), start_of(rank_), 0, spec_.root, spec_.root);
    }
    break;
  default: // gathers
    for (int r = 0; r < ranks_ && (!algos::has_root(spec_.collective) || at_root()); ++r) {
      result(size_of(r), 0, displs_[static_cast<std::size_t>(r)], r, r);
    }
    break;
  }
  if (spec_.elements == Elements::located) { // the padding of MPI's own pairs is nobody's
    for (std::size_t b = 0; b < undefined_.size(); ++b) {
      undefined_[b] = undefined_[b] || b % extent_ >= sizeof(double) + sizeof(int);
    }
  }
}

std::string VectorTransfer::difference(const Image& is, const Image& expected, const char* name) const {
  for (std::size_t b = 0; b < is.size(); ++b) {
    if (is[b] != expected[b] && (&is != &recv_ || !undefined_[b])) {
      return describe(spec_) + ", epoch " + std::to_string(epoch_) + ", rank " + std::to_string(rank_) + " of " +
             std::to_string(ranks_) + ": byte " + std::to_string(b % extent_) + " of element " +
             std::to_string(b / extent_) + " of " + name + " is " + std::to_string(is[b]) + ", expected " +
             std::to_string(expected[b]);
    }
  }
  return {};
}

std::string VectorTransfer::defect() {
  if (spec_.device) {
    send_on_device_.download(send_.data(), send_.size());
    recv_on_device_.download(recv_.data(), recv_.size());
  }
  const std::string sent = difference(send_, send_expected_, "sendbuf");
  return sent.empty() ? difference(recv_, recv_expected_, "recvbuf") : sent;
}

void VectorTransfer::call_init(stoker_engine engine) {
  Settings keys;
  if (!spec_.algorithm.empty()) {
    keys.emplace_back("stoker_algorithm", spec_.algorithm);
  }
  if (!spec_.executor.empty()) {
    keys.emplace_back("stoker_executor", spec_.executor);
  }
  const InfoOwner info(keys);
  code_ = spec_.wide ? call_wide(info.get(), engine) : call_int(info.get(), engine);
  message_ = code_ == STOKER_SUCCESS ? "" : stoker_error_message();
}

// The buffers that the calls are given: MPI_IN_PLACE if that is allowed, null if a buffer is not significant.
VectorTransfer::Ends VectorTransfer::ends() {
  Ends ends{send_.data(), recv_.data()};
  if (spec_.device) {
    ends = {send_on_device_.address(), recv_on_device_.address()};
  }
  const bool significant = !algos::has_root(spec_.collective) || at_root();
  if (scatters(spec_.collective)) {
    ends.send = significant ? ends.send : nullptr;
    ends.recv = spec_.in_place && significant ? MPI_IN_PLACE : ends.recv;
  } else if (spec_.collective != Collective::bcast) {
    ends.recv = significant ? ends.recv : nullptr;
    ends.send = spec_.in_place && significant ? MPI_IN_PLACE : ends.send;
  }
  return ends;
}

int VectorTransfer::call_int(MPI_Info info, stoker_engine engine) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const Ends ends = this->ends();
  const int own = size_of(rank_);
  switch (spec_.collective) {
  case Collective::allreduce:
    return stoker_allreduce_init(ends.send, ends.recv, own, type_, op_, comm, info, engine, &request_);
  case Collective::scan:
    return stoker_scan_init(ends.send, ends.recv, own, type_, op_, comm, info, engine, &request_);
  case Collective::exscan:
    return stoker_exscan_init(ends.send, ends.recv, own, type_, op_, comm, info, engine, &request_);
  case Collective::reduce:
    return stoker_reduce_init(ends.send, ends.recv, own, type_, op_, spec_.root, comm, info, engine, &request_);
  case Collective::bcast:
    return stoker_bcast_init(ends.recv, own, type_, spec_.root, comm, info, engine, &request_);
  case Collective::reduce_scatter:
    return stoker_reduce_scatter_init(ends.send, ends.recv, counts_.data(), type_, op_, comm, info, engine, &request_);
  case Collective::reduce_scatter_block:
    return stoker_reduce_scatter_block_init(ends.send, ends.recv, own, type_, op_, comm, info, engine, &request_);
  case Collective::allgather:
    return stoker_allgather_init(ends.send, own, type_, ends.recv, own, type_, comm, info, engine, &request_);
  case Collective::allgatherv:
    return stoker_allgatherv_init(ends.send, own, type_, ends.recv, counts_.data(), displs_.data(), type_, comm, info,
                                  engine, &request_);
  case Collective::gather:
    return stoker_gather_init(ends.send, own, type_, ends.recv, own, type_, spec_.root, comm, info, engine, &request_);
  case Collective::gatherv:
    return stoker_gatherv_init(ends.send, own, type_, ends.recv, counts_.data(), displs_.data(), type_, spec_.root,
                               comm, info, engine, &request_);
  case Collective::scatter:
    return stoker_scatter_init(ends.send, own, type_, ends.recv, own, type_, spec_.root, comm, info, engine, &request_);
  case Collective::scatterv:
    return stoker_scatterv_init(ends.send, counts_.data(), displs_.data(), type_, ends.recv, own, type_, spec_.root,
                                comm, info, engine, &request_);
  default:
    return STOKER_ERR_UNSUPPORTED; // barriers carry nothing
  }
}

int VectorTransfer::call_wide(MPI_Info info, stoker_engine engine) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const Ends ends = this->ends();
  const int own = size_of(rank_);
  switch (spec_.collective) {
  case Collective::allreduce:
    return stoker_allreduce_init_c(ends.send, ends.recv, own, type_, op_, comm, info, engine, &request_);
  case Collective::scan:
    return stoker_scan_init_c(ends.send, ends.recv, own, type_, op_, comm, info, engine, &request_);
  case Collective::exscan:
    return stoker_exscan_init_c(ends.send, ends.recv, own, type_, op_, comm, info, engine, &request_);
  case Collective::reduce:
    return stoker_reduce_init_c(ends.send, ends.recv, own, type_, op_, spec_.root, comm, info, engine, &request_);
  case Collective::bcast:
    return stoker_bcast_init_c(ends.recv, own, type_, spec_.root, comm, info, engine, &request_);
  case Collective::reduce_scatter:
    return stoker_reduce_scatter_init_c(ends.send, ends.recv, wide_counts_.data(), type_, op_, comm, info, engine,
                                        &request_);
  case Collective::reduce_scatter_block:
    return stoker_reduce_scatter_block_init_c(ends.send, ends.recv, own, type_, op_, comm, info, engine, &request_);
  case Collective::allgather:
    return stoker_allgather_init_c(ends.send, own, type_, ends.recv, own, type_, comm, info, engine, &request_);
  case Collective::allgatherv:
    return stoker_allgatherv_init_c(ends.send, own, type_, ends.recv, wide_counts_.data(), wide_displs_.data(), type_,
                                    comm, info, engine, &request_);
  case Collective::gather:
    return stoker_gather_init_c(ends.send, own, type_, ends.recv, own, type_, spec_.root, comm, info, engine,
                                &request_);
  case Collective::gatherv:
    return stoker_gatherv_init_c(ends.send, own, type_, ends.recv, wide_counts_.data(), wide_displs_.data(), type_,
                                 spec_.root, comm, info, engine, &request_);
  case Collective::scatter:
    return stoker_scatter_init_c(ends.send, own, type_, ends.recv, own, type_, spec_.root, comm, info, engine,
                                 &request_);
  case Collective::scatterv:
    return stoker_scatterv_init_c(ends.send, wide_counts_.data(), wide_displs_.data(), type_, ends.recv, own, type_,
                                  spec_.root, comm, info, engine, &request_);
  default:
    return STOKER_ERR_UNSUPPORTED; // barriers carry nothing
  }
}
} // namespace api_tests
