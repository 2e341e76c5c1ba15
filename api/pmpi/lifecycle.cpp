// SPDX-License-Identifier: BSD-3-Clause
// From MPI_Init to MPI_Finalize: the engine, which forms of calls are open to it, and what the application is told of
// threads.
#include "api/pmpi/advice.hpp"
#include "api/pmpi/alias.hpp"
#include "api/pmpi/arena_memory.hpp"
#include "api/pmpi/background_progress.hpp"
#include "api/pmpi/communicators.hpp"
#include "api/pmpi/handles.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/load_checks.hpp"
#include "api/pmpi/presence.hpp"
#include "api/pmpi/report_files.hpp"
#include "api/pmpi/settings.hpp"
#include "api/pmpi/state.hpp"
#include "api/pmpi/statistics.hpp"
#include "api/pmpi/tool_variables.hpp"
#include "api/pmpi/watched_messages.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/mpi_identity.hpp"
#include "engine/base/never_destroyed.hpp"
#include "engine/base/spare_thread.hpp"
#include "engine/calls/put_off_starts.hpp"
#include "engine/core/engine.hpp"

#include <fmt/format.h>

#include <pthread.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace stoker::pmpi {
namespace {

struct Life {
  std::shared_ptr<engine::Engine> engine;
  int reported_level = -1; // that the application was granted; -1: nothing differs from what MPI says
  bool raised_level = false;
  bool shut_down = false;
};
// Never destroyed: MPI_Finalize may be called by a destructor.
engine::NeverDestroyed<Life> life_storage;
Life& life = life_storage.object;

void close_gates(Reason because) {
  for (Gate& each : gates) {
    each.because.store(because, std::memory_order_relaxed);
    each.open.store(false, std::memory_order_relaxed);
  }
}

void open_gates() {
  const auto set = [](Form form, bool wanted) {
    gate(form).because.store(Reason::form_off, std::memory_order_relaxed);
    gate(form).open.store(wanted, std::memory_order_relaxed);
  };
  set(Form::blocking, settings().pmpi_blocking);
  set(Form::nonblocking, settings().pmpi_nonblocking);
  set(Form::persistent, settings().pmpi_persistent);
}

// All calls are recorded, and none is the engine's.
void record_only() {
  for (Gate& each : gates) {
    each.open.store(true, std::memory_order_relaxed);
  }
  start_advising();
}

// Inside MPI_Finalize at the latest.
void shut_down() {
  if (std::exchange(life.shut_down, true)) {
    return;
  }
  close_gates(Reason::outside_mpi);
  close_arena_memory();
  forget_missing_ranks();
  stop_watching();
  stop_background_progress();
  engine::PutOffStarts::of_process().end();
  forget_communicators();
  engine::SpareThread::of_process().end();
  if (advising()) {
    stop_advising();
    write_advice(MPI_COMM_WORLD);
  } else if (reports_are_wanted()) {
    write_reports(MPI_COMM_WORLD);
  }
  count_engine(nullptr);
  if (life.engine != nullptr) {
    const auto failure = engine::attempt([] { life.engine->destroy(); });
    life.engine.reset();
    if (failure) {
      fmt::print(stderr, "stoker: {}\n", failure->what());
    } else {
      leave_other_arenas();
    }
  }
  free_handles();
}

int shut_down_with_self(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*extra*/) {
  shut_down();
  return MPI_SUCCESS;
}

// A child has no helpers, and may not call MPI.
void after_fork() {
  close_gates(Reason::switched_off);
  forget_arena_memory();
  stop_watching();
  stop_advising();
}

// Collective.
void start_progress_if_wanted(bool complains) {
  if (!settings().pmpi_p2p && !settings().pmpi_rma) {
    return;
  }
  if (start_background_progress(give_up_old_messages)) {
    start_watching(settings().pmpi_p2p);
  } else if (complains) {
    fmt::print(stderr, "stoker: STOKER_PMPI_P2P and STOKER_PMPI_RMA need MPI_THREAD_MULTIPLE, which the MPI library "
                       "does not grant, or which was not asked for (executor=inline)\n");
  }
}

void open_memory_if_wanted(bool complains) {
  if (!settings().pmpi_alloc_mem && settings().pmpi_heap == 0) {
    return;
  }
  open_arena_memory(*life.engine);
  if (settings().pmpi_heap != 0 && !serve_heap(settings().pmpi_heap) && complains) {
    fmt::print(stderr, "stoker: STOKER_PMPI_HEAP needs libstoker-heap.so, too, in LD_PRELOAD (as stoker run --mapped "
                       "sets it); the heap stays as it is\n");
  }
}

// Once the MPI library is initialised, by all ranks.
void begin() {
  int size = 0;
  int rank = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!all_have_it(MPI_COMM_WORLD, settings().pmpi_timeout)) {
    settings().pmpi_summary.clear(); // reports are collective
    settings().pmpi_job_line.clear();
    close_gates(Reason::no_engine);
    return;
  }
  if (rank == 0) {
    complain_of_settings(size == 1); // the engine names unknown ones, where there is one
  }
  take_settings_of_rank_0(MPI_COMM_WORLD);
  if (size > 1 && !settings().pmpi_advise) {
    start_progress_if_wanted(rank == 0);
  }
  int keyval = MPI_KEYVAL_INVALID;
  if (settings().pmpi_advise) {
    record_only();
  } else if (size == 1) {
    close_gates(Reason::one_process);
  } else {
    const auto failure = engine::attempt([] {
      life.engine = std::make_shared<engine::Engine>(MPI_COMM_WORLD, std::span<const engine::SettingText>(),
                                                     engine::Misfits::replaced);
    });
    if (failure) { // on all ranks
      life.engine.reset();
      close_gates(Reason::no_engine);
      if (rank == 0) {
        fmt::print(stderr, "stoker: no engine, the MPI library does everything: {}\n", failure->what());
      }
    } else {
      adopt(MPI_COMM_WORLD, MPI_INFO_NULL);
      open_gates();
      open_memory_if_wanted(rank == 0);
    }
  }
  // After the engine's own, which goes after it.
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, shut_down_with_self, &keyval, nullptr);
  PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
  pthread_atfork(nullptr, nullptr, after_fork);
}

// Helpers need MPI_THREAD_MULTIPLE; without any the application's own level does.
int needed_level(int asked) {
  const bool helpers =
      read_settings() && !settings().pmpi_advise && settings().executor != engine::ExecutorChoice::inline_;
  return helpers ? MPI_THREAD_MULTIPLE : asked;
}

// Open MPI 5 ends the job where its variable is not the level that MPI_Init_thread is asked for. So it is that for as
// long as this lives, if this library asks for another level than the application.
constexpr const char* open_mpi_level = "OMPI_MPI_THREAD_LEVEL"; // has the place of one of these
constexpr std::array levels_of_threads{MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                       MPI_THREAD_MULTIPLE};
class LevelInEnvironment {
public:
  explicit LevelInEnvironment(int needed) {
    if (const char* const given = std::getenv(open_mpi_level)) {
      before_ = given;
      const auto place = std::ranges::find(levels_of_threads, needed) - levels_of_threads.begin();
      setenv(open_mpi_level, fmt::format("{}", place).c_str(), 1);
    }
  }
  LevelInEnvironment(const LevelInEnvironment&) = delete;
  LevelInEnvironment& operator=(const LevelInEnvironment&) = delete;
  ~LevelInEnvironment() {
    if (before_) {
      setenv(open_mpi_level, before_->c_str(), 1);
    }
  }

private:
  std::optional<std::string> before_;
};

// What MPI_Init asks for without this library: the environment may say so.
int level_of_init() {
  if (engine::mpi_identity().family == engine::MpiFamily::open_mpi) {
    const char* const given = std::getenv(open_mpi_level);
    const int place = given != nullptr ? std::atoi(given) : 0;
    return place < 0 || place > 3 ? MPI_THREAD_MULTIPLE
                                  : levels_of_threads[static_cast<std::size_t>(place)]; // as it does
  }
  constexpr std::array names{"MPIR_CVAR_DEFAULT_THREAD_LEVEL", "MPIR_PARAM_DEFAULT_THREAD_LEVEL",
                             "MPICH_DEFAULT_THREAD_LEVEL"};
  constexpr std::array<std::pair<const char*, int>, 4> levels{{{"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
                                                               {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
                                                               {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
                                                               {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE}}};
  for (const char* const name : names) {
    const char* const given = std::getenv(name);
    for (const auto& [text, level] : levels) {
      if (given != nullptr && strcasecmp(given, text) == 0) {
        return level;
      }
    }
  }
  return MPI_THREAD_SINGLE;
}

// `required` and `provided`: empty and null for MPI_Init.
int initialise(int* argc, char*** argv, std::optional<int> required, int* provided) {
  if (complain_of_mixed_libraries()) { // the program's handles are not even of this library's size
    std::fflush(nullptr);
    std::_Exit(1);
  }
  const int asked = required ? *required : level_of_init();
  const int needed = needed_level(asked);
  int granted = MPI_THREAD_SINGLE;
  {
    const Inside inside;
    std::optional<LevelInEnvironment> level;
    if (provided == nullptr || needed != asked) {
      level.emplace(needed);
    }
    const int code = real().MPI_Init_thread(argc, argv, needed, &granted);
    if (code != MPI_SUCCESS) {
      return code;
    }
  }
  life.reported_level = std::min(asked, granted);
  life.raised_level = granted > asked && needed > asked;
  if (provided != nullptr) {
    *provided = life.reported_level;
  }
  const Inside inside;
  begin();
  count_engine(life.engine.get());
  show_settings(settings());
  return MPI_SUCCESS;
}

} // namespace

bool raised_thread_level() { return life.raised_level; }
const std::shared_ptr<engine::Engine>& the_engine() { return life.engine; }

} // namespace stoker::pmpi

using stoker::pmpi::life;
using stoker::pmpi::real;

extern "C" {

int MPI_Init(int* argc, char*** argv) { return stoker::pmpi::initialise(argc, argv, std::nullopt, nullptr); }

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return stoker::pmpi::initialise(argc, argv, required, provided);
}

int MPI_Query_thread(int* provided) {
  const int code = real().MPI_Query_thread(provided);
  if (code == MPI_SUCCESS && life.reported_level != -1) {
    *provided = life.reported_level;
  }
  return code;
}

int MPI_Finalize(void) {
  const stoker::pmpi::Inside inside;
  stoker::pmpi::shut_down();
  return real().MPI_Finalize();
}

int MPI_Pcontrol(const int level, ...) {
  if (life.engine != nullptr) { // whose helpers have nothing to do any more once what is under way is complete
    if (level == 0) {
      stoker::pmpi::close_gates(stoker::pmpi::Reason::switched_off);
      stoker::pmpi::pause_watching(true);
      stoker::pmpi::pause_background_progress(true);
    } else {
      stoker::pmpi::open_gates();
      stoker::pmpi::pause_background_progress(false);
      stoker::pmpi::pause_watching(false);
    }
    if (level == 2) {
      stoker::pmpi::reset_statistics();
    }
  }
  stoker::pmpi::control_advising(level);
  return real().MPI_Pcontrol != nullptr ? real().MPI_Pcontrol(level) : MPI_SUCCESS;
}
}

ALIAS_PMPI(MPI_Init)
ALIAS_PMPI(MPI_Init_thread)
ALIAS_PMPI(MPI_Query_thread)
ALIAS_PMPI(MPI_Finalize)
ALIAS_PMPI(MPI_Pcontrol)
