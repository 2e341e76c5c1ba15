// SPDX-License-Identifier: BSD-3-Clause
// The C door to engines, and where exceptions become codes and a message per thread.
#include <stoker/stoker.h>

#include "api/c/engine_of.hpp"
#include "api/c/guarded.hpp"
#include "api/c/handles.hpp"
#include "engine/base/error.hpp"
#include "engine/base/never_destroyed.hpp"
#include "engine/core/engine.hpp"
#include "engine/shared/allocations.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

using stoker::api::check_comm;
using stoker::api::check_pointer;
using stoker::api::check_struct;
using stoker::api::guarded;
using stoker::api::live;
using stoker::engine::Code;
using stoker::engine::Engine;
using stoker::engine::Error;

namespace {

struct CodeRow {
  int door;
  Code code;
  const char* text;
};
// By number.
constexpr std::array codes{
    CodeRow{STOKER_SUCCESS, Code::success, "success"},
    CodeRow{STOKER_ERR_ARGUMENT, Code::argument, "invalid argument"},
    CodeRow{STOKER_ERR_REQUEST, Code::request, "not a live handle"},
    CodeRow{STOKER_ERR_STATE, Code::state, "not allowed in this state"},
    CodeRow{STOKER_ERR_UNSUPPORTED, Code::unsupported, "not supported"},
    CodeRow{STOKER_ERR_MISMATCH, Code::mismatch, "ranks disagree"},
    CodeRow{STOKER_ERR_RESOURCE, Code::resource, "resource exhausted"},
    CodeRow{STOKER_ERR_SETTING, Code::setting, "bad setting"},
    CodeRow{STOKER_ERR_THREAD_LEVEL, Code::thread_level, "MPI_THREAD_MULTIPLE is missing"},
    CodeRow{STOKER_ERR_MPI, Code::mpi, "an MPI call failed"},
    CodeRow{STOKER_ERR_ACCESS, Code::access, "memory of a rank cannot be reached"},
    CodeRow{STOKER_ERR_PEER_LOST, Code::peer_lost, "a process is gone"},
};
static_assert(std::ranges::all_of(codes, [](const CodeRow& row) {
  return row.door == static_cast<int>(row.code) && &row == &codes[static_cast<std::size_t>(row.door)];
}));

// Never destroyed: an application may give back handles in destructors of its own global objects.
stoker::engine::NeverDestroyed<stoker::api::HandleTable<std::shared_ptr<Engine>, stoker_engine>> engine_table_storage;
auto& engine_table = engine_table_storage.object;

// Needs no destructor, for the same reason.
thread_local std::array<char, 1024> last_message{};

struct MpiState {
  MpiState() {
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
  }
  [[nodiscard]] bool usable() const { return initialized != 0 && finalized == 0; }
  int initialized = 0;
  int finalized = 0;
};

// For messages of calls that fail before a communicator is known.
std::string this_rank() {
  if (!MpiState().usable()) {
    return "";
  }
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return "rank " + std::to_string(rank) + ": ";
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

void check_comm(MPI_Comm comm) {
  if (const MpiState mpi; !mpi.usable()) {
    throw Error(Code::state, mpi.initialized == 0
                                 ? "MPI is not initialised; expected MPI_Init_thread before any stoker call"
                                 : "MPI is finalized; no stoker call is possible any more");
  }
  if (comm == MPI_COMM_NULL) {
    throw Error(Code::argument, "comm is MPI_COMM_NULL; expected an intracommunicator");
  }
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter != 0) {
    throw Error(Code::unsupported, "comm is an intercommunicator; expected an intracommunicator");
  }
}

std::shared_ptr<Engine> engine_of(stoker_engine handle) { return live(handle); }

} // namespace stoker::api

extern "C" {

const char* stoker_error_string(int code) {
  const auto* const row = std::ranges::find(codes, code, &CodeRow::door);
  return row == codes.end() ? "unknown error code" : row->text;
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
    if (memory != nullptr && !stoker::engine::deallocate(memory)) {
      throw Error(Code::argument, "memory is not (or no longer) from stoker_alloc");
    }
  });
}

int stoker_engine_get_facts(stoker_engine engine, stoker_engine_facts* facts) {
  return guarded([&] {
    check_struct(facts, sizeof *facts, "facts");
    const Engine& object = *live(engine);
    const auto& layout = object.layout();
    const auto& helper = object.helper_facts();
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
    check_struct(statistics, sizeof *statistics, "statistics");
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
