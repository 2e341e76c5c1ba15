// SPDX-License-Identifier: BSD-3-Clause
// MPI's functions that complete, start and free requests, for arrays that hold this library's next to the MPI library's
// own (MPI-4.1, sections 3.7.3 to 3.9). While this library has no request they cost a look at a counter, and another at
// that of followed requests.
#include "api/pmpi/errors.hpp"
#include "api/pmpi/followed_requests.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/mixed_requests.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/error.hpp"

#include <optional>

namespace stoker::pmpi {
namespace {

using engine::Code;
using engine::Error;

constexpr int one = 1; // the number of places that a call names

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
  if (ours == nullptr || !has_results(status)) {
    Completion completion(Completing::waits, 1, request);
    return completion.all(real().MPI_Wait(request, status));
  }
  ours->wait();
  return complete_one(*ours, *request, status);
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  Request* const ours = worth_a_look(1, request) ? find(*request) : nullptr;
  if (ours == nullptr || !has_results(status, flag)) {
    Completion completion(Completing::tests, 1, request);
    return completion.all_if(real().MPI_Test(request, flag, status), flag);
  }
  *flag = done(*ours) ? 1 : 0;
  return *flag != 0 ? complete_one(*ours, *request, status) : MPI_SUCCESS;
}

int MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  Completion completion(Completing::waits, count, array_of_requests);
  const int code = for_several(
      count, array_of_requests, has_results(array_of_statuses),
      [&](Split& split) { return wait_for_all(split, array_of_statuses); },
      [&] { return real().MPI_Waitall(count, array_of_requests, array_of_statuses); });
  return completion.all(code);
}

int MPI_Testall(int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]) {
  Completion completion(Completing::tests, count, array_of_requests);
  const int code = for_several(
      count, array_of_requests, has_results(array_of_statuses, flag),
      [&](Split& split) { return test_all(split, flag, array_of_statuses); },
      [&] { return real().MPI_Testall(count, array_of_requests, flag, array_of_statuses); });
  return completion.all_if(code, flag);
}

int MPI_Waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status) {
  Completion completion(Completing::waits, count, array_of_requests);
  int flag = 0;
  const int code = for_several(
      count, array_of_requests, has_results(status, indx),
      [&](Split& split) { return any_of(Until::something_done, split, indx, &flag, status); },
      [&] { return real().MPI_Waitany(count, array_of_requests, indx, status); });
  return completion.some(code, &one, indx);
}

int MPI_Testany(int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status) {
  Completion completion(Completing::tests, count, array_of_requests);
  const int code = for_several(
      count, array_of_requests, has_results(status, indx, flag),
      [&](Split& split) { return any_of(Until::one_attempt, split, indx, flag, status); },
      [&] { return real().MPI_Testany(count, array_of_requests, indx, flag, status); });
  return completion.some(code, &one, indx);
}

int MPI_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                 MPI_Status array_of_statuses[]) {
  Completion completion(Completing::waits, incount, array_of_requests);
  const int code = for_several(
      incount, array_of_requests, has_results(array_of_statuses, outcount, array_of_indices),
      [&](Split& split) {
        return some_of(Until::something_done, split, outcount, array_of_indices, array_of_statuses);
      },
      [&] { return real().MPI_Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses); });
  return completion.some(code, outcount, array_of_indices);
}

int MPI_Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                 MPI_Status array_of_statuses[]) {
  Completion completion(Completing::tests, incount, array_of_requests);
  const int code = for_several(
      incount, array_of_requests, has_results(array_of_statuses, outcount, array_of_indices),
      [&](Split& split) { return some_of(Until::one_attempt, split, outcount, array_of_indices, array_of_statuses); },
      [&] { return real().MPI_Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses); });
  return completion.some(code, outcount, array_of_indices);
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  Request* const ours = any_requests() ? find(request) : nullptr;
  if (ours == nullptr || !has_results(status, flag)) {
    Completion completion(Completing::tests, 1, &request);
    return completion.all_if(real().MPI_Request_get_status(request, flag, status), flag);
  }
  *flag = get_status(*ours, status) ? 1 : 0;
  return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request* request) {
  Request* const ours = worth_a_look(1, request) ? find(*request) : nullptr;
  if (ours == nullptr) {
    if (request != nullptr) {
      forget_persistent(*request);
    }
    Completion completion(Completing::tests, 1, request);
    return completion.all(real().MPI_Request_free(request));
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
  if (ours != nullptr) {
    return start(*ours);
  }
  const Starting starting(1, request);
  return starting.done(real().MPI_Start(request));
}

int MPI_Startall(int count, MPI_Request array_of_requests[]) {
  if (!worth_a_look(count, array_of_requests)) {
    const Starting starting(count, array_of_requests);
    return starting.done(real().MPI_Startall(count, array_of_requests));
  }
  // Starts the requests in order; consecutive ones of the MPI library in one call.
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
      const Starting starting(i - begin, array_of_requests + begin);
      code = starting.done(real().MPI_Startall(i - begin, array_of_requests + begin));
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
