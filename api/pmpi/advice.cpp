// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/advice.hpp"

#include "api/pmpi/advised_plan.hpp"
#include "api/pmpi/call_path.hpp"
#include "api/pmpi/followed_requests.hpp"
#include "api/pmpi/handle_table.hpp"
#include "api/pmpi/host_name.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/state.hpp"
#include "api/reports/computation.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"
#include "engine/base/never_destroyed.hpp"
#include "engine/data/mpi_collectives.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::pmpi {
namespace {

using engine::CollectiveCall;
using engine::now_ns;
using reports::AdvisedSums;

double in_seconds(std::uint64_t ns) { return 1e-9 * static_cast<double>(ns); }

// As MPI names it: MPI_Ialltoall.
std::string function_of(Form form, Collective collective) {
  std::string name(name_of(collective));
  if (form == Form::nonblocking) {
    return "MPI_I" + name;
  }
  name.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(name.front())));
  return "MPI_" + name + (form == Form::persistent ? "_init" : "");
}

std::string_view name_of_function(Form form, Collective collective) {
  static const auto& names = *new auto([] {
    std::array<std::array<std::string, algos::collective_count>, form_count> all;
    for (std::size_t f = 0; f < all.size(); ++f) {
      for (std::size_t c = 0; c < all[f].size(); ++c) {
        all[f][c] = function_of(static_cast<Form>(f), static_cast<Collective>(c));
      }
    }
    return all;
  }());
  return names[static_cast<std::size_t>(form)][static_cast<std::size_t>(collective)];
}

// Calls that have a line of their own.
struct Site {
  CallPath path;
  std::string_view function;
  Form form = Form::blocking;
  AdvisedPlan plan;
  auto operator<=>(const Site&) const = default;
};

// When a call of an MPI function began, and that it has ended now.
struct Span {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = now_ns();
};

class Advisor final : public Follower {
public:
  void start() {
    phase_ = phase_now();
    detail::follower.store(this, std::memory_order_relaxed);
    detail::following.store(true, std::memory_order_relaxed);
  }

  void control(int level) {
    const std::lock_guard lock(mutex_);
    recorded_ = recorded_until_now();
    records_ = level != 0;
    phase_ = phase_now();
    if (level == 2) {
      recorded_ = {};
      not_followed_ = 0;
      forgotten_until_ = computation_.clock(phase_.all);
      for (auto& [site, sums] : sites_) {
        sums = {}; // requests refer to them
      }
    }
  }
  void called(const Site& site, std::uint64_t bytes, const Span& span) {
    const std::lock_guard lock(mutex_);
    add_call(records_ ? sums_of(site) : left_out_, bytes, span);
    (void)clock_after(span);
  }
  void started(const Site& site, std::uint64_t bytes, const Span& span, MPI_Request request) {
    const std::lock_guard lock(mutex_);
    AdvisedSums& sums = records_ ? sums_of(site) : left_out_;
    add_call(sums, bytes, span);
    follow(request, {.begin_ns = clock_after(span), .advice = &sums});
  }
  void made(const Site& site, std::uint64_t bytes, MPI_Request request) {
    const std::lock_guard lock(mutex_);
    if (persistent_.size() >= most_requests) {
      not_followed_ += records_ ? 1 : 0;
      return;
    }
    persistent_.insert(request, {.bytes = bytes, .advice = &sums_of(site)});
    detail::followed_persistent.store(persistent_.size(), std::memory_order_relaxed);
  }

  void message_started(const MessageCall& call, MPI_Request request, std::uint64_t bytes) override {
    if (depth == 0) {
      const Span span{call.begin_ns};
      started(site_of(call, Form::nonblocking, bytes), bytes, span, request);
    }
  }
  void message_made(const MessageCall& call, MPI_Request request, std::uint64_t bytes) override {
    if (depth == 0) {
      made(site_of(call, Form::persistent, bytes), bytes, request);
    }
  }
  void started(int count, const MPI_Request* requests, std::uint64_t begin_ns) override;
  void forget(MPI_Request request) override {
    const std::lock_guard lock(mutex_);
    (void)persistent_.take(request);
    detail::followed_persistent.store(persistent_.size(), std::memory_order_relaxed);
  }
  std::uint64_t take(Completing kind, int count, const MPI_Request* requests, std::vector<Taken>& taken) override;
  void put_back(Completing kind, std::uint64_t begin_ns, const std::vector<Taken>& taken) override;

  [[nodiscard]] reports::Advice advice();

private:
  // The time in which calls are recorded, in ns, and what of it was spent in MPI.
  struct Phase {
    std::uint64_t all = 0;
    std::uint64_t in_calls = 0;
  };
  static constexpr std::size_t most_sites = 4096;
  static constexpr std::size_t most_requests = 65536;

  static Site site_of(const MessageCall& call, Form form, std::uint64_t bytes) {
    return {call_path(call.site), call.function, form, plan_for_message(bytes)};
  }

  // Where there are too many, calls count as those of a place that is not known.
  AdvisedSums& sums_of(const Site& site) {
    const auto found = sites_.find(site);
    if (found != sites_.end()) {
      return found->second;
    }
    Site known = site;
    if (sites_.size() >= most_sites) {
      known.path = {};
    }
    return sites_[known];
  }
  void add_call(AdvisedSums& sums, std::uint64_t bytes, const Span& span) {
    ++sums.calls;
    sums.bytes += bytes;
    sums.call_seconds += in_seconds(span.end_ns - span.begin_ns);
  }
  [[nodiscard]] Phase phase_now() const { return {now_ns(), computation_.in_calls_ns()}; }
  [[nodiscard]] Phase recorded_until_now() const {
    const Phase now = phase_now();
    return !records_ ? recorded_
                     : Phase{recorded_.all + now.all - phase_.all, recorded_.in_calls + now.in_calls - phase_.in_calls};
  }
  // The clock of computation after a call. What has been recorded since it ended is no computation.
  [[nodiscard]] std::uint64_t clock_after(const Span& span) {
    const std::uint64_t now = now_ns();
    computation_.called(span.begin_ns, now);
    return computation_.clock(now);
  }
  // The MPI library may return one handle for several requests that it has completed at once: one of them is followed.
  void follow(MPI_Request request, const Followed& what) {
    if (request == MPI_REQUEST_NULL) {
      return;
    }
    if (requests_.size() >= most_requests) {
      not_followed_ += records_ ? 1 : 0;
      return;
    }
    requests_.insert(request, what);
    detail::followed.store(requests_.size() + taken_, std::memory_order_relaxed);
  }

  std::mutex mutex_; // guards what follows
  bool records_ = true;
  Phase phase_;                       // as that of the present calls began
  Phase recorded_;                    // before it
  std::uint64_t forgotten_until_ = 0; // on the clock of computation
  reports::Computation computation_;
  std::map<Site, AdvisedSums> sites_; // whose sums stay where they are
  AdvisedSums left_out_;              // of calls that are not recorded
  HandleTable<MPI_Request, Followed> requests_;
  HandleTable<MPI_Request, Followed> persistent_;
  std::size_t taken_ = 0; // requests in calls that may complete them
  std::uint64_t not_followed_ = 0;
};
// Never destroyed: MPI_Finalize may be called by a destructor.
engine::NeverDestroyed<Advisor> advisor_storage;
Advisor& advisor = advisor_storage.object;

void Advisor::started(int count, const MPI_Request* requests, std::uint64_t begin_ns) {
  const Span span{begin_ns};
  const std::lock_guard lock(mutex_);
  const std::uint64_t clock = clock_after(span);
  for (int i = 0; i < count; ++i) {
    if (const Followed* const made = persistent_.find(requests[i])) {
      AdvisedSums& sums = records_ ? *made->advice : left_out_;
      ++sums.calls;
      sums.bytes += made->bytes;
      sums.call_seconds += in_seconds(span.end_ns - span.begin_ns) / count;
      follow(requests[i], {.begin_ns = clock, .advice = &sums});
    }
  }
}

std::uint64_t Advisor::take(Completing /*kind*/, int count, const MPI_Request* requests, std::vector<Taken>& taken) {
  const std::uint64_t begin_ns = now_ns();
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < count; ++i) {
    const auto found = requests[i] == MPI_REQUEST_NULL ? std::nullopt : requests_.take(requests[i]);
    if (found) {
      taken.push_back({requests[i], i, *found});
    }
  }
  taken_ += taken.size();
  return begin_ns;
}

// The time of the call is shared equally by the requests that it completes, or by all if it completes none. What could
// have hidden it is what was computed since the first of them began.
void Advisor::put_back(Completing kind, std::uint64_t begin_ns, const std::vector<Taken>& taken) {
  const Span span{begin_ns};
  const std::lock_guard lock(mutex_);
  const std::uint64_t clock = computation_.clock(span.begin_ns);
  const auto complete = static_cast<std::size_t>(std::ranges::count(taken, true, &Taken::complete));
  const bool none = complete == 0;
  std::uint64_t first = clock;
  for (const Taken& each : taken) {
    first = none || each.complete ? std::min(first, each.what.begin_ns) : first;
  }
  const double share = 1.0 / static_cast<double>(none ? taken.size() : complete);
  const double exposed = in_seconds(span.end_ns - span.begin_ns) * share;
  const double hideable = in_seconds(computation_.hide(first, clock, span.end_ns - span.begin_ns)) * share;
  taken_ -= taken.size();
  for (const Taken& each : taken) {
    const bool counts = records_ && each.what.begin_ns >= forgotten_until_;
    AdvisedSums& sums = counts ? *each.what.advice : left_out_;
    if (none || each.complete) {
      sums.exposed_seconds += exposed;
      sums.hideable_seconds += hideable;
      sums.test_seconds += kind == Completing::tests ? exposed : 0;
    }
    if (each.complete) {
      sums.computing_seconds += in_seconds(clock - std::min(clock, each.what.begin_ns));
    } else {
      follow(each.request, each.what);
    }
  }
  detail::followed.store(requests_.size() + taken_, std::memory_order_relaxed);
  (void)clock_after(span);
}

reports::Advice Advisor::advice() {
  const std::lock_guard lock(mutex_);
  const Phase recorded = recorded_until_now();
  reports::Advice advice{.ranks = 1,
                         .hosts = {host_name()},
                         .seconds = in_seconds(recorded.all),
                         .mpi_seconds = in_seconds(recorded.in_calls),
                         .calls = {},
                         .not_followed = not_followed_};
  for (const auto& [site, sums] : sites_) {
    if (sums.calls != 0) { // else a persistent request that was never started
      advice
          .calls[{.called_from = names_of(site.path),
                  .function = std::string(site.function),
                  .form = std::string(name_of(site.form)),
                  .plan = std::string(name_of(site.plan.plan)),
                  .reason = std::string(site.plan.reason)}]
          .add(sums);
    }
  }
  return advice;
}

Site site_of(Form form, const CollectiveCall& call) {
  return {call_path(call.site), name_of_function(form, call.collective), form, plan_for(form, call)};
}

// What `function` returns, which may call others of the MPI library.
template <class Function>
int inside(Function function) {
  const Inside inside;
  return function();
}

// Records what record() does, if the MPI library took the call.
template <class Record>
int recorded(int code, Record record) {
  if (code == MPI_SUCCESS) {
    (void)engine::attempt(record);
  }
  return code;
}

} // namespace

void start_advising() {
  advisor.start();
  detail::advising.store(true, std::memory_order_relaxed);
}

void stop_advising() {
  if (advising()) {
    detail::advising.store(false, std::memory_order_relaxed);
    detail::following.store(false, std::memory_order_relaxed);
    detail::followed.store(0, std::memory_order_relaxed);
    detail::followed_persistent.store(0, std::memory_order_relaxed);
  }
}

void control_advising(int level) {
  if (advising()) {
    advisor.control(level);
  }
}

std::optional<int> advised_call(const CollectiveCall& call) {
  if (depth > 0) {
    return std::nullopt;
  }
  const std::uint64_t begin_ns = now_ns();
  const int code = inside([&] { return engine::call_mpi(call, call.comm); });
  const Span span{begin_ns};
  return recorded(code, [&] { advisor.called(site_of(Form::blocking, call), bytes_of(call), span); });
}

std::optional<int> advised_start(const CollectiveCall& call, MPI_Request* request) {
  const bool large = call.sendcounts.wide != nullptr || call.recvcounts.wide != nullptr;
  if (depth > 0 || (large && real().MPI_Ialltoall_c == nullptr)) { // narrowed arrays would have to live on
    return std::nullopt;
  }
  const std::uint64_t begin_ns = now_ns();
  const int code = inside([&] {
    engine::NarrowArrays unused;
    return engine::start_mpi(call, call.comm, request, unused);
  });
  const Span span{begin_ns};
  return recorded(code, [&] { advisor.started(site_of(Form::nonblocking, call), bytes_of(call), span, *request); });
}

int advised_init(const CollectiveCall& call, MPI_Request* request, const std::function<int(MPI_Request*)>& mpi) {
  const int code = inside([&] { return mpi(request); });
  return recorded(code, [&] { advisor.made(site_of(Form::persistent, call), bytes_of(call), *request); });
}

reports::Advice own_advice() { return advisor.advice(); }

} // namespace stoker::pmpi
