// SPDX-License-Identifier: BSD-3-Clause
// Bad arguments: every one is refused with the right code, by all ranks of the communicator, with a message that names
// the rank at fault, the argument and what was expected; afterwards the engine still works.
#include "tests/api/mpi_main.hpp"
#include "tests/api/transfer.hpp"

#include <functional>
#include <memory>
#include <numeric>

namespace api_tests {
namespace {

std::string rank_word(int rank) { return "rank " + std::to_string(rank); }

class Errors : public ::testing::Test {
protected:
  static void SetUpTestSuite() { engine_ = new EngineOwner(MPI_COMM_WORLD); }
  static void TearDownTestSuite() {
    delete engine_;
    engine_ = nullptr;
  }
  void SetUp() override {
    ASSERT_TRUE(everywhere(engine_->get() != STOKER_ENGINE_NULL));
    const auto ranks = static_cast<std::size_t>(world_size());
    send_.assign(ranks * 4 * 8, 0);
    recv_.assign(ranks * 4 * 8, 0);
    counts_.assign(ranks, 4);
    displs_.resize(ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
      displs_[i] = static_cast<int>(4 * i);
    }
  }
  // The engine serves a correct request after every refused one.
  void TearDown() override {
    note("a correct request after the refused one");
    TransferSpec spec;
    Transfer transfer(spec, engine(), MPI_COMM_WORLD);
    ASSERT_EQ(transfer.code(), STOKER_SUCCESS) << transfer.message();
    transfer.prepare();
    EXPECT_TRUE(ok(stoker_start(transfer.request())));
    EXPECT_TRUE(ok(stoker_wait(transfer.request())));
    EXPECT_EQ(transfer.defect(), "");
  }

  [[nodiscard]] static stoker_engine engine() { return engine_->get(); }

  // alltoall of 4 ints per pair; `spoil` makes arguments wrong.
  struct Arguments {
    const void* send;
    int send_count;
    MPI_Datatype send_type;
    void* recv;
    int recv_count;
    MPI_Datatype recv_type;
    MPI_Comm comm;
    stoker_engine engine;
  };
  int alltoall(const std::function<void(Arguments&)>& spoil) {
    Arguments a{send_.data(), 4, MPI_INT, recv_.data(), 4, MPI_INT, MPI_COMM_WORLD, engine()};
    spoil(a);
    stoker_request request = STOKER_REQUEST_NULL;
    const int code = stoker_alltoall_init(a.send, a.send_count, a.send_type, a.recv, a.recv_count, a.recv_type, a.comm,
                                          MPI_INFO_NULL, a.engine, &request);
    EXPECT_EQ(request == STOKER_REQUEST_NULL, code != STOKER_SUCCESS);
    drop(request);
    return code;
  }
  struct ArgumentsV {
    const void* send;
    const int* send_counts;
    const int* send_displs;
    MPI_Datatype send_type;
    void* recv;
    const int* recv_counts;
    const int* recv_displs;
    MPI_Datatype recv_type;
    MPI_Comm comm;
  };
  int alltoallv(const std::function<void(ArgumentsV&)>& spoil) {
    ArgumentsV a{send_.data(),   counts_.data(), displs_.data(), MPI_INT,       recv_.data(),
                 counts_.data(), displs_.data(), MPI_INT,        MPI_COMM_WORLD};
    spoil(a);
    stoker_request request = STOKER_REQUEST_NULL;
    const int code = stoker_alltoallv_init(a.send, a.send_counts, a.send_displs, a.send_type, a.recv, a.recv_counts,
                                           a.recv_displs, a.recv_type, a.comm, MPI_INFO_NULL, engine(), &request);
    EXPECT_EQ(request == STOKER_REQUEST_NULL, code != STOKER_SUCCESS);
    drop(request);
    return code;
  }
  // Frees what was made: by a legal call, or by one that should have failed.
  static void drop(stoker_request& request) {
    if (request != STOKER_REQUEST_NULL) {
      (void)stoker_request_free(&request);
    }
  }

  // Spoils one rank's arguments and expects the code, and the words, everywhere.
  template <class A>
  void one_rank_is_wrong(int (Errors::*call)(const std::function<void(A&)>&), int guilty, int code,
                         std::vector<std::string> words, const std::function<void(A&)>& spoil) {
    words.push_back(rank_word(guilty));
    const int result = (this->*call)([&](A& a) {
      if (world_rank() == guilty) {
        spoil(a);
      }
    });
    EXPECT_TRUE(refused(result, code, words));
  }
  void alltoall_wrong(std::vector<std::string> words, const std::function<void(Arguments&)>& spoil,
                      int code = STOKER_ERR_ARGUMENT) {
    for (const int guilty : {0, world_size() - 1}) {
      note("rank " + std::to_string(guilty) + " is wrong about " + words.front());
      one_rank_is_wrong<Arguments>(&Errors::alltoall, guilty, code, words, spoil);
    }
  }
  void alltoallv_wrong(std::vector<std::string> words, const std::function<void(ArgumentsV&)>& spoil,
                       int code = STOKER_ERR_ARGUMENT) {
    for (const int guilty : {0, world_size() - 1}) {
      note("rank " + std::to_string(guilty) + " is wrong about " + words.front());
      one_rank_is_wrong<ArgumentsV>(&Errors::alltoallv, guilty, code, words, spoil);
    }
  }

  std::vector<int> send_, recv_, counts_, displs_;

private:
  static EngineOwner* engine_; // NOLINT(readability-identifier-naming)
};
EngineOwner* Errors::engine_ = nullptr; // NOLINT(readability-identifier-naming): a member

TEST_F(Errors, NullBuffers) {
  alltoall_wrong({"sendbuf"}, [](Arguments& a) { a.send = nullptr; });
  alltoall_wrong({"recvbuf"}, [](Arguments& a) { a.recv = nullptr; });
  alltoallv_wrong({"sendbuf"}, [](ArgumentsV& a) { a.send = nullptr; });
  alltoallv_wrong({"recvbuf"}, [](ArgumentsV& a) { a.recv = nullptr; });
}

TEST_F(Errors, NullBuffersWithoutDataAreLegal) {
  EXPECT_TRUE(ok(alltoall([](Arguments& a) {
    a.send = a.recv = nullptr;
    a.send_count = a.recv_count = 0;
  })));
  const std::vector<int> zeros(counts_.size(), 0);
  EXPECT_TRUE(ok(alltoallv([&](ArgumentsV& a) {
    a.send = a.recv = nullptr;
    a.send_counts = a.recv_counts = zeros.data();
  })));
}

TEST_F(Errors, InPlaceWhereItIsNotAllowed) {
  alltoall_wrong({"recvbuf"}, [](Arguments& a) { a.recv = MPI_IN_PLACE; });
  if (world_size() > 1) { // either all ranks or none
    EXPECT_TRUE(refused(alltoall([](Arguments& a) {
                          if (world_rank() == 0) {
                            a.send = MPI_IN_PLACE;
                          }
                        }),
                        STOKER_ERR_MISMATCH, {"IN_PLACE", "rank"}));
  }
}

TEST_F(Errors, OverlappingBuffers) {
  alltoall_wrong({"overlap", "sendbuf", "recvbuf"}, [this](Arguments& a) { a.send = recv_.data(); });
  const std::size_t last = counts_.size() * 4 - 1;
  alltoall_wrong({"overlap"}, [&](Arguments& a) { a.send = recv_.data() + last; }); // in one element
  alltoallv_wrong({"overlap"}, [this](ArgumentsV& a) { a.send = recv_.data(); });
  // Side by side in one array is fine.
  EXPECT_TRUE(ok(alltoall([&](Arguments& a) { a.send = recv_.data() + last + 1; })));
}

TEST_F(Errors, InterleavedBuffersAreLegal) {
  // sendbuf takes the even and recvbuf the odd elements of one array: the regions overlap, the data do not.
  MPI_Datatype alternate;
  MPI_Type_create_resized(MPI_INT, 0, 8, &alternate);
  MPI_Type_commit(&alternate);
  EXPECT_TRUE(ok(alltoall([&](Arguments& a) {
    a.send = recv_.data();
    a.recv = recv_.data() + 1;
    a.send_type = a.recv_type = alternate;
  })));
  MPI_Type_free(&alternate);
}

TEST_F(Errors, OverlappingReceiveBlocks) {
  if (world_size() < 2) {
    GTEST_SKIP() << "needs two blocks";
  }
  std::vector<int> overlapping = displs_;
  overlapping[1] = overlapping[0] + 3;
  alltoallv_wrong({"overlap"}, [&](ArgumentsV& a) { a.recv_displs = overlapping.data(); });
  // Send blocks may overlap.
  EXPECT_TRUE(ok(alltoallv([&](ArgumentsV& a) { a.send_displs = overlapping.data(); })));
}

TEST_F(Errors, NegativeCounts) {
  alltoall_wrong({"sendcount", "-3"}, [](Arguments& a) { a.send_count = -3; });
  alltoall_wrong({"recvcount", "-5"}, [](Arguments& a) { a.recv_count = -5; });
  std::vector<int> negative = counts_;
  const std::size_t where = negative.size() / 2;
  negative[where] = -2;
  const std::string index = "[" + std::to_string(where) + "]";
  alltoallv_wrong({"sendcounts" + index, "-2"}, [&](ArgumentsV& a) { a.send_counts = negative.data(); });
  alltoallv_wrong({"recvcounts" + index, "-2"}, [&](ArgumentsV& a) { a.recv_counts = negative.data(); });
}

TEST_F(Errors, NullArrays) {
  alltoallv_wrong({"sendcounts"}, [](ArgumentsV& a) { a.send_counts = nullptr; });
  alltoallv_wrong({"sdispls"}, [](ArgumentsV& a) { a.send_displs = nullptr; });
  alltoallv_wrong({"recvcounts"}, [](ArgumentsV& a) { a.recv_counts = nullptr; });
  alltoallv_wrong({"rdispls"}, [](ArgumentsV& a) { a.recv_displs = nullptr; });
}

TEST_F(Errors, Datatypes) {
  alltoall_wrong({"sendtype"}, [](Arguments& a) { a.send_type = MPI_DATATYPE_NULL; });
  alltoall_wrong({"recvtype"}, [](Arguments& a) { a.recv_type = MPI_DATATYPE_NULL; });
  alltoallv_wrong({"recvtype"}, [](ArgumentsV& a) { a.recv_type = MPI_DATATYPE_NULL; });
}

TEST_F(Errors, UncommittedDatatypeIsRefusedWhereMpiTells) {
  MPI_Datatype uncommitted;
  MPI_Type_vector(2, 1, 2, MPI_INT, &uncommitted);
  const int code = alltoall([&](Arguments& a) {
    a.send_type = a.recv_type = uncommitted;
    a.send_count = a.recv_count = 2;
  });
  MPI_Type_free(&uncommitted);
  EXPECT_TRUE(code == STOKER_SUCCESS || refused(code, STOKER_ERR_ARGUMENT, {"type"})) << stoker_error_message();
}

TEST_F(Errors, CountsThatDoNotMatch) {
  if (world_size() < 2) {
    GTEST_SKIP() << "needs a peer";
  }
  const int last = world_size() - 1;
  const auto expect_both_named = [&](int code, const std::string& sent, const std::string& expected) {
    EXPECT_TRUE(refused(code, STOKER_ERR_MISMATCH, {rank_word(0), rank_word(last), sent, expected}));
  };
  // Bytes, so that elements and bytes are the same number.
  std::vector<int> more = counts_;
  more[static_cast<std::size_t>(last)] = 17;
  std::vector<int> wide(counts_.size());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    wide[i] = static_cast<int>(24 * i);
  }
  const auto bytes = [&](ArgumentsV& a) {
    a.send_type = a.recv_type = MPI_BYTE;
    a.send_displs = a.recv_displs = wide.data();
  };
  expect_both_named(alltoallv([&](ArgumentsV& a) { // rank 0 sends 17 to the last, which expects 4
                      bytes(a);
                      if (world_rank() == 0) {
                        a.send_counts = more.data();
                      }
                    }),
                    "17", "4");
  expect_both_named(alltoallv([&](ArgumentsV& a) { // rank 0 expects 17 from the last, which sends 4
                      bytes(a);
                      if (world_rank() == 0) {
                        a.recv_counts = more.data();
                      }
                    }),
                    "4", "17");
  EXPECT_TRUE(refused(alltoall([&](Arguments& a) {
                        a.send_type = a.recv_type = MPI_BYTE;
                        if (world_rank() == last) {
                          a.send_count = a.recv_count = 9;
                        }
                      }),
                      STOKER_ERR_MISMATCH, {"9", "4", rank_word(last)}));
}

TEST_F(Errors, OwnBlockThatDoesNotMatch) {
  std::vector<int> fewer = counts_;
  const auto mine = static_cast<std::size_t>(world_rank());
  fewer[mine] = 1;
  EXPECT_TRUE(refused(alltoallv([&](ArgumentsV& a) { a.send_counts = fewer.data(); }), STOKER_ERR_MISMATCH));
}

TEST_F(Errors, Communicators) {
  EXPECT_TRUE(refused(alltoall([](Arguments& a) { a.comm = MPI_COMM_NULL; }), STOKER_ERR_ARGUMENT, {"comm"}));
  EXPECT_TRUE(refused(alltoallv([](ArgumentsV& a) { a.comm = MPI_COMM_NULL; }), STOKER_ERR_ARGUMENT, {"comm"}));
  stoker_engine engine = STOKER_ENGINE_NULL;
  EXPECT_TRUE(refused(create_engine(MPI_COMM_NULL, {}, &engine), STOKER_ERR_ARGUMENT, {"comm"}));
  EXPECT_EQ(engine, STOKER_ENGINE_NULL);
}

TEST_F(Errors, Intercommunicators) {
  if (world_size() < 2) {
    GTEST_SKIP() << "needs two groups";
  }
  const int side = world_rank() % 2;
  const CommOwner half(split(MPI_COMM_WORLD, side, world_rank()));
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Intercomm_create(half.get(), 0, MPI_COMM_WORLD, 1 - side, 5, &between);
  const CommOwner inter(between);
  EXPECT_TRUE(refused(alltoall([&](Arguments& a) { a.comm = inter.get(); }), STOKER_ERR_UNSUPPORTED, {"intercomm"}));
  EXPECT_TRUE(refused(alltoallv([&](ArgumentsV& a) { a.comm = inter.get(); }), STOKER_ERR_UNSUPPORTED, {"intercomm"}));
  stoker_engine engine = STOKER_ENGINE_NULL;
  EXPECT_TRUE(refused(create_engine(inter.get(), {}, &engine), STOKER_ERR_UNSUPPORTED, {"intercomm"}));
  EXPECT_EQ(engine, STOKER_ENGINE_NULL);
}

TEST_F(Errors, CommunicatorBeyondTheEngine) {
  if (world_size() < 2) {
    GTEST_SKIP() << "needs a rank outside the engine";
  }
  const CommOwner half(split(MPI_COMM_WORLD, world_rank() % 2, world_rank()));
  const EngineOwner small(half.get());
  EXPECT_TRUE(
      refused(alltoall([&](Arguments& a) { a.engine = small.get(); }), STOKER_ERR_ARGUMENT, {"comm", "engine"}));
  if (world_rank() % 2 != 0) { // and so it is while the other ranks, rank 0 of comm among them, do something else
    EXPECT_TRUE(
        refused(alltoall([&](Arguments& a) { a.engine = small.get(); }), STOKER_ERR_ARGUMENT, {"comm", "engine"}));
  }
}

// Whatever each rank found, all go on in one way.
TEST_F(Errors, AnotherOnEachRank) {
  EXPECT_TRUE(refused(alltoall([](Arguments& a) {
                        if (world_rank() == 0) {
                          a.send = nullptr;
                        } else {
                          a.send_count = 3; // and 4 are received of its own
                        }
                      }),
                      STOKER_ERR_ARGUMENT, {rank_word(0), "send"}));
}

TEST_F(Errors, NullOutputs) {
  EXPECT_TRUE(refused(stoker_engine_create(MPI_COMM_WORLD, nullptr, 0, nullptr), STOKER_ERR_ARGUMENT, {"engine"}));
  EXPECT_TRUE(refused(stoker_alltoall_init(send_.data(), 4, MPI_INT, recv_.data(), 4, MPI_INT, MPI_COMM_WORLD,
                                           MPI_INFO_NULL, engine(), nullptr),
                      STOKER_ERR_ARGUMENT, {"request"}));
  EXPECT_TRUE(refused(stoker_test(STOKER_REQUEST_NULL, nullptr), STOKER_ERR_ARGUMENT, {"flag"}));
  EXPECT_TRUE(refused(stoker_engine_get_facts(engine(), nullptr), STOKER_ERR_ARGUMENT, {"facts"}));
  EXPECT_TRUE(refused(stoker_request_free(nullptr), STOKER_ERR_ARGUMENT, {"request"}));
  EXPECT_TRUE(refused(stoker_engine_destroy(nullptr), STOKER_ERR_ARGUMENT, {"engine"}));
}

TEST_F(Errors, TextForEveryCode) {
  for (int code = STOKER_SUCCESS; code <= STOKER_ERR_PEER_LOST; ++code) {
    ASSERT_NE(stoker_error_string(code), nullptr);
    EXPECT_GT(std::string(stoker_error_string(code)).size(), 3u);
    for (int other = STOKER_SUCCESS; other < code; ++other) {
      EXPECT_STRNE(stoker_error_string(code), stoker_error_string(other));
    }
  }
  EXPECT_NE(stoker_error_string(9999), nullptr);
  EXPECT_NE(stoker_error_string(-1), nullptr);
}

} // namespace
} // namespace api_tests
