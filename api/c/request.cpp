// SPDX-License-Identifier: BSD-3-Clause
// The C door to requests.
#include "engine/requests/request.hpp"

#include "api/c/guarded.hpp"
#include "api/c/handles.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/never_destroyed.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

using stoker::api::check_list;
using stoker::api::check_pointer;
using stoker::api::check_struct;
using stoker::api::guarded;
using stoker::engine::Code;
using stoker::engine::Error;
using stoker::engine::Request;

namespace {

// Never destroyed: an application may give back handles in destructors of its own global objects.
stoker::engine::NeverDestroyed<stoker::api::HandleTable<std::unique_ptr<Request>, stoker_request>>
    request_table_storage;
auto& request_table = request_table_storage.object;

Request& live(stoker_request handle) {
  const auto* found = request_table.find(handle);
  if (found == nullptr) {
    throw Error(Code::request, "request is not a live request: freed, foreign or never initialised");
  }
  return **found;
}

// Requests of a list; null ones are left out, as they count as inactive.
std::vector<Request*> listed(int count, const stoker_request* handles) {
  check_list(count, handles, "requests");
  std::vector<Request*> list(static_cast<std::size_t>(count), nullptr);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (handles[i] != STOKER_REQUEST_NULL) {
      try {
        list[i] = &live(handles[i]);
      } catch (const Error& error) {
        throw Error(error.code(), "requests[{}]: {}", i, error.what());
      }
    }
  }
  return list;
}

// Completes every request even if one fails; the first error is reported.
void complete_all(const std::vector<Request*>& list) {
  std::optional<Error> failure;
  const auto complete = [&](Request& request) {
    const std::optional<Error> error = stoker::engine::attempt([&] { request.wait(); });
    failure = failure ? failure : error;
  };
  // A wait for one request brings the inline ones of its engine on. Those of another engine may be what other
  // ranks wait for.
  if (Request::are_inline_and_of_several_engines(list)) {
    const auto wrong = stoker::engine::attempt([&] {
      for (int i = Request::wait_any(list); i >= 0; i = Request::wait_any(list)) {
        complete(*list[static_cast<std::size_t>(i)]);
      }
    });
    failure = failure ? failure : wrong;
  }
  for (Request* request : list) {
    if (request != nullptr) {
      complete(*request);
    }
  }
  if (failure) {
    throw *failure;
  }
}

// Index of an active request that is complete; -1 when none is; -2 when none is active.
int find_complete(std::vector<Request*> list) {
  std::ranges::replace_if(
      list, [](const Request* r) { return r != nullptr && !r->active(); }, nullptr);
  if (std::ranges::none_of(list, [](const Request* r) { return r != nullptr; })) {
    return -2;
  }
  Request::peek_all(list);
  const auto found = std::ranges::find_if(list, [](const Request* r) { return r != nullptr && r->complete(); });
  return found == list.end() ? -1 : static_cast<int>(found - list.begin());
}

} // namespace

stoker_request stoker::api::keep(std::unique_ptr<Request> request) {
  const stoker_request handle = request_table.insert(std::move(request));
  if (handle == nullptr) {
    throw Error(Code::resource, "more than 16 million requests");
  }
  return handle;
}

extern "C" {

int stoker_start(stoker_request request) {
  return guarded([&] { live(request).start(); });
}

int stoker_startall(int count, const stoker_request requests[]) {
  return guarded([&] {
    const std::vector<Request*> list = listed(count, requests);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i] == nullptr) {
        throw Error(Code::request, "requests[{}] is null; expected an inactive request", i);
      }
      list[i]->start();
    }
  });
}

int stoker_test(stoker_request request, int* flag) {
  return guarded([&] {
    check_pointer(flag, "flag");
    *flag = request == STOKER_REQUEST_NULL || live(request).test() ? 1 : 0;
  });
}

int stoker_testall(int count, const stoker_request requests[], int* flag) {
  return guarded([&] {
    check_pointer(flag, "flag");
    *flag = 0;
    const std::vector<Request*> list = listed(count, requests);
    if (Request::peek_all(list)) {
      *flag = 1;
      complete_all(list);
    }
  });
}

int stoker_testany(int count, const stoker_request requests[], int* index, int* flag) {
  return guarded([&] {
    check_pointer(index, "index");
    check_pointer(flag, "flag");
    *index = MPI_UNDEFINED;
    const std::vector<Request*> list = listed(count, requests);
    const int found = find_complete(list);
    *flag = found == -1 ? 0 : 1;
    if (found >= 0) {
      *index = found;
      list[static_cast<std::size_t>(found)]->wait();
    }
  });
}

int stoker_wait(stoker_request request) {
  return guarded([&] {
    if (request != STOKER_REQUEST_NULL) {
      live(request).wait();
    }
  });
}

int stoker_start_on(stoker_request request, void* stream) {
  return guarded([&] { live(request).start_on(stream); });
}

int stoker_wait_on(stoker_request request, void* stream) {
  return guarded([&] {
    if (request != STOKER_REQUEST_NULL) {
      live(request).wait_on(stream);
    }
  });
}

int stoker_waitall(int count, const stoker_request requests[]) {
  return guarded([&] { complete_all(listed(count, requests)); });
}

int stoker_waitany(int count, const stoker_request requests[], int* index) {
  return guarded([&] {
    check_pointer(index, "index");
    *index = MPI_UNDEFINED;
    const std::vector<Request*> list = listed(count, requests);
    const int found = Request::wait_any(list);
    if (found >= 0) {
      *index = found;
      list[static_cast<std::size_t>(found)]->wait();
    }
  });
}

int stoker_request_free(stoker_request* request) {
  return guarded([&] {
    check_pointer(request, "request");
    Request& object = live(*request);
    if (object.active() && !object.engine_destroyed()) {
      throw Error(Code::state, "request is active; expected an inactive one: complete it with test or wait first");
    }
    const std::unique_ptr<Request> owned = request_table.remove(*request);
    *request = STOKER_REQUEST_NULL;
  });
}

int stoker_request_statistics(stoker_request request, stoker_statistics* statistics) {
  return guarded([&] {
    check_struct(statistics, offsetof(stoker_statistics, before_wire_seconds), "statistics");
    const std::size_t size = statistics->size;
    const Request& object = live(request);
    const auto& plan = object.plan();
    const auto& sums = object.statistics();
    const stoker_statistics all{.size = size,
                                .starts = sums.starts,
                                .init_seconds = plan.init_seconds,
                                .exchange_seconds = sums.exchange_seconds,
                                .exposed_seconds = sums.exposed_seconds,
                                .hidden_seconds = sums.hidden_seconds,
                                .bytes_wire = plan.bytes_wire,
                                .bytes_node = plan.bytes_node,
                                .algorithm = plan.choice_text.c_str(),
                                .executor = name_of(plan.executor),
                                .send_access = object.access_name(stoker::algos::Buffer::send),
                                .recv_access = object.access_name(stoker::algos::Buffer::recv),
                                .before_wire_seconds = sums.before_wire_seconds,
                                .wire_seconds = sums.wire_seconds,
                                .puts = object.puts_name(),
                                .mpi_seconds = plan.mpi_seconds,
                                .break_even = object.break_even(),
                                .program = plan.from_wisdom ? "wisdom" : "compiled"};
    std::memcpy(statistics, &all, std::min(size, sizeof all)); // callers may have been compiled with a shorter struct
  });
}

} // extern "C"
