// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/advice.hpp"
#include "api/pmpi/collectives.hpp"
#include "api/pmpi/covered.hpp"
#include "api/pmpi/handles.hpp"
#include "engine/base/agreement.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace stoker::pmpi {
namespace {

class NonblockingRequest final : public Request, private Outstanding {
public:
  NonblockingRequest(const CollectiveCall& call, Communicator& communicator, bool small)
      : Request(call.comm), communicator_(communicator.shared_from_this()), covered_(call, communicator) {
    call_ = covered_.start(communicator.executor(), false, small);
    communicator.enlist(*this);
  }
  NonblockingRequest(const NonblockingRequest&) = delete;
  NonblockingRequest& operator=(const NonblockingRequest&) = delete;
  ~NonblockingRequest() override { complete_early(); }

  [[nodiscard]] MPI_Comm comm() const override { return communicator_->comm_for_errors(); }
  [[nodiscard]] bool persistent() const override { return false; }
  [[nodiscard]] bool active() const override { return active_; }
  void start() override { throw engine::Error(engine::Code::request, "request is not persistent"); }
  [[nodiscard]] bool done() override { return call_ == nullptr || call_->done(); }
  void wait() override {
    if (call_ != nullptr) {
      call_->wait();
    }
  }
  void look_around(std::uint64_t waited_ns) override {
    if (call_ != nullptr) {
      call_->look_around(waited_ns);
    }
  }
  void settle() override { end(); }
  void finish() override {
    active_ = false;
    end();
    if (failure_) {
      throw *std::exchange(failure_, std::nullopt);
    }
  }

private:
  // Called if the end of MPI comes before the call's completion.
  void complete_early() override {
    if (call_ != nullptr) {
      failure_ = engine::attempt([&] { call_->wait(); });
      if (failure_) {
        (void)call_.release(); // a process is lost, and the call under way for ever
        communicator_->delist(*this);
      }
    }
    end();
  }

  void end() {
    if (call_ == nullptr) {
      return;
    }
    try {
      call_->finish();
    } catch (const engine::Error& error) {
      failure_ = error;
    }
    covered_.record(Form::nonblocking, *call_);
    call_.reset();
    communicator_->delist(*this);
  }

  std::shared_ptr<Communicator> communicator_;
  CoveredCall covered_;
  bool active_ = true;
  std::unique_ptr<engine::CallUnderWay> call_; // null once it is complete and finished
  std::optional<engine::Error> failure_;
};

} // namespace

std::optional<int> nonblocking_call(const CollectiveCall& call, MPI_Request* request, MPI_Comm& comm) {
  if (request == nullptr) { // which the MPI library may refuse
    count_fallback(Form::nonblocking, call.collective, Reason::mistake);
    return std::nullopt;
  }
  if (advising()) {
    return advised_start(call, request);
  }
  return if_covered(Form::nonblocking, call, [&](Communicator& communicator, std::optional<std::uint64_t> small) {
    if (small) {
      const MPI_Comm to_pass = communicator.calls(call.collective)->comm_to_pass(call, *small, communicator.executor());
      if (to_pass != MPI_COMM_NULL) {
        count_fallback(Form::nonblocking, call.collective, Reason::too_small);
        comm = to_pass;
        return false;
      }
    }
    *request = insert(std::make_unique<NonblockingRequest>(call, communicator, small.has_value()));
    return true;
  });
}

std::optional<int> blocking_call(const CollectiveCall& call) {
  if (advising()) {
    return advised_call(call);
  }
  return if_covered(Form::blocking, call, [&](Communicator& communicator, std::optional<std::uint64_t> /*small*/) {
    const CoveredCall covered(call, communicator);
    // This thread has nothing else to do, and so executes the call itself.
    const auto under_way = covered.start(engine::Executor::inline_, true);
    under_way->wait();
    under_way->finish();
    covered.record(Form::blocking, *under_way);
    return true;
  });
}

} // namespace stoker::pmpi
