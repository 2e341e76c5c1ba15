// SPDX-License-Identifier: BSD-3-Clause
#include "tests/api/transfer.hpp"

#include <cstring>
#include <numeric>
#include <sstream>

namespace api_tests {
namespace {

constexpr std::size_t guard_bytes = 64; // on both sides of every buffer: must survive

// The bytes of one block, in signature order.
class Stream {
public:
  Stream(std::uint64_t id, std::uint64_t epoch, int source, int destination)
      : key_(mix(mix(mix(id) + epoch) + (static_cast<std::uint64_t>(source) << 32) +
                 static_cast<std::uint64_t>(destination))) {}
  unsigned char next() {
    if (position_ % 8 == 0) {
      word_ = mix(key_ + position_ / 8);
    }
    return static_cast<unsigned char>(word_ >> (8 * (position_++ % 8)));
  }

private:
  std::uint64_t key_;
  std::uint64_t position_ = 0;
  std::uint64_t word_ = 0;
};

std::vector<std::ptrdiff_t> consecutive(std::ptrdiff_t begin, std::ptrdiff_t count) {
  std::vector<std::ptrdiff_t> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), begin);
  return result;
}

void append(std::vector<std::ptrdiff_t>& to, std::ptrdiff_t begin, std::ptrdiff_t count) {
  const auto more = consecutive(begin, count);
  to.insert(to.end(), more.begin(), more.end());
}

MPI_Datatype resized(MPI_Datatype old, MPI_Aint lower, MPI_Aint extent) {
  MPI_Datatype result;
  MPI_Type_create_resized(old, lower, extent, &result);
  MPI_Type_free(&old);
  return result;
}

} // namespace

std::string name_of(Pattern pattern) {
  switch (pattern) {
  case Pattern::alltoall:
    return "alltoall";
  case Pattern::uniform:
    return "uniform";
  case Pattern::zeros:
    return "zeros";
  case Pattern::all_to_one:
    return "all_to_one";
  case Pattern::one_to_all:
    return "one_to_all";
  case Pattern::random:
    return "random";
  case Pattern::diagonal:
    return "diagonal";
  }
  return "?";
}

std::string name_of(Types types) {
  switch (types) {
  case Types::bytes:
    return "bytes";
  case Types::ints:
    return "ints";
  case Types::doubles:
    return "doubles";
  case Types::contiguous:
    return "contiguous";
  case Types::strided:
    return "strided";
  case Types::holes:
    return "holes";
  case Types::shifted:
    return "shifted";
  case Types::negative:
    return "negative";
  case Types::ints_to_strided:
    return "ints_to_strided";
  case Types::strided_to_ints:
    return "strided_to_ints";
  case Types::swapped_to_ints:
    return "swapped_to_ints";
  case Types::ints_to_columns:
    return "ints_to_columns";
  }
  return "?";
}

std::string name_of(Memory memory) {
  switch (memory) {
  case Memory::heap:
    return "heap";
  case Memory::mapped:
    return "mapped";
  case Memory::mapped_recv:
    return "mapped_recv";
  case Memory::device:
    return "device";
  case Memory::device_recv:
    return "device_recv";
  }
  return "?";
}

std::string describe(const TransferSpec& spec) {
  std::ostringstream text;
  text << "transfer " << spec.id << ": " << name_of(spec.pattern) << ", " << spec.block_bytes << " B, "
       << name_of(spec.types) << ", " << name_of(spec.memory) << (spec.in_place ? ", in place" : "")
       << (spec.wide ? ", _c" : "") << ", algorithm '" << spec.algorithm << "', executor '" << spec.executor << "'";
  return text.str();
}

bool is_legal(const TransferSpec& spec) {
  const bool symmetric = spec.pattern != Pattern::all_to_one && spec.pattern != Pattern::one_to_all;
  const bool plain = spec.pattern == Pattern::alltoall;
  return (!spec.in_place || symmetric) && (spec.types != Types::ints_to_columns || plain);
}

Transfer::Type Transfer::make_type(Types types, bool sending, std::int64_t columns) {
  Type type;
  const auto predefined = [&](MPI_Datatype handle, std::ptrdiff_t size) {
    type.handle = handle;
    type.bytes = consecutive(0, size);
    type.extent = size;
  };
  const auto strided = [&] {
    MPI_Type_vector(3, 2, 4, MPI_INT, &type.handle);
    type.derived = true;
    for (std::ptrdiff_t block = 0; block < 3; ++block) {
      append(type.bytes, block * 16, 8);
    }
    type.extent = 40;
  };
  switch (types) {
  case Types::bytes:
    predefined(MPI_BYTE, 1);
    break;
  case Types::ints:
    predefined(MPI_INT, 4);
    break;
  case Types::doubles:
    predefined(MPI_DOUBLE, 8);
    break;
  case Types::contiguous:
    MPI_Type_contiguous(3, MPI_INT, &type.handle);
    type.derived = true;
    type.bytes = consecutive(0, 12);
    type.extent = 12;
    break;
  case Types::strided:
    strided();
    break;
  case Types::holes: {
    const int lengths[] = {1, 2, 1};
    const MPI_Aint places[] = {0, 8, 24};
    const MPI_Datatype parts[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE};
    MPI_Type_create_struct(3, lengths, places, parts, &type.handle);
    type.handle = resized(type.handle, 0, 40);
    type.derived = true;
    append(type.bytes, 0, 1);
    append(type.bytes, 8, 8);
    append(type.bytes, 24, 8);
    type.extent = 40;
    break;
  }
  case Types::shifted: {
    const int lengths[] = {2};
    const MPI_Aint places[] = {8};
    MPI_Type_create_hindexed(1, lengths, places, MPI_INT, &type.handle);
    type.handle = resized(type.handle, 0, 24);
    type.derived = true;
    append(type.bytes, 8, 8);
    type.extent = 24;
    break;
  }
  case Types::negative: {
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {-8, 0};
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type.handle);
    type.handle = resized(type.handle, -8, 16);
    type.derived = true;
    append(type.bytes, -8, 4);
    append(type.bytes, 0, 4);
    type.extent = 16;
    break;
  }
  case Types::ints_to_strided:
    sending ? predefined(MPI_INT, 4) : strided();
    break;
  case Types::strided_to_ints:
    sending ? strided() : predefined(MPI_INT, 4);
    break;
  case Types::swapped_to_ints:
    if (sending) {
      const int lengths[] = {1, 1};
      const int places[] = {1, 0};
      MPI_Type_indexed(2, lengths, places, MPI_INT, &type.handle);
      type.derived = true;
      append(type.bytes, 4, 4);
      append(type.bytes, 0, 4);
      type.extent = 8;
    } else {
      predefined(MPI_INT, 4);
    }
    break;
  case Types::ints_to_columns:
    if (sending) {
      predefined(MPI_INT, 4);
    } else {
      MPI_Type_vector(4, 1, static_cast<int>(columns), MPI_INT, &type.handle);
      type.handle = resized(type.handle, 0, 4);
      type.derived = true;
      for (std::ptrdiff_t row = 0; row < 4; ++row) {
        append(type.bytes, row * columns * 4, 4);
      }
      type.extent = 4;
    }
    break;
  }
  if (type.derived) {
    MPI_Type_commit(&type.handle);
  }
  return type;
}

std::uint64_t Transfer::units(int source, int destination) const {
  const int root = spec_.id % ranks_;
  switch (spec_.pattern) {
  case Pattern::alltoall:
  case Pattern::uniform:
    return nominal_units_;
  case Pattern::zeros:
    return 0;
  case Pattern::all_to_one:
    return destination == root ? nominal_units_ : 0;
  case Pattern::one_to_all:
    return source == root ? nominal_units_ : 0;
  case Pattern::diagonal:
    return source == destination ? nominal_units_ : 0;
  case Pattern::random:
    break;
  }
  const auto low = static_cast<std::uint64_t>(spec_.in_place ? std::min(source, destination) : source);
  const auto high = static_cast<std::uint64_t>(spec_.in_place ? std::max(source, destination) : destination);
  const std::uint64_t number = mix(mix(static_cast<std::uint64_t>(spec_.id)) + (low << 20) + high);
  return number % 3 == 0 ? 0 : (number >> 8) % (2 * nominal_units_ + 1);
}

// With counts, blocks lie in descending order of their rank with a gap of one extent between them.
void Transfer::lay_out(End& end, bool sending, std::size_t unit_bytes) {
  const auto elements_per_unit = static_cast<std::int64_t>(unit_bytes / end.type.bytes.size());
  end.blocks.resize(static_cast<std::size_t>(ranks_));
  std::int64_t next = 0;
  for (int i = 0; i < ranks_; ++i) {
    const bool plain = spec_.pattern == Pattern::alltoall;
    const int peer = plain ? i : ranks_ - 1 - i;
    auto& block = end.blocks[static_cast<std::size_t>(peer)];
    block.count = elements_per_unit * static_cast<std::int64_t>(sending ? units(rank_, peer) : units(peer, rank_));
    block.displ = next;
    next += block.count + (plain ? 0 : 1);
  }
  const auto [first, last] = std::minmax_element(end.type.bytes.begin(), end.type.bytes.end());
  const std::ptrdiff_t below = std::max<std::ptrdiff_t>(0, -*first);
  const std::ptrdiff_t above = next * end.type.extent + *last + 1;
  end.origin = guard_bytes + static_cast<std::size_t>(below);
  end.size = end.origin + static_cast<std::size_t>(above) + guard_bytes;
}

void Transfer::allocate(End& end, bool mapped, bool on_device, stoker_engine engine) {
  void* memory = nullptr;
  if (on_device) {
    end.device = device_tests::DeviceMemory(end.size);
  }
  if (mapped) {
    code_ = stoker_alloc(engine, end.size, &memory);
    message_ = code_ == STOKER_SUCCESS ? "" : std::string("stoker_alloc: ") + stoker_error_message();
    end.mapped = code_ == STOKER_SUCCESS;
  }
  if (!end.mapped) {
    end.heap.resize(end.size);
    memory = end.heap.data();
  }
  end.storage = static_cast<unsigned char*>(memory);
}

Transfer::Transfer(const TransferSpec& spec, stoker_engine engine, MPI_Comm comm) : spec_(spec) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks_);
  // Columns are as many as the whole matrix is wide, which depends on the count: one unit is one column of 4 ints.
  const auto columns =
      static_cast<std::int64_t>(ranks_) * static_cast<std::int64_t>(std::max<std::uint64_t>(1, spec.block_bytes / 16));
  send_.type = make_type(spec.types, true, columns);
  recv_.type = make_type(spec.types, false, columns);
  const std::size_t unit_bytes = std::lcm(send_.type.bytes.size(), recv_.type.bytes.size());
  nominal_units_ = std::max<std::uint64_t>(1, spec.block_bytes / unit_bytes);
  lay_out(send_, true, unit_bytes);
  lay_out(recv_, false, unit_bytes);
  allocate(send_, spec.memory == Memory::mapped && !spec.in_place, spec.memory == Memory::device && !spec.in_place,
           engine);
  allocate(recv_, spec.memory == Memory::mapped || spec.memory == Memory::mapped_recv,
           spec.memory == Memory::device || spec.memory == Memory::device_recv, engine);
  call_init(engine, comm);
  for (End* end : {&send_, &recv_}) {
    if (end->type.derived) {
      MPI_Type_free(&end->type.handle);
    }
  }
}

void Transfer::call_init(stoker_engine engine, MPI_Comm comm) {
  Settings keys;
  if (!spec_.algorithm.empty()) {
    keys.emplace_back("stoker_algorithm", spec_.algorithm);
  }
  if (!spec_.executor.empty()) {
    keys.emplace_back("stoker_executor", spec_.executor);
  }
  const InfoOwner info(keys);
  const void* send = spec_.in_place ? MPI_IN_PLACE : send_.address();
  // In place, what is said of the send side must be ignored: it is nonsense on purpose.
  const MPI_Datatype send_type = spec_.in_place ? MPI_DATATYPE_NULL : send_.type.handle;
  int code = STOKER_SUCCESS;
  if (spec_.pattern == Pattern::alltoall) {
    const MPI_Count send_count = spec_.in_place ? -1 : send_.blocks[0].count;
    const MPI_Count recv_count = recv_.blocks[0].count;
    if (spec_.wide) {
      code = stoker_alltoall_init_c(send, send_count, send_type, recv_.address(), recv_count, recv_.type.handle, comm,
                                    info.get(), engine, &request_);
    } else {
      code = stoker_alltoall_init(send, static_cast<int>(send_count), send_type, recv_.address(),
                                  static_cast<int>(recv_count), recv_.type.handle, comm, info.get(), engine, &request_);
    }
  } else {
    // Temporaries: the library must have copied them by the time the call returns.
    const auto counts_of = [&]<class Count>(const End& end, Count) {
      std::vector<Count> list;
      for (const auto& block : end.blocks) {
        list.push_back(static_cast<Count>(block.count));
      }
      return list;
    };
    const auto displs_of = [&]<class Displ>(const End& end, Displ) {
      std::vector<Displ> list;
      for (const auto& block : end.blocks) {
        list.push_back(static_cast<Displ>(block.displ));
      }
      return list;
    };
    if (spec_.wide) {
      const auto sc = counts_of(send_, MPI_Count{}), rc = counts_of(recv_, MPI_Count{});
      const auto sd = displs_of(send_, MPI_Aint{}), rd = displs_of(recv_, MPI_Aint{});
      code = stoker_alltoallv_init_c(send, spec_.in_place ? nullptr : sc.data(), spec_.in_place ? nullptr : sd.data(),
                                     send_type, recv_.address(), rc.data(), rd.data(), recv_.type.handle, comm,
                                     info.get(), engine, &request_);
    } else {
      const auto sc = counts_of(send_, int{}), rc = counts_of(recv_, int{});
      const auto sd = displs_of(send_, int{}), rd = displs_of(recv_, int{});
      code = stoker_alltoallv_init(send, spec_.in_place ? nullptr : sc.data(), spec_.in_place ? nullptr : sd.data(),
                                   send_type, recv_.address(), rc.data(), rd.data(), recv_.type.handle, comm,
                                   info.get(), engine, &request_);
    }
  }
  if (code != STOKER_SUCCESS) {
    code_ = code;
    message_ = stoker_error_message();
  }
}

Transfer::~Transfer() {
  if (request_ != STOKER_REQUEST_NULL) {
    (void)stoker_wait(request_);
    (void)stoker_request_free(&request_);
  }
  for (const End* end : {&send_, &recv_}) {
    if (end->mapped) {
      (void)stoker_dealloc(end->storage);
    }
  }
}

void Transfer::write_block(const End& end, unsigned char* image, int peer, int source, int destination) const {
  Stream stream(static_cast<std::uint64_t>(spec_.id), epoch_, source, destination);
  const Block& block = end.blocks[static_cast<std::size_t>(peer)];
  unsigned char* element = image + end.origin + block.displ * end.type.extent;
  for (std::int64_t e = 0; e < block.count; ++e, element += end.type.extent) {
    for (const std::ptrdiff_t byte : end.type.bytes) {
      element[byte] = stream.next();
    }
  }
}

void Transfer::prepare() {
  ++epoch_;
  const int poison = static_cast<int>(mix(epoch_ + static_cast<std::uint64_t>(spec_.id)) & 0xff);
  send_expected_.assign(send_.size, static_cast<unsigned char>(poison ^ 0x3c));
  recv_before_.assign(recv_.size, static_cast<unsigned char>(poison));
  for (int peer = 0; peer < ranks_; ++peer) {
    write_block(send_, send_expected_.data(), peer, rank_, peer);
    if (spec_.in_place) {
      write_block(recv_, recv_before_.data(), peer, rank_, peer);
    }
  }
  recv_expected_ = recv_before_;
  for (int peer = 0; peer < ranks_; ++peer) {
    write_block(recv_, recv_expected_.data(), peer, peer, rank_);
  }
  std::memcpy(send_.storage, send_expected_.data(), send_.size);
  std::memcpy(recv_.storage, recv_before_.data(), recv_.size);
  for (const End* end : {&send_, &recv_}) {
    if (end->device.address() != nullptr) {
      end->device.upload(end->storage, end->size);
    }
  }
}

bool Transfer::recv_untouched() const { return std::memcmp(recv_.storage, recv_before_.data(), recv_.size) == 0; }

std::string Transfer::defect() const {
  for (const End* end : {&send_, &recv_}) {
    if (end->device.address() != nullptr) {
      end->device.download(end->storage, end->size);
    }
  }
  const bool send_right = std::memcmp(send_.storage, send_expected_.data(), send_.size) == 0;
  const bool recv_right = std::memcmp(recv_.storage, recv_expected_.data(), recv_.size) == 0;
  if (send_right && recv_right) {
    return "";
  }
  return describe(spec_) + ", epoch " + std::to_string(epoch_) + ", rank " + std::to_string(rank_) + " of " +
         std::to_string(ranks_) + ": " + (send_right ? "" : explain(send_, send_expected_, true)) +
         (recv_right ? "" : explain(recv_, recv_expected_, false));
}

std::string Transfer::explain(const End& end, const std::vector<unsigned char>& expected, bool sending) const {
  std::size_t first = end.size, last = 0, wrong = 0, kept = 0;
  for (std::size_t i = 0; i < end.size; ++i) {
    if (end.storage[i] != expected[i]) {
      first = std::min(first, i);
      last = i;
      ++wrong;
      kept += !sending && end.storage[i] == recv_before_[i] ? 1u : 0u;
    }
  }
  std::string place = "outside every block";
  for (int peer = 0; peer < ranks_; ++peer) {
    const Block& block = end.blocks[static_cast<std::size_t>(peer)];
    for (std::int64_t e = 0; e < block.count; ++e) {
      for (const std::ptrdiff_t byte : end.type.bytes) {
        const auto at = static_cast<std::ptrdiff_t>(end.origin) + (block.displ + e) * end.type.extent + byte;
        if (at == static_cast<std::ptrdiff_t>(first)) {
          place = "in element " + std::to_string(e) + " of " + std::to_string(block.count) + " of block " +
                  std::to_string(peer);
        }
      }
    }
  }
  std::ostringstream text;
  text << (sending ? "sendbuf" : "recvbuf") << " has " << wrong << " wrong bytes (" << kept
       << " of them as before the start) from " << static_cast<std::ptrdiff_t>(first - end.origin) << " to "
       << static_cast<std::ptrdiff_t>(last - end.origin) << "; the first is " << place << "; ";
  return text.str();
}

int Transfer::free() { return stoker_request_free(&request_); }

void expect_right(const Transfer& transfer) {
  const std::string defect = transfer.defect();
  EXPECT_TRUE(defect.empty()) << defect;
}

std::vector<stoker_request> requests_of(const Transfers& transfers) {
  std::vector<stoker_request> requests;
  for (const auto& transfer : transfers) {
    requests.push_back(transfer->request());
  }
  return requests;
}

} // namespace api_tests
