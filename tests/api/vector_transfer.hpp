// SPDX-License-Identifier: BSD-3-Clause
// One persistent reduction, broadcast, gather, scatter or scan with its buffers, and a serial oracle: every rank knows
// the operands of all, as functions of (request, epoch, rank, place), and works out by itself what both of its buffers
// must hold, gaps and surroundings included.
#pragma once

#include "algos/collectives/registry.hpp"
#include "tests/api/support.hpp"
#include "tests/devices/device.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace api_tests {

namespace algos = stoker::algos;

// The kinds of elements, and how they are combined.
enum class Elements {
  ints,           // MPI_INT, MPI_SUM
  doubles,        // MPI_DOUBLE, MPI_SUM of whole numbers
  greatest,       // MPI_INT, MPI_MAX
  located,        // MPI_DOUBLE_INT, MPI_MINLOC
  user_sums,      // MPI_INT, the application's commutative sum
  matrices,       // four unsigned without gaps; the application's product of 2x2 matrices, which is not commutative
  gapped_matrices // the same with gaps between the four, before the first and behind the last
};
inline constexpr std::array<Elements, 7> all_elements = {
    Elements::ints,      Elements::doubles,  Elements::greatest,       Elements::located,
    Elements::user_sums, Elements::matrices, Elements::gapped_matrices};
[[nodiscard]] std::string name_of(Elements elements);
[[nodiscard]] bool is_commutative(Elements elements);

struct VectorSpec {
  int id = 0; // distinguishes the data of requests; equal on all ranks
  algos::Collective collective = algos::Collective::allreduce;
  Elements elements = Elements::ints;
  int count = 1; // of the vector, or of a block; blocks that may differ have some size around that
  int root = 0;
  bool in_place = false;
  bool wide = false;     // the _c function
  bool device = false;   // the buffers are on a device
  std::string algorithm; // info key; empty: not given
  std::string executor;  // info key; empty: not given
};
[[nodiscard]] std::string describe(const VectorSpec& spec);

class VectorTransfer {
public:
  // Initialises the request over MPI_COMM_WORLD. Collective. Check code().
  VectorTransfer(const VectorSpec& spec, stoker_engine engine);
  ~VectorTransfer();
  VectorTransfer(const VectorTransfer&) = delete;
  VectorTransfer& operator=(const VectorTransfer&) = delete;

  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] stoker_request request() const { return request_; }
  [[nodiscard]] const VectorSpec& spec() const { return spec_; }

  // New data for the next epoch; poisons everything else in both buffers.
  void prepare();
  // An empty text when both buffers are exactly what they must be.
  [[nodiscard]] std::string defect();
  // Frees the request.
  [[nodiscard]] int free();

private:
  using Element = std::array<std::uint32_t, 4>;
  using Image = std::vector<unsigned char>;
  struct Ends {
    void* send;
    void* recv;
  };

  void make_type();
  void lay_out();
  void call_init(stoker_engine engine);
  [[nodiscard]] Ends ends();
  int call_int(MPI_Info info, stoker_engine engine);
  int call_wide(MPI_Info info, stoker_engine engine);
  [[nodiscard]] int size_of(int rank) const; // of a rank's block, in elements
  [[nodiscard]] int start_of(int rank) const;
  [[nodiscard]] bool at_root() const { return rank_ == spec_.root; }
  [[nodiscard]] Element operand(int rank, int place) const;
  [[nodiscard]] Element combined(int first, int last, int place) const; // of the ranks' operands, both included
  void write(Image& image, int place, const Element& element) const;
  void expect();
  [[nodiscard]] std::string difference(const Image& is, const Image& expected, const char* name) const;

  VectorSpec spec_;
  int rank_ = 0;
  int ranks_ = 1;
  std::uint64_t epoch_ = 0;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Op op_ = MPI_OP_NULL;
  std::size_t extent_ = 0;
  std::vector<std::size_t> words_; // where the parts of an element are
  bool own_type_ = false;
  bool own_op_ = false;
  std::vector<int> counts_, displs_; // of the ranks' blocks in the buffer that holds all
  std::vector<MPI_Count> wide_counts_;
  std::vector<MPI_Aint> wide_displs_;
  Image send_, recv_, send_expected_, recv_expected_;
  device_tests::DeviceMemory send_on_device_, recv_on_device_; // of which those are images
  std::vector<bool> undefined_;                                // by byte of recv_: may hold anything afterwards
  stoker_request request_ = STOKER_REQUEST_NULL;
  int code_ = STOKER_SUCCESS;
  std::string message_;
};

using VectorTransfers = std::vector<std::unique_ptr<VectorTransfer>>;

} // namespace api_tests
