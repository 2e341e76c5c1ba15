// SPDX-License-Identifier: BSD-3-Clause
// Steps that combine operands, in a program that no algorithm would write: through lowering and the executor, by the
// rank itself or by another process of the node, within the node and as messages.
#include "algos/schedule/builder.hpp"
#include "engine/execute/executor.hpp"
#include "engine/execute/lower.hpp"
#include "engine/execute/progress.hpp"
#include "engine/transport/mpi_transport.hpp"
#include "tests/api/mpi_main.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace api_tests {
namespace {

using namespace stoker;
using algos::Buffer;
using algos::Slice;
using algos::StepId;
using engine::Path;

constexpr std::uint64_t word_bytes = sizeof(double);

// Neither commutative nor associative.
double mixed(double left, double right) { return (3 * left) + right; }
// NOLINTNEXTLINE(readability-non-const-parameter): MPI's signature
void mix(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  const auto* left = static_cast<const double*>(in);
  auto* right = static_cast<double*>(inout);
  for (int i = 0; i < *count; ++i) {
    right[i] = mixed(left[i], right[i]);
  }
}

int previous(int rank) { return (rank + world_size() - 1) % world_size(); }
int next(int rank) { return (rank + 1) % world_size(); }

std::span<const Slice> one(const Slice& slice) { return {&slice, 1}; }

// With s the send buffers, a, b and c the three vectors in the receive buffer, and p for those of the previous rank:
//   a = p.s op s;  b = b op p.s;  c = a op b;  and then c = p.c op c, by way of scratch.
algos::Program ring_program(int rank, std::uint64_t elements) {
  const std::uint64_t bytes = elements * word_bytes;
  const std::uint64_t half = elements / 2 * word_bytes;
  algos::Builder builder(rank, world_size(), bytes, 3 * bytes);
  builder.reduces(word_bytes);
  const Slice send{Buffer::send, 0, bytes};
  const Slice halves[] = {{Buffer::send, 0, half}, {Buffer::send, half, bytes - half}};
  const Slice halves_of_a[] = {{Buffer::recv, half, bytes - half}, {Buffer::recv, 0, half}};
  const Slice a{Buffer::recv, 0, bytes};
  const Slice b{Buffer::recv, bytes, bytes};
  const Slice c{Buffer::recv, 2 * bytes, bytes};
  const Slice scratch{Buffer::scratch, builder.scratch(bytes), bytes};
  const Slice turned[] = {halves[1], halves[0]};
  builder.send(next(rank), turned); // from its second half on, and the same way into a
  builder.send(next(rank), send);
  const StepId to_a = builder.recv_operand(previous(rank), algos::Operand::left, halves_of_a, turned);
  const StepId to_b = builder.recv_operand(previous(rank), algos::Operand::right, one(b), one(b));
  const StepId to_c = builder.reduce(one(c), one(a), one(b), std::array{to_a, to_b});
  const StepId sent = builder.send(next(rank), c, std::array{to_c});
  const StepId received = builder.recv(previous(rank), scratch);
  const StepId last = builder.reduce(one(scratch), one(scratch), one(c), std::array{received, to_c});
  builder.copy(c, scratch, std::array{sent, last});
  return std::move(builder).finish();
}

// Small enough for exact sums of products.
double in_send(int rank, std::uint64_t i) { return static_cast<double>((100 * rank) + static_cast<int>(i % 10)); }
double in_b(int rank, std::uint64_t i) { return static_cast<double>(7 + rank + static_cast<int>(i % 3)); }

struct StepCase {
  bool user = false;   // operation; else a sum
  bool helped = false; // another process executes the rank's steps
  bool nodes = false;  // every rank is said to be on a node of its own
  bool eager = false;
  Path path = Path::mapped;
  std::uint64_t elements = 0;
};

std::string describe(const StepCase& c) {
  return std::string(c.user ? "user's operation" : "sum") + (c.helped ? ", by another process" : "") +
         (c.nodes ? ", messages" : ", within the node") + (c.eager ? ", eager" : "") +
         (c.path == Path::attached ? ", cma, " : ", mapped, ") + std::to_string(c.elements) + " elements";
}

// One rank's part.
class Ring {
public:
  Ring(const StepCase& what, engine::NodeMemory& memory, const engine::Network& network, MPI_Op mix_op)
      : what_(what), memory_(memory), operation_(what.user ? mix_op : MPI_SUM, MPI_DOUBLE),
        program_(ring_program(world_rank(), what.elements)), send_(buffer(program_.send_bytes)),
        recv_(buffer(program_.recv_bytes)), progress_(network, engine::rank_executor) {
    EXPECT_EQ(algos::find_defect(program_), "");
    place();
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    engine::reclaim(memory_, tags_, *memory_.arena().at<engine::Block>(block_offset_));
    for (const std::uint64_t place : places_) {
      memory_.arena().deallocate(place);
    }
  }

  void run_epoch(std::uint64_t epoch) {
    for (std::uint64_t i = 0; i < what_.elements; ++i) {
      send_[i] = in_send(world_rank(), i);
      recv_[what_.elements + i] = in_b(world_rank(), i);
    }
    engine::begin_epoch(*own_program_, epoch);
    barrier(); // a helper would be told by the ring
    progress_.adopt(*task_, epoch, 0);
    while (progress_.active() || !own().completed.reached(epoch)) {
      if (!progress_.poll()) {
        std::this_thread::yield();
      }
    }
    EXPECT_EQ(own().error.load(), 0) << own().error_text;
    check();
  }

private:
  double* buffer(std::uint64_t bytes) {
    if (what_.path == Path::attached) {
      return heap_.emplace_back(bytes / word_bytes).data();
    }
    places_.push_back(memory_.arena().allocate(bytes));
    return memory_.arena().at<double>(places_.back());
  }
  [[nodiscard]] engine::BufferDescriptor descriptor(const double* buffer) const {
    return {.path = what_.path,
            .address = reinterpret_cast<std::uint64_t>(buffer),
            .offset = what_.path == Path::mapped ? memory_.arena().offset_of(buffer) : 0};
  }
  [[nodiscard]] engine::Block& block_of(int rank, std::uint64_t offset) const {
    return *memory_.at<engine::Block>({static_cast<std::uint32_t>(rank), 0, offset});
  }
  [[nodiscard]] engine::Block& own() const { return block_of(world_rank(), block_offset_); }

  // As make_request does.
  void place() {
    engine::RankMap map;
    map.tags = &tags_;
    for (int r = 0; r < world_size(); ++r) {
      map.node_of.push_back(what_.nodes ? r : 0);
      map.arena_of.push_back(what_.nodes && r != world_rank() ? -1 : r);
    }
    map.endpoint = what_.helped ? previous(world_rank()) : world_rank();
    map.endpoint_arena = static_cast<std::uint32_t>(map.endpoint);
    std::vector<engine::PairInfo> pairs(static_cast<std::size_t>(world_size()));
    std::vector<engine::PairInfo> peers(pairs.size());
    engine::PlacementOptions options;
    options.send = descriptor(send_);
    options.recv = descriptor(recv_);
    options.eager_bytes = what_.eager ? program_.recv_bytes : 0;
    options.exclusive = !what_.helped;
    options.operation = operation_.code();
    block_offset_ = engine::place(program_, memory_, map, options, pairs);
    MPI_Alltoall(pairs.data(), sizeof(engine::PairInfo), MPI_BYTE, peers.data(), sizeof(engine::PairInfo), MPI_BYTE,
                 MPI_COMM_WORLD);
    engine::link(block_offset_, memory_, map, pairs, peers);
    barrier();
    const int rank = what_.helped ? next(world_rank()) : world_rank();
    std::vector<std::uint64_t> offsets(pairs.size());
    MPI_Allgather(&block_offset_, 1, MPI_UINT64_T, offsets.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    const auto arena = static_cast<std::uint32_t>(rank);
    task_ = std::make_unique<engine::Task>(engine::SharedRef{arena, 0, offsets[static_cast<std::size_t>(rank)]},
                                           memory_, what_.helped ? nullptr : &operation_);
    own_program_ =
        std::make_unique<engine::Program>(engine::SharedRef{memory_.self(), 0, block_offset_}, memory_, &operation_);
  }

  void check() const {
    const auto op = [&](double left, double right) { return what_.user ? mixed(left, right) : left + right; };
    const auto a = [&](int rank, std::uint64_t i) { return op(in_send(previous(rank), i), in_send(rank, i)); };
    const auto b = [&](int rank, std::uint64_t i) { return op(in_b(rank, i), in_send(previous(rank), i)); };
    const auto c = [&](int rank, std::uint64_t i) { return op(a(rank, i), b(rank, i)); };
    for (std::uint64_t i = 0; i < what_.elements; ++i) {
      ASSERT_EQ(recv_[i], a(world_rank(), i)) << "a, " << i;
      ASSERT_EQ(recv_[what_.elements + i], b(world_rank(), i)) << "b, " << i;
      ASSERT_EQ(recv_[(2 * what_.elements) + i], op(c(previous(world_rank()), i), c(world_rank(), i))) << "c, " << i;
    }
  }

  StepCase what_;
  engine::NodeMemory& memory_;
  engine::TagSpace tags_{30'000, 1, 0};
  engine::Operation operation_;
  algos::Program program_;
  std::list<std::vector<double>> heap_;
  std::vector<std::uint64_t> places_;
  double* send_;
  double* recv_;
  std::uint64_t block_offset_ = 0;
  std::unique_ptr<engine::Program> own_program_;
  std::unique_ptr<engine::Task> task_; // of the rank whose steps this process executes
  engine::Progress progress_;
};

class Steps : public ::testing::Test {
protected:
  Steps() : memory_(MPI_COMM_WORLD, {.bytes = std::uint64_t{64} << 20U, .attachable = true}) {
    for (MPI_Comm& comm : comms_) {
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    }
    transport_.emplace(comms_);
    network_.transport = &*transport_;
    MPI_Op_create(mix, 0, &mix_);
  }
  ~Steps() override {
    MPI_Op_free(&mix_);
    for (MPI_Comm& comm : comms_) {
      MPI_Comm_free(&comm);
    }
  }

  void run(const StepCase& what) {
    SCOPED_TRACE(describe(what));
    note(describe(what));
    Ring ring(what, memory_, network_, mix_);
    for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
      ring.run_epoch(epoch);
    }
    barrier(); // until then others may look at its block
  }

  engine::NodeMemory memory_;
  std::array<MPI_Comm, engine::Transport::channels> comms_{};
  std::optional<engine::MpiTransport> transport_;
  engine::Network network_;
  MPI_Op mix_ = MPI_OP_NULL;
};

TEST_F(Steps, OperandsAreCombinedWhereverTheyComeFrom) {
  for (const bool nodes : {false, true}) {
    for (const bool eager : {false, true}) {
      for (const Path path : {Path::mapped, Path::attached}) {
        if (path == Path::attached && !memory_.attach_works()) {
          continue;
        }
        for (const std::uint64_t elements : {2U, 7U, 40'001U}) {
          run({.user = true, .nodes = nodes, .eager = eager, .path = path, .elements = elements});
          run({.nodes = nodes, .eager = eager, .path = path, .elements = elements});
          run({.helped = true, .nodes = nodes, .eager = eager, .path = path, .elements = elements});
        }
      }
    }
  }
}

TEST_F(Steps, PlaceRefusesWhatNobodyCouldExecute) {
  const algos::Program program = ring_program(world_rank(), 4);
  std::vector<engine::PairInfo> pairs(static_cast<std::size_t>(world_size()));
  engine::RankMap map;
  map.arena_of.assign(pairs.size(), 0);
  engine::PlacementOptions through_window;
  through_window.window = true;
  EXPECT_THROW((void)engine::place(program, memory_, map, through_window, pairs), std::logic_error);
  engine::PlacementOptions helped;
  helped.operation.op = engine::ReduceOp::user;
  EXPECT_THROW((void)engine::place(program, memory_, map, helped, pairs), std::logic_error);
}

} // namespace
} // namespace api_tests
