// SPDX-License-Identifier: BSD-3-Clause
// MPI-4.1's looks at the statuses of several requests, which leave the requests as they are (section 3.7.6). Arrays may
// hold this library's requests next to the MPI library's own.
#include "api/pmpi/alias.hpp"
#include "api/pmpi/followed_requests.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/mixed_requests.hpp"

#include <mpi.h>

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)

namespace stoker::pmpi {
namespace {

// The array of requests, which is constant in the standard and not in MPICH 4.2.
template <class Function>
struct SecondParameter;
template <class First, class Second, class... Others>
struct SecondParameter<int (*)(First, Second, Others...)> {
  using Type = Second;
};
using RequestArray = SecondParameter<decltype(&::MPI_Request_get_status_all)>::Type;

int all_statuses(Split& split, int* flag, MPI_Status* statuses) {
  bool all = true;
  for (int i = 0; i < split.count; ++i) { // each is asked, so that each makes progress
    all = (split.ours[i] == nullptr || get_status(*split.ours[i], at(statuses, i))) && all;
  }
  *flag = all ? 1 : 0;
  if (split.other_count == 0) {
    return MPI_SUCCESS;
  }
  const bool ignore = statuses == MPI_STATUSES_IGNORE;
  Scratch<MPI_Status> others(ignore ? 0 : split.other_count);
  for (int k = 0; !ignore && k < split.other_count; ++k) {
    set_empty(&others[k]);
  }
  int others_flag = 0;
  const int code = real().MPI_Request_get_status_all(split.other_count, split.others.data(), &others_flag,
                                                     ignore ? MPI_STATUSES_IGNORE : others.data());
  *flag = all && others_flag != 0 ? 1 : 0;
  for (int k = 0; !ignore && (*flag != 0 || code != MPI_SUCCESS) && k < split.other_count; ++k) {
    statuses[split.place(k)] = others[k];
  }
  return code;
}

int any_status(Split& split, int* index, int* flag, MPI_Status* status) {
  bool some_active = false;
  *flag = 1;
  for (int i = 0; i < split.count; ++i) {
    Request* const request = split.ours[i];
    if (request == nullptr || !request->active()) {
      continue;
    }
    some_active = true;
    if (get_status(*request, status)) {
      *index = i;
      return MPI_SUCCESS;
    }
  }
  *index = MPI_UNDEFINED;
  if (split.other_count > 0) {
    int other = MPI_UNDEFINED;
    const int code = real().MPI_Request_get_status_any(split.other_count, split.others.data(), &other, flag, status);
    if (other >= 0 && (*flag != 0 || code != MPI_SUCCESS)) { // MPI_UNDEFINED is negative
      *index = split.place(other);
      return code;
    }
    if (code != MPI_SUCCESS) {
      return code;
    }
    some_active = some_active || *flag == 0;
  }
  *flag = some_active ? 0 : 1;
  if (!some_active) {
    set_empty(status);
  }
  return MPI_SUCCESS;
}

int some_statuses(Split& split, int* done_count, int* indices, MPI_Status* statuses) {
  bool some_active = false;
  int done = 0;
  for (int i = 0; i < split.count; ++i) {
    Request* const request = split.ours[i];
    if (request == nullptr || !request->active()) {
      continue;
    }
    some_active = true;
    if (get_status(*request, at(statuses, done))) {
      indices[done++] = i;
    }
  }
  int code = MPI_SUCCESS;
  if (split.other_count > 0) {
    const bool ignore = statuses == MPI_STATUSES_IGNORE;
    int others_done = 0;
    code = real().MPI_Request_get_status_some(split.other_count, split.others.data(), &others_done, indices + done,
                                              ignore ? MPI_STATUSES_IGNORE : statuses + done);
    some_active = some_active || others_done != MPI_UNDEFINED;
    const bool told = code == MPI_SUCCESS || is_in_status(code);
    for (int k = 0; told && k < others_done; ++k) { // MPI_UNDEFINED is negative
      indices[done] = split.place(indices[done]);
      ++done;
    }
  }
  *done_count = some_active ? done : MPI_UNDEFINED;
  return code;
}

} // namespace
} // namespace stoker::pmpi

using namespace stoker::pmpi;

extern "C" {

int MPI_Request_get_status_all(int count, RequestArray array_of_requests, int* flag, MPI_Status array_of_statuses[]) {
  Completion completion(Completing::tests, count, array_of_requests);
  const int code = for_several(
      count, array_of_requests, has_results(array_of_statuses, flag),
      [&](Split& split) { return all_statuses(split, flag, array_of_statuses); },
      [&] { return real().MPI_Request_get_status_all(count, array_of_requests, flag, array_of_statuses); });
  return completion.all_if(code, flag);
}

int MPI_Request_get_status_any(int count, RequestArray array_of_requests, int* indx, int* flag, MPI_Status* status) {
  Completion completion(Completing::tests, count, array_of_requests);
  const int code = for_several(
      count, array_of_requests, has_results(status, indx, flag),
      [&](Split& split) { return any_status(split, indx, flag, status); },
      [&] { return real().MPI_Request_get_status_any(count, array_of_requests, indx, flag, status); });
  constexpr int one = 1;
  constexpr int none = 0;
  return completion.some(code, code == MPI_SUCCESS && *flag != 0 && *indx != MPI_UNDEFINED ? &one : &none, indx);
}

int MPI_Request_get_status_some(int incount, RequestArray array_of_requests, int* outcount, int array_of_indices[],
                                MPI_Status array_of_statuses[]) {
  Completion completion(Completing::tests, incount, array_of_requests);
  const int code = for_several(
      incount, array_of_requests, has_results(array_of_statuses, outcount, array_of_indices),
      [&](Split& split) { return some_statuses(split, outcount, array_of_indices, array_of_statuses); },
      [&] {
        return real().MPI_Request_get_status_some(incount, array_of_requests, outcount, array_of_indices,
                                                  array_of_statuses);
      });
  return completion.some(code, outcount, array_of_indices);
}

} // extern "C"

ALIAS_PMPI(MPI_Request_get_status_all)
ALIAS_PMPI(MPI_Request_get_status_any)
ALIAS_PMPI(MPI_Request_get_status_some)

#endif
