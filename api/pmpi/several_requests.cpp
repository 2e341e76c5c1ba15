// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/errors.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/mixed_requests.hpp"
#include "engine/helper/waiting.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace stoker::pmpi {
namespace {

// Waits until attempt(moved) gives the call's return code. `moved`: another attempt will do better.
template <class Attempt>
int wait_for_code(Split& split, Attempt attempt) {
  std::optional<int> code;
  const auto has_code = [&] { return code.has_value(); };
  const auto attempt_once = [&] {
    bool moved = false;
    code = attempt(moved);
    return moved;
  };
  const auto look_around = [&](std::uint64_t waited_ns) {
    for (int i = 0; i < split.count; ++i) {
      if (Request* const request = split.ours[i]; request != nullptr && request->active()) {
        request->look_around(waited_ns);
      }
    }
  };
  engine::wait_until_done(wait_site(), engine::Waiter(has_code, attempt_once, {}, engine::Nothing{}, look_around));
  return *code;
}

// The return code and statuses of a call for several requests, if one of this library's has failed.
class Outcome {
public:
  explicit Outcome(MPI_Status* statuses) : statuses_(statuses) {}

  void ended(int position, std::optional<Failure> failure) {
    if (!failure) {
      return;
    }
    set(position, code_of(failure->error));
    if (!first_) {
      first_ = std::move(failure);
    }
  }
  void pending(int position) {
    set_empty(at(statuses_, position));
    set(position, MPI_ERR_PENDING);
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
  void set(int position, int code) {
    if (statuses_ != MPI_STATUSES_IGNORE) {
      statuses_[position].MPI_ERROR = code;
    }
  }
  MPI_Status* statuses_;
  std::optional<Failure> first_;
};

// A call for all requests of an array.
class AllOf {
public:
  AllOf(Split& split, MPI_Status* statuses)
      : split_(split), statuses_(statuses), other_statuses_(statuses == MPI_STATUSES_IGNORE ? 0 : split.other_count) {}

  // Asks the MPI library for some at a time: MPICH 4.0's testall aborts where there is a file's request.
  int wait() {
    for (int k = 0; statuses_ != MPI_STATUSES_IGNORE && k < split_.other_count; ++k) {
      set_empty(&other_statuses_[k]); // null and inactive ones will not be heard of
    }
    const int code =
        split_.other_count > 0 ? wait_for_code(split_, [&](bool& moved) { return take_others(moved); }) : MPI_SUCCESS;
    if (code == MPI_SUCCESS) { // else the others' end may depend on what has failed
      for (int i = 0; i < split_.count; ++i) {
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
    *flag = 1;
    if (split_.other_count > 0) {
      for (int k = 0; statuses_ != MPI_STATUSES_IGNORE && k < split_.other_count; ++k) {
        other_statuses_[k] = statuses_[split_.place(k)]; // MPI may leave their error fields alone
      }
      code = real().MPI_Testall(split_.other_count, split_.others.data(), flag,
                                statuses_ == MPI_STATUSES_IGNORE ? MPI_STATUSES_IGNORE : other_statuses_.data());
    }
    return *flag != 0 || code != MPI_SUCCESS ? finish(code) : code;
  }

private:
  // The MPI library's code once all its requests are complete or one has failed.
  std::optional<int> take_others(bool& moved) {
    const bool wait = ours_done();
    int found = 0;
    const int code = take_some(wait, found);
    moved = found != 0 || wait;
    return code != MPI_SUCCESS || found == MPI_UNDEFINED ? std::optional(code) : std::nullopt;
  }

  int take_some(bool wait, int& found) {
    const bool ignore = statuses_ == MPI_STATUSES_IGNORE;
    Scratch<int> indices(split_.other_count);
    Scratch<MPI_Status> some(ignore ? 0 : split_.other_count);
    const auto call = wait ? real().MPI_Waitsome : real().MPI_Testsome;
    const int code = call(split_.other_count, split_.others.data(), &found, indices.data(),
                          ignore ? MPI_STATUSES_IGNORE : some.data());
    const bool in_status = is_in_status(code);
    for (int k = 0; !ignore && (code == MPI_SUCCESS || in_status) && k < found; ++k) {
      MPI_Status& status = other_statuses_[indices[k]];
      status = some[k];
      status.MPI_ERROR = in_status ? status.MPI_ERROR : MPI_SUCCESS;
    }
    return code;
  }

  // Marks the MPI library's requests that are not heard of any more because of another's error.
  void mark_pending() {
    for (int k = 0; statuses_ != MPI_STATUSES_IGNORE && k < split_.other_count; ++k) {
      const bool still_empty = other_statuses_[k].MPI_SOURCE == MPI_ANY_SOURCE;
      if (still_empty && split_.others[k] != MPI_REQUEST_NULL && other_statuses_[k].MPI_ERROR == MPI_SUCCESS) {
        other_statuses_[k].MPI_ERROR = MPI_ERR_PENDING;
      }
    }
  }

  // Whether this library's requests are done. Those before next_ were found done before.
  bool ours_done() {
    for (; next_ < split_.count; ++next_) {
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
      return code; // the call's error, not a request's
    }
    Outcome outcome(statuses_);
    for (int i = 0; i < split_.count; ++i) {
      Request* const request = split_.ours[i];
      if (request == nullptr) {
        continue;
      }
      if (code == MPI_SUCCESS || request->done()) { // all are done then
        outcome.ended(i, complete(*request, split_.handles[i], at(statuses_, i), ErrorField::set));
      } else {
        outcome.pending(i);
      }
    }
    for (int k = 0; statuses_ != MPI_STATUSES_IGNORE && k < split_.other_count; ++k) {
      MPI_Status& status = other_statuses_[k];
      if (!in_status && outcome.failed()) {
        status.MPI_ERROR = MPI_SUCCESS; // the MPI library has nothing to report, and may have left it alone
      }
      statuses_[split_.place(k)] = status;
    }
    return outcome.result(code);
  }

  Split& split_;
  MPI_Status* statuses_;
  Scratch<MPI_Status> other_statuses_;
  int next_ = 0;
};

// This library's active requests, as far as a look at them went.
struct Active {
  int count = 0;
  Request* last = nullptr;
};

// Visits this library's active requests in order, until visit(place, request) returns false.
template <class Visit>
Active look_at_ours(Split& split, Visit visit) {
  Active active;
  for (int i = 0; i < split.count; ++i) {
    Request* const request = split.ours[i];
    if (request != nullptr && request->active()) {
      ++active.count;
      active.last = request;
      if (!visit(i, *request)) {
        break;
      }
    }
  }
  return active;
}

// After an attempt that found nothing done. Returns whether another will find something.
bool wait_for_only(const Active& active, bool others_active) {
  const bool only = active.count == 1 && !others_active;
  if (only) {
    active.last->wait(); // nothing else can come first
  }
  return only;
}

// Ends the requests of a waitsome or testsome: this library's, whose places are in `indices`, and then `others_done` of
// the MPI library's. `code`: what the MPI library returned for these.
int end_some(Split& split, int ours_done, int others_done, Scratch<int>& other_indices,
             Scratch<MPI_Status>& other_statuses, int code, int* indices, MPI_Status* statuses) {
  Outcome outcome(statuses);
  for (int position = 0; position < ours_done; ++position) {
    const int i = indices[position];
    outcome.ended(position, complete(*split.ours[i], split.handles[i], at(statuses, position), ErrorField::set));
  }
  for (int k = 0; k < others_done; ++k) {
    const int position = ours_done + k;
    indices[position] = split.place(other_indices[k]);
    if (statuses != MPI_STATUSES_IGNORE) {
      statuses[position] = other_statuses[k];
      if (outcome.failed() && !is_in_status(code)) {
        statuses[position].MPI_ERROR = MPI_SUCCESS;
      }
    }
  }
  return outcome.result(code);
}

} // namespace

int wait_for_all(Split& split, MPI_Status* statuses) { return AllOf(split, statuses).wait(); }
int test_all(Split& split, int* flag, MPI_Status* statuses) { return AllOf(split, statuses).test(flag); }

int some_of(Until until, Split& split, int* done_count, int* indices, MPI_Status* statuses) {
  const bool ignore = statuses == MPI_STATUSES_IGNORE;
  Scratch<int> other_indices(split.other_count);
  Scratch<MPI_Status> other_statuses(ignore ? 0 : split.other_count);
  const auto attempt = [&](bool& moved) -> std::optional<int> {
    int ours_done = 0;
    const Active active = look_at_ours(split, [&](int place, Request& request) {
      if (request.done()) {
        indices[ours_done++] = place;
      }
      return true;
    });
    int others_done = MPI_UNDEFINED;
    int code = MPI_SUCCESS;
    if (split.other_count > 0) {
      for (int k = 0; !ignore && k < split.other_count; ++k) {
        other_statuses[k] = statuses[ours_done + k]; // MPI may leave their error fields alone
      }
      code = real().MPI_Testsome(split.other_count, split.others.data(), &others_done, other_indices.data(),
                                 ignore ? MPI_STATUSES_IGNORE : other_statuses.data());
      split.put_back();
    }
    const bool others_active = others_done != MPI_UNDEFINED;
    if (!others_active) {
      others_done = 0;
      drive_mpi(); // asked for nothing active, MPI does nothing
    }
    if (code != MPI_SUCCESS && !is_in_status(code)) {
      return code;
    }
    if (active.count == 0 && !others_active) {
      *done_count = MPI_UNDEFINED;
      return MPI_SUCCESS;
    }
    if (ours_done + others_done > 0 || until == Until::one_attempt) {
      *done_count = ours_done + others_done;
      return end_some(split, ours_done, others_done, other_indices, other_statuses, code, indices, statuses);
    }
    moved = wait_for_only(active, others_active);
    return std::nullopt;
  };
  return wait_for_code(split, attempt);
}

int any_of(Until until, Split& split, int* index, int* flag, MPI_Status* status) {
  // Which side is asked first. The sides take turns, so that neither keeps the other from being noticed.
  thread_local bool ours_first = false;
  ours_first = !ours_first;
  bool ours_now = ours_first;
  const auto attempt = [&](bool& moved) -> std::optional<int> {
    int found = MPI_UNDEFINED;
    const Active active = look_at_ours(split, [&](int place, Request& request) {
      found = request.done() ? place : MPI_UNDEFINED;
      return found == MPI_UNDEFINED;
    });
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
      return complete_one(*split.ours[found], split.handles[found], status);
    }
    *index = MPI_UNDEFINED;
    if (active.count == 0 && !others_active) {
      *flag = 1;
      set_empty(status);
      return MPI_SUCCESS;
    }
    if (!others_active) {
      drive_mpi(); // asked for nothing active, MPI does nothing
    }
    if (until == Until::one_attempt) {
      *flag = 0;
      return MPI_SUCCESS;
    }
    ours_now = true;
    moved = wait_for_only(active, others_active);
    return std::nullopt;
  };
  return wait_for_code(split, attempt);
}

} // namespace stoker::pmpi
