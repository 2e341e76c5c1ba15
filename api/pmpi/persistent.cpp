// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/persistent.hpp"

#include "api/pmpi/anchored.hpp"
#include "api/pmpi/by_mpi.hpp"
#include "api/pmpi/byte_blocks.hpp"
#include "api/pmpi/communicators.hpp"
#include "api/pmpi/errors.hpp"
#include "api/pmpi/handles.hpp"
#include "api/pmpi/mpi_calls.hpp"
#include "api/pmpi/operators.hpp"
#include "api/pmpi/private_comms.hpp"
#include "api/pmpi/routed.hpp"
#include "api/pmpi/settings.hpp"
#include "api/pmpi/state.hpp"
#include "api/pmpi/statistics.hpp"
#include "engine/base/agreement.hpp"
#include "engine/requests/alltoall.hpp"
#include "engine/requests/neighbor_alltoall.hpp"
#include "engine/requests/vector_request.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace stoker::pmpi {
namespace {

using algos::Collective;
using engine::Code;
using engine::Error;
using EngineRequest = std::unique_ptr<engine::Request>;

// Of the w-forms.
struct Bytes {
  ByteBlocks send; // none in place
  ByteBlocks recv;
  bool in_place = false;
};

class ByEngine final : public Request {
public:
  ByEngine(const CollectiveCall& call, std::uint64_t communicator, EngineRequest request, std::optional<Bytes> bytes)
      : Request(call.comm), op_(combines(call.family) ? OperatorUse(call.op) : OperatorUse()), bytes_(std::move(bytes)),
        request_(std::move(request)) {
    const engine::RequestPlan& plan = request_->plan();
    record_ = {.site = call.site,
               .communicator = communicator,
               .family = call.family,
               .form = Form::persistent,
               .bytes = plan.send.bytes() > 0 ? plan.send.bytes() : plan.recv.bytes(),
               .algorithm = plan.choice_text};
  }

  [[nodiscard]] const CallRecord& latest() const { return record_; }

  [[nodiscard]] bool persistent() const override { return true; }
  [[nodiscard]] bool active() const override { return active_; }

  void start() override {
    if (bytes_) {
      (bytes_->in_place ? bytes_->recv : bytes_->send).pack();
    }
    request_->start();
    active_ = true;
  }

  [[nodiscard]] bool done() override {
    bool complete = true;
    if (active_ && !failure_) {
      attempt([&] { complete = request_->peek(); });
    }
    return complete || failure_;
  }

  void wait() override {
    if (active_ && !settled_ && !failure_) {
      attempt([&] { request_->await(); });
      waited_ = true;
    }
  }

  void settle() override {
    if (!active_ || settled_ || failure_) {
      return;
    }
    attempt([&] {
      waited_ ? request_->finish() : request_->wait(); // which learns from where the request was found complete
      if (bytes_) {
        bytes_->recv.unpack();
      }
    });
    settled_ = true;
  }

  void finish() override {
    settle();
    active_ = waited_ = settled_ = false;
    if (const std::optional<Error> failure = std::exchange(failure_, std::nullopt)) {
      throw *failure;
    }
    take_times();
  }

private:
  // An error ends the epoch, too: finish() tells it.
  template <class Attempt>
  void attempt(Attempt&& once) {
    try {
      once();
    } catch (const Error& error) {
      failure_ = error;
    }
  }

  void take_times() {
    const engine::RequestStatistics& now = request_->statistics();
    record_.exchange_seconds = now.exchange_seconds - before_.exchange_seconds;
    record_.exposed_seconds = now.exposed_seconds - before_.exposed_seconds;
    before_ = now;
    record(record_);
  }

  OperatorUse op_;
  std::optional<Bytes> bytes_;
  EngineRequest request_;
  CallRecord record_;
  engine::RequestStatistics before_;
  bool active_ = false;
  bool waited_ = false;
  bool settled_ = false;
  std::optional<Error> failure_;
};

Collective collective_of(Family family) {
  switch (family) {
  case Family::alltoallw:
    return Collective::alltoallv;
  case Family::neighbor_allgather: // one block for all
    return Collective::neighbor_alltoall;
  case Family::neighbor_allgatherv:
  case Family::neighbor_alltoallw:
    return Collective::neighbor_alltoallv;
  default:
    return algos::find_collective(name_of(family)).value();
  }
}

// Counts or displacements as wide as the engine takes them. Null stays null.
template <class Wide>
class Widened {
public:
  Widened() = default;
  Widened(const Numbers<Wide>& given, std::size_t count) : given_(given.given()) {
    for (std::size_t i = 0; given_ && i < count; ++i) {
      values_.push_back(given[i]);
    }
  }
  explicit Widened(std::vector<Wide> values) : given_(true), values_(std::move(values)) {}
  [[nodiscard]] const Wide* data() {
    values_.reserve(1); // else it may be null
    return given_ ? values_.data() : nullptr;
  }

private:
  bool given_ = false;
  std::vector<Wide> values_;
};

// One buffer of a call whose blocks have one datatype: a block for each of `peers`.
struct Blocks {
  enum class Counts { each, one, one_block };
  Blocks() = default;
  Blocks(const Numbers<MPI_Count>& given_counts, const Numbers<MPI_Aint>& given_displs, Counts form,
         std::size_t peers) {
    if (form == Counts::each || !given_counts.given()) {
      counts = Widened(given_counts, peers);
      displs = Widened(given_displs, peers);
      return;
    }
    const MPI_Count count = given_counts[0];
    std::vector<MPI_Aint> places(peers);
    for (std::size_t i = 0; form == Counts::one && i < peers; ++i) {
      places[i] = static_cast<MPI_Aint>(i) * count;
    }
    counts = Widened(std::vector<MPI_Count>(peers, count));
    displs = Widened(std::move(places));
  }
  Widened<MPI_Count> counts;
  Widened<MPI_Aint> displs;
};

// Makes the engine's request for a call: local preparation, then what is collective.
class Maker {
public:
  Maker(const CollectiveCall& call, Communicator& communicator)
      : call_(call), communicator_(communicator), peers_(peers_of(call, call.comm)) {
    const bool gathers = call.family == Family::gather || call.family == Family::gatherv;
    const bool scatters = call.family == Family::scatter || call.family == Family::scatterv;
    sends_ = call.sendtypes != nullptr && call.sendbuf != MPI_IN_PLACE && (!scatters || peers_.at_root);
    receives_ = call.recvtypes != nullptr && call.recvbuf != MPI_IN_PLACE && (!gathers || peers_.at_root);
  }

  // Throws engine::Error.
  void prepare() {
    if (each_its_type()) {
      const std::shared_ptr<engine::Engine>& engine = the_engine();
      bytes_.emplace();
      bytes_->in_place = call_.sendbuf == MPI_IN_PLACE;
      bytes_->recv = ByteBlocks(engine, call_.recvbuf, call_.recvcounts, call_.rdispls, call_.recvtypes, sources());
      if (!bytes_->in_place) {
        bytes_->send = ByteBlocks(engine, const_cast<void*>(call_.sendbuf), call_.sendcounts, call_.sdispls,
                                  call_.sendtypes, targets());
      }
      return;
    }
    // Reductions of data at MPI_BOTTOM would need a user-defined operator for such types; the engine refuses them.
    const bool anchors = !combines(call_.family);
    send_.emplace(call_.sendbuf, call_.sendtypes, anchors && sends_);
    recv_.emplace(call_.recvbuf, call_.recvtypes, anchors && receives_);
    if (is_neighborhood(call_.family)) {
      (void)communicator_.neighbors();
    }
  }

  // Collective; throws engine::Error on all ranks. prepare() has succeeded on all.
  std::unique_ptr<ByEngine> make(MPI_Info info) {
    EngineRequest request;
    if (each_its_type()) {
      request = exchange({.sendbuf = bytes_->in_place ? MPI_IN_PLACE : bytes_->send.address(),
                          .sendcounts = bytes_->send.bytes(),
                          .sdispls = bytes_->send.displs(),
                          .sendtype = MPI_BYTE,
                          .recvbuf = bytes_->recv.address(),
                          .recvcounts = bytes_->recv.bytes(),
                          .rdispls = bytes_->recv.displs(),
                          .recvtype = MPI_BYTE,
                          .comm = call_.comm,
                          .info = info});
    } else if (is_neighborhood(call_.family) || call_.family == Family::alltoall || call_.family == Family::alltoallv) {
      request = exchange_of_blocks(info);
    } else {
      request = vector_request(info);
    }
    return std::make_unique<ByEngine>(call_, communicator_.id(), std::move(request), std::move(bytes_));
  }

private:
  [[nodiscard]] bool each_its_type() const {
    return call_.family == Family::alltoallw || call_.family == Family::neighbor_alltoallw;
  }

  // Whose blocks the two buffers of a w-form hold.
  std::span<const int> targets() {
    return is_neighborhood(call_.family) ? std::span(communicator_.neighbors().targets) : all_ranks();
  }
  std::span<const int> sources() {
    return is_neighborhood(call_.family) ? std::span(communicator_.neighbors().sources) : all_ranks();
  }
  std::span<const int> all_ranks() {
    all_ranks_.resize(peers_.ranks);
    std::iota(all_ranks_.begin(), all_ranks_.end(), 0);
    return all_ranks_;
  }

  [[nodiscard]] EngineRequest exchange(const engine::ExchangeArguments& arguments) {
    const Collective collective = collective_of(call_.family);
    return is_neighborhood(call_.family)
               ? make_neighbor_alltoall(the_engine(), collective, communicator_.neighbors(), arguments)
               : make_alltoall(the_engine(), collective, arguments);
  }

  [[nodiscard]] EngineRequest exchange_of_blocks(MPI_Info info) {
    using Counts = Blocks::Counts;
    Counts send_counts = Counts::each;
    Counts recv_counts = Counts::each;
    switch (call_.family) {
    case Family::alltoall:
    case Family::neighbor_alltoall:
      send_counts = recv_counts = Counts::one;
      break;
    case Family::neighbor_allgather:
      send_counts = Counts::one_block;
      recv_counts = Counts::one;
      break;
    case Family::neighbor_allgatherv:
      send_counts = Counts::one_block;
      break;
    default:
      break;
    }
    const bool neighborhood = is_neighborhood(call_.family);
    Blocks send;
    if (sends_) {
      send = Blocks(call_.sendcounts, call_.sdispls, send_counts, neighborhood ? peers_.targets : peers_.ranks);
    }
    Blocks recv(call_.recvcounts, call_.rdispls, recv_counts, neighborhood ? peers_.sources : peers_.ranks);
    return exchange({.sendbuf = send_->address(),
                     .sendcounts = send.counts.data(),
                     .sdispls = send.displs.data(),
                     .sendtype = send_->type(),
                     .recvbuf = recv_->address(),
                     .recvcounts = recv.counts.data(),
                     .rdispls = recv.displs.data(),
                     .recvtype = recv_->type(),
                     .comm = call_.comm,
                     .info = info});
  }

  [[nodiscard]] EngineRequest vector_request(MPI_Info info) {
    const CountsOf counts = counts_of(call_.family, peers_);
    Widened sendcounts(call_.sendcounts, counts.send);
    Widened sdispls(call_.sdispls, counts.send);
    Widened recvcounts(call_.recvcounts, counts.recv);
    Widened rdispls(call_.rdispls, counts.recv);
    return make_vector_request(the_engine(), collective_of(call_.family),
                               {.sendbuf = send_->address(),
                                .sendcounts = sendcounts.data(),
                                .sdispls = sdispls.data(),
                                .sendtype = send_->type(),
                                .recvbuf = recv_->address(),
                                .recvcounts = recvcounts.data(),
                                .rdispls = rdispls.data(),
                                .recvtype = recv_->type(),
                                .op = call_.op,
                                .root = call_.root,
                                .comm = call_.comm,
                                .info = info});
  }

  const CollectiveCall& call_;
  Communicator& communicator_;
  Peers peers_;
  bool sends_;
  bool receives_;
  std::vector<int> all_ranks_;
  std::optional<Bytes> bytes_;   // of the w-forms
  std::optional<Anchored> send_; // of all others
  std::optional<Anchored> recv_;
};

int keep(std::unique_ptr<Request> made, MPI_Comm comm, MPI_Request* request) {
  const std::optional<Error> failure = engine::attempt([&] { *request = insert(std::move(made)); });
  return failure ? report_error(comm, *failure) : MPI_SUCCESS;
}

// What the MPI library would not have noticed. Arguments that the engine refuses are left to its judgement: its errors are those
// that the application expects, and it may well take them.
bool is_final(const Error& error) {
  switch (error.code()) {
  case Code::argument:
  case Code::unsupported:
  case Code::resource:
  case Code::access:
  case Code::thread_level:
    return false;
  default:
    return true;
  }
}

// What there is to say before a request is made: not 0 where any rank says so.
struct Said {
  std::uint64_t failed = 0;        // what comes before any communication
  std::uint64_t off = 0;           // by info: it is to be the MPI library's
  std::uint64_t engine_only = 0;   // it is not to be tried with the MPI library
  std::uint64_t no_more_comms = 0; // of its own
  PrivateComms::Bits comms_in_use{};
  [[nodiscard]] bool comm_to_be_had() const { return no_more_comms == 0 || first_unused(comms_in_use); }
};

// The bits of all ranks. Collective over comm.
template <class Bits>
[[nodiscard]] Bits united(MPI_Comm comm, Bits mine) {
  static_assert(std::is_trivially_copyable_v<Bits>);
  engine::check_mpi(MPI_Allreduce(MPI_IN_PLACE, &mine, sizeof(Bits), MPI_BYTE, MPI_BOR, comm), "MPI_Allreduce");
  return mine;
}

// Of communicators for single requests, of which MPI libraries have few thousands: requests that are tried with the MPI library
// leave some for those that would not work without.
constexpr int most_tried = 256;
constexpr int most_by_mpi = 512;

// Collective. Null where `must` is false and it is not to be had on some rank.
std::unique_ptr<Request> request_by_mpi(const CollectiveCall& call, Communicator* communicator, bool must) {
  PrivateComms* const kept =
      communicator != nullptr && communicator->inherits() ? &communicator->private_comms() : nullptr;
  if (kept == nullptr && must) { // one rank, or an intercommunicator
    auto made = std::make_unique<ByMpi>(call);
    made->init(make_private_comm(call.comm));
    return made;
  }
  std::unique_ptr<ByMpi> made;
  std::optional<Error> failure = engine::attempt([&] { made = std::make_unique<ByMpi>(call); });
  Said said{.failed = failure ? 1U : 0U, .no_more_comms = private_comms_made() < most_by_mpi ? 0U : 1U};
  if (kept != nullptr) {
    said.comms_in_use = kept->in_use();
  } else {
    said.comms_in_use.fill(~std::uint64_t{0});
  }
  said = united(call.comm, said);
  if (said.failed == 0 && (must || said.comm_to_be_had())) {
    failure = engine::attempt(
        [&] { made->init(kept != nullptr ? kept->take(call.comm, said.comms_in_use) : make_private_comm(call.comm)); });
    if (united(call.comm, std::uint64_t{failure ? 1U : 0U}) == 0) {
      return made;
    }
    made->spoil();
  }
  if (must) {
    throw failure ? *failure : Error(Code::mpi, "the MPI library refuses the call on another rank");
  }
  return nullptr;
}

int by_mpi(const CollectiveCall& call, Communicator* communicator, MPI_Request* request, const MpiInit& mpi,
           Reason reason) {
  int inter = 0;
  MPI_Comm_test_inter(call.comm, &inter);
  const bool better =
      !own_requests_can_be_given() && inter == 0 && (is_open(Form::persistent) || reason == Reason::one_process);
  std::unique_ptr<Request> made;
  const std::optional<Error> failure = engine::attempt([&] {
    if (!mpi || better) {
      made = request_by_mpi(call, communicator, !mpi);
    }
  });
  if (failure) {
    return report_error(call.comm, *failure);
  }
  return made == nullptr ? mpi(request) : keep(std::move(made), call.comm, request);
}

// Whether the MPI library may carry out calls of a request. Local. It must be right, give the bits that are wanted, and a start must be
// possible to put off until the ranks agree on it.
bool may_try(const CollectiveCall& call, const OwnInfo& info) {
  if (!settings().pmpi_trials || info.names_how() || is_wrong_by_mpi(call) ||
      (combines(call.family) && !is_predefined(call.op))) {
    return false;
  }
  bool fixed_bits = false;
  if (combines(call.family)) {
    // What cannot be read is complained of later.
    (void)engine::attempt(
        [&] { fixed_bits = is_deterministic(*the_engine(), collective_of(call.family), info.get()); });
  }
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  return !fixed_bits && provided == MPI_THREAD_MULTIPLE;
}

// Before anything is said to other ranks; equal on all.
std::optional<Reason> why_not_at_all(const Communicator* communicator) {
  if (!is_open(Form::persistent)) {
    return gate(Form::persistent).because.load(std::memory_order_relaxed);
  }
  if (communicator == nullptr) {
    return Reason::no_engine;
  }
  if (!communicator->inherits()) {
    return communicator->reason();
  }
  return communicator->size() == 1 ? std::optional(Reason::one_rank) : std::nullopt;
}

} // namespace

int persistent_init(const CollectiveCall& call, MPI_Info info, MPI_Request* request, const MpiInit& mpi) {
  Communicator* const communicator = communicator_of(call.comm);
  const auto left = [&](Reason reason) {
    count_fallback(Form::persistent, call.family, reason);
    return by_mpi(call, communicator, request, mpi, reason);
  };
  if (const auto reason = why_not_at_all(communicator)) {
    return left(*reason);
  }
  std::unique_ptr<Request> made;
  std::optional<Reason> reason;
  const std::optional<Error> failure = engine::attempt([&] {
    const OwnInfo merged(communicator->info().get(), info);
    PrivateComms& comms = communicator->private_comms();
    const Said said = united(call.comm, Said{.off = merged.off() ? 1U : 0U,
                                             .engine_only = may_try(call, merged) ? 0U : 1U,
                                             .no_more_comms = private_comms_made() < most_tried ? 0U : 1U,
                                             .comms_in_use = comms.in_use()});
    if (said.off != 0) {
      reason = Reason::off_by_info;
      return;
    }
    Maker maker(call, *communicator);
    std::unique_ptr<ByMpi> tried;
    engine::agree(call.comm, engine::attempt([&] {
                    maker.prepare(); // whatever its size: it is initialised for that
                    if (said.engine_only == 0 && said.comm_to_be_had()) {
                      tried = std::make_unique<ByMpi>(call);
                    }
                  }));
    auto own = maker.make(merged.get());
    if (tried == nullptr) {
      made = std::move(own);
      return;
    }
    const auto refused = engine::attempt([&] { tried->init(comms.take(call.comm, said.comms_in_use)); });
    if (united(call.comm, std::uint64_t{refused ? 1U : 0U}) != 0) { // what the engine takes the MPI library need not
      tried->spoil();
      made = std::move(own);
      return;
    }
    const CallRecord record = own->latest();
    made = make_routed(std::move(own), std::move(tried), record);
  });
  if (failure) { // on all ranks
    std::uint64_t final = is_final(*failure) ? 1 : 0;
    const auto unknown = engine::attempt([&] { final = united(call.comm, final); });
    return final != 0 || unknown ? report_error(call.comm, *failure) : left(Reason::unsupported);
  }
  return reason ? left(*reason) : keep(std::move(made), call.comm, request);
}

} // namespace stoker::pmpi
