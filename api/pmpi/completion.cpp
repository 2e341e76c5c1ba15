// SPDX-License-Identifier: BSD-3-Clause
// MPI's functions that complete, start and free requests, for arrays that hold this library's next to the MPI library's own
// (MPI-4.1, sections 3.7.3 to 3.9). While there is none of this library's they cost a look at a counter.
#include "api/pmpi/errors.hpp"
#include "api/pmpi/handles.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/state.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/error.hpp"
#include "engine/core/engine.hpp"
#include "engine/helper/core_share.hpp"
#include "engine/helper/idle.hpp"
#include "engine/helper/waiting.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace stoker::pmpi {
namespace {

using engine::Code;
using engine::Error;

// An array that lasts as long as a call. Short ones take no allocation.
template <class T>
class Scratch {
public:
  explicit Scratch(std::size_t size) : many_(size > few ? size : 0), data_(size > few ? many_.data() : few_.data()) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] T& operator[](std::size_t i) { return data_[i]; }
  [[nodiscard]] T* data() { return data_; }

private:
  static constexpr std::size_t few = 64;
  std::array<T, few> few_; // not initialised: most calls use little of it
  std::vector<T> many_;
  T* data_;
};

// In a function that is told one request, MPI leaves the error field alone unless the status is to be empty.
enum class ErrorField { kept, set };

void set_empty(MPI_Status* status, ErrorField field = ErrorField::set) {
  if (status != MPI_STATUS_IGNORE) {
    MPI_Status empty{}; // no elements, not cancelled
    empty.MPI_SOURCE = MPI_ANY_SOURCE;
    empty.MPI_TAG = MPI_ANY_TAG;
    empty.MPI_ERROR = field == ErrorField::set ? MPI_SUCCESS : status->MPI_ERROR;
    *status = empty;
  }
}

MPI_Status* at(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

bool is_in_status(int code) {
  int error_class = MPI_SUCCESS;
  return code != MPI_SUCCESS && MPI_Error_class(code, &error_class) == MPI_SUCCESS && error_class == MPI_ERR_IN_STATUS;
}

// What happens between two attempts to find something done.
class Pause {
public:
  void operator()() {
    constexpr unsigned learn_every = 64; // attempts
    if (core().contended() || attempts_++ % learn_every == 0) {
      core().yield();
    } else {
      engine::relax_core();
    }
  }

private:
  static engine::CoreShare& core() {
    thread_local engine::CoreShare share;
    return share;
  }
  unsigned attempts_ = 0;
};

// Of a request that failed while others may not have.
struct Failure {
  MPI_Comm comm;
  Error error;
};

// Takes note of the end of a request that is done or inactive, with an empty status. What it stands for is gone before anybody is
// told of its error: an error handler need not come back.
std::optional<Failure> complete(Request& request, MPI_Request& handle, MPI_Status* status, ErrorField field) {
  if (!request.active()) {
    set_empty(status);
    return std::nullopt;
  }
  set_empty(status, field);
  const MPI_Comm comm = request.comm();
  const std::optional<Error> error = engine::attempt([&] { request.finish(); });
  if (!request.persistent()) {
    (void)remove(handle);
    handle = MPI_REQUEST_NULL;
  }
  return error ? std::optional(Failure{comm, *error}) : std::nullopt;
}

int complete_one(Request& request, MPI_Request& handle, MPI_Status* status) {
  const std::optional<Failure> failure = complete(request, handle, status, ErrorField::kept);
  return failure ? report_error(failure->comm, failure->error) : MPI_SUCCESS;
}

// The application's own messages must get on, too. MPICH's probe of MPI_COMM_SELF would not see to that; a request that is not the
// engine's asks MPI itself.
void drive_mpi() {
  if (the_engine() != nullptr) {
    engine::poke_mpi(the_engine()->network());
  }
}

// One attempt; MPI's own progress included where it is needed.
bool done(Request& request) {
  if (request.done()) {
    return true;
  }
  drive_mpi();
  return request.done();
}

// The requests of a call: this library's by place, and the MPI library's, null ones included, as an array of their own.
class Split {
public:
  Split(std::size_t count, MPI_Request* handles) : handles_(handles), ours(count), others(count), places(count) {
    for (std::size_t i = 0; i < count; ++i) {
      ours[i] = handles[i] == MPI_REQUEST_NULL ? nullptr : find(handles[i]);
      if (ours[i] == nullptr) {
        others[static_cast<std::size_t>(other_count)] = handles[i];
        places[static_cast<std::size_t>(other_count++)] = static_cast<int>(i);
      } else {
        any_ours_ = true;
      }
    }
  }
  [[nodiscard]] bool any_ours() const { return any_ours_; }

  // The MPI library has set some of its handles to null.
  void put_back() {
    for (int k = 0; k < other_count; ++k) {
      handles_[places[static_cast<std::size_t>(k)]] = others[static_cast<std::size_t>(k)];
    }
  }
  [[nodiscard]] int place(int other) { return places[static_cast<std::size_t>(other)]; }

private:
  MPI_Request* handles_;
  bool any_ours_ = false;

public:
  Scratch<Request*> ours;
  Scratch<MPI_Request> others;
  Scratch<int> places;
  int other_count = 0;
};

// Whether a call is this library's business at all.
bool worth_a_look(int count, const MPI_Request* handles) { return any_requests() && count > 0 && handles != nullptr; }

// What a call for several requests returns, and what it writes to their statuses, where one of this library's has failed.
class Outcome {
public:
  explicit Outcome(MPI_Status* statuses) : statuses_(statuses) {}

  void ended(int slot, std::optional<Failure> failure) {
    if (!failure) {
      return;
    }
    set(slot, code_of(failure->error));
    if (!first_) {
      first_ = std::move(failure);
    }
  }
  void pending(int slot) {
    set_empty(at(statuses_, slot));
    set(slot, MPI_ERR_PENDING);
  }
  // `code`: what the MPI library returned for its own.
  [[nodiscard]] int result(int code) const {
    if (!first_) {
      return code;
    }
    (void)report_error(first_->comm, first_->error);
    return MPI_ERR_IN_STATUS;
  }
  [[nodiscard]] bool failed() const { return first_.has_value(); }

private:
  void set(int slot, int code) {
    if (statuses_ != MPI_STATUSES_IGNORE) {
      statuses_[slot].MPI_ERROR = code;
    }
  }
  MPI_Status* statuses_;
  std::optional<Failure> first_;
};

class AllOf {
public:
  AllOf(int count, MPI_Request* handles, MPI_Status* statuses, Split& split)
      : count_(count), handles_(handles), statuses_(statuses), split_(split),
        other_statuses_(statuses == MPI_STATUSES_IGNORE ? 0 : static_cast<std::size_t>(split.other_count)) {}

  // Asks the MPI library for some at a time: MPICH 4.0's testall aborts where there is a file's request.
  int wait() {
    for (int k = 0; statuses_ != MPI_STATUSES_IGNORE && k < split_.other_count; ++k) {
      set_empty(&other_statuses_[static_cast<std::size_t>(k)]); // null and inactive ones will not be heard of
    }
    int code = MPI_SUCCESS;
    bool others_active = split_.other_count > 0;
    Pause pause;
    while (others_active && code == MPI_SUCCESS) {
      const bool wait_for_others = ours_done();
      int found = 0;
      code = take_some(wait_for_others, found);
      others_active = found != MPI_UNDEFINED;
      if (found == 0 && !wait_for_others) {
        pause();
      }
    }
    if (code == MPI_SUCCESS) { // else the others' end may depend on what has failed
      for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
        if (split_.ours[i] != nullptr) {
          split_.ours[i]->wait();
        }
      }
    } else if (is_in_status(code)) {
      mark_pending();
    }
    return finish(code);
  }

  int test(int* flag) {
    if (!ours_done()) {
      drive_mpi();
    }
    if (!ours_done()) {
      *flag = 0;
      return MPI_SUCCESS;
    }
    int code = MPI_SUCCESS;
    flag_ = 1;
    if (split_.other_count > 0) {
      code = real().MPI_Testall(split_.other_count, split_.others.data(), &flag_, others());
    }
    *flag = flag_;
    return flag_ != 0 || code != MPI_SUCCESS ? finish(code) : code;
  }

private:
  MPI_Status* others() { return statuses_ == MPI_STATUSES_IGNORE ? MPI_STATUSES_IGNORE : other_statuses_.data(); }

  int take_some(bool wait, int& found) {
    const bool ignore = statuses_ == MPI_STATUSES_IGNORE;
    Scratch<int> indices(static_cast<std::size_t>(split_.other_count));
    Scratch<MPI_Status> some(ignore ? 0 : static_cast<std::size_t>(split_.other_count));
    const auto call = wait ? real().MPI_Waitsome : real().MPI_Testsome;
    const int code = call(split_.other_count, split_.others.data(), &found, indices.data(),
                          ignore ? MPI_STATUSES_IGNORE : some.data());
    const bool in_status = is_in_status(code);
    for (int k = 0; !ignore && (code == MPI_SUCCESS || in_status) && k < found; ++k) {
      MPI_Status& status = other_statuses_[static_cast<std::size_t>(indices[static_cast<std::size_t>(k)])];
      status = some[static_cast<std::size_t>(k)];
      status.MPI_ERROR = in_status ? status.MPI_ERROR : MPI_SUCCESS;
    }
    return code;
  }

  // Of the MPI library's, those that are not heard of any more because of another's error.
  void mark_pending() {
    for (std::size_t k = 0; statuses_ != MPI_STATUSES_IGNORE && k < static_cast<std::size_t>(split_.other_count); ++k) {
      const bool still_empty = other_statuses_[k].MPI_SOURCE == MPI_ANY_SOURCE;
      if (still_empty && split_.others[k] != MPI_REQUEST_NULL && other_statuses_[k].MPI_ERROR == MPI_SUCCESS) {
        other_statuses_[k].MPI_ERROR = MPI_ERR_PENDING;
      }
    }
  }

  // Those before next_ are done.
  bool ours_done() {
    for (; next_ < static_cast<std::size_t>(count_); ++next_) {
      if (split_.ours[next_] != nullptr && !split_.ours[next_]->done()) {
        return false;
      }
    }
    return true;
  }

  int finish(int code) {
    const bool in_status = is_in_status(code);
    split_.put_back();
    if (code != MPI_SUCCESS && !in_status) {
      return code; // of the call, not of a request
    }
    Outcome outcome(statuses_);
    for (int i = 0; i < count_; ++i) {
      Request* const request = split_.ours[static_cast<std::size_t>(i)];
      if (request == nullptr) {
        continue;
      }
      if (request->done()) {
        outcome.ended(i, complete(*request, handles_[i], at(statuses_, i), ErrorField::set));
      } else {
        outcome.pending(i);
      }
    }
    for (int k = 0; statuses_ != MPI_STATUSES_IGNORE && k < split_.other_count; ++k) {
      MPI_Status& status = other_statuses_[static_cast<std::size_t>(k)];
      if (!in_status && outcome.failed()) {
        status.MPI_ERROR = MPI_SUCCESS; // the MPI library has nothing to report, and may have left it alone
      }
      statuses_[split_.place(k)] = status;
    }
    return outcome.result(code);
  }

  int count_;
  MPI_Request* handles_;
  MPI_Status* statuses_;
  Split& split_;
  Scratch<MPI_Status> other_statuses_;
  std::size_t next_ = 0;
  int flag_ = 0;
};

enum class Until { one_attempt, something_done };

// Both waitsome and testsome.
int some_of(Until until, int count, MPI_Request* handles, int* done_count, int* indices, MPI_Status* statuses,
            Split& split) {
  Scratch<int> other_indices(static_cast<std::size_t>(split.other_count));
  Scratch<MPI_Status> other_statuses(statuses == MPI_STATUSES_IGNORE ? 0 : static_cast<std::size_t>(split.other_count));
  Pause pause;
  while (true) {
    int ours_active = 0;
    int ours_done = 0;
    Request* last_active = nullptr;
    for (int i = 0; i < count; ++i) {
      Request* const request = split.ours[static_cast<std::size_t>(i)];
      if (request != nullptr && request->active()) {
        ++ours_active;
        last_active = request;
        if (request->done()) {
          indices[ours_done++] = i;
        }
      }
    }
    int others_done = MPI_UNDEFINED;
    int code = MPI_SUCCESS;
    if (split.other_count > 0) {
      code = real().MPI_Testsome(split.other_count, split.others.data(), &others_done, other_indices.data(),
                                 statuses == MPI_STATUSES_IGNORE ? MPI_STATUSES_IGNORE : other_statuses.data());
      split.put_back();
    }
    if (others_done == MPI_UNDEFINED) {
      drive_mpi(); // asked for nothing active, MPI does nothing
    }
    const bool in_status = is_in_status(code);
    if (code != MPI_SUCCESS && !in_status) {
      return code;
    }
    if (ours_active == 0 && others_done == MPI_UNDEFINED) {
      *done_count = MPI_UNDEFINED;
      return MPI_SUCCESS;
    }
    const int others = others_done == MPI_UNDEFINED ? 0 : others_done;
    if (ours_done + others == 0 && until == Until::something_done) {
      if (ours_active == 1 && others_done == MPI_UNDEFINED) {
        last_active->wait(); // nothing else can come first
      } else {
        pause();
      }
      continue;
    }
    *done_count = ours_done + others;
    Outcome outcome(statuses);
    for (int slot = 0; slot < ours_done; ++slot) {
      const int i = indices[slot];
      outcome.ended(
          slot, complete(*split.ours[static_cast<std::size_t>(i)], handles[i], at(statuses, slot), ErrorField::set));
    }
    for (int k = 0; k < others; ++k) {
      const int slot = ours_done + k;
      indices[slot] = split.place(other_indices[static_cast<std::size_t>(k)]);
      if (statuses != MPI_STATUSES_IGNORE) {
        statuses[slot] = other_statuses[static_cast<std::size_t>(k)];
        if (!in_status && outcome.failed()) {
          statuses[slot].MPI_ERROR = MPI_SUCCESS;
        }
      }
    }
    return outcome.result(code);
  }
}

// Both waitany and testany.
int any_of(Until until, int count, MPI_Request* handles, int* index, int* flag, MPI_Status* status, Split& split) {
  // Whose turn it is to be asked first: neither side may keep the other from being noticed.
  thread_local bool ours_first = false;
  ours_first = !ours_first;
  Pause pause;
  for (bool ours_now = ours_first;; ours_now = true) {
    int ours_active = 0;
    Request* last_active = nullptr;
    int found = MPI_UNDEFINED;
    for (int i = 0; i < count && found == MPI_UNDEFINED; ++i) {
      Request* const request = split.ours[static_cast<std::size_t>(i)];
      if (request != nullptr && request->active()) {
        ++ours_active;
        last_active = request;
        found = request->done() ? i : MPI_UNDEFINED;
      }
    }
    bool others_active = false;
    if (split.other_count > 0 && (!ours_now || found == MPI_UNDEFINED)) {
      int other = MPI_UNDEFINED;
      int other_flag = 0;
      const int code = real().MPI_Testany(split.other_count, split.others.data(), &other, &other_flag, status);
      split.put_back();
      if (other != MPI_UNDEFINED && (other_flag != 0 || code != MPI_SUCCESS)) {
        *index = split.place(other);
        *flag = 1;
        return code;
      }
      if (code != MPI_SUCCESS) {
        return code;
      }
      others_active = other_flag == 0;
    }
    if (found != MPI_UNDEFINED) {
      *index = found;
      *flag = 1;
      return complete_one(*split.ours[static_cast<std::size_t>(found)], handles[found], status);
    }
    if (ours_active == 0 && !others_active) {
      *index = MPI_UNDEFINED;
      *flag = 1;
      set_empty(status);
      return MPI_SUCCESS;
    }
    if (!others_active) {
      drive_mpi(); // asked for nothing active, MPI does nothing
    }
    if (until == Until::one_attempt) {
      *index = MPI_UNDEFINED;
      *flag = 0;
      return MPI_SUCCESS;
    }
    if (ours_active == 1 && !others_active) {
      last_active->wait(); // nothing else can come first
    } else {
      pause();
    }
  }
}

int start(Request& request) {
  const std::optional<Error> error = engine::attempt([&] {
    if (!request.persistent()) {
      throw Error(Code::request, "request is that of a nonblocking collective; expected a persistent one");
    }
    if (request.active()) {
      throw Error(Code::request, "request is active; expected it to be completed before it is started again");
    }
    request.start();
  });
  return error ? report_error(request.comm(), *error) : MPI_SUCCESS;
}

} // namespace
} // namespace stoker::pmpi

using namespace stoker::pmpi;
using stoker::engine::Code;
using stoker::engine::Error;

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  Request* const ours = worth_a_look(1, request) ? find(*request) : nullptr;
  if (ours == nullptr) {
    return real().MPI_Wait(request, status);
  }
  ours->wait();
  return complete_one(*ours, *request, status);
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  Request* const ours = worth_a_look(1, request) ? find(*request) : nullptr;
  if (ours == nullptr) {
    return real().MPI_Test(request, flag, status);
  }
  *flag = done(*ours) ? 1 : 0;
  return *flag != 0 ? complete_one(*ours, *request, status) : MPI_SUCCESS;
}

int MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  if (worth_a_look(count, array_of_requests)) {
    Split split(static_cast<std::size_t>(count), array_of_requests);
    if (split.any_ours()) {
      return AllOf(count, array_of_requests, array_of_statuses, split).wait();
    }
  }
  return real().MPI_Waitall(count, array_of_requests, array_of_statuses);
}

int MPI_Testall(int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]) {
  if (worth_a_look(count, array_of_requests)) {
    Split split(static_cast<std::size_t>(count), array_of_requests);
    if (split.any_ours()) {
      return AllOf(count, array_of_requests, array_of_statuses, split).test(flag);
    }
  }
  return real().MPI_Testall(count, array_of_requests, flag, array_of_statuses);
}

int MPI_Waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status) {
  if (worth_a_look(count, array_of_requests)) {
    Split split(static_cast<std::size_t>(count), array_of_requests);
    if (split.any_ours()) {
      int flag = 0;
      return any_of(Until::something_done, count, array_of_requests, indx, &flag, status, split);
    }
  }
  return real().MPI_Waitany(count, array_of_requests, indx, status);
}

int MPI_Testany(int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status) {
  if (worth_a_look(count, array_of_requests)) {
    Split split(static_cast<std::size_t>(count), array_of_requests);
    if (split.any_ours()) {
      return any_of(Until::one_attempt, count, array_of_requests, indx, flag, status, split);
    }
  }
  return real().MPI_Testany(count, array_of_requests, indx, flag, status);
}

int MPI_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                 MPI_Status array_of_statuses[]) {
  if (worth_a_look(incount, array_of_requests)) {
    Split split(static_cast<std::size_t>(incount), array_of_requests);
    if (split.any_ours()) {
      return some_of(Until::something_done, incount, array_of_requests, outcount, array_of_indices, array_of_statuses,
                     split);
    }
  }
  return real().MPI_Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

int MPI_Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                 MPI_Status array_of_statuses[]) {
  if (worth_a_look(incount, array_of_requests)) {
    Split split(static_cast<std::size_t>(incount), array_of_requests);
    if (split.any_ours()) {
      return some_of(Until::one_attempt, incount, array_of_requests, outcount, array_of_indices, array_of_statuses,
                     split);
    }
  }
  return real().MPI_Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  Request* const ours = any_requests() ? find(request) : nullptr;
  if (ours == nullptr) {
    return real().MPI_Request_get_status(request, flag, status);
  }
  *flag = !ours->active() || done(*ours) ? 1 : 0;
  if (*flag != 0) {
    ours->settle();
    set_empty(status);
  }
  return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request* request) {
  Request* const ours = worth_a_look(1, request) ? find(*request) : nullptr;
  if (ours == nullptr) {
    return real().MPI_Request_free(request);
  }
  if (ours->active()) {
    return report_error(ours->comm(),
                        Error(Code::request, "MPI_Request_free: the request is that of a collective that is active; "
                                             "expected it to be completed first (MPI-4.1, section 6.13)"));
  }
  (void)remove(*request);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int MPI_Start(MPI_Request* request) {
  Request* const ours = worth_a_look(1, request) ? find(*request) : nullptr;
  return ours == nullptr ? real().MPI_Start(request) : start(*ours);
}

int MPI_Startall(int count, MPI_Request array_of_requests[]) {
  if (!worth_a_look(count, array_of_requests)) {
    return real().MPI_Startall(count, array_of_requests);
  }
  // In order, those of the MPI library in runs.
  for (int i = 0; i < count;) {
    Request* ours = find(array_of_requests[i]);
    int code = MPI_SUCCESS;
    if (ours != nullptr) {
      code = start(*ours);
      ++i;
    } else {
      const int begin = i++;
      while (i < count && find(array_of_requests[i]) == nullptr) {
        ++i;
      }
      code = real().MPI_Startall(i - begin, array_of_requests + begin);
    }
    if (code != MPI_SUCCESS) {
      return code;
    }
  }
  return MPI_SUCCESS;
}

int MPI_Cancel(MPI_Request* request) {
  Request* const ours = worth_a_look(1, request) ? find(*request) : nullptr;
  if (ours == nullptr) {
    return real().MPI_Cancel(request);
  }
  return report_error(ours->comm(), Error(Code::request, "MPI_Cancel: the request is that of a collective, which MPI "
                                                         "does not allow to be cancelled (MPI-4.1, section 6.12)"));
}

#define STOKER_SAME(name, parameters) int P##name parameters __attribute__((alias(#name)))
STOKER_SAME(MPI_Wait, (MPI_Request*, MPI_Status*));
STOKER_SAME(MPI_Test, (MPI_Request*, int*, MPI_Status*));
STOKER_SAME(MPI_Waitall, (int, MPI_Request[], MPI_Status[]));
STOKER_SAME(MPI_Testall, (int, MPI_Request[], int*, MPI_Status[]));
STOKER_SAME(MPI_Waitany, (int, MPI_Request[], int*, MPI_Status*));
STOKER_SAME(MPI_Testany, (int, MPI_Request[], int*, int*, MPI_Status*));
STOKER_SAME(MPI_Waitsome, (int, MPI_Request[], int*, int[], MPI_Status[]));
STOKER_SAME(MPI_Testsome, (int, MPI_Request[], int*, int[], MPI_Status[]));
STOKER_SAME(MPI_Request_get_status, (MPI_Request, int*, MPI_Status*));
STOKER_SAME(MPI_Request_free, (MPI_Request*));
STOKER_SAME(MPI_Start, (MPI_Request*));
STOKER_SAME(MPI_Startall, (int, MPI_Request[]));
STOKER_SAME(MPI_Cancel, (MPI_Request*));
#undef STOKER_SAME

} // extern "C"
