// SPDX-License-Identifier: BSD-3-Clause
#include "engine/data/datatype.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/named_type.hpp"
#include "engine/base/type_size.hpp"

#include <algorithm>
#include <climits>
#include <cstring>

// Functions of MPI-4, which the library may lack; null then.
// NOLINTBEGIN(readability-redundant-declaration): some mpi.h have them
extern "C" [[gnu::weak]] int PMPI_Pack_c(const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf,
                                         MPI_Count outsize, MPI_Count* position, MPI_Comm comm);
extern "C" [[gnu::weak]] int PMPI_Unpack_c(const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf,
                                           MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm);
// NOLINTEND(readability-redundant-declaration)

namespace stoker::engine {
namespace {

// MPI_Pack and MPI_Unpack count in int: larger blocks go in parts, each part's packed bytes being an int too.
// Not for elements of 2 GiB and more.
template <class Call>
void in_parts(const Datatype& type, const UserBlock& block, Call call) {
  const std::int64_t most =
      type.size() == 0 ? INT_MAX : std::max<std::int64_t>(1, INT_MAX / static_cast<std::int64_t>(type.size()));
  for (std::int64_t done = 0; done < block.count; done += most) {
    const auto count = static_cast<int>(std::min(most, block.count - done));
    call(block.displacement + (done * type.extent()), count,
         static_cast<int>(static_cast<std::uint64_t>(count) * type.size()));
  }
}

void check_position(MPI_Count position, MPI_Count expected, const char* call) {
  if (position != expected) {
    throw Error(Code::mpi, "{} handled {} bytes, expected {}", call, position, expected);
  }
}

// Whether the elements of a type without gaps also lie in the order in which they are sent. A struct may list its
// second member first. Types can be built in many ways; packing an element is the one test that works for all of them.
bool in_order(MPI_Datatype type, std::uint64_t size) {
  const int combiner = combiner_of(type);
  if (combiner == MPI_COMBINER_NAMED || size == 0) {
    return true;
  }
  if (combiner == MPI_COMBINER_CONTIGUOUS || combiner == MPI_COMBINER_DUP) { // of any length
    const MPI_Datatype element = element_of(type);
    const OwnedType owned(is_named(element) ? MPI_DATATYPE_NULL : element);
    MPI_Count element_size = 0;
    check_mpi(get_size(element, &element_size), "MPI_Type_size");
    return in_order(element, static_cast<std::uint64_t>(element_size));
  }
  constexpr std::uint64_t most = 1U << 20U;
  if (size > most) {
    return false; // it is packed then, which is right for every type
  }
  // The test packs two elements with a gap between them: once some 700 derived types exist, MPICH 4.0 packs a few bytes
  // too few of a derived type without gaps.
  const auto bytes = static_cast<std::size_t>(size);
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  check_mpi(PMPI_Type_create_hvector(2, 1, static_cast<MPI_Aint>(size + 1), type, &pair), "MPI_Type_create_hvector");
  PMPI_Type_commit(&pair);
  std::vector<std::byte> elements(2 * bytes + 1);
  std::uint64_t random = 1;
  for (std::byte& b : elements) {
    random = (random * 6364136223846793005U) + 1442695040888963407U;
    b = static_cast<std::byte>(random >> 56U);
  }
  std::vector<std::byte> packed(2 * bytes);
  int position = 0;
  const int code =
      PMPI_Pack(elements.data(), 1, pair, packed.data(), static_cast<int>(packed.size()), &position, MPI_COMM_SELF);
  PMPI_Type_free(&pair);
  check_mpi(code, "MPI_Pack");
  check_position(position, static_cast<int>(packed.size()), "MPI_Pack");
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(bytes));
  return packed == elements;
}

} // namespace

Datatype::Datatype(MPI_Datatype type, const std::string& what) {
  if (type == MPI_DATATYPE_NULL) {
    throw Error(Code::argument, "{} is MPI_DATATYPE_NULL; expected a committed datatype", what);
  }
  MPI_Count size = 0;
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  MPI_Count true_lower = 0;
  MPI_Count true_extent = 0;
  if (get_size(type, &size) != MPI_SUCCESS || get_extent(type, &lower, &extent) != MPI_SUCCESS ||
      get_true_extent(type, &true_lower, &true_extent) != MPI_SUCCESS) {
    throw Error(Code::argument, "{} is not a datatype that MPI accepts; expected a committed datatype", what);
  }
  size_ = static_cast<std::uint64_t>(size);
  extent_ = extent;
  true_lower_ = true_lower;
  true_extent_ = true_extent;
  contiguous_ = lower == 0 && true_lower == 0 && size == extent && size == true_extent && in_order(type, size_);
  if (!contiguous_) {
    if (size > INT_MAX && PMPI_Pack_c == nullptr) {
      throw Error(Code::unsupported,
                  "{} has elements of {} bytes that need not lie as they are sent, which this MPI library cannot pack; "
                  "expected less than 2 GiB",
                  what, size);
    }
    MPI_Datatype duplicate = MPI_DATATYPE_NULL;
    if (PMPI_Type_dup(type, &duplicate) != MPI_SUCCESS) {
      throw Error(Code::argument, "{} cannot be duplicated by MPI; expected a committed datatype", what);
    }
    type_ = OwnedType(duplicate);
  }
}

void Datatype::find_runs() {
  runs_.clear();
  if (contiguous_ || size_ == 0) {
    runs_.push_back({0, size_});
    return;
  }
  // Every byte of an element holds a digit of its own offset. What MPI packs of that tells where it came from.
  const auto extent = static_cast<std::uint64_t>(true_extent_);
  std::vector<std::byte> element(extent);
  std::vector<std::byte> packed(size_);
  std::vector<std::uint64_t> offsets(size_);
  for (unsigned digit = 0; digit < 64 && (extent - 1) >> digit != 0; digit += 8) {
    for (std::uint64_t i = 0; i < extent; ++i) {
      element[i] = static_cast<std::byte>(i >> digit);
    }
    pack(*this, element.data() - true_lower_, 1, packed.data(), MPI_COMM_SELF);
    for (std::uint64_t i = 0; i < size_; ++i) {
      offsets[i] |= std::to_integer<std::uint64_t>(packed[i]) << digit;
    }
  }
  for (const std::uint64_t from_lower : offsets) {
    const std::int64_t offset = static_cast<std::int64_t>(from_lower) + true_lower_;
    if (!runs_.empty() && offset == runs_.back().offset + static_cast<std::int64_t>(runs_.back().bytes)) {
      ++runs_.back().bytes;
    } else {
      runs_.push_back({offset, 1});
    }
  }
}

void add_pieces(const Datatype& type, std::byte* elements, std::int64_t count, std::byte* packed,
                std::vector<DevicePiece>& pieces) {
  const bool is_one_run = type.contiguous();
  for (std::int64_t e = 0; e < (is_one_run ? std::min<std::int64_t>(count, 1) : count); ++e) {
    for (const TypeRun& run : type.runs()) {
      const std::uint64_t bytes = is_one_run ? run.bytes * static_cast<std::uint64_t>(count) : run.bytes;
      std::byte* const place = elements + (e * type.extent()) + run.offset;
      if (!pieces.empty() && place == pieces.back().device + pieces.back().bytes &&
          packed == pieces.back().host + pieces.back().bytes) {
        pieces.back().bytes += bytes;
      } else if (bytes > 0) {
        pieces.push_back({packed, place, bytes});
      }
      packed += bytes;
    }
  }
}

UserBuffer::UserBuffer(void* address, Datatype type, std::vector<UserBlock> blocks, MemoryKinds kinds)
    : address_(static_cast<std::byte*>(address)), type_(std::move(type)), blocks_(std::move(blocks)) {
  bool first = true;
  for (const UserBlock& block : blocks_) {
    if (block.count == 0 || type_.size() == 0) {
      continue;
    }
    bytes_ += static_cast<std::uint64_t>(block.count) * type_.size();
    // A negative extent puts later elements before earlier ones.
    const std::int64_t last = (block.count - 1) * type_.extent();
    const std::int64_t low = block.displacement + type_.true_lower() + std::min<std::int64_t>(0, last);
    const std::int64_t high =
        block.displacement + type_.true_lower() + std::max<std::int64_t>(0, last) + type_.true_extent();
    lower_ = first ? low : std::min(lower_, low);
    upper_ = first ? high : std::max(upper_, high);
    first = false;
  }
  lay_out_packed();
  residence_ = bytes_ > 0 ? residence_of(address_ + lower_, kinds) : Residence::host;
  if (residence_ == Residence::device) {
    type_.find_runs();
  }
}

void UserBuffer::lay_out_packed() {
  if (blocks_.size() == 1) { // which shares no element with another
    packed_offsets_ = {0};
    packed_bytes_ = bytes_;
    runs_ = bytes_ > 0 ? blocks_ : runs_;
    return;
  }
  // Blocks that overlap by whole elements become one run.
  std::vector<std::size_t> order;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (block_bytes(b) > 0) {
      order.push_back(b);
    }
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t b) { return blocks_[b].displacement; });
  std::vector<UserBlock> runs;
  std::vector<std::size_t> run_of(blocks_.size());
  for (const std::size_t b : order) {
    const UserBlock& block = blocks_[b];
    if (!runs.empty() && type_.extent() > 0) {
      UserBlock& run = runs.back();
      const std::int64_t distance = block.displacement - run.displacement;
      if (distance % type_.extent() == 0 && distance / type_.extent() < run.count) {
        run.count = std::max(run.count, (distance / type_.extent()) + block.count);
        run_of[b] = runs.size() - 1;
        continue;
      }
    }
    runs.push_back(block);
    run_of[b] = runs.size() - 1;
  }
  packed_offsets_.resize(blocks_.size());
  std::vector<std::int64_t> places(runs.size(), -1);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (block_bytes(b) == 0) {
      packed_offsets_[b] = packed_bytes_;
      continue;
    }
    const UserBlock& run = runs[run_of[b]];
    std::int64_t& place = places[run_of[b]];
    if (place < 0) {
      place = static_cast<std::int64_t>(packed_bytes_);
      packed_bytes_ += static_cast<std::uint64_t>(run.count) * type_.size();
      runs_.push_back(run);
    }
    const std::int64_t elements =
        type_.extent() > 0 ? (blocks_[b].displacement - run.displacement) / type_.extent() : 0;
    packed_offsets_[b] = static_cast<std::uint64_t>(place) + (static_cast<std::uint64_t>(elements) * type_.size());
  }
}

void UserBuffer::forget_blocks() {
  blocks_ = {};
  packed_offsets_ = {};
  std::vector<UserBlock> joined;
  for (const UserBlock& run : runs_) {
    if (!joined.empty() && type_.extent() > 0 &&
        run.displacement == joined.back().displacement + (joined.back().count * type_.extent())) {
      joined.back().count += run.count;
    } else {
      joined.push_back(run);
    }
  }
  joined.shrink_to_fit();
  runs_ = std::move(joined);
}

void pack(const Datatype& type, const std::byte* elements, std::int64_t count, std::byte* packed, MPI_Comm comm) {
  if (type.contiguous()) {
    std::memcpy(packed, elements, static_cast<std::uint64_t>(count) * type.size());
    return;
  }
  if (type.size() > INT_MAX) {
    const auto bytes = static_cast<MPI_Count>(static_cast<std::uint64_t>(count) * type.size());
    MPI_Count position = 0;
    check_mpi(PMPI_Pack_c(elements, count, type.handle(), packed, bytes, &position, comm), "MPI_Pack_c");
    return check_position(position, bytes, "MPI_Pack_c");
  }
  in_parts(type, {0, count}, [&](std::int64_t displacement, int part, int bytes) {
    int position = 0;
    check_mpi(PMPI_Pack(elements + displacement, part, type.handle(), packed, bytes, &position, comm), "MPI_Pack");
    check_position(position, bytes, "MPI_Pack");
    packed += bytes;
  });
}

void unpack(const Datatype& type, const std::byte* packed, std::int64_t count, std::byte* elements, MPI_Comm comm) {
  if (type.contiguous()) {
    std::memcpy(elements, packed, static_cast<std::uint64_t>(count) * type.size());
    return;
  }
  if (type.size() > INT_MAX) {
    const auto bytes = static_cast<MPI_Count>(static_cast<std::uint64_t>(count) * type.size());
    MPI_Count position = 0;
    check_mpi(PMPI_Unpack_c(packed, bytes, &position, elements, count, type.handle(), comm), "MPI_Unpack_c");
    return check_position(position, bytes, "MPI_Unpack_c");
  }
  in_parts(type, {0, count}, [&](std::int64_t displacement, int part, int bytes) {
    int position = 0;
    check_mpi(PMPI_Unpack(packed, bytes, &position, elements + displacement, part, type.handle(), comm), "MPI_Unpack");
    check_position(position, bytes, "MPI_Unpack");
    packed += bytes;
  });
}

std::vector<std::uint64_t> UserBuffer::block_sizes() const {
  std::vector<std::uint64_t> sizes(blocks_.size());
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    sizes[b] = block_bytes(b);
  }
  return sizes;
}

void UserBuffer::add_pieces(std::byte* staging, std::vector<DevicePiece>& pieces) const {
  for (const UserBlock& run : runs_) {
    engine::add_pieces(type_, address_ + run.displacement, run.count, staging, pieces);
    staging += static_cast<std::uint64_t>(run.count) * type_.size();
  }
}

void UserBuffer::pack(std::byte* staging, MPI_Comm comm) const {
  if (residence_ == Residence::device) {
    std::vector<DevicePiece> pieces;
    add_pieces(staging, pieces);
    copy_to_host(pieces);
    return;
  }
  for (const UserBlock& run : runs_) {
    engine::pack(type_, address_ + run.displacement, run.count, staging, comm);
    staging += static_cast<std::uint64_t>(run.count) * type_.size();
  }
}

void UserBuffer::unpack(const std::byte* staging, MPI_Comm comm) const {
  if (residence_ == Residence::device) {
    std::vector<DevicePiece> pieces;
    add_pieces(const_cast<std::byte*>(staging), pieces); // only read
    copy_to_device(pieces);
    return;
  }
  for (const UserBlock& run : runs_) {
    engine::unpack(type_, staging, run.count, address_ + run.displacement, comm);
    staging += static_cast<std::uint64_t>(run.count) * type_.size();
  }
}

} // namespace stoker::engine
