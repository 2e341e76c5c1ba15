// SPDX-License-Identifier: BSD-3-Clause
// Bad arguments of reductions, broadcasts, gathers, scatters and scans: every one is refused with the right code, by
// all ranks, with a message that names the rank at fault, the argument and what was expected; afterwards the engine
// still works.
#include "tests/api/mpi_main.hpp"
#include "tests/api/vector_transfer.hpp"

#include <array>
#include <functional>

namespace api_tests {
namespace {

using algos::Collective;

void keep_right(void* /*in*/, void* /*inout*/, int* /*length*/, MPI_Datatype* /*type*/) {}

class VectorErrors : public ::testing::Test {
protected:
  static void SetUpTestSuite() { engine_ = new EngineOwner(MPI_COMM_WORLD); }
  static void TearDownTestSuite() {
    delete engine_;
    engine_ = nullptr;
  }
  void SetUp() override {
    ASSERT_TRUE(everywhere(engine_->get() != STOKER_ENGINE_NULL));
    const auto ranks = static_cast<std::size_t>(world_size());
    arguments_ = {};
    send_.assign(4 * ranks, 1);
    recv_.assign(4 * ranks, 0);
    counts_.assign(ranks, 4);
    displs_.resize(ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
      displs_[i] = static_cast<int>(4 * i);
    }
    arguments_.send = send_.data();
    arguments_.recv = recv_.data();
    arguments_.counts = counts_.data();
    arguments_.displs = displs_.data();
  }
  // The engine serves a correct request after every refused one.
  void TearDown() override {
    note("a correct request after the refused one");
    VectorTransfer transfer(VectorSpec{}, engine());
    ASSERT_EQ(transfer.code(), STOKER_SUCCESS) << transfer.message();
    transfer.prepare();
    EXPECT_TRUE(ok(stoker_start(transfer.request())));
    EXPECT_TRUE(ok(stoker_wait(transfer.request())));
    EXPECT_EQ(transfer.defect(), "");
  }

  [[nodiscard]] static stoker_engine engine() { return engine_->get(); }

  // Four ints for each rank, or in all.
  struct Arguments {
    const void* send = nullptr;
    void* recv = nullptr;
    int count = 4;      // of sendbuf
    int recv_count = 4; // where it is an argument of its own
    const int* counts = nullptr;
    const int* displs = nullptr;
    MPI_Datatype type = MPI_INT;
    MPI_Op op = MPI_SUM;
    int root = 0;
    Collective collective = Collective::allreduce;
    Settings keys;
  };
  int call(Collective collective, const std::function<void(Arguments&)>& spoil) {
    Arguments a = arguments_;
    a.collective = collective;
    spoil(a);
    stoker_request request = STOKER_REQUEST_NULL;
    const int code = init(a, &request);
    EXPECT_EQ(request == STOKER_REQUEST_NULL, code != STOKER_SUCCESS);
    if (request != STOKER_REQUEST_NULL) {
      (void)stoker_request_free(&request);
    }
    return code;
  }
  // The first or the last rank is wrong.
  void wrong(Collective collective, const std::vector<std::string>& words, const std::function<void(Arguments&)>& spoil,
             int code = STOKER_ERR_ARGUMENT) {
    for (const int guilty : {0, world_size() - 1}) {
      wrong_on(guilty, collective, words, spoil, code);
    }
  }
  void wrong_on(int guilty, Collective collective, std::vector<std::string> words,
                const std::function<void(Arguments&)>& spoil, int code = STOKER_ERR_ARGUMENT) {
    note("rank " + std::to_string(guilty) + " is wrong about " + words.front() + " of " +
         std::string(algos::name_of(collective)));
    words.push_back("rank " + std::to_string(guilty));
    const int result = call(collective, [&](Arguments& a) {
      if (world_rank() == guilty) {
        spoil(a);
      }
    });
    EXPECT_TRUE(refused(result, code, words)) << algos::name_of(collective);
  }
  // All ranks alike.
  void all_wrong(Collective collective, const std::vector<std::string>& words,
                 const std::function<void(Arguments&)>& spoil, int code = STOKER_ERR_ARGUMENT) {
    EXPECT_TRUE(refused(call(collective, spoil), code, words)) << algos::name_of(collective);
  }
  // Ranks disagree, whichever of them is named.
  void mismatch(Collective collective, const std::vector<std::string>& words,
                const std::function<void(Arguments&)>& spoil) {
    if (world_size() == 1) {
      return;
    }
    const int result = call(collective, [&](Arguments& a) {
      if (world_rank() == world_size() - 1) {
        spoil(a);
      }
    });
    EXPECT_TRUE(refused(result, STOKER_ERR_MISMATCH, words)) << algos::name_of(collective);
  }

  static constexpr std::array<Collective, 6> reductions = {Collective::allreduce,      Collective::reduce,
                                                           Collective::reduce_scatter, Collective::reduce_scatter_block,
                                                           Collective::scan,           Collective::exscan};

private:
  static int init(const Arguments& a, stoker_request* request) {
    const InfoOwner info(a.keys);
    const MPI_Comm comm = MPI_COMM_WORLD;
    switch (a.collective) {
    case Collective::allreduce:
      return stoker_allreduce_init(a.send, a.recv, a.count, a.type, a.op, comm, info.get(), engine(), request);
    case Collective::reduce:
      return stoker_reduce_init(a.send, a.recv, a.count, a.type, a.op, a.root, comm, info.get(), engine(), request);
    case Collective::bcast:
      return stoker_bcast_init(a.recv, a.count, a.type, a.root, comm, info.get(), engine(), request);
    case Collective::reduce_scatter:
      return stoker_reduce_scatter_init(a.send, a.recv, a.counts, a.type, a.op, comm, info.get(), engine(), request);
    case Collective::reduce_scatter_block:
      return stoker_reduce_scatter_block_init(a.send, a.recv, a.count, a.type, a.op, comm, info.get(), engine(),
                                              request);
    case Collective::allgather:
      return stoker_allgather_init(a.send, a.count, a.type, a.recv, a.recv_count, a.type, comm, info.get(), engine(),
                                   request);
    case Collective::allgatherv:
      return stoker_allgatherv_init(a.send, a.count, a.type, a.recv, a.counts, a.displs, a.type, comm, info.get(),
                                    engine(), request);
    case Collective::gather:
      return stoker_gather_init(a.send, a.count, a.type, a.recv, a.recv_count, a.type, a.root, comm, info.get(),
                                engine(), request);
    case Collective::gatherv:
      return stoker_gatherv_init(a.send, a.count, a.type, a.recv, a.counts, a.displs, a.type, a.root, comm, info.get(),
                                 engine(), request);
    case Collective::scatter:
      return stoker_scatter_init(a.send, a.count, a.type, a.recv, a.recv_count, a.type, a.root, comm, info.get(),
                                 engine(), request);
    case Collective::scatterv:
      return stoker_scatterv_init(a.send, a.counts, a.displs, a.type, a.recv, a.recv_count, a.type, a.root, comm,
                                  info.get(), engine(), request);
    case Collective::scan:
      return stoker_scan_init(a.send, a.recv, a.count, a.type, a.op, comm, info.get(), engine(), request);
    case Collective::exscan:
      return stoker_exscan_init(a.send, a.recv, a.count, a.type, a.op, comm, info.get(), engine(), request);
    default:
      return stoker_barrier_init(comm, info.get(), engine(), request);
    }
  }

  Arguments arguments_;
  std::vector<int> send_, recv_, counts_, displs_;
  static EngineOwner* engine_; // NOLINT(readability-identifier-naming)
};
EngineOwner* VectorErrors::engine_ = nullptr; // NOLINT(readability-identifier-naming): a member

TEST_F(VectorErrors, NullBuffers) {
  for (const Collective collective : reductions) {
    wrong(collective, {"sendbuf is null"}, [](Arguments& a) { a.send = nullptr; });
  }
  for (const Collective collective :
       {Collective::allreduce, Collective::reduce_scatter, Collective::scan, Collective::allgather,
        Collective::allgatherv, Collective::scatter, Collective::scatterv}) {
    wrong(collective, {"recvbuf is null"}, [](Arguments& a) { a.recv = nullptr; });
  }
  wrong(Collective::bcast, {"buffer is null"}, [](Arguments& a) { a.recv = nullptr; });
  for (const Collective collective : {Collective::reduce, Collective::gather, Collective::gatherv}) {
    wrong_on(0, collective, {"recvbuf is null"}, [](Arguments& a) { a.recv = nullptr; });
  }
  for (const Collective collective : {Collective::scatter, Collective::scatterv}) {
    wrong_on(0, collective, {"sendbuf is null"}, [](Arguments& a) { a.send = nullptr; });
  }
}

TEST_F(VectorErrors, WhatIsNotSignificantIsNotLookedAt) {
  const auto elsewhere = [](const std::function<void(Arguments&)>& spoil) {
    return [spoil](Arguments& a) {
      if (world_rank() != 0) {
        spoil(a);
      }
    };
  };
  EXPECT_TRUE(ok(call(Collective::reduce, elsewhere([](Arguments& a) { a.recv = nullptr; }))));
  for (const Collective collective : {Collective::gather, Collective::gatherv}) {
    EXPECT_TRUE(ok(call(collective, elsewhere([](Arguments& a) {
                          a.recv = nullptr;
                          a.counts = nullptr;
                          a.displs = nullptr;
                          a.recv_count = -7;
                        }))));
  }
  EXPECT_TRUE(ok(call(Collective::scatterv, elsewhere([](Arguments& a) {
                        a.send = nullptr;
                        a.counts = nullptr;
                        a.displs = nullptr;
                      }))));
  EXPECT_TRUE(ok(call(Collective::allreduce, [](Arguments& a) {
    a.count = 0;
    a.send = nullptr;
    a.recv = nullptr;
  })));
}

TEST_F(VectorErrors, Counts) {
  for (const Collective collective : {Collective::allreduce, Collective::reduce, Collective::scan, Collective::exscan,
                                      Collective::bcast, Collective::reduce_scatter_block}) {
    wrong(collective, {"count is -1"}, [](Arguments& a) { a.count = -1; });
  }
  for (const Collective collective : {Collective::allgather, Collective::gather, Collective::gatherv}) {
    wrong(collective, {"sendcount is -1"}, [](Arguments& a) { a.count = -1; });
  }
  for (const Collective collective : {Collective::scatter, Collective::scatterv}) {
    wrong(collective, {"recvcount is -1"}, [](Arguments& a) { a.recv_count = -1; });
  }
  std::vector<int> counts(static_cast<std::size_t>(world_size()), 4);
  counts.back() = -2;
  const std::string entry = "counts[" + std::to_string(world_size() - 1) + "] is -2";
  for (const Collective collective : {Collective::reduce_scatter, Collective::allgatherv}) {
    wrong(collective, {entry}, [&](Arguments& a) { a.counts = counts.data(); });
    wrong(collective, {"recvcounts is null"}, [&](Arguments& a) { a.counts = nullptr; });
  }
  wrong_on(0, Collective::gatherv, {"recv" + entry}, [&](Arguments& a) { a.counts = counts.data(); });
  wrong_on(0, Collective::scatterv, {"send" + entry}, [&](Arguments& a) { a.counts = counts.data(); });
  wrong_on(0, Collective::gatherv, {"displs is null"}, [&](Arguments& a) { a.displs = nullptr; });
}

TEST_F(VectorErrors, Roots) {
  for (const Collective collective : {Collective::reduce, Collective::bcast, Collective::gather, Collective::gatherv,
                                      Collective::scatter, Collective::scatterv}) {
    for (const int root : {-1, world_size()}) {
      wrong(collective, {"root is " + std::to_string(root)}, [&](Arguments& a) { a.root = root; });
    }
    mismatch(collective, {"root is"}, [](Arguments& a) { a.root = 1; });
  }
}

TEST_F(VectorErrors, InPlaceWhereItIsNotAllowed) {
  for (const Collective collective : {Collective::allreduce, Collective::reduce_scatter, Collective::scan,
                                      Collective::exscan, Collective::allgather, Collective::allgatherv}) {
    wrong(collective, {"recvbuf is MPI_IN_PLACE"}, [](Arguments& a) { a.recv = MPI_IN_PLACE; });
    mismatch(collective, {"MPI_IN_PLACE"}, [](Arguments& a) { a.send = MPI_IN_PLACE; });
  }
  wrong(Collective::bcast, {"buffer is MPI_IN_PLACE"}, [](Arguments& a) { a.recv = MPI_IN_PLACE; });
  if (world_size() > 1) {
    const int last = world_size() - 1;
    for (const Collective collective : {Collective::reduce, Collective::gather, Collective::gatherv}) {
      wrong_on(last, collective, {"sendbuf is MPI_IN_PLACE", "root"}, [](Arguments& a) { a.send = MPI_IN_PLACE; });
    }
    for (const Collective collective : {Collective::scatter, Collective::scatterv}) {
      wrong_on(last, collective, {"recvbuf is MPI_IN_PLACE", "root"}, [](Arguments& a) { a.recv = MPI_IN_PLACE; });
    }
  }
}

TEST_F(VectorErrors, Overlap) {
  for (const Collective collective : {Collective::allreduce, Collective::scan, Collective::reduce_scatter,
                                      Collective::allgather, Collective::allgatherv}) {
    wrong(collective, {"overlap"}, [](Arguments& a) { a.recv = const_cast<void*>(a.send); });
  }
  if (world_size() > 1) {
    const std::vector<int> displs(static_cast<std::size_t>(world_size()), 1);
    wrong(Collective::allgatherv, {"overlap"}, [&](Arguments& a) { a.displs = displs.data(); });
    wrong_on(0, Collective::gatherv, {"overlap"}, [&](Arguments& a) { a.displs = displs.data(); });
  }
}

TEST_F(VectorErrors, Operations) {
  for (const Collective collective : reductions) {
    wrong(collective, {"MPI_BAND"}, [](Arguments& a) {
      a.op = MPI_BAND;
      a.type = MPI_DOUBLE;
      a.count = 1;
    });
    wrong(collective, {"op"}, [](Arguments& a) { a.op = MPI_OP_NULL; });
    wrong(collective, {"datatype"}, [](Arguments& a) { a.type = MPI_DATATYPE_NULL; });
    mismatch(collective, {"op"}, [](Arguments& a) { a.op = MPI_MAX; });
    mismatch(collective, {"datatype"}, [](Arguments& a) { a.type = MPI_FLOAT; });
  }
}

TEST_F(VectorErrors, Sizes) {
  for (const Collective collective : {Collective::allreduce, Collective::reduce, Collective::bcast, Collective::scan,
                                      Collective::exscan, Collective::reduce_scatter_block}) {
    mismatch(collective, {"12 bytes", "16"}, [](Arguments& a) { a.count = 3; });
  }
  for (const Collective collective :
       {Collective::allgather, Collective::allgatherv, Collective::gather, Collective::gatherv}) {
    mismatch(collective, {"12 bytes", "16"}, [](Arguments& a) { a.count = 3; });
  }
  for (const Collective collective : {Collective::scatter, Collective::scatterv}) {
    mismatch(collective, {"12 bytes", "16"}, [](Arguments& a) { a.recv_count = 3; });
  }
  std::vector<int> counts(static_cast<std::size_t>(world_size()), 4);
  counts.front() = 2;
  mismatch(Collective::allgatherv, {"the block of rank 0", "8 bytes"}, [&](Arguments& a) { a.counts = counts.data(); });
  mismatch(Collective::reduce_scatter, {"the block of rank 0", "8 bytes"},
           [&](Arguments& a) { a.counts = counts.data(); });
}

TEST_F(VectorErrors, AlgorithmsThatDoNotFit) {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(keep_right, 0, &op);
  for (const Collective collective : reductions) {
    for (const algos::Algorithm& algorithm : algos::algorithms_of(collective)) {
      const std::string name(algorithm.name);
      if (algorithm.commutative) {
        all_wrong(
            collective, {name, "not commutative", "expected auto"},
            [&](Arguments& a) {
              a.op = op;
              a.keys = {{"stoker_algorithm", name}};
            },
            STOKER_ERR_SETTING);
      }
      if (!algorithm.fixed_order) {
        all_wrong(
            collective, {name, "deterministic", "expected auto"},
            [&](Arguments& a) {
              a.keys = {{"stoker_algorithm", name}, {"stoker_deterministic", "1"}};
            },
            STOKER_ERR_SETTING);
      }
    }
    all_wrong(
        collective, {"stoker_deterministic=perhaps"},
        [&](Arguments& a) {
          a.keys = {{"stoker_deterministic", "perhaps"}};
        },
        STOKER_ERR_SETTING);
    mismatch(collective, {"stoker_deterministic"}, [](Arguments& a) { a.keys = {{"stoker_deterministic", "1"}}; });
    mismatch(collective, {"stoker_executor"}, [](Arguments& a) { a.keys = {{"stoker_executor", "inline"}}; });
  }
  MPI_Op_free(&op);
}

TEST_F(VectorErrors, HelpersCannotCallTheApplication) {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(keep_right, 1, &op);
  for (const Collective collective : reductions) {
    all_wrong(
        collective, {"stoker_executor=engine", "user-defined"},
        [&](Arguments& a) {
          a.op = op;
          a.keys = {{"stoker_executor", "engine"}};
        },
        STOKER_ERR_UNSUPPORTED);
    EXPECT_TRUE(ok(call(collective, [&](Arguments& a) { a.op = op; })));
  }
  MPI_Op_free(&op);
}

TEST_F(VectorErrors, DifferentCollectives) {
  mismatch(Collective::allreduce, {"allreduce", "is initialised"},
           [](Arguments& a) { a.collective = Collective::scan; });
  mismatch(Collective::bcast, {"is initialised"}, [](Arguments& a) { a.collective = Collective::barrier; });
}

} // namespace
} // namespace api_tests
