// SPDX-License-Identifier: BSD-3-Clause
// Requests of MPI calls whose arrays hold this library's next to the MPI library's own (MPI-4.1, sections 3.7.3 to
// 3.9).
#pragma once

#include "api/pmpi/handles.hpp"
#include "api/pmpi/request.hpp"
#include "engine/base/error.hpp"
#include "engine/helper/waiting.hpp"

#include <mpi.h>

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace stoker::pmpi {

// An array that lasts as long as a call. Short ones take no allocation.
template <class T>
class Scratch {
public:
  explicit Scratch(int size)
      : many_(size > few ? static_cast<std::size_t>(size) : 0), data_(size > few ? many_.data() : few_.data()) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] T& operator[](int i) { return data_[i]; }
  [[nodiscard]] T* data() { return data_; }

private:
  static constexpr int few = 64;
  std::array<T, few> few_; // not initialised: most calls use little of it
  std::vector<T> many_;
  T* data_;
};

// Whether a call may concern this library at all.
[[nodiscard]] inline bool worth_a_look(int count, const MPI_Request* handles) {
  return any_requests() && count > 0 && handles != nullptr;
}

// The requests of a call: this library's by place, nullptr at the others' places; and the MPI library's, null ones
// included, as an array of their own.
class Split {
public:
  Split(int n, MPI_Request* array) : count(n), handles(array), ours(n), others(n), places_(n) {
    for (int i = 0; i < n; ++i) {
      ours[i] = array[i] == MPI_REQUEST_NULL ? nullptr : find(array[i]);
      if (ours[i] == nullptr) {
        others[other_count] = array[i];
        places_[other_count++] = i;
      }
    }
  }
  [[nodiscard]] bool any_ours() const { return other_count < count; }

  // The MPI library has set some of its handles to null.
  void put_back() {
    for (int k = 0; k < other_count; ++k) {
      handles[places_[k]] = others[k];
    }
  }
  [[nodiscard]] int place(int other) { return places_[other]; }

  const int count;
  MPI_Request* const handles;
  Scratch<Request*> ours;
  Scratch<MPI_Request> others;
  int other_count = 0;

private:
  Scratch<int> places_;
};

// A call for several requests: ours(split) where one of them is this library's, else theirs(), as without all
// that it writes to (`complete`). A Split is not begun while there is no request of this library's at all.
// `handles` changes only if ours() puts some back.
template <class Ours, class Theirs>
int for_several(int count, const MPI_Request* handles, bool complete, Ours ours, Theirs theirs) {
  if (worth_a_look(count, handles) && complete) {
    Split split(count, const_cast<MPI_Request*>(handles));
    if (split.any_ours()) {
      return ours(split);
    }
  }
  return theirs();
}

// Whether all that a call writes to is there. MPI libraries refuse null addresses; with some of them, null
// stands for a status that nobody wants.
template <class... Numbers>
[[nodiscard]] bool has_results(const MPI_Status* status, const Numbers*... numbers) {
  return (status != nullptr || status == MPI_STATUS_IGNORE) && (... && (numbers != nullptr));
}

// The status of request i, if the caller wants statuses.
[[nodiscard]] inline MPI_Status* at(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

// In a function that is told one request, MPI leaves the error field alone unless the status is to be empty.
enum class ErrorField { kept, set };
void set_empty(MPI_Status* status, ErrorField field = ErrorField::set);

// Whether the statuses say what has failed.
[[nodiscard]] bool is_in_status(int code);

// A request that failed while others may not have.
struct Failure {
  MPI_Comm comm;
  engine::Error error;
};

// Takes note of the end of a request that is done or inactive, with an empty status. The request is gone before
// anybody is told of its error: an error handler need not come back.
[[nodiscard]] std::optional<Failure> complete(Request& request, MPI_Request& handle, MPI_Status* status,
                                              ErrorField field);
// The same for the only request of a call. Returns what the call returns.
[[nodiscard]] int complete_one(Request& request, MPI_Request& handle, MPI_Status* status);

// Where this library's waits are, with an engine or without.
[[nodiscard]] engine::WaitSite wait_site();
// Makes the application's own messages progress. MPICH's probe of MPI_COMM_SELF would not see to them; a request that
// is not the engine's asks MPI itself.
void drive_mpi();
// One attempt, with progress of the MPI library if that is needed.
[[nodiscard]] bool done(Request& request);
// Whether the request is complete or inactive, and its status, which is empty then. The request stays as it is.
[[nodiscard]] bool get_status(Request& request, MPI_Status* status);

// The functions of MPI for several requests, at least one of which is this library's.
enum class Until { one_attempt, something_done };
[[nodiscard]] int wait_for_all(Split& split, MPI_Status* statuses);
[[nodiscard]] int test_all(Split& split, int* flag, MPI_Status* statuses);
[[nodiscard]] int some_of(Until until, Split& split, int* done_count, int* indices, MPI_Status* statuses);
[[nodiscard]] int any_of(Until until, Split& split, int* index, int* flag, MPI_Status* status);

} // namespace stoker::pmpi
