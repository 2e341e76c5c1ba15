// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/persistent.hpp"

#include "api/pmpi/advice.hpp"
#include "api/pmpi/anchored.hpp"
#include "api/pmpi/call_rules.hpp"
#include "api/pmpi/communicators.hpp"
#include "api/pmpi/covered.hpp"
#include "api/pmpi/errors.hpp"
#include "api/pmpi/handles.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/operators.hpp"
#include "api/pmpi/settings.hpp"
#include "api/pmpi/state.hpp"
#include "api/pmpi/statistics.hpp"
#include "engine/base/agreement.hpp"
#include "engine/calls/persistent_call.hpp"
#include "engine/requests/choices.hpp"
#include "engine/requests/init.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace stoker::pmpi {
namespace {

using engine::Code;
using engine::Error;
using engine::MpiRequest;
using engine::PrivateComms;

// Calls that are the MPI library's from the beginning do not count for the summary.
class PersistentRequest final : public Request {
public:
  // `communicator`: null if nothing is kept for it.
  PersistentRequest(const CollectiveCall& call, Communicator* communicator, bool counts,
                    std::unique_ptr<engine::Request> by_engine, std::unique_ptr<MpiRequest> by_mpi)
      : Request(call.comm), communicator_(communicator != nullptr ? communicator->shared_from_this() : nullptr),
        op_(call.op), site_{call_path(call.site), counts ? name_number(call.comm) : 0, call.collective,
                            Form::persistent},
        counts_(counts), call_(the_engine(), std::move(by_engine), std::move(by_mpi)) {}

  [[nodiscard]] MPI_Comm comm() const override {
    return communicator_ != nullptr ? communicator_->comm_for_errors() : Request::comm();
  }
  [[nodiscard]] bool persistent() const override { return true; }
  [[nodiscard]] bool active() const override { return call_.active(); }
  void start() override {
    recorded_ = counts_ && calls_are_recorded();
    call_.start(recorded_);
  }
  [[nodiscard]] bool done() override { return call_.done(); }
  void wait() override { call_.wait(); }
  void look_around(std::uint64_t waited_ns) override { call_.look_around(waited_ns); }
  void settle() override { call_.settle(); }
  void finish() override {
    call_.finish();
    if (recorded_) {
      record(site_, call_);
    }
  }

private:
  std::shared_ptr<Communicator> communicator_;
  OperatorUse op_;
  CallSite site_;
  bool counts_;
  bool recorded_ = false; // the latest call
  engine::PersistentCall call_;
};

int keep(std::unique_ptr<Request> made, MPI_Comm comm, MPI_Request* request) {
  const std::optional<Error> failure = engine::attempt([&] { *request = insert(std::move(made)); });
  return failure ? report_error(comm, *failure) : MPI_SUCCESS;
}

// Whether an error is final. Other errors are about arguments that the engine refuses: these are left to the MPI
// library, whose errors the application expects, and which may accept them.
bool is_final(const Error& error) {
  switch (error.code()) {
  case Code::argument:
  case Code::mismatch:
  case Code::unsupported:
  case Code::resource:
  case Code::access:
  case Code::thread_level:
    return false;
  default:
    return true;
  }
}

Reason why_refused(const Error& error) {
  switch (error.code()) {
  case Code::argument:
  case Code::mismatch:
    return Reason::arguments;
  case Code::resource:
    return Reason::memory;
  default:
    return Reason::unsupported;
  }
}

// What ranks tell each other before a request is made. A value is not 0 if any rank says so.
struct Said {
  std::uint64_t failed = 0;        // what comes before any communication
  std::uint64_t off = 0;           // by info: it is to be the MPI library's
  std::uint64_t mistaken = 0;      // the MPI library refuses it on that rank
  std::uint64_t not_combined = 0;  // the engine does not know the operation on the datatype
  std::uint64_t only_inline = 0;   // only calls for its request would bring it on with the engine
  std::uint64_t never_by_mpi = 0;  // the MPI library is wrong, or does not do what is asked for
  std::uint64_t engine_only = 0;   // it is not to be tried with both
  std::uint64_t no_context = 0;    // for the engine, on the communicator
  std::uint64_t no_more_comms = 0; // for the MPI library's calls
  PrivateComms::Bits comms_in_use{};
  [[nodiscard]] bool comm_to_be_had() const { return no_more_comms == 0 || engine::first_unused(comms_in_use); }
};

// The bits of all ranks. Collective over comm.
template <class Bits>
[[nodiscard]] Bits united(MPI_Comm comm, Bits mine) {
  static_assert(std::is_trivially_copyable_v<Bits>);
  engine::check_mpi(real().MPI_Allreduce(MPI_IN_PLACE, &mine, sizeof(Bits), MPI_BYTE, MPI_BOR, comm), "MPI_Allreduce");
  return mine;
}

// Collective. Null if `must` is false and some rank cannot make the request.
std::unique_ptr<MpiRequest> request_by_mpi(const CollectiveCall& call, Communicator* communicator, bool must) {
  PrivateComms* const kept =
      communicator != nullptr && communicator->inherits() ? &communicator->private_comms() : nullptr;
  if (kept == nullptr && must) { // one rank, or an intercommunicator
    auto made = std::make_unique<MpiRequest>(call);
    made->init(engine::make_private_comm(engine::OwnedComm::like(call.comm)));
    return made;
  }
  std::unique_ptr<MpiRequest> made;
  std::optional<Error> failure = engine::attempt([&] { made = std::make_unique<MpiRequest>(call); });
  Said said{.failed = failure ? 1U : 0U, .no_more_comms = has_room_for_comms(1) ? 0U : 1U};
  if (kept != nullptr) {
    said.comms_in_use = kept->in_use();
  } else {
    said.comms_in_use.fill(~std::uint64_t{0});
  }
  said = united(call.comm, said);
  if (said.failed == 0 && (must || said.comm_to_be_had())) {
    failure = engine::attempt([&] {
      made->init(kept != nullptr ? kept->take(call.comm, the_engine()->control(), said.comms_in_use)
                                 : engine::make_private_comm(engine::OwnedComm::like(call.comm)));
    });
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

// Local. Ranks of other jobs may not have this library, and make no calls but the program's.
bool has_foreign_ranks(MPI_Comm comm) {
  int world_is_there = 0;
  PMPI_Initialized(&world_is_there);
  if (world_is_there == 0) {
    return false; // sessions: ranks are those of the launch
  }
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group others = MPI_GROUP_NULL;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Comm_group(comm, &group);
  PMPI_Group_difference(group, world, &others);
  int count = 0;
  PMPI_Group_size(others, &count);
  for (MPI_Group* made : {&world, &group, &others}) {
    if (*made != MPI_GROUP_EMPTY) {
      PMPI_Group_free(made);
    }
  }
  return count > 0;
}

// 1 if the MPI library refuses it on this rank.
std::uint64_t is_wrong_here(const CollectiveCall& call, const Communicator& communicator) {
  bool wrong = false; // also where that cannot be found out
  (void)engine::attempt([&] { wrong = is_mistake(call, {communicator.size(), communicator.rank()}); });
  return wrong ? 1 : 0;
}

int by_mpi(const CollectiveCall& call, Communicator* communicator, MPI_Request* request, const MpiInit& mpi,
           Reason reason) {
  int inter = 0;
  if (call.comm != MPI_COMM_NULL) {
    PMPI_Comm_test_inter(call.comm, &inter);
  }
  const bool better = call.comm != MPI_COMM_NULL && !engine::own_request_can_be_given(call.collective) && inter == 0 &&
                      (is_open(Form::persistent) || reason == Reason::one_process) && !has_foreign_ranks(call.comm);
  std::unique_ptr<Request> made;
  const std::optional<Error> failure = engine::attempt([&] {
    const bool mistaken = better && communicator != nullptr && communicator->inherits() &&
                          united(call.comm, is_wrong_here(call, *communicator)) != 0; // on some rank: MPI says so
    std::unique_ptr<MpiRequest> own =
        !mpi || (better && !mistaken) ? request_by_mpi(call, communicator, !mpi) : nullptr;
    if (own != nullptr) {
      made = std::make_unique<PersistentRequest>(call, communicator, false, nullptr, std::move(own));
    }
  });
  if (failure) {
    return report_error(call.comm, *failure);
  }
  return made == nullptr ? mpi(request) : keep(std::move(made), call.comm, request);
}

bool has_own_operator(const CollectiveCall& call) { return combines(call.collective) && !is_predefined(call.op); }

bool mpi_has_threads() {
  int provided = MPI_THREAD_SINGLE;
  real().MPI_Query_thread(&provided);
  return provided == MPI_THREAD_MULTIPLE;
}

// Whether the MPI library is right and gives what is asked for. Local.
bool mpi_will_do(const CollectiveCall& call, const OwnInfo& info) {
  if (info.names_how() || engine::is_wrong_by_mpi(call)) {
    return false;
  }
  bool fixed_bits = false;
  if (combines(call.collective)) {
    // What cannot be read is complained of later.
    (void)engine::attempt([&] { fixed_bits = engine::is_deterministic(*the_engine(), call.collective, info.get()); });
  }
  return !fixed_bits;
}

// Whether both may be tried. Local. It must be possible to put a start off until the ranks agree on it.
bool may_try(const CollectiveCall& call, const OwnInfo& info) {
  return settings().pmpi_trials && mpi_will_do(call, info) && !has_own_operator(call) && mpi_has_threads();
}

// The reason to leave a call to the MPI library, found before ranks communicate; equal on all ranks.
std::optional<Reason> why_not_at_all(const Communicator* communicator, Collective collective) {
  if (!is_open(Form::persistent)) {
    return gate(Form::persistent).because.load(std::memory_order_relaxed);
  }
  if (communicator == nullptr) {
    return Reason::no_engine;
  }
  if (!communicator->inherits()) {
    return communicator->reason(collective);
  }
  if (communicator->size() == 1) {
    return Reason::one_rank;
  }
  return std::nullopt;
}

} // namespace

int persistent_init(const CollectiveCall& call, MPI_Info info, MPI_Request* request, const MpiInit& mpi) {
  if (mpi && request == nullptr) { // which the MPI library may refuse
    return mpi(request);
  }
  if (advising() && mpi) {
    return advised_init(call, request, mpi);
  }
  Communicator* const communicator = communicator_of(call.comm);
  const auto left = [&](Reason reason) {
    count_fallback(Form::persistent, call.collective, reason);
    return by_mpi(call, communicator, request, mpi, reason);
  };
  if (const auto reason = why_not_at_all(communicator, call.collective)) {
    return left(*reason);
  }
  std::unique_ptr<Request> made;
  std::optional<Reason> reason;
  const std::optional<Error> failure = engine::attempt([&] {
    const OwnInfo merged(communicator->info().get(), info);
    PrivateComms& comms = communicator->private_comms();
    bool not_combined = true; // also where the datatype cannot be read: MPI says so
    (void)engine::attempt([&] { not_combined = is_combined_by_mpi(call); });
    const Said said = united(call.comm, Said{.off = merged.off() ? 1U : 0U,
                                             .mistaken = is_wrong_here(call, *communicator),
                                             .not_combined = not_combined ? 1U : 0U,
                                             .only_inline = has_own_operator(call) || lacks_helpers() ? 1U : 0U,
                                             .never_by_mpi = mpi_will_do(call, merged) ? 0U : 1U,
                                             .engine_only = may_try(call, merged) ? 0U : 1U,
                                             .no_context = communicator->has_context_or_room() ? 0U : 1U,
                                             .no_more_comms = has_room_for_comms(1) ? 0U : 1U,
                                             .comms_in_use = comms.in_use()});
    if (said.off != 0) {
      reason = Reason::off_by_info;
      return;
    }
    if (said.mistaken != 0) {
      reason = Reason::mistake;
      return;
    }
    if (said.not_combined != 0) {
      reason = Reason::operator_on_type;
      return;
    }
    if (said.only_inline != 0 && said.never_by_mpi == 0) {
      reason = has_own_operator(call) ? Reason::operation
               : mpi_has_threads()    ? Reason::no_helpers
                                      : Reason::thread_level;
      return;
    }
    if (said.no_context != 0 || engine::attempt([&] { (void)the_engine()->context(call.comm); })) {
      reason = Reason::no_comm;
      return;
    }
    std::optional<AnchoredCall> anchored;
    std::unique_ptr<MpiRequest> tried;
    engine::agree(call.comm, engine::attempt([&] {
                    anchored.emplace(call, communicator->rank() == call.root,
                                     engine::asserted_kinds(info, communicator->memory()));
                    if (said.engine_only == 0 && said.comm_to_be_had()) {
                      tried = std::make_unique<MpiRequest>(call);
                    }
                  }));
    auto own = engine::init(the_engine(), anchored->call(), merged.get());
    if (tried != nullptr) {
      const auto refused =
          engine::attempt([&] { tried->init(comms.take(call.comm, the_engine()->control(), said.comms_in_use)); });
      if (united(call.comm, std::uint64_t{refused ? 1U : 0U}) != 0) { // what the engine takes the MPI library need not
        tried->spoil();
        tried.reset();
      }
    }
    made = std::make_unique<PersistentRequest>(call, communicator, true, std::move(own), std::move(tried));
  });
  if (failure) { // on all ranks
    std::uint64_t final = is_final(*failure) ? 1 : 0;
    const auto unknown = engine::attempt([&] { final = united(call.comm, final); });
    return final != 0 || unknown ? report_error(call.comm, *failure) : left(why_refused(*failure));
  }
  return reason ? left(*reason) : keep(std::move(made), call.comm, request);
}

} // namespace stoker::pmpi
