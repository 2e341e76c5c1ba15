// SPDX-License-Identifier: BSD-3-Clause
// One persistent alltoall or alltoallv with its buffers and an oracle that does not share a line with the library: what
// every byte of the receive buffer must be, gaps and surroundings included, is computed from (request, epoch, source,
// destination, position).
#pragma once

#include "tests/api/support.hpp"
#include "tests/devices/device.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace api_tests {

// alltoall is MPI_Alltoall; the others are count matrices of MPI_Alltoallv.
enum class Pattern { alltoall, uniform, zeros, all_to_one, one_to_all, random, diagonal };
inline constexpr Pattern patterns[] = {Pattern::alltoall,   Pattern::uniform, Pattern::zeros,   Pattern::all_to_one,
                                       Pattern::one_to_all, Pattern::random,  Pattern::diagonal};
[[nodiscard]] std::string name_of(Pattern pattern);

// Types of the two ends. Signatures match; what the ends look like in memory may differ.
enum class Types {
  bytes,
  ints,
  doubles,
  contiguous,      // 3 ints
  strided,         // vector: 3 blocks of 2 ints, 2 ints apart
  holes,           // struct of char, 2 ints, double, with padding
  shifted,         // data begin 8 bytes behind the element's start, extent beyond its end
  negative,        // data begin before the address that the caller passes
  ints_to_strided, // int -> vector
  strided_to_ints, // vector -> int
  swapped_to_ints, // two ints without a gap, the second one first -> int
  ints_to_columns, // int -> columns of a row-major matrix (elements interleave); alltoall only
};
inline constexpr Types type_pairs[] = {
    Types::bytes,           Types::ints,           Types::doubles,  Types::contiguous,      Types::strided,
    Types::holes,           Types::shifted,        Types::negative, Types::ints_to_strided, Types::strided_to_ints,
    Types::swapped_to_ints, Types::ints_to_columns};
[[nodiscard]] std::string name_of(Types types);

enum class Memory { heap, mapped, mapped_recv, device, device_recv };
[[nodiscard]] std::string name_of(Memory memory);

struct TransferSpec {
  int id = 0; // distinguishes the data of transfers; equal on all ranks of the communicator
  Pattern pattern = Pattern::alltoall;
  std::uint64_t block_bytes = 64; // the nominal block; rounded to whole elements, at least one
  Types types = Types::ints;
  Memory memory = Memory::heap;
  bool in_place = false;
  bool wide = false;     // the _c function
  std::string algorithm; // info key; empty: not given
  std::string executor;  // info key; empty: not given
};
[[nodiscard]] std::string describe(const TransferSpec& spec);
// False for combinations that MPI does not define: in place with unsymmetric counts, interleaved columns with counts.
[[nodiscard]] bool is_legal(const TransferSpec& spec);

class Transfer {
public:
  // Initialises the request. Collective over comm, which may be freed right afterwards. Check code().
  Transfer(const TransferSpec& spec, stoker_engine engine, MPI_Comm comm);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] stoker_request request() const { return request_; }
  [[nodiscard]] const TransferSpec& spec() const { return spec_; }

  // New data for the next epoch; poisons everything else in both buffers.
  void prepare();
  // An empty text when both buffers are exactly what they must be.
  [[nodiscard]] std::string defect() const;
  // The same for a receive buffer that must not have been touched yet.
  [[nodiscard]] bool recv_untouched() const;
  // Frees the request.
  [[nodiscard]] int free();

private:
  struct Type {
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    bool derived = false;
    std::vector<std::ptrdiff_t> bytes; // of one element: where its significant bytes are, in signature order
    std::ptrdiff_t extent = 0;
  };
  struct Block {
    std::int64_t count = 0; // elements
    std::int64_t displ = 0; // extents
  };
  // One end's buffer: the caller's address is storage + origin.
  struct End {
    Type type;
    std::vector<Block> blocks;
    unsigned char* storage = nullptr;
    std::size_t size = 0;
    std::size_t origin = 0;
    bool mapped = false;
    std::vector<unsigned char> heap;
    device_tests::DeviceMemory device; // if any, `storage` is its image
    [[nodiscard]] unsigned char* address() const {
      return (device.address() != nullptr ? device.address() : storage) + origin;
    }
  };

  static Type make_type(Types types, bool sending, std::int64_t columns);
  [[nodiscard]] std::uint64_t units(int source, int destination) const;
  void lay_out(End& end, bool sending, std::size_t unit_bytes);
  void allocate(End& end, bool mapped, bool on_device, stoker_engine engine);
  void call_init(stoker_engine engine, MPI_Comm comm);
  // Writes the bytes that go from `source` to `destination` in the current epoch into block `peer` of a buffer image.
  void write_block(const End& end, unsigned char* image, int peer, int source, int destination) const;
  [[nodiscard]] std::string explain(const End& end, const std::vector<unsigned char>& expected, bool sending) const;

  TransferSpec spec_;
  int rank_ = 0;
  int ranks_ = 1;
  std::uint64_t nominal_units_ = 1;
  std::uint64_t epoch_ = 0;
  End send_, recv_;
  std::vector<unsigned char> send_expected_, recv_before_, recv_expected_;
  stoker_request request_ = STOKER_REQUEST_NULL;
  int code_ = STOKER_SUCCESS;
  std::string message_;
};

// That both buffers of `transfer` are what they must be.
void expect_right(const Transfer& transfer);

using Transfers = std::vector<std::unique_ptr<Transfer>>;
[[nodiscard]] std::vector<stoker_request> requests_of(const Transfers& transfers);

} // namespace api_tests
