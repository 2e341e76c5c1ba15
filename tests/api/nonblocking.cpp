// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking calls against the MPI library's own: every collective, with other buffers and other data in every call,
// more at a time than there are requests for, completed in another order on every rank, by the engine and by the MPI
// library. STOKER_RANKS_PER_NODE pretends nodes.
#include "engine/calls/calls.hpp"
#include "engine/calls/route_trials.hpp"
#include "engine/data/neighbors.hpp"

#include "api/c/engine_of.hpp"
#include "tests/api/mpi_main.hpp"
#include "tests/api/support.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <sched.h>
#include <thread>

namespace api_tests {
namespace {

using stoker::algos::Collective;
using stoker::engine::Calls;
using stoker::engine::CallUnderWay;
using stoker::engine::CollectiveCall;
using stoker::engine::Error;
using stoker::engine::Executor;
using stoker::engine::lanes_of_a_shape;

using MpiStart = std::function<int(MPI_Comm, MPI_Request*)>;

enum class PlaceOfData { nowhere, everywhere, send_at_root, recv_at_root };

// The values that all calls of a case share.
struct Terms {
  int count = 0;
  int root = 0;
  MPI_Datatype type = MPI_INT;
  std::size_t extent = 1; // of the type, in ints
  MPI_Op op = MPI_SUM;
};

// One call's arguments in both forms.
struct Arguments {
  std::vector<MPI_Count> counts; // one, or one for each rank
  std::vector<MPI_Aint> displs;
  MPI_Count own = 0;
  CollectiveCall call;
  MpiStart mpi;
};

struct Case {
  const char* name;
  Collective collective;
  bool combines;
  PlaceOfData in_place;
  // In elements, with the number of blocks where all are equal.
  std::function<int(const Terms&)> sent, received;
  std::function<MpiStart(const Terms&, const void*, void*)> mpi;
};

int size_of_rank(int rank, int count) { return count * ((rank * 5 + 1) % 4) / 2; }

int at_root(const Terms& terms, int elements) { return world_rank() == terms.root ? elements : 0; }

std::vector<int> sizes_of_ranks(int count) {
  std::vector<int> sizes;
  for (int r = 0; r < world_size(); ++r) {
    sizes.push_back(size_of_rank(r, count));
  }
  return sizes;
}
// With gaps.
std::vector<int> places_of_ranks(int count) {
  std::vector<int> places{0};
  for (int r = 0; r + 1 < world_size(); ++r) {
    places.push_back(places.back() + size_of_rank(r, count) + 2);
  }
  return places;
}
int sum_of_sizes(int count) {
  const std::vector<int> sizes = sizes_of_ranks(count);
  return std::accumulate(sizes.begin(), sizes.end(), 0);
}

std::vector<Case> cases() {
  const auto one = [](const Terms& t) { return t.count; };
  const auto all = [](const Terms& t) { return t.count * world_size(); };
  const auto one_at_root = [](const Terms& t) { return at_root(t, t.count); };
  const auto all_at_root = [](const Terms& t) { return at_root(t, t.count * world_size()); };
  const auto own = [](const Terms& t) { return size_of_rank(world_rank(), t.count); };
  return {
      {"allreduce", Collective::allreduce, true, PlaceOfData::everywhere, one, one,
       [](const Terms& t, const void* s, void* r) -> MpiStart {
         return [=](MPI_Comm c, MPI_Request* q) { return MPI_Iallreduce(s, r, t.count, t.type, t.op, c, q); };
       }},
      {"reduce", Collective::reduce, true, PlaceOfData::send_at_root, one, one_at_root,
       [](const Terms& t, const void* s, void* r) -> MpiStart {
         return [=](MPI_Comm c, MPI_Request* q) { return MPI_Ireduce(s, r, t.count, t.type, t.op, t.root, c, q); };
       }},
      {"scan", Collective::scan, true, PlaceOfData::everywhere, one, one,
       [](const Terms& t, const void* s, void* r) -> MpiStart {
         return [=](MPI_Comm c, MPI_Request* q) { return MPI_Iscan(s, r, t.count, t.type, t.op, c, q); };
       }},
      {"exscan", Collective::exscan, true, PlaceOfData::everywhere, one, one,
       [](const Terms& t, const void* s, void* r) -> MpiStart {
         return [=](MPI_Comm c, MPI_Request* q) { return MPI_Iexscan(s, r, t.count, t.type, t.op, c, q); };
       }},
      {"reduce_scatter_block", Collective::reduce_scatter_block, true, PlaceOfData::everywhere, all, one,
       [](const Terms& t, const void* s, void* r) -> MpiStart {
         return
             [=](MPI_Comm c, MPI_Request* q) { return MPI_Ireduce_scatter_block(s, r, t.count, t.type, t.op, c, q); };
       }},
      {"reduce_scatter", Collective::reduce_scatter, true, PlaceOfData::everywhere,
       [](const Terms& t) { return sum_of_sizes(t.count); }, own,
       [](const Terms& t, const void* s, void* r) -> MpiStart {
         return [=, sizes = sizes_of_ranks(t.count)](MPI_Comm c, MPI_Request* q) {
           return MPI_Ireduce_scatter(s, r, sizes.data(), t.type, t.op, c, q);
         };
       }},
      {"bcast", Collective::bcast, false, PlaceOfData::nowhere, one, one,
       [](const Terms& t, const void*, void* r) -> MpiStart {
         return [=](MPI_Comm c, MPI_Request* q) { return MPI_Ibcast(r, t.count, t.type, t.root, c, q); };
       }},
      {"allgather", Collective::allgather, false, PlaceOfData::everywhere, one, all,
       [](const Terms& t, const void* s, void* r) -> MpiStart {
         return
             [=](MPI_Comm c, MPI_Request* q) { return MPI_Iallgather(s, t.count, t.type, r, t.count, t.type, c, q); };
       }},
      {"allgatherv", Collective::allgatherv, false, PlaceOfData::everywhere, own,
       [](const Terms& t) { return places_of_ranks(t.count).back() + size_of_rank(world_size() - 1, t.count); },
       [](const Terms& t, const void* s, void* r) -> MpiStart {
         return [=, sizes = sizes_of_ranks(t.count), places = places_of_ranks(t.count)](MPI_Comm c, MPI_Request* q) {
           return MPI_Iallgatherv(s, size_of_rank(world_rank(), t.count), t.type, r, sizes.data(), places.data(),
                                  t.type, c, q);
         };
       }},
      {"gather", Collective::gather, false, PlaceOfData::send_at_root, one, all_at_root,
       [](const Terms& t, const void* s, void* r) -> MpiStart {
         return [=](MPI_Comm c, MPI_Request* q) {
           return MPI_Igather(s, t.count, t.type, r, t.count, t.type, t.root, c, q);
         };
       }},
      {"scatter", Collective::scatter, false, PlaceOfData::recv_at_root, all_at_root, one,
       [](const Terms& t, const void* s, void* r) -> MpiStart {
         return [=](MPI_Comm c, MPI_Request* q) {
           return MPI_Iscatter(s, t.count, t.type, r, t.count, t.type, t.root, c, q);
         };
       }},
      {"alltoall", Collective::alltoall, false, PlaceOfData::everywhere, all, all,
       [](const Terms& t, const void* s, void* r) -> MpiStart {
         return [=](MPI_Comm c, MPI_Request* q) { return MPI_Ialltoall(s, t.count, t.type, r, t.count, t.type, c, q); };
       }},
      {"barrier", Collective::barrier, false, PlaceOfData::nowhere, [](const Terms&) { return 0; },
       [](const Terms&) { return 0; },
       [](const Terms&, const void*, void*) -> MpiStart {
         return [](MPI_Comm c, MPI_Request* q) { return MPI_Ibarrier(c, q); };
       }},
  };
}

Arguments arguments_of(const Case& c, const Terms& terms, const void* send, void* recv) {
  Arguments a;
  const bool by_rank = c.collective == Collective::reduce_scatter || c.collective == Collective::allgatherv;
  a.own = terms.count;
  a.counts = {terms.count};
  if (by_rank) {
    const std::vector<int> sizes = sizes_of_ranks(terms.count);
    const std::vector<int> places = places_of_ranks(terms.count);
    a.counts.assign(sizes.begin(), sizes.end());
    a.displs.assign(places.begin(), places.end());
    a.own = sizes[static_cast<std::size_t>(world_rank())];
  }
  a.call = {.collective = c.collective,
            .sendbuf = send,
            .sendcounts = &a.own,
            .sendtypes = &terms.type,
            .recvbuf = recv,
            .recvcounts = a.counts.data(),
            .rdispls = a.displs.data(),
            .recvtypes = &terms.type,
            .op = terms.op,
            .root = terms.root};
  a.mpi = c.mpi(terms, send, recv);
  return a;
}

// One call, with buffers of its own.
class Trip {
public:
  Trip(const Case& c, const Terms& terms, bool in_place, std::uint64_t seed) : case_(c), terms_(terms) {
    const bool root = world_rank() == terms.root;
    send_in_place_ =
        in_place && (c.in_place == PlaceOfData::everywhere || (c.in_place == PlaceOfData::send_at_root && root));
    recv_in_place_ = in_place && c.in_place == PlaceOfData::recv_at_root && root;
    Random random(seed * 100 + static_cast<std::uint64_t>(world_rank()));
    const auto fill = [&](int elements) {
      std::vector<int> data((static_cast<std::size_t>(elements) * terms.extent) + 1);
      for (int& word : data) {
        word = static_cast<int>(random.below(1000));
      }
      return data;
    };
    send_ = fill(c.sent(terms));
    recv_ = fill(std::max(c.received(terms), in_place ? c.sent(terms) : 0));
    expected_send_ = send_;
    expected_ = recv_;
  }

  // Collective: what the MPI library makes of it.
  void ask_mpi(MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(arguments(expected_send_, expected_).mpi(comm, &request), MPI_SUCCESS);
    for (int done = 0; done == 0; sched_yield()) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
  }
  // Returns whether there is a place for it.
  bool start(Calls& calls, Executor executor) {
    sent_ = arguments(send_, recv_); // whose arrays stay until the call is complete
    sent_.call.sendcounts = &sent_.own;
    call_ = calls.start(sent_.call, MPI_INFO_NULL, executor);
    return call_ != nullptr;
  }
  [[nodiscard]] CallUnderWay& call() { return *call_; }
  void check() {
    SCOPED_TRACE(std::string(case_.name) + ", count " + std::to_string(terms_.count) + ", root " +
                 std::to_string(terms_.root) + (send_in_place_ || recv_in_place_ ? ", in place" : "") +
                 (call_->report().by_mpi ? ", by MPI" : ""));
    call_->finish();
    EXPECT_TRUE(send_ == expected_send_) << "the send buffer was written";
    if (case_.name == std::string("exscan") && world_rank() == 0) {
      return; // MPI leaves it undefined, and the two libraries do different things with it
    }
    if (send_in_place_ && std::string(case_.name).starts_with("reduce_scatter")) { // the rest is undefined
      const auto own = static_cast<std::size_t>(case_.received(terms_)) * terms_.extent;
      expected_.resize(own);
      recv_.resize(own);
    }
    EXPECT_TRUE(recv_ == expected_);
  }

private:
  [[nodiscard]] Arguments arguments(std::vector<int>& send, std::vector<int>& recv) const {
    return arguments_of(case_, terms_, send_in_place_ ? MPI_IN_PLACE : send.data(),
                        recv_in_place_ ? MPI_IN_PLACE : static_cast<void*>(recv.data()));
  }

  const Case& case_;
  Terms terms_;
  bool send_in_place_ = false;
  bool recv_in_place_ = false;
  std::vector<int> send_, recv_, expected_send_, expected_;
  Arguments sent_;
  std::unique_ptr<CallUnderWay> call_;
};

// Waits, or asks again and again.
void complete(CallUnderWay& call, bool by_wait) {
  if (by_wait) {
    call.wait();
    return;
  }
  while (!call.done()) {
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    sched_yield();
  }
}

// 2 ints, a gap of one.
class GappedType {
public:
  GappedType() {
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 3 * static_cast<MPI_Aint>(sizeof(int)), &type_);
    MPI_Type_commit(&type_);
    MPI_Type_free(&pair);
  }
  GappedType(const GappedType&) = delete;
  GappedType& operator=(const GappedType&) = delete;
  ~GappedType() { free(); }
  void free() {
    if (type_ != MPI_DATATYPE_NULL) {
      MPI_Type_free(&type_);
    }
  }
  [[nodiscard]] MPI_Datatype get() const { return type_; }

private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

class Nonblocking : public ::testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    engine_ = std::make_unique<EngineOwner>(MPI_COMM_WORLD, Settings{{"executor", GetParam()}});
    ASSERT_TRUE(everywhere(engine_->get() != STOKER_ENGINE_NULL));
    comm_.emplace(duplicate(MPI_COMM_WORLD));
  }
  [[nodiscard]] std::shared_ptr<stoker::engine::Engine> engine() const {
    return stoker::api::engine_of(engine_->get());
  }
  [[nodiscard]] std::unique_ptr<Calls> calls(bool trials = true) const {
    return std::make_unique<Calls>(engine(), MPI_COMM_WORLD, trials);
  }
  [[nodiscard]] static Executor executor() {
    return std::string(GetParam()) == "engine" ? Executor::engine : Executor::inline_;
  }
  [[nodiscard]] MPI_Comm reference() const { return comm_->get(); }

  // One after the other.
  void one_by_one(Calls& calls, const Case& c, const Terms& terms, bool in_place, int times) const {
    note(std::string(c.name) + " " + std::to_string(terms.count));
    for (int i = 0; i < times; ++i) {
      Trip trip(c, terms, in_place, static_cast<std::uint64_t>(i));
      trip.ask_mpi(reference());
      trip.start(calls, executor());
      complete(trip.call(), i % 2 == 0);
      trip.check();
    }
  }
  // Started together, completed in an order of each rank's own.
  void together(Calls& calls, const Case& c, const Terms& terms, int times, std::uint64_t seed = 0) const {
    note(std::string(c.name) + " " + std::to_string(terms.count) + ", " + std::to_string(times) + " at a time");
    std::deque<Trip> trips;
    for (int i = 0; i < times; ++i) {
      trips.emplace_back(c, terms, false, seed + static_cast<std::uint64_t>(i));
      trips.back().ask_mpi(reference());
    }
    for (Trip& trip : trips) {
      trip.start(calls, executor());
    }
    for (const std::size_t i : permutation(trips.size(), seed + static_cast<std::uint64_t>(world_rank()))) {
      complete(trips[i].call(), i % 3 != 0);
      trips[i].check();
    }
  }

private:
  std::unique_ptr<EngineOwner> engine_;
  std::optional<CommOwner> comm_;
};

constexpr int enough = 24; // calls for all requests, both routes, and what follows from their times

TEST_P(Nonblocking, EveryCollective) {
  const auto calls_here = calls();
  const int last = world_size() - 1;
  for (const Case& c : cases()) {
    one_by_one(*calls_here, c, {.count = 5, .root = last}, false, enough);
    one_by_one(*calls_here, c, {.count = 0}, false, 2);
  }
}

TEST_P(Nonblocking, LongOnes) {
  const auto calls_here = calls(false);
  for (const Case& c : cases()) {
    one_by_one(*calls_here, c, {.count = 3001, .root = world_size() - 1}, false, 6);
    one_by_one(*calls_here, c, {.count = 40000}, false, 5);
  }
}

TEST_P(Nonblocking, InPlace) {
  const auto calls_here = calls();
  for (const Case& c : cases()) {
    if (c.in_place != PlaceOfData::nowhere) {
      one_by_one(*calls_here, c, {.count = 7}, true, enough);
      one_by_one(*calls_here, c, {.count = 7}, false, 5);
      one_by_one(*calls_here, c, {.count = 9000}, true, 5);
    }
  }
}

TEST_P(Nonblocking, TypesWithGaps) {
  const auto calls_here = calls();
  const GappedType gapped;
  for (const Case& c : cases()) {
    if (!c.combines) {
      one_by_one(*calls_here, c, {.count = 6, .type = gapped.get(), .extent = 3}, false, enough);
      if (c.in_place != PlaceOfData::nowhere) {
        one_by_one(*calls_here, c, {.count = 6, .type = gapped.get(), .extent = 3}, true, 5);
      }
      one_by_one(*calls_here, c, {.count = 5000, .type = gapped.get(), .extent = 3}, false, 5);
      one_by_one(*calls_here, c, {.count = 10000, .type = MPI_INT}, false, 3); // by the same requests
    }
  }
}

TEST_P(Nonblocking, MoreAtATimeThanThereAreRequests) {
  for (const bool trials : {true, false}) {
    const auto calls_here = calls(trials);
    for (const Case& c : cases()) {
      together(*calls_here, c, {.count = 50}, 7, 1);
      together(*calls_here, c, {.count = 50}, 3, 2);
      together(*calls_here, c, {.count = 50}, 15, 3);
    }
    together(*calls_here, cases().front(), {.count = 50000}, 9, 4);
  }
}

TEST_P(Nonblocking, OperationsOfTheApplication) {
  const auto calls_here = calls();
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(
      // NOLINTNEXTLINE(readability-non-const-parameter): MPI_User_function
      [](void* in, void* inout, int* length, MPI_Datatype*) {
        for (int i = 0; i < *length; ++i) { // first the left operand, then the right one
          static_cast<int*>(inout)[i] = (2 * static_cast<int*>(in)[i]) + static_cast<int*>(inout)[i];
        }
      },
      0, &op);
  for (const Case& c : cases()) {
    if (c.combines) {
      // The function is not associative: with two ranks there is one order only.
      const int ranks = world_size();
      if (ranks <= 2 && c.collective != Collective::reduce_scatter) {
        one_by_one(*calls_here, c, {.count = 20, .op = op}, false, enough);
      }
    }
  }
  MPI_Op_free(&op);
  one_by_one(*calls_here, cases().front(), {.count = 20, .op = MPI_MAX}, false, 5);
}

TEST_P(Nonblocking, DatatypesAreFreedAtOnce) {
  const auto calls_here = calls(false);
  std::vector<Case> list = cases();
  const Case& c = *std::ranges::find(list, Collective::alltoall, &Case::collective);
  for (int i = 0; i < 8; ++i) {
    GappedType gapped;
    std::deque<Trip> trips;
    for (int k = 0; k < 6; ++k) {
      trips.emplace_back(c, Terms{.count = 3000, .type = gapped.get(), .extent = 3}, false,
                         static_cast<std::uint64_t>(k));
      trips.back().ask_mpi(reference());
    }
    for (Trip& trip : trips) {
      trip.start(*calls_here, executor());
    }
    gapped.free();
    for (Trip& trip : trips) {
      complete(trip.call(), true);
      trip.check();
    }
  }
}

// The order of calls on one communicator says nothing about another.
TEST_P(Nonblocking, CommunicatorsInOppositeOrder) {
  const auto first = calls();
  const auto second = calls();
  const std::vector<Case> list = cases();
  for (int i = 0; i < enough; ++i) {
    note("round " + std::to_string(i));
    const Terms terms{.count = 30 + (i / 3)};
    Trip a(list[static_cast<std::size_t>(i) % list.size()], terms, false, 1);
    Trip b(list[static_cast<std::size_t>(i + 5) % list.size()], terms, false, 2);
    a.ask_mpi(reference());
    b.ask_mpi(reference());
    if (world_rank() % 2 == 0) {
      a.start(*first, executor());
      b.start(*second, executor());
      complete(a.call(), true);
      complete(b.call(), true);
    } else {
      b.start(*second, executor());
      a.start(*first, executor());
      complete(b.call(), false);
      complete(a.call(), false);
    }
    a.check();
    b.check();
  }
}

// Messages of the application's own are waited for while a call that had to be put off is on its way.
TEST_P(Nonblocking, PutOffCallsDoNotNeedTheApplication) {
  if (std::string(GetParam()) != "engine") {
    GTEST_SKIP() << "inline steps are the application's own";
  }
  const auto calls_here = calls(false);
  const std::vector<Case> list = cases();
  for (int round = 0; round < 5; ++round) {
    std::deque<Trip> trips;
    for (int i = 0; i < 6; ++i) {
      trips.emplace_back(list.front(), Terms{.count = 100}, false, static_cast<std::uint64_t>(i));
      trips.back().ask_mpi(reference());
    }
    for (Trip& trip : trips) {
      trip.start(*calls_here, executor());
    }
    // Rank 0 waits for the last call before it says so; the others hear that before they look at any.
    int word = round;
    if (world_rank() == 0) {
      complete(trips.back().call(), true);
      for (int r = 1; r < world_size(); ++r) {
        MPI_Send(&word, 1, MPI_INT, r, 0, reference());
      }
    } else {
      MPI_Recv(&word, 1, MPI_INT, 0, 0, reference(), MPI_STATUS_IGNORE);
    }
    for (Trip& trip : trips) {
      complete(trip.call(), true);
      trip.check();
    }
  }
}

// A call that had to be put off goes on while an initialisation waits for other ranks, which wait for that call first.
TEST_P(Nonblocking, InitialisationsDoNotHoldUpCallsThatWerePutOff) {
  if (std::string(GetParam()) != "engine") {
    GTEST_SKIP() << "inline steps are the application's own";
  }
  const auto calls_here = calls(false);
  const std::vector<Case> list = cases();
  const Case& barrier = *std::ranges::find(list, Collective::barrier, &Case::collective);
  const Terms nothing;
  for (std::uint64_t i = 0; i < lanes_of_a_shape; ++i) { // its requests are there
    one_by_one(*calls_here, barrier, nothing, false, 1);
  }
  std::deque<Trip> trips;
  for (std::uint64_t i = 0; i < lanes_of_a_shape + 1; ++i) { // one more than there are requests
    trips.emplace_back(barrier, nothing, false, i);
  }
  Trip fresh(list.front(), {.count = 100}, false, 1);
  fresh.ask_mpi(reference());
  int word = 0;
  const auto start_all = [&] {
    for (Trip& trip : trips) {
      ASSERT_TRUE(trip.start(*calls_here, executor()));
    }
  };
  if (world_rank() == 0) {
    start_all();
    ASSERT_TRUE(fresh.start(*calls_here, executor()));
    for (int r = 1; r < world_size(); ++r) {
      MPI_Send(&word, 1, MPI_INT, r, 0, reference());
    }
    for (int r = 1; r < world_size(); ++r) {
      MPI_Recv(&word, 1, MPI_INT, r, 0, reference(), MPI_STATUS_IGNORE);
    }
  } else {
    MPI_Recv(&word, 1, MPI_INT, 0, 0, reference(), MPI_STATUS_IGNORE);
    start_all();
    complete(trips.back().call(), true);
    MPI_Send(&word, 1, MPI_INT, 0, 0, reference());
    ASSERT_TRUE(fresh.start(*calls_here, executor()));
  }
  for (Trip& trip : trips) {
    complete(trip.call(), true);
    trip.check();
  }
  complete(fresh.call(), true);
  fresh.check();
}

// Which calls are whose.
TEST_P(Nonblocking, Routes) {
  const auto tried = calls(true);
  const auto plain = calls(false);
  const std::vector<Case> list = cases();
  int by_mpi = 0;
  int on_trial = 0;
  using stoker::engine::RouteTrials;
  constexpr int of_engine = RouteTrials::warm_up + RouteTrials::of_short_calls.trial + RouteTrials::of_short_calls.lag;
  constexpr int of_mpi_at_least = RouteTrials::of_long_calls.trial + RouteTrials::of_long_calls.lag;
  // On busy cores calls may look long and overlapped, and are tried later then.
  constexpr int most_calls = 4 * RouteTrials::first_retrial;
  int least[2] = {0, 0}; // of both, over all ranks
  for (int i = 0; least[0] < of_mpi_at_least && i < most_calls; ++i) {
    Trip trip(list.front(), {.count = 11}, false, 1);
    trip.ask_mpi(reference());
    trip.start(*tried, executor());
    complete(trip.call(), true);
    trip.check();
    by_mpi += trip.call().report().by_mpi ? 1 : 0;
    on_trial += trip.call().report().on_trial ? 1 : 0;
    EXPECT_EQ(trip.call().report().algorithm == "mpi", trip.call().report().by_mpi);
    EXPECT_GT(trip.call().report().exposed_seconds, 0);
    Trip other(list.front(), {.count = 11}, false, 1);
    other.ask_mpi(reference());
    other.start(*plain, executor());
    complete(other.call(), true);
    other.check();
    EXPECT_FALSE(other.call().report().by_mpi);
    EXPECT_FALSE(other.call().report().on_trial);
    const int here[2] = {by_mpi, on_trial};
    MPI_Allreduce(here, least, 2, MPI_INT, MPI_MIN, reference());
    EXPECT_EQ(least[0], by_mpi); // on all ranks
    EXPECT_EQ(least[1], on_trial);
  }
  EXPECT_GE(by_mpi, of_mpi_at_least);
  EXPECT_GE(on_trial, of_engine + of_mpi_at_least);
}

// Blocks of every size, none among them, each in two parts.
// Two for each block.
struct Pieces {
  void add(int place, int count, bool reversed = false) {
    const int first = count / 3;
    reversed ? add_both(place + first, count - first, place, first)
             : add_both(place, first, place + first, count - first);
  }
  void add_both(int place, int count, int other_place, int other_count) {
    counts.insert(counts.end(), {count, other_count});
    places.insert(places.end(), {place, other_place});
  }
  std::vector<int> counts, places;
};

// alltoallv; and a neighborhood in which all ranks are each other's neighbors twice, in falling order.
TEST_P(Nonblocking, Exchanges) {
  const auto calls_here = calls();
  const int ranks = world_size();
  const int rank = world_rank();
  std::vector<int> twice;
  for (int r = ranks - 1; r >= 0; --r) {
    twice.insert(twice.end(), {r, r});
  }
  MPI_Comm graph = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2 * ranks, twice.data(), MPI_UNWEIGHTED, 2 * ranks, twice.data(),
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  auto calls_to_neighbors = std::make_unique<Calls>(engine(), graph);
  const bool reversed = stoker::engine::neighbors_of(graph).arriving(0, Collective::neighbor_alltoallv) != 0;
  const GappedType gapped;
  const auto length = [&](int from, int to, int i) { // in elements
    const auto seed =
        static_cast<std::uint64_t>(from * 100) + static_cast<std::uint64_t>(to) + static_cast<std::uint64_t>(i) * 10000;
    const std::uint64_t random = mix(seed);
    const int sizes[] = {0, 1, 7, 0, 700, 2500, 20000};
    return sizes[random % 7];
  };
  for (const bool gaps : {false, true}) {
    const MPI_Datatype type = gaps ? gapped.get() : MPI_INT;
    const int extent = gaps ? 3 : 1;
    for (int i = 0; i < 30; ++i) {
      note("exchange " + std::to_string(i));
      std::vector<int> sendcounts, recvcounts, sdispls, rdispls;
      int sent = 0;
      int received = 0;
      for (int r = 0; r < ranks; ++r) {
        sendcounts.push_back(length(rank, r, i));
        recvcounts.push_back(length(r, rank, i));
        sdispls.push_back(sent);
        rdispls.push_back(received + (i % 2));
        sent += sendcounts.back();
        received += recvcounts.back() + (i % 2);
      }
      Random random(static_cast<std::uint64_t>((rank * 1000) + i));
      std::vector<int> send(static_cast<std::size_t>(sent * extent) + 1);
      std::ranges::generate(send, [&] { return static_cast<int>(random.below(1000)); });
      std::vector<int> recv(static_cast<std::size_t>((received + 1) * extent) + 1, -7);
      std::vector<int> expected = recv;
      MPI_Alltoallv(send.data(), sendcounts.data(), sdispls.data(), type, expected.data(), recvcounts.data(),
                    rdispls.data(), type, reference());
      const auto check = [&](Calls& by, const CollectiveCall& given, const std::vector<int>& received_data) {
        const auto call = by.start(given, MPI_INFO_NULL, executor());
        complete(*call, i % 2 == 0);
        call->finish();
        EXPECT_TRUE(received_data == expected)
            << name_of(given.collective) << " " << i << (call->report().by_mpi ? " by MPI" : "");
      };
      std::vector<int> recv_pieces = recv;
      check(*calls_here,
            {.collective = Collective::alltoallv,
             .sendbuf = send.data(),
             .sendcounts = sendcounts.data(),
             .sdispls = sdispls.data(),
             .sendtypes = &type,
             .recvbuf = recv.data(),
             .recvcounts = recvcounts.data(),
             .rdispls = rdispls.data(),
             .recvtypes = &type},
            recv);
      Pieces sends;
      Pieces recvs;
      for (std::size_t k = 0; k < twice.size(); k += 2) {
        const auto peer = static_cast<std::size_t>(twice[k]);
        sends.add(sdispls[peer], sendcounts[peer]);
        recvs.add(rdispls[peer], recvcounts[peer], reversed);
      }
      check(*calls_to_neighbors,
            {.collective = Collective::neighbor_alltoallv,
             .sendbuf = send.data(),
             .sendcounts = sends.counts.data(),
             .sdispls = sends.places.data(),
             .sendtypes = &type,
             .recvbuf = recv_pieces.data(),
             .recvcounts = recvs.counts.data(),
             .rdispls = recvs.places.data(),
             .recvtypes = &type},
            recv_pieces);
    }
  }
  calls_to_neighbors.reset();
  MPI_Comm_free(&graph);
}

TEST_P(Nonblocking, SeveralThreads) {
  const auto calls_here = calls(false);
  const std::vector<Case> list = cases();
  for (int round = 0; round < 5; ++round) {
    std::deque<Trip> trips;
    for (int i = 0; i < 6; ++i) {
      trips.emplace_back(list[static_cast<std::size_t>(i / 3)], Terms{.count = 400}, false,
                         static_cast<std::uint64_t>(i));
      trips.back().ask_mpi(reference());
    }
    for (Trip& trip : trips) {
      trip.start(*calls_here, executor());
    }
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < trips.size(); i += 2) {
          complete(trips[i].call(), true);
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (Trip& trip : trips) {
      trip.check();
    }
  }
}

template <class Start>
::testing::AssertionResult refuses(Start&& start, stoker::engine::Code code) {
  try {
    start();
  } catch (const Error& error) {
    return error.code() == code ? ::testing::AssertionSuccess()
                                : ::testing::AssertionFailure() << "another error: " << error.what();
  }
  return ::testing::AssertionFailure() << "no error";
}

TEST_P(Nonblocking, Errors) {
  const auto calls_here = calls(false);
  std::vector<int> a(4), b(4);
  const MPI_Count count = 4;
  const MPI_Count negative = -1;
  const auto allreduce = [&](const void* send, const MPI_Count* counts, MPI_Datatype type) {
    return calls_here->start({.collective = Collective::allreduce,
                              .sendbuf = send,
                              .recvbuf = b.data(),
                              .recvcounts = counts,
                              .recvtypes = &type,
                              .op = MPI_SUM},
                             MPI_INFO_NULL, executor());
  };
  const std::vector<int> places(static_cast<std::size_t>(world_size()));
  const auto alltoallv = [&](const void* send, int counts) {
    const std::vector<int> all(places.size(), counts);
    const MPI_Datatype type = MPI_INT;
    return calls_here->start({.collective = Collective::alltoallv,
                              .sendbuf = send,
                              .sendcounts = all.data(),
                              .sdispls = places.data(),
                              .sendtypes = &type,
                              .recvbuf = b.data(),
                              .recvcounts = all.data(),
                              .rdispls = places.data(),
                              .recvtypes = &type},
                             MPI_INFO_NULL, executor());
  };
  using stoker::engine::Code;
  EXPECT_TRUE(refuses([&] { (void)allreduce(a.data(), &negative, MPI_INT); }, Code::argument));
  EXPECT_TRUE(refuses([&] { (void)allreduce(nullptr, &count, MPI_INT); }, Code::argument));
  EXPECT_EQ(alltoallv(MPI_IN_PLACE, 1), nullptr);
  EXPECT_TRUE(refuses([&] { (void)alltoallv(a.data(), -1); }, Code::argument));
  const auto call = allreduce(a.data(), &count, MPI_INT);
  call->wait();
  call->finish();
  // MPI forbids one buffer for both, but MPI libraries carry it out.
  std::ranges::fill(b, 1);
  const auto aliased = allreduce(b.data(), &count, MPI_INT);
  aliased->wait();
  aliased->finish();
  EXPECT_EQ(b, std::vector<int>(4, world_size()));
  calls_here->close();
  EXPECT_TRUE(refuses([&] { (void)allreduce(a.data(), &count, MPI_INT); }, Code::request));
}

// Requests for which there is no room are the MPI library's, on all ranks.
TEST_P(Nonblocking, WithoutMemoryForRequests) {
  EngineOwner small(MPI_COMM_WORLD,
                    {{"executor", GetParam()}, {"arena_bytes", "2M"}, {"access", "staged"}, {"log", "error"}});
  Calls calls_here(stoker::api::engine_of(small.get()), MPI_COMM_WORLD, false);
  const std::vector<Case> list = cases();
  int by_mpi = 0;
  for (int round = 0; round < 3; ++round) {
    Trip trip(list.front(), {.count = 650'000}, false, 1);
    trip.ask_mpi(reference());
    trip.start(calls_here, executor());
    complete(trip.call(), true);
    by_mpi += trip.call().report().by_mpi ? 1 : 0;
    trip.check();
    one_by_one(calls_here, list.front(), {.count = 10}, false, 5);
  }
  const int nodes = stoker::api::engine_of(small.get())->layout().nodes();
  EXPECT_EQ(by_mpi > 0, world_size() > 2 || nodes > 1); // two ranks of one node need no room
  calls_here.close();
}

// Memory to copy to, for which the arena has no room, is had elsewhere.
TEST_P(Nonblocking, WithoutMemoryForCopies) {
  EngineOwner small(MPI_COMM_WORLD, {{"executor", GetParam()}, {"arena_bytes", "2M"}, {"log", "error"}});
  Calls calls_here(stoker::api::engine_of(small.get()), MPI_COMM_WORLD, false);
  const std::vector<Case> list = cases();
  const GappedType gapped;
  const Case& alltoall = *std::ranges::find(list, Collective::alltoall, &Case::collective);
  one_by_one(calls_here, alltoall, {.count = 400'000 / world_size(), .type = gapped.get(), .extent = 3}, false, 5);
  one_by_one(calls_here, list.front(), {.count = 10}, false, 5);
  calls_here.close();
}

// Counts that differ, which MPI forbids, are noticed on all ranks and left to the MPI library; other calls are not
// affected.
TEST_P(Nonblocking, AMismatchIsTheMpiLibrarys) {
  const auto calls_here = calls(false);
  const std::vector<Case> list = cases();
  const Case& gather = *std::ranges::find(list, Collective::gather, &Case::collective);
  if (world_size() > 1) { // the root expects more than is sent, which both libraries take
    Trip trip(gather, {.count = world_rank() == 0 ? 6 : 5}, false, 1);
    trip.start(*calls_here, executor());
    complete(trip.call(), true);
    EXPECT_TRUE(trip.call().report().by_mpi);
    trip.call().finish();
  }
  one_by_one(*calls_here, gather, {.count = 7}, false, 5);
}

// More shapes than are kept. The one that has not been called for longest goes, but only after many calls of others; on
// a rank that is late, its last calls are under way then.
TEST_P(Nonblocking, ManyShapes) {
  using stoker::engine::KeptShapes;
  const auto calls_here = calls();
  const std::vector<Case> list = cases();
  const Case& allreduce = *std::ranges::find(list, Collective::allreduce, &Case::collective);
  for (int i = 1; i <= static_cast<int>(KeptShapes::most); ++i) {
    one_by_one(*calls_here, allreduce, {.count = i}, false, 1);
  }
  const auto has_place = [&](int count) {
    Trip trip(allreduce, {.count = count}, false, 1);
    trip.ask_mpi(reference());
    if (!trip.start(*calls_here, executor())) {
      return false;
    }
    complete(trip.call(), true);
    trip.check();
    return true;
  };
  for (std::uint64_t i = 0; i < 2 * KeptShapes::calls_to_come; ++i) {
    EXPECT_FALSE(has_place(100)); // all others are in use
  }
  std::deque<Trip> last_of_first;
  for (std::uint64_t i = 0; i < lanes_of_a_shape + 2; ++i) { // all lanes, and two that are put off
    last_of_first.emplace_back(allreduce, Terms{.count = 1}, false, i);
    last_of_first.back().ask_mpi(reference());
  }
  MPI_Barrier(reference());
  for (Trip& trip : last_of_first) {
    ASSERT_TRUE(trip.start(*calls_here, executor()));
  }
  for (std::uint64_t i = 0; i < KeptShapes::calls_to_go; ++i) {
    Trip trip(allreduce, {.count = 2 + static_cast<int>(i % (KeptShapes::most - 1))}, false, i);
    ASSERT_TRUE(trip.start(*calls_here, executor()));
    complete(trip.call(), true);
    trip.call().finish();
  }
  EXPECT_TRUE(has_place(100));
  EXPECT_FALSE(has_place(101));
  // Trials by the MPI library do not wait for the application, which has not ended the calls of the shape before.
  for (int i = 0; i < enough; ++i) {
    EXPECT_TRUE(has_place(100));
    EXPECT_TRUE(has_place(3));
    EXPECT_FALSE(has_place(1));
  }
  for (Trip& trip : last_of_first) {
    complete(trip.call(), true);
    trip.check();
  }
  EXPECT_TRUE(has_place(100));
}

INSTANTIATE_TEST_SUITE_P(Executors, Nonblocking, ::testing::Values("engine", "inline"),
                         [](const auto& which) { return std::string(which.param); });

} // namespace
} // namespace api_tests
