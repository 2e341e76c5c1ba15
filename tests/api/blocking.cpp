// SPDX-License-Identifier: BSD-3-Clause
// Blocking collectives against the MPI library's own: every one, at sizes around those to which calls are rounded up,
// in place, with operations and datatypes of the application, on several communicators, and what becomes of what is
// kept. STOKER_RANKS_PER_NODE pretends nodes; STOKER_TEST_FULL=1 takes every operation with every collective.
#include <stoker/stoker_blocking.h>

#include "tests/api/mpi_main.hpp"
#include "tests/api/support.hpp"

#include <array>
#include <functional>
#include <memory>
#include <thread>

namespace api_tests {
namespace {

enum class InPlace { nowhere, send, send_at_root, recv_at_root };

// One collective by stoker and by the MPI library, with buffers of so many elements.
struct Pair {
  using Function = std::function<int(const void*, void*, int)>;
  std::string name;
  std::function<int(int)> sent, received;
  Function stoker, mpi;
  InPlace in_place = InPlace::send;
  bool moves_only = false;
};

// Blocks of several sizes, with gaps between them.
struct Blocks {
  Blocks(int ranks, int count) {
    for (int r = 0; r < ranks; ++r) {
      counts.push_back(count * ((r * 5 + 1) % 4) / 2);
      displs.push_back(total);
      total += counts.back() + 3;
      sum += counts.back();
    }
  }
  std::vector<int> counts, displs;
  int total = 0;
  int sum = 0;
};

class Context {
public:
  Context(stoker_engine engine, MPI_Comm comm, MPI_Datatype type, MPI_Op op, int root)
      : engine_(engine), comm_(comm), type_(type), op_(op), root_(root) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int root() const { return root_; }

  [[nodiscard]] std::vector<Pair> pairs() const {
    const auto one = [](int count) { return count; };
    const auto all = [ranks = ranks_](int count) { return ranks * count; };
    const auto bytes_of = [*this](const void* elements, int count) { return this->bytes_of(elements, count); };
    const auto at_root = [*this](int elements) { return rank_ == root_ ? elements : 0; };
    const auto all_at_root = [=](int count) { return at_root(all(count)); };
    const auto blocks = [ranks = ranks_](int count) { return Blocks(ranks, count); };
    // What only the root has: elsewhere the arrays are no memory at all.
    const auto of_root = [*this](const std::vector<int>& array) {
      return rank_ == root_ ? array.data()
                            : reinterpret_cast<const int*>(sizeof(int)); // NOLINT(performance-no-int-to-ptr)
    };
    const auto mine = [*this](const Blocks& b) { return b.counts[static_cast<std::size_t>(rank_)]; };
    const MPI_Comm comm = comm_;
    const MPI_Datatype t = type_;
    const MPI_Op op = op_;
    const int root = root_;
    stoker_engine const e = engine_;
    return {
        {"allreduce", one, one, [=](auto s, auto r, int n) { return stoker_allreduce(s, r, n, t, op, comm, e); },
         [=](auto s, auto r, int n) { return MPI_Allreduce(s, r, n, t, op, comm); }},
        {"reduce", one, [=](int n) { return at_root(n); },
         [=](auto s, auto r, int n) { return stoker_reduce(s, r, n, t, op, root, comm, e); },
         [=](auto s, auto r, int n) {
           // MPICH 4.0.2 crashes where a root other than 0 reduces 5000 ints in place.
           const std::vector<unsigned char> copy = s == MPI_IN_PLACE ? bytes_of(r, n) : std::vector<unsigned char>();
           return MPI_Reduce(s == MPI_IN_PLACE ? copy.data() : s, r, n, t, op, root, comm);
         },
         InPlace::send_at_root},
        {"bcast", one, one, [=](auto, auto r, int n) { return stoker_bcast(r, n, t, root, comm, e); },
         [=](auto, auto r, int n) { return MPI_Bcast(r, n, t, root, comm); }, InPlace::nowhere, true},
        {"reduce_scatter", [=](int n) { return blocks(n).sum; }, [=](int n) { return mine(blocks(n)); },
         [=](auto s, auto r, int n) { return stoker_reduce_scatter(s, r, blocks(n).counts.data(), t, op, comm, e); },
         [=](auto s, auto r, int n) { return MPI_Reduce_scatter(s, r, blocks(n).counts.data(), t, op, comm); }},
        {"reduce_scatter_block", all, one,
         [=](auto s, auto r, int n) { return stoker_reduce_scatter_block(s, r, n, t, op, comm, e); },
         [=](auto s, auto r, int n) { return MPI_Reduce_scatter_block(s, r, n, t, op, comm); }},
        {"scan", one, one, [=](auto s, auto r, int n) { return stoker_scan(s, r, n, t, op, comm, e); },
         [=](auto s, auto r, int n) { return MPI_Scan(s, r, n, t, op, comm); }},
        {"exscan", one, one, [=](auto s, auto r, int n) { return stoker_exscan(s, r, n, t, op, comm, e); },
         [=](auto s, auto r, int n) { return MPI_Exscan(s, r, n, t, op, comm); }},
        {"allgather", one, all, [=](auto s, auto r, int n) { return stoker_allgather(s, n, t, r, n, t, comm, e); },
         [=](auto s, auto r, int n) { return MPI_Allgather(s, n, t, r, n, t, comm); }, InPlace::send, true},
        {"allgatherv", [=](int n) { return mine(blocks(n)); }, [=](int n) { return blocks(n).total; },
         [=](auto s, auto r, int n) {
           const Blocks b = blocks(n);
           return stoker_allgatherv(s, mine(b), t, r, b.counts.data(), b.displs.data(), t, comm, e);
         },
         [=](auto s, auto r, int n) {
           const Blocks b = blocks(n);
           return MPI_Allgatherv(s, mine(b), t, r, b.counts.data(), b.displs.data(), t, comm);
         },
         InPlace::send, true},
        {"gather", one, all_at_root,
         [=](auto s, auto r, int n) { return stoker_gather(s, n, t, r, n, t, root, comm, e); },
         [=](auto s, auto r, int n) { return MPI_Gather(s, n, t, r, n, t, root, comm); }, InPlace::send_at_root, true},
        {"gatherv", [=](int n) { return mine(blocks(n)); }, [=](int n) { return at_root(blocks(n).total); },
         [=](auto s, auto r, int n) {
           const Blocks b = blocks(n);
           return stoker_gatherv(s, mine(b), t, r, of_root(b.counts), of_root(b.displs), t, root, comm, e);
         },
         [=](auto s, auto r, int n) {
           const Blocks b = blocks(n);
           return MPI_Gatherv(s, mine(b), t, r, b.counts.data(), b.displs.data(), t, root, comm);
         },
         InPlace::send_at_root, true},
        {"scatter", all_at_root, one,
         [=](auto s, auto r, int n) { return stoker_scatter(s, n, t, r, n, t, root, comm, e); },
         [=](auto s, auto r, int n) { return MPI_Scatter(s, n, t, r, n, t, root, comm); }, InPlace::recv_at_root, true},
        {"scatterv", [=](int n) { return at_root(blocks(n).total); }, [=](int n) { return mine(blocks(n)); },
         [=](auto s, auto r, int n) {
           const Blocks b = blocks(n);
           return stoker_scatterv(s, of_root(b.counts), of_root(b.displs), t, r, mine(b), t, root, comm, e);
         },
         [=](auto s, auto r, int n) {
           const Blocks b = blocks(n);
           return MPI_Scatterv(s, b.counts.data(), b.displs.data(), t, r, mine(b), t, root, comm);
         },
         InPlace::recv_at_root, true},
    };
  }

private:
  [[nodiscard]] std::vector<unsigned char> bytes_of(const void* elements, int count) const {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(type_, &lower, &extent);
    const auto* begin = static_cast<const unsigned char*>(elements);
    return {begin, begin + (extent * count)};
  }

  stoker_engine engine_;
  MPI_Comm comm_;
  MPI_Datatype type_;
  MPI_Op op_;
  int root_;
  int rank_ = 0;
  int ranks_ = 1;
};

// Whole numbers between 1 and 4, of which sums and products of a few are exact in every type.
template <class Element>
std::vector<Element> numbers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<Element> list(count);
  for (Element& element : list) {
    element = static_cast<Element>(1 + random.below(4));
  }
  return list;
}

// Both with the same data: all of the buffers must be the same afterwards. `words`: of Element, in one of the
// datatype's.
template <class Element>
void compare(const Context& context, const Pair& pair, int count, bool in_place, std::size_t words = 1) {
  const bool at_root = context.rank() == context.root();
  const bool send_in_place =
      in_place && (pair.in_place == InPlace::send || (pair.in_place == InPlace::send_at_root && at_root));
  const bool recv_in_place = in_place && pair.in_place == InPlace::recv_at_root && at_root;
  SCOPED_TRACE(pair.name + ", count " + std::to_string(count) + ", root " + std::to_string(context.root()) +
               (in_place ? ", in place" : ""));
  note(pair.name + " " + std::to_string(count));
  const std::uint64_t seed = (static_cast<std::uint64_t>(context.rank()) * 1000) + static_cast<std::uint64_t>(count);
  const auto length = [&](int elements) { return words * static_cast<std::size_t>(elements); };
  const std::size_t sent = length(pair.sent(count));
  const std::size_t received = length(std::max(pair.received(count), in_place ? pair.sent(count) : 0));
  const std::vector<Element> send = numbers<Element>(sent + 1, seed); // never empty: no null pointers
  const std::vector<Element> before = numbers<Element>(received + 1, seed + 500);
  const auto run = [&](const Pair::Function& function) {
    std::vector<Element> send_is = send;
    std::vector<Element> recv = before;
    EXPECT_TRUE(
        ok(function(send_in_place ? MPI_IN_PLACE : send_is.data(), recv_in_place ? MPI_IN_PLACE : recv.data(), count)));
    EXPECT_TRUE(send_is == send) << "the send buffer was written";
    return recv;
  };
  std::vector<Element> expected = run(pair.mpi);
  std::vector<Element> is = run(pair.stoker);
  if (pair.name == "exscan" && context.rank() == 0) {
    expected = before;
  }
  if (in_place && pair.name.starts_with("reduce_scatter")) { // the rest is undefined
    expected.resize(length(pair.received(count)));
    is.resize(expected.size());
  }
  EXPECT_TRUE(is == expected);
}

class Blocking : public ::testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    engine_ = std::make_unique<EngineOwner>(MPI_COMM_WORLD, Settings{{"executor", GetParam()}});
    ASSERT_TRUE(everywhere(engine_->get() != STOKER_ENGINE_NULL));
  }
  [[nodiscard]] stoker_engine engine() const { return engine_->get(); }
  void destroy_engine() { engine_->destroy(); }
  [[nodiscard]] Context ints(MPI_Comm comm = MPI_COMM_WORLD, int root = 0) const {
    return {engine(), comm, MPI_INT, MPI_SUM, root};
  }
  // That a communicator works: a few calls, checked.
  void exercise(MPI_Comm comm, int count = 10) const {
    const Context context = ints(comm);
    for (const Pair& pair : context.pairs()) {
      compare<int>(context, pair, count, false);
    }
  }

private:
  std::unique_ptr<EngineOwner> engine_;
};

TEST_P(Blocking, EverySizeAroundTheBoundaries) {
  const int last = world_size() - 1;
  for (const int root : {0, last}) {
    for (const int count : {1, 0, 63, 64, 65, 128, 129, 16384, 16385, 18432, 18433, 2, 40001}) {
      if (root != 0 && !full_run() && count % 16384 > 2) {
        continue; // not every one again
      }
      const Context context = ints(MPI_COMM_WORLD, root);
      for (const Pair& pair : context.pairs()) {
        compare<int>(context, pair, count, false);
      }
    }
  }
}

TEST_P(Blocking, InPlace) {
  for (const int count : {1, 65, 5000, 20001}) {
    const Context context = ints(MPI_COMM_WORLD, count % world_size());
    for (const Pair& pair : context.pairs()) {
      if (pair.in_place != InPlace::nowhere) {
        compare<int>(context, pair, count, true);
        compare<int>(context, pair, count, false); // by the same request
      }
    }
  }
}

TEST_P(Blocking, EveryOperation) {
  const auto combined = [](const Pair& pair) {
    return !pair.moves_only && (full_run() || pair.name == "allreduce" || pair.name == "exscan");
  };
  for (const MPI_Op op :
       {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_LAND, MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR}) {
    const Context context(engine(), MPI_COMM_WORLD, MPI_UNSIGNED_SHORT, op, 0);
    for (const Pair& pair : context.pairs()) {
      if (combined(pair)) {
        compare<unsigned short>(context, pair, 70, false);
      }
    }
  }
  for (const MPI_Op op : {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN}) {
    const Context context(engine(), MPI_COMM_WORLD, MPI_DOUBLE, op, 0);
    for (const Pair& pair : context.pairs()) {
      if (combined(pair)) {
        compare<double>(context, pair, 70, false);
      }
    }
  }
  for (const MPI_Op op : {MPI_MAXLOC, MPI_MINLOC}) {
    const Context context(engine(), MPI_COMM_WORLD, MPI_2INT, op, 0);
    for (const Pair& pair : context.pairs()) {
      if (combined(pair)) {
        compare<int>(context, pair, 70, false, 2);
      }
    }
  }
}

// NOLINTBEGIN(readability-non-const-parameter): MPI_User_function says so.
// 2 x 2 matrices, whose product depends on the order.
void multiply(void* in, void* inout, int* length, MPI_Datatype*) {
  using Matrix = std::array<unsigned, 4>;
  auto* left = static_cast<Matrix*>(in);
  auto* right = static_cast<Matrix*>(inout);
  for (int i = 0; i < *length; ++i) {
    const Matrix a = left[i];
    const Matrix b = right[i];
    right[i] = {(a[0] * b[0]) + (a[1] * b[2]), (a[0] * b[1]) + (a[1] * b[3]), (a[2] * b[0]) + (a[3] * b[2]),
                (a[2] * b[1]) + (a[3] * b[3])};
  }
}
void take_left(void* in, void* inout, int* length, MPI_Datatype*) {
  std::copy_n(static_cast<std::array<unsigned, 4>*>(in), *length, static_cast<std::array<unsigned, 4>*>(inout));
}

// NOLINTEND(readability-non-const-parameter)

// Each call brings its own operation and datatype, though the request is the same.
TEST_P(Blocking, OperationsOfTheApplication) {
  for (int round = 0; round < 2; ++round) {
    for (MPI_User_function* function : {multiply, take_left}) {
      MPI_Op op = MPI_OP_NULL;
      MPI_Datatype matrix = MPI_DATATYPE_NULL;
      MPI_Op_create(function, 0, &op);
      MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix);
      MPI_Type_commit(&matrix);
      {
        const Context context(engine(), MPI_COMM_WORLD, matrix, op, 0);
        for (const Pair& pair : context.pairs()) {
          for (const int count : {3, 1000}) {
            compare<unsigned>(context, pair, count, false, 4);
          }
        }
      }
      MPI_Op_free(&op);
      MPI_Type_free(&matrix);
    }
  }
}

// Which are left to the MPI library.
// NOLINTNEXTLINE(readability-non-const-parameter): MPI's signature
void add_pairs(void* in, void* inout, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i) { // two of three words are data
    for (const int word : {0, 2}) {
      static_cast<int*>(inout)[3 * i + word] += static_cast<int*>(in)[3 * i + word];
    }
  }
}
TEST_P(Blocking, OperationsOnElementsWithGaps) {
  MPI_Op op = MPI_OP_NULL;
  MPI_Datatype pair_with_gap = MPI_DATATYPE_NULL;
  MPI_Op_create(add_pairs, 1, &op);
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair_with_gap);
  MPI_Type_commit(&pair_with_gap);
  const Context context(engine(), MPI_COMM_WORLD, pair_with_gap, op, 0);
  for (const Pair& pair : context.pairs()) {
    compare<int>(context, pair, 20, false, 3);
    if (pair.in_place != InPlace::nowhere && !pair.name.starts_with("reduce_scatter")) { // of which part is undefined
      compare<int>(context, pair, 20, true, 3);
    }
  }
  MPI_Op_free(&op);
  MPI_Type_free(&pair_with_gap);
}

// Ranks describe the same data in different ways, some by datatypes that are new in every call: still all agree on what
// is kept.
TEST_P(Blocking, RanksMayDescribeTheirDataDifferently) {
  for (int call = 0; call < 6; ++call) {
    const int ints_each = 40;
    MPI_Datatype type = MPI_INT;
    int count = ints_each;
    if ((world_rank() + call) % 2 == 1) {
      MPI_Type_contiguous(4, MPI_INT, &type);
      MPI_Type_commit(&type);
      count = ints_each / 4;
    }
    std::vector<int> buffer(ints_each, world_rank() == 0 ? call : -1);
    EXPECT_TRUE(ok(stoker_bcast(buffer.data(), count, type, 0, MPI_COMM_WORLD, engine())));
    EXPECT_EQ(buffer, std::vector<int>(ints_each, call));
    std::vector<int> all(static_cast<std::size_t>(ints_each * world_size()), -1);
    const std::vector<int> mine(ints_each, world_rank());
    EXPECT_TRUE(
        ok(stoker_allgather(mine.data(), ints_each, MPI_INT, all.data(), count, type, MPI_COMM_WORLD, engine())));
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i], static_cast<int>(i) / ints_each);
    }
    if (type != MPI_INT) {
      MPI_Type_free(&type);
    }
  }
}

TEST_P(Blocking, GapsOfTheReceiveBufferStayAsTheyAre) {
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 2, 4, MPI_INT, &strided);
  MPI_Datatype resized = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(strided, 0, 12 * sizeof(int), &resized);
  MPI_Type_commit(&resized);
  const Context context(engine(), MPI_COMM_WORLD, resized, MPI_SUM, world_size() - 1);
  for (const Pair& pair : context.pairs()) {
    if (pair.moves_only) {
      for (const int count : {1, 9, 700}) {
        compare<int>(context, pair, count, false, 12);
        if (pair.in_place != InPlace::nowhere) {
          compare<int>(context, pair, count, true, 12);
        }
      }
    }
  }
  MPI_Type_free(&resized);
  MPI_Type_free(&strided);
}

TEST_P(Blocking, WideForms) {
  const int n = 100;
  const auto size = static_cast<std::size_t>(n);
  const auto ranks = static_cast<std::size_t>(world_size());
  const std::vector<int> ones(size, 1);
  std::vector<int> sums(size);
  EXPECT_TRUE(ok(stoker_allreduce_c(ones.data(), sums.data(), n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, engine())));
  EXPECT_EQ(sums, std::vector<int>(size, world_size()));
  EXPECT_TRUE(ok(stoker_scan_c(ones.data(), sums.data(), n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, engine())));
  EXPECT_EQ(sums, std::vector<int>(size, world_rank() + 1));
  EXPECT_TRUE(ok(stoker_bcast_c(sums.data(), n, MPI_INT, world_size() - 1, MPI_COMM_WORLD, engine())));
  EXPECT_EQ(sums, std::vector<int>(size, world_size()));
  const std::vector<MPI_Count> counts(ranks, n);
  std::vector<MPI_Aint> displs;
  for (std::size_t r = 0; r < ranks; ++r) {
    displs.push_back(static_cast<MPI_Aint>(r) * n);
  }
  std::vector<int> all(size * ranks);
  EXPECT_TRUE(ok(stoker_allgatherv_c(ones.data(), n, MPI_INT, all.data(), counts.data(), displs.data(), MPI_INT,
                                     MPI_COMM_WORLD, engine())));
  EXPECT_EQ(all, std::vector<int>(size * ranks, 1));
  EXPECT_TRUE(
      ok(stoker_reduce_scatter_c(all.data(), sums.data(), counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD, engine())));
  EXPECT_EQ(sums, std::vector<int>(size, world_size()));
  std::ranges::fill(all, 0);
  EXPECT_TRUE(ok(stoker_gatherv_c(ones.data(), n, MPI_INT, all.data(), counts.data(), displs.data(), MPI_INT, 0,
                                  MPI_COMM_WORLD, engine())));
  EXPECT_EQ(all, std::vector<int>(size * ranks, world_rank() == 0 ? 1 : 0));
}

TEST_P(Blocking, BarrierHoldsEverybody) {
  for (int round = 0; round < 20; ++round) {
    EXPECT_TRUE(ok(stoker_barrier(MPI_COMM_WORLD, engine())));
  }
  // Nobody leaves before the last has come: rank 0 says so before it comes itself.
  int word = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (world_rank() != 0) {
    MPI_Irecv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
  } else {
    for (int r = 1; r < world_size(); ++r) {
      MPI_Send(&word, 1, MPI_INT, r, 0, MPI_COMM_WORLD);
    }
  }
  EXPECT_TRUE(ok(stoker_barrier(MPI_COMM_WORLD, engine())));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

TEST_P(Blocking, CommunicatorsOfTheirOwn) {
  CommOwner same(duplicate(MPI_COMM_WORLD));
  CommOwner half(split(MPI_COMM_WORLD, world_rank() % 2, -world_rank()));
  for (int round = 0; round < 2; ++round) {
    for (const MPI_Comm comm : {MPI_COMM_WORLD, same.get(), half.get()}) {
      exercise(comm);
      exercise(comm, 5000);
    }
  }
  same.free();
  exercise(half.get());
  half.free();
  exercise(MPI_COMM_WORLD);
}

// New communicators get the handles of freed ones.
TEST_P(Blocking, CommunicatorsComeAndGo) {
  for (int round = 0; round < 10; ++round) {
    CommOwner comm(round % 2 == 0 ? duplicate(MPI_COMM_WORLD) : split(MPI_COMM_WORLD, world_rank() % 2, 0));
    const Context context = ints(comm.get());
    compare<int>(context, context.pairs().front(), 100 + round, false);
    compare<int>(context, context.pairs().front(), 30000, false);
  }
}

TEST_P(Blocking, AnotherEngineOnTheSameCommunicator) {
  EngineOwner other(MPI_COMM_WORLD, {{"executor", GetParam()}, {"access", "staged"}});
  const Context second(other.get(), MPI_COMM_WORLD, MPI_INT, MPI_SUM, 0);
  exercise(MPI_COMM_WORLD);
  compare<int>(second, second.pairs().front(), 10, false);
  other.destroy();
  exercise(MPI_COMM_WORLD);
}

TEST_P(Blocking, AfterTheEngine) {
  CommOwner comm(duplicate(MPI_COMM_WORLD));
  exercise(comm.get());
  stoker_engine const gone = engine();
  destroy_engine();
  int value = 1;
  EXPECT_TRUE(refused(stoker_allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm.get(), gone), STOKER_ERR_REQUEST,
                      {"engine"}));
  comm.free(); // what was kept is gone already
}

// More kinds of calls than are kept: the oldest make room.
TEST_P(Blocking, ManyKinds) {
  const int kinds = 140;
  for (int count = 1; count <= kinds; ++count) {
    std::vector<int> counts(static_cast<std::size_t>(world_size()), 0);
    counts.back() = count;
    const std::vector<int> send(static_cast<std::size_t>(count), count);
    std::vector<int> recv(static_cast<std::size_t>(count), -1);
    note("kind " + std::to_string(count));
    ASSERT_TRUE(
        ok(stoker_reduce_scatter(send.data(), recv.data(), counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD, engine())));
    const bool last = world_rank() == world_size() - 1;
    ASSERT_EQ(recv, std::vector<int>(static_cast<std::size_t>(count), last ? count * world_size() : -1));
  }
  exercise(MPI_COMM_WORLD);
}

// Inits that a call brings about are told in the log.
int inits_in(const std::string& log) {
  int count = 0;
  for (std::size_t at = log.find(" init: "); at != std::string::npos; at = log.find(" init: ", at + 1)) {
    ++count;
  }
  return count;
}

TEST_P(Blocking, CallsOfAboutTheSameSizeShareARequest) {
  const EngineOwner talkative(MPI_COMM_WORLD, {{"executor", GetParam()}, {"log", "info"}});
  const Context context(talkative.get(), MPI_COMM_WORLD, MPI_INT, MPI_SUM, 0);
  const auto inits = [&](std::initializer_list<int> counts) {
    int found = 0;
    for (const int count : counts) {
      std::vector<int> send(static_cast<std::size_t>(count), 1);
      std::vector<int> recv(send.size());
      ::testing::internal::CaptureStderr();
      const int code =
          stoker_allreduce(send.data(), recv.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, talkative.get());
      found += inits_in(::testing::internal::GetCapturedStderr());
      EXPECT_TRUE(ok(code));
    }
    return found;
  };
  EXPECT_EQ(inits({1, 2, 63, 64, 1, 64}), 1);
  EXPECT_EQ(inits({65, 128, 100, 128, 3}), 1);
  EXPECT_EQ(inits({129, 256}), 1);
  EXPECT_EQ(inits({1U << 20U, (1U << 20U) - 1}), 1);
  EXPECT_EQ(inits({(1U << 20U) - (1U << 16U) - 1}), 1);
}

// The MPI library carries out calls that do not fit into the arena.
TEST_P(Blocking, WithoutMemory) {
  EngineOwner small(MPI_COMM_WORLD,
                    {{"executor", GetParam()}, {"arena_bytes", "2M"}, {"access", "staged"}, {"log", "error"}});
  constexpr int too_long = 650'000;
  if (world_size() > 1) {
    std::vector<int> buffer(too_long);
    stoker_request request = STOKER_REQUEST_NULL;
    EXPECT_TRUE(refused(stoker_allreduce_init(MPI_IN_PLACE, buffer.data(), too_long, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                              MPI_INFO_NULL, small.get(), &request),
                        STOKER_ERR_RESOURCE));
  }
  const Context context(small.get(), MPI_COMM_WORLD, MPI_INT, MPI_SUM, 0);
  for (int round = 0; round < 2; ++round) {
    compare<int>(context, context.pairs().front(), too_long, false);
    compare<int>(context, context.pairs().front(), 100, false);
  }
}

// Requests that were started before go on, also while the MPI library is at work.
TEST_P(Blocking, StartedRequestsMakeProgress) {
  const auto ranks = static_cast<std::size_t>(world_size());
  std::vector<int> send(ranks * 20000, world_rank());
  std::vector<int> recv(send.size(), -1);
  stoker_request request = STOKER_REQUEST_NULL;
  ASSERT_TRUE(ok(stoker_alltoall_init(send.data(), 20000, MPI_INT, recv.data(), 20000, MPI_INT, MPI_COMM_WORLD,
                                      MPI_INFO_NULL, engine(), &request)));
  const Context context = ints();
  for (const Pair& pair : context.pairs()) {
    std::ranges::fill(recv, -1);
    EXPECT_TRUE(ok(stoker_start(request)));
    const std::vector<int> from = numbers<int>(ranks * 200, 1);
    std::vector<int> to(ranks * 200);
    if (world_rank() != 0) {
      EXPECT_TRUE(ok(stoker_wait(request))); // before these come to what rank 0 is in
    }
    note(pair.name);
    EXPECT_TRUE(ok(pair.stoker(from.data(), to.data(), 50)));
    EXPECT_TRUE(ok(stoker_wait(request)));
    for (std::size_t i = 0; i < recv.size(); ++i) {
      ASSERT_EQ(recv[i], static_cast<int>(i / 20000));
    }
  }
  EXPECT_TRUE(ok(stoker_request_free(&request)));
}

TEST_P(Blocking, ThreadsOnDifferentCommunicators) {
  std::vector<std::unique_ptr<CommOwner>> comms;
  for (int i = 0; i < 3; ++i) {
    comms.push_back(std::make_unique<CommOwner>(duplicate(MPI_COMM_WORLD)));
  }
  std::vector<int> wrong(comms.size(), 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < comms.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int count = 1; count < 400; count += 37) {
        const std::vector<int> send(static_cast<std::size_t>(count), static_cast<int>(i) + 1);
        std::vector<int> recv(send.size());
        const int code = stoker_allreduce(send.data(), recv.data(), count, MPI_INT, MPI_SUM, comms[i]->get(), engine());
        const std::vector<int> expected(send.size(), world_size() * (static_cast<int>(i) + 1));
        wrong[i] += code != STOKER_SUCCESS || recv != expected ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, std::vector<int>(comms.size(), 0));
}

// Counts that differ, which MPI forbids, are noticed by the first call of its kind; later calls are not affected.
TEST_P(Blocking, AMismatchIsAnError) {
  if (world_size() == 1) {
    GTEST_SKIP() << "one rank";
  }
  const std::vector<int> send(1000, 1);
  std::vector<int> recv(1000, -1);
  const int differing = world_rank() == 0 ? 5 : 200;
  EXPECT_EQ(stoker_allreduce(send.data(), recv.data(), differing, MPI_INT, MPI_SUM, MPI_COMM_WORLD, engine()),
            STOKER_ERR_MISMATCH);
  for (const int count : {5, 200, 1000, 5, 200}) {
    std::ranges::fill(recv, -1);
    ASSERT_TRUE(ok(stoker_allreduce(send.data(), recv.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, engine())));
    EXPECT_EQ(recv[static_cast<std::size_t>(count) - 1], world_size());
  }
}

TEST_P(Blocking, BadArguments) {
  std::vector<int> a(4), b(4);
  const MPI_Comm comm = MPI_COMM_WORLD;
  EXPECT_TRUE(refused(stoker_allreduce(a.data(), b.data(), -1, MPI_INT, MPI_SUM, comm, engine()), STOKER_ERR_ARGUMENT,
                      {"rank", "count", "-1"}));
  EXPECT_TRUE(refused(stoker_allreduce(nullptr, b.data(), 4, MPI_INT, MPI_SUM, comm, engine()), STOKER_ERR_ARGUMENT,
                      {"sendbuf", "null"}));
  EXPECT_TRUE(refused(stoker_allreduce(a.data(), b.data(), 4, MPI_DOUBLE_INT, MPI_SUM, comm, engine()),
                      STOKER_ERR_ARGUMENT, {"op"}));
  EXPECT_TRUE(refused(stoker_allreduce(a.data(), a.data(), 4, MPI_INT, MPI_SUM, comm, engine()), STOKER_ERR_ARGUMENT,
                      {"overlap"}));
  EXPECT_TRUE(refused(stoker_allreduce(a.data(), b.data(), 4, MPI_DATATYPE_NULL, MPI_SUM, comm, engine()),
                      STOKER_ERR_ARGUMENT, {"datatype"}));
  EXPECT_TRUE(refused(stoker_bcast(a.data(), 4, MPI_INT, world_size(), comm, engine()), STOKER_ERR_ARGUMENT, {"root"}));
  EXPECT_TRUE(refused(stoker_gatherv(a.data(), -2, MPI_INT, b.data(), nullptr, nullptr, MPI_INT, 0, comm, engine()),
                      STOKER_ERR_ARGUMENT));
  EXPECT_TRUE(refused(stoker_barrier(MPI_COMM_NULL, engine()), STOKER_ERR_ARGUMENT, {"comm"}));
  EXPECT_TRUE(refused(stoker_barrier(comm, STOKER_ENGINE_NULL), STOKER_ERR_REQUEST, {"engine"}));
  exercise(comm);
}

INSTANTIATE_TEST_SUITE_P(Executors, Blocking, ::testing::Values("engine", "inline"),
                         [](const auto& which) { return std::string(which.param); });

} // namespace
} // namespace api_tests
