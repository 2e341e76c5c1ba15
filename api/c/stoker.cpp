// SPDX-License-Identifier: BSD-3-Clause
// The C door: checks handles, calls the engine, turns exceptions into codes and a message per thread.
#include <stoker/stoker.h>

#include "api/c/engine_of.hpp"
#include "api/c/guarded.hpp"
#include "api/c/handles.hpp"
#include "api/c/init.hpp"
#include "engine/base/error.hpp"
#include "engine/core/engine.hpp"
#include "engine/requests/alltoall.hpp"
#include "engine/requests/neighbor_alltoall.hpp"
#include "engine/requests/request.hpp"
#include "engine/shared/allocations.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

using stoker::algos::Collective;
using stoker::api::check_comm;
using stoker::api::check_pointer;
using stoker::api::guarded;
using stoker::api::init;
using stoker::api::live;
using stoker::api::size_of;
using stoker::api::WideArrays;
using stoker::engine::Code;
using stoker::engine::Engine;
using stoker::engine::Error;
using stoker::engine::ExchangeArguments;
using stoker::engine::Neighbors;
using stoker::engine::Request;

static_assert(
    STOKER_SUCCESS == static_cast<int>(Code::success) && STOKER_ERR_ARGUMENT == static_cast<int>(Code::argument) &&
    STOKER_ERR_REQUEST == static_cast<int>(Code::request) && STOKER_ERR_STATE == static_cast<int>(Code::state) &&
    STOKER_ERR_UNSUPPORTED == static_cast<int>(Code::unsupported) &&
    STOKER_ERR_MISMATCH == static_cast<int>(Code::mismatch) &&
    STOKER_ERR_RESOURCE == static_cast<int>(Code::resource) && STOKER_ERR_SETTING == static_cast<int>(Code::setting) &&
    STOKER_ERR_THREAD_LEVEL == static_cast<int>(Code::thread_level) && STOKER_ERR_MPI == static_cast<int>(Code::mpi) &&
    STOKER_ERR_ACCESS == static_cast<int>(Code::access) && STOKER_ERR_PEER_LOST == static_cast<int>(Code::peer_lost));

namespace {

// Never destroyed: an application may give back handles in destructors of its own global objects.
auto& engine_table = *new stoker::api::HandleTable<std::shared_ptr<Engine>, stoker_engine>;
auto& request_table = *new stoker::api::HandleTable<std::unique_ptr<Request>, stoker_request>;

// Needs no destructor, for the same reason.
thread_local std::array<char, 1024> last_message{};

// For messages of calls that fail before a communicator is known.
std::string this_rank() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0) {
    return "";
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return "rank " + std::to_string(rank) + ": ";
}

Request& live(stoker_request handle) {
  const auto* found = request_table.find(handle);
  if (found == nullptr) {
    throw Error(Code::request, "request is not a live request: freed, foreign or never initialised");
  }
  return **found;
}

void check_mpi_usable() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0) {
    throw Error(Code::state, initialized == 0
                                 ? "MPI is not initialised; expected MPI_Init_thread before any stoker call"
                                 : "MPI is finalized; no stoker call is possible any more");
  }
}

// Blocks of equal size, one behind the other, as arrays.
struct EqualBlocks {
  EqualBlocks(std::size_t blocks, MPI_Count count) : counts(blocks, count) {
    for (std::size_t b = 0; b < blocks; ++b) {
      displs.push_back(static_cast<MPI_Aint>(b) * count);
    }
  }
  std::vector<MPI_Count> counts;
  std::vector<MPI_Aint> displs;
};

// Requests of a list; null ones are left out, as they count as inactive.
std::vector<Request*> listed(int count, const stoker_request* handles) {
  if (count < 0) {
    throw Error(Code::argument, "count is " + std::to_string(count) + "; expected 0 or more");
  }
  if (count > 0) {
    check_pointer(handles, "requests");
  }
  std::vector<Request*> list(static_cast<std::size_t>(count), nullptr);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (handles[i] != STOKER_REQUEST_NULL) {
      try {
        list[i] = &live(handles[i]);
      } catch (const Error& error) {
        throw Error(error.code(), "requests[" + std::to_string(i) + "]: " + error.what());
      }
    }
  }
  return list;
}

// Completes every request even if one fails; the first error is reported.
void complete_all(const std::vector<Request*>& list) {
  std::optional<Error> failure;
  for (Request* request : list) {
    if (request != nullptr) {
      try {
        request->wait();
      } catch (const Error& error) {
        if (!failure) {
          failure = error;
        }
      }
    }
  }
  if (failure) {
    throw *failure;
  }
}

// Index of an active request that is complete; -1 when none is; -2 when none is active.
int find_complete(const std::vector<Request*>& list) {
  bool any_active = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] != nullptr && list[i]->active()) {
      any_active = true;
      if (list[i]->peek()) {
        return static_cast<int>(i);
      }
    }
  }
  return any_active ? -1 : -2;
}

} // namespace

namespace stoker::api {

int fail(Code code, const std::string& message) {
  const std::string text = message.starts_with("rank ") ? message : this_rank() + message;
  const std::size_t length = std::min(text.size(), last_message.size() - 1);
  std::copy_n(text.begin(), length, last_message.begin());
  last_message[length] = '\0';
  return static_cast<int>(code);
}

const std::shared_ptr<Engine>& live(stoker_engine handle) {
  const auto* found = engine_table.find(handle);
  if (found == nullptr || (*found)->destroyed()) {
    throw Error(Code::request, "engine is not a live engine: null, destroyed or never created");
  }
  return *found;
}

stoker_request keep(std::unique_ptr<Request> request) {
  const stoker_request handle = request_table.insert(std::move(request));
  if (handle == nullptr) {
    throw Error(Code::resource, "more than 16 million requests");
  }
  return handle;
}

void check_comm(MPI_Comm comm) {
  check_mpi_usable();
  if (comm == MPI_COMM_NULL) {
    throw Error(Code::argument, "comm is MPI_COMM_NULL; expected an intracommunicator");
  }
  int inter = 0;
  MPI_Comm_test_inter(comm, &inter);
  if (inter != 0) {
    throw Error(Code::unsupported, "comm is an intercommunicator; expected an intracommunicator");
  }
}

std::shared_ptr<Engine> engine_of(stoker_engine handle) { return live(handle); }

} // namespace stoker::api

extern "C" {

const char* stoker_error_string(int code) {
  switch (code) {
  case STOKER_SUCCESS:
    return "success";
  case STOKER_ERR_ARGUMENT:
    return "invalid argument";
  case STOKER_ERR_REQUEST:
    return "not a live handle";
  case STOKER_ERR_STATE:
    return "not allowed in this state";
  case STOKER_ERR_UNSUPPORTED:
    return "not supported";
  case STOKER_ERR_MISMATCH:
    return "ranks disagree";
  case STOKER_ERR_RESOURCE:
    return "resource exhausted";
  case STOKER_ERR_SETTING:
    return "bad setting";
  case STOKER_ERR_THREAD_LEVEL:
    return "MPI_THREAD_MULTIPLE is missing";
  case STOKER_ERR_MPI:
    return "an MPI call failed";
  case STOKER_ERR_ACCESS:
    return "memory of a rank cannot be reached";
  case STOKER_ERR_PEER_LOST:
    return "a process is gone";
  default:
    return "unknown error code";
  }
}

const char* stoker_error_message(void) { return last_message.data(); }

int stoker_engine_create(MPI_Comm comm, const stoker_setting* settings, size_t count, stoker_engine* engine) {
  return guarded([&] {
    check_pointer(engine, "engine");
    *engine = STOKER_ENGINE_NULL;
    if (count > 0) {
      check_pointer(settings, "settings");
    }
    check_comm(comm);
    std::vector<stoker::engine::SettingText> list;
    for (std::size_t i = 0; i < count; ++i) {
      check_pointer(settings[i].key, "settings[].key");
      check_pointer(settings[i].value, "settings[].value");
      list.emplace_back(settings[i].key, settings[i].value);
    }
    *engine = engine_table.insert(std::make_shared<Engine>(comm, list));
  });
}

int stoker_engine_destroy(stoker_engine* engine) {
  return guarded([&] {
    check_pointer(engine, "engine");
    const std::shared_ptr<Engine> object = live(*engine);
    (void)engine_table.remove(*engine);
    *engine = STOKER_ENGINE_NULL;
    object->destroy();
  });
}

int stoker_pause(stoker_engine engine) {
  return guarded([&] { live(engine)->pause(); });
}

int stoker_resume(stoker_engine engine) {
  return guarded([&] { live(engine)->resume(); });
}

int stoker_alloc(stoker_engine engine, size_t bytes, void** memory) {
  return guarded([&] {
    check_pointer(memory, "memory");
    *memory = nullptr;
    *memory = stoker::engine::allocate(live(engine)->memory(), bytes);
  });
}

int stoker_dealloc(void* memory) {
  return guarded([&] {
    if (memory != nullptr) {
      stoker::engine::deallocate(memory);
    }
  });
}

int stoker_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                         MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                         stoker_request* request) {
  return stoker_alltoall_init_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, engine,
                                request);
}

int stoker_alltoall_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                           MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                           stoker_engine engine, stoker_request* request) {
  return guarded([&] {
    check_comm(comm);
    const std::size_t ranks = size_of(comm);
    const EqualBlocks send(ranks, sendcount);
    const EqualBlocks recv(ranks, recvcount);
    init(engine, request, [&](const auto& live_engine) {
      return make_alltoall(live_engine, Collective::alltoall,
                           {sendbuf, send.counts.data(), send.displs.data(), sendtype, recvbuf, recv.counts.data(),
                            recv.displs.data(), recvtype, comm, info});
    });
  });
}

int stoker_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                          void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                          MPI_Comm comm, MPI_Info info, stoker_engine engine, stoker_request* request) {
  return guarded([&] {
    check_comm(comm);
    const std::size_t ranks = size_of(comm);
    const bool in_place = sendbuf == MPI_IN_PLACE; // the send arguments are then not looked at
    const WideArrays send(in_place ? nullptr : sendcounts, in_place ? nullptr : sdispls, ranks);
    const WideArrays recv(recvcounts, rdispls, ranks);
    init(engine, request, [&](const auto& live_engine) {
      return make_alltoall(
          live_engine, Collective::alltoallv,
          {sendbuf, send.counts, send.displs, sendtype, recvbuf, recv.counts, recv.displs, recvtype, comm, info});
    });
  });
}

int stoker_alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                            MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                            const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                            stoker_engine engine, stoker_request* request) {
  return guarded([&] {
    check_comm(comm);
    init(engine, request, [&](const auto& live_engine) {
      return make_alltoall(
          live_engine, Collective::alltoallv,
          {sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, info});
    });
  });
}

int stoker_neighbor_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                  stoker_engine engine, stoker_request* request) {
  return stoker_neighbor_alltoall_init_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, engine,
                                         request);
}

int stoker_neighbor_alltoall_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                    MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                    stoker_engine engine, stoker_request* request) {
  return guarded([&] {
    check_comm(comm);
    const Neighbors neighbors = stoker::engine::neighbors_of(comm);
    const EqualBlocks send(neighbors.targets.size(), sendcount);
    const EqualBlocks recv(neighbors.sources.size(), recvcount);
    init(engine, request, [&](const auto& live_engine) {
      return make_neighbor_alltoall(live_engine, Collective::neighbor_alltoall, neighbors,
                                    {sendbuf, send.counts.data(), send.displs.data(), sendtype, recvbuf,
                                     recv.counts.data(), recv.displs.data(), recvtype, comm, info});
    });
  });
}

int stoker_neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                   MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                   MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, stoker_engine engine,
                                   stoker_request* request) {
  return guarded([&] {
    check_comm(comm);
    const Neighbors neighbors = stoker::engine::neighbors_of(comm);
    const WideArrays send(sendcounts, sdispls, neighbors.targets.size());
    const WideArrays recv(recvcounts, rdispls, neighbors.sources.size());
    init(engine, request, [&](const auto& live_engine) {
      return make_neighbor_alltoall(
          live_engine, Collective::neighbor_alltoallv, neighbors,
          {sendbuf, send.counts, send.displs, sendtype, recvbuf, recv.counts, recv.displs, recvtype, comm, info});
    });
  });
}

int stoker_neighbor_alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                     MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                     const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                     stoker_engine engine, stoker_request* request) {
  return guarded([&] {
    check_comm(comm);
    const Neighbors neighbors = stoker::engine::neighbors_of(comm);
    init(engine, request, [&](const auto& live_engine) {
      return make_neighbor_alltoall(
          live_engine, Collective::neighbor_alltoallv, neighbors,
          {sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, info});
    });
  });
}

int stoker_start(stoker_request request) {
  return guarded([&] { live(request).start(); });
}

int stoker_startall(int count, const stoker_request requests[]) {
  return guarded([&] {
    const std::vector<Request*> list = listed(count, requests);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i] == nullptr) {
        throw Error(Code::request, "requests[" + std::to_string(i) + "] is null; expected an inactive request");
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
    // Every one is looked at, also behind one that is not complete: inline requests make progress in it.
    std::size_t complete = 0;
    for (Request* request : list) {
      complete += request == nullptr || request->peek() ? 1 : 0;
    }
    if (complete == list.size()) {
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
    check_pointer(statistics, "statistics");
    const std::size_t size = statistics->size;
    constexpr std::size_t least = offsetof(stoker_statistics, before_wire_seconds); // of the first release
    if (size < least) {
      throw Error(Code::argument,
                  "statistics->size is " + std::to_string(size) + "; expected at least " + std::to_string(least));
    }
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
                                .executor = plan.executor == stoker::engine::Executor::engine ? "engine" : "inline",
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

int stoker_engine_get_facts(stoker_engine engine, stoker_engine_facts* facts) {
  return guarded([&] {
    check_pointer(facts, "facts");
    if (facts->size < sizeof *facts) {
      throw Error(Code::argument, "facts->size is " + std::to_string(facts->size) + "; expected at least " +
                                      std::to_string(sizeof *facts));
    }
    const Engine& object = *live(engine);
    const auto& layout = object.layout();
    const auto& helper = object.helper_facts()[static_cast<std::size_t>(object.carrier())];
    *facts = {.size = facts->size,
              .ranks = layout.ranks(),
              .nodes = layout.nodes(),
              .domains = layout.domains(),
              .node = layout.node_of(object.rank()),
              .domain = layout.domain_of(object.rank()),
              .carrier = object.carrier(),
              .helpers = helper.running,
              .helper_core = helper.core,
              .helper_reserved = helper.reserved,
              .helper_cpu_seconds = object.helper() != nullptr ? object.helper()->cpu_seconds() : 0};
  });
}

int stoker_helper_get_statistics(stoker_engine engine, stoker_helper_statistics* statistics) {
  return guarded([&] {
    check_pointer(statistics, "statistics");
    if (statistics->size < sizeof *statistics) {
      throw Error(Code::argument, "statistics->size is " + std::to_string(statistics->size) + "; expected at least " +
                                      std::to_string(sizeof *statistics));
    }
    using stoker::engine::Submitted;
    const stoker::engine::HelperStatistics sums = live(engine)->helper_statistics();
    const auto rounds = [&](Submitted kind) { return sums.rounds[static_cast<std::size_t>(kind)]; };
    *statistics = {.size = statistics->size,
                   .busy_seconds = sums.busy_seconds,
                   .idle_seconds = sums.idle_seconds,
                   .sleeping_seconds = sums.sleeping_seconds,
                   .busy_rounds = rounds(Submitted::epoch).busy,
                   .idle_rounds = rounds(Submitted::epoch).idle,
                   .global_busy_rounds = rounds(Submitted::operation).busy,
                   .global_idle_rounds = rounds(Submitted::operation).idle};
  });
}

int stoker_trace_begin(stoker_engine engine, const char* name) {
  return guarded([&] {
    check_pointer(name, "name");
    if (auto* trace = live(engine)->trace()) {
      trace->begin(name);
    }
  });
}

int stoker_trace_end(stoker_engine engine) {
  return guarded([&] {
    if (auto* trace = live(engine)->trace()) {
      trace->end();
    }
  });
}

} // extern "C"
