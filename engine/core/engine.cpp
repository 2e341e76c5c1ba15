// SPDX-License-Identifier: BSD-3-Clause
#include "engine/core/engine.hpp"

#include "engine/base/agreement.hpp"
#include "engine/execute/lower.hpp"
#include "engine/global/global_memory.hpp"
#include "engine/helper/waiting.hpp"
#include "engine/requests/request.hpp"
#include "engine/settings/cost_file.hpp"
#include "engine/transport/eager_limit.hpp"
#include "topology/reservation.hpp"

#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <array>
#include <climits>
#include <map>
#include <sstream>
#include <type_traits>

#include <sched.h>
#include <unistd.h>

namespace stoker::engine {
namespace {

// Who allocated what: memory may be given back after its engine is gone.
struct Allocations {
  struct Entry {
    std::shared_ptr<NodeMemory> memory; // keeps the arena mapped
    std::uint64_t offset;
  };
  std::mutex mutex;
  std::map<void*, Entry> entries;
};
// Neither this nor `engines` is ever destroyed: destructors of the application's global objects may still come.
Allocations& allocations = *new Allocations;

// Engines of this process, so that those left over end inside MPI_Finalize.
struct Engines {
  std::mutex mutex;
  std::list<Engine*> alive;
  bool watching_finalize = false;
  bool finalizing = false; // then all of them are driven by the thread that is in MPI_Finalize
};
Engines& engines = *new Engines;

int destroy_left_over(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*extra*/) {
  {
    // MPICH takes itself for single-threaded from here on, so that no other thread may call it.
    const std::lock_guard lock(engines.mutex);
    engines.finalizing = true;
    for (Engine* engine : engines.alive) {
      engine->take_helpers_place();
    }
  }
  for (;;) {
    Engine* engine = nullptr;
    {
      const std::lock_guard lock(engines.mutex);
      if (engines.alive.empty()) {
        return MPI_SUCCESS;
      }
      engine = engines.alive.front(); // in the order of creation, which is the same on all ranks
    }
    try {
      engine->destroy();
    } catch (const Error& error) {
      engine->log().error("{}", error.what());
    }
  }
}

void register_engine(Engine& engine) {
  const std::lock_guard lock(engines.mutex);
  engines.alive.push_back(&engine);
  if (!engines.watching_finalize) {
    // MPI-4.1 section 11.2.4: attributes of MPI_COMM_SELF go first in MPI_Finalize, while MPI still works.
    int keyval = MPI_KEYVAL_INVALID;
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, destroy_left_over, &keyval, nullptr),
              "MPI_Comm_create_keyval");
    check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr), "MPI_Comm_set_attr");
    engines.watching_finalize = true;
  }
}

std::uint64_t physical_memory() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::shared_ptr<spdlog::logger> make_log(LogLevel level) {
  auto log = std::make_shared<spdlog::logger>("stoker", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log->set_pattern("[%n] %l: %v");
  static constexpr std::array levels{spdlog::level::err, spdlog::level::warn, spdlog::level::info,
                                     spdlog::level::debug};
  log->set_level(levels[static_cast<std::size_t>(level)]);
  return log;
}

OwnedComm duplicate(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
  return OwnedComm(copy);
}

// Collective: the same on all ranks, or a message would be expected whole and come in pieces.
std::uint64_t agreed_piece_bytes(MPI_Comm comm, const topology::Layout& layout, const Settings& settings) {
  if (settings.wire_piece_bytes) {
    return std::min<std::uint64_t>(*settings.wire_piece_bytes, INT_MAX); // equal settings
  }
  if (layout.nodes() == 1) {
    return 0;
  }
  constexpr std::uint64_t headers = 1024; // far more than any version puts in front
  const std::uint64_t limit = agreed_eager_limit(comm, layout.node_leader(0), layout.node_leader(1));
  return limit > 2 * headers ? limit - headers : 0;
}

// Names the first key whose value is not rank 0's.
void check_equal_settings(MPI_Comm comm, const std::vector<EffectiveSetting>& mine) {
  std::string text;
  for (const EffectiveSetting& setting : mine) {
    text += setting.value + '\n';
  }
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  int length = static_cast<int>(text.size());
  check_mpi(MPI_Bcast(&length, 1, MPI_INT, 0, comm), "MPI_Bcast");
  std::string first = text;
  first.resize(static_cast<std::size_t>(length));
  check_mpi(MPI_Bcast(first.data(), length, MPI_CHAR, 0, comm), "MPI_Bcast");
  agree(comm, attempt([&] {
          std::istringstream lines(first);
          for (const EffectiveSetting& setting : mine) {
            std::string value;
            std::getline(lines, value);
            if (value != setting.value) {
              throw Error(Code::mismatch, "rank " + std::to_string(rank) + ": setting " + std::string(setting.key) +
                                              " is " + setting.value + " here and " + value +
                                              " on rank 0; expected equal settings on all ranks");
            }
          }
        }));
}

} // namespace

OwnedComm::~OwnedComm() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (comm_ != MPI_COMM_NULL && finalized == 0) {
    MPI_Comm_free(&comm_);
  }
}

// Called when a communicator with a context is freed, or the engine drops it.
int forget_context(MPI_Comm comm, int /*keyval*/, void* value, void* extra) {
  static_cast<CommContext*>(value)->free();
  auto* engine = static_cast<Engine*>(extra);
  const std::lock_guard lock(engine->contexts_mutex_);
  std::erase_if(engine->contexts_, [&](const auto& entry) { return entry.first == comm; });
  return MPI_SUCCESS;
}

Engine::Engine(MPI_Comm comm, std::span<const SettingText> settings) {
  control_ = duplicate(comm);
  MPI_Comm_rank(control_, &rank_);
  const auto by_rank = [this](const Error& e) {
    return Error(e.code(), "rank " + std::to_string(rank_) + ": " + e.what());
  };
  std::optional<Error> failure = attempt([&] {
    settings_ = load_settings(settings);
    effective_settings_ = engine::effective_settings(settings);
  });
  log_ = make_log(settings_.log);
  wisdom_ = std::make_unique<Wisdom>(settings_.wisdom, log_);
  agree(control_, failure ? std::optional(by_rank(*failure)) : std::nullopt);
  check_equal_settings(control_, effective_settings_);
  if (rank_ == 0) {
    for (const std::string& line : environment_warnings()) {
      log_->warn("{}", line);
    }
  }

  if (!settings_.cost_model.empty()) { // the file may exist where rank 0 is, and nowhere else
    failure = rank_ == 0 ? attempt([&] { cost_model_ = read_cost_file(settings_.cost_model); }) : std::nullopt;
    agree(control_,
          failure ? std::optional(Error(Code::setting, std::string("cost_model: ") + failure->what())) : std::nullopt);
    static_assert(std::is_trivially_copyable_v<algos::CostModel>);
    check_mpi(MPI_Bcast(&cost_model_, sizeof cost_model_, MPI_BYTE, 0, control_), "MPI_Bcast");
  }

  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  int lowest = provided;
  check_mpi(MPI_Allreduce(&provided, &lowest, 1, MPI_INT, MPI_MIN, control_), "MPI_Allreduce");
  has_helpers_ = settings_.executor != ExecutorChoice::inline_ && lowest >= MPI_THREAD_MULTIPLE;
  if (lowest < MPI_THREAD_MULTIPLE && settings_.executor == ExecutorChoice::engine) {
    throw Error(Code::thread_level,
                "rank " + std::to_string(rank_) +
                    ": executor=engine needs MPI_THREAD_MULTIPLE on all "
                    "ranks, but MPI provides less; initialise MPI with MPI_Init_thread, or use executor=auto");
  }
  if (lowest < MPI_THREAD_MULTIPLE && settings_.executor == ExecutorChoice::automatic && rank_ == 0) {
    log_->warn("MPI does not provide MPI_THREAD_MULTIPLE: no helpers, requests are executed inline");
  }

  // Topology errors are agreed by discover() itself.
  failure = attempt([&] { machine_ = std::make_unique<topology::Machine>(settings_.machine); });
  agree(control_, failure ? std::optional(Error(Code::setting, by_rank(*failure).what())) : std::nullopt);
  try {
    discovery_.emplace(topology::discover(
        control_, *machine_,
        {.machine = settings_.machine,
         .ranks_per_node = settings_.ranks_per_node,
         .domains = settings_.domains == DomainChoice::node ? topology::DomainKind::node : topology::DomainKind::numa,
         .threads_per_domain = settings_.threads_per_domain}));
  } catch (const topology::TopologyError& error) {
    throw Error(Code::setting, error.what());
  }

  MPI_Comm_group(control_, &group_);
  data_ = duplicate(comm);
  ready_ = duplicate(comm);
  network_ = {.data = data_, .ready = ready_, .piece_bytes = agreed_piece_bytes(control_, layout(), settings_)};
  int* tag_bound = nullptr;
  int found = 0;
  MPI_Comm_get_attr(data_, MPI_TAG_UB, static_cast<void*>(&tag_bound), &found);
  highest_tag_ = found != 0 ? *tag_bound : 32767; // the least that MPI allows
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_context, &keyval_, this), "MPI_Comm_create_keyval");

  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(control_, layout().node_of(rank_), rank_, &node), "MPI_Comm_split");
  failure = attempt([&] { create_node(OwnedComm(node)); });
  agree(control_, failure);

  if (!settings_.trace.empty()) {
    trace_ = std::make_unique<Trace>(settings_.trace);
  }
  inline_ = std::make_unique<Progress>(network_, rank_executor);
  failure = attempt([&] {
    if (has_helpers_) {
      start_helper();
    }
  });
  agree(control_, failure ? std::optional(by_rank(*failure)) : std::nullopt);

  HelperFacts mine;
  if (helper_ != nullptr) {
    const topology::CpuSet& cpus = helper_->binding().obtained;
    mine = {.running = 1, .core = cpus.size() == 1 ? cpus.first().value : -1, .reserved = helper_reserved_ ? 1 : 0};
  }
  helper_facts_.resize(static_cast<std::size_t>(layout().ranks()));
  check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, helper_facts_.data(), sizeof mine, MPI_BYTE, control_),
            "MPI_Allgather");
  register_engine(*this);
}

Engine::~Engine() = default;

void Engine::create_node(const OwnedComm& node) {
  const auto domains = discovery_->node_domains();
  int numa = -1;
  for (const topology::NodeDomain& domain : domains) {
    if (std::ranges::find(domain.ranks, rank_) != domain.ranks.end() && machine_->is_this_system()) {
      const auto os = machine_->numa_domain(domain.numa).os;
      numa = os ? os->value : -1;
    }
  }
  memory_ =
      std::make_shared<NodeMemory>(node, settings_.arena_bytes != 0 ? settings_.arena_bytes : physical_memory(), numa);
  if (!memory_->attach_works() && settings_.access == AccessChoice::cma) {
    const auto& errors = memory_->attach_errors();
    const auto refused = std::ranges::find_if(errors, [](int e) { return e != 0; });
    throw Error(Code::access,
                "rank " + std::to_string(rank_) + ": access=cma, but cross-memory attach is refused" +
                    (refused != errors.end() ? std::string(": ") + std::strerror(*refused) : " on this node") +
                    "; expected permission to trace the ranks of the node (see stoker doctor), or access=auto");
  }
}

void Engine::start_helper() {
  if (carrier() != rank_) {
    return;
  }
  const auto domains = discovery_->node_domains();
  const auto mine = std::ranges::find_if(domains, [&](const auto& d) { return d.ranks.front() == rank_; });
  std::vector<topology::HelperPlace> places;
  try {
    places = topology::reserve(*machine_, discovery_->node_ranks, domains,
                               topology::Reservation::parse(settings_.reserve, settings_.best_effort));
  } catch (const topology::TopologyError& error) {
    throw Error(Code::resource, error.what());
  }
  const topology::HelperPlace& place = places.at(static_cast<std::size_t>(mine - domains.begin()));
  std::vector<std::uint32_t> members;
  for (const int member : mine->ranks) {
    members.push_back(arena_of(member));
  }
  helper_reserved_ = place.reserved;
  helper_ = std::make_unique<Helper>(*machine_, memory_, std::move(members), network_,
                                     HelperOptions{.place = place,
                                                   .spin_us = static_cast<std::uint64_t>(settings_.spin_us),
                                                   .nap_us = static_cast<std::uint64_t>(settings_.nap_us),
                                                   .batch = static_cast<std::size_t>(settings_.batch)},
                                     trace_ != nullptr ? &trace_->helper : nullptr);
  helper_explanation_ = place.explanation;
  const std::string& problem = helper_->binding().problem;
  if (!problem.empty()) {
    helper_explanation_ += "; " + problem;
    if (settings_.best_effort || settings_.reserve == "auto" || settings_.reserve == "none") {
      log_->info("rank {}: helper not bound as wished: {}", rank_, problem);
    } else {
      throw Error(Code::resource,
                  "reserve=" + settings_.reserve + ": " + problem + "; set best_effort=1 to go on without");
    }
  }
  log_->info("rank {}: helper of domain {}: {}", rank_, layout().domain_of(rank_), helper_explanation_);
}

void Engine::take_helpers_place() {
  if (helper_ != nullptr && !in_its_place_) {
    in_its_place_.emplace(*helper_);
    helper_->round(); // the thread is out of its round then
  }
}

void Engine::meet(MPI_Comm comm) {
  std::vector<Helper*> driven;
  if (in_its_place_) {
    driven.push_back(helper_.get());
  }
  {
    const std::lock_guard lock(engines.mutex);
    for (Engine* engine : engines.finalizing ? engines.alive : std::list<Engine*>()) {
      if (engine != this && engine->in_its_place_) { // their peers may not be here yet
        driven.push_back(engine->helper_.get());
      }
    }
  }
  struct Waiter {
    MPI_Request request = MPI_REQUEST_NULL;
    std::span<Helper* const> driven;
    [[nodiscard]] bool done() {
      int flag = 0;
      check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
      return flag != 0;
    }
    [[nodiscard]] bool make_progress() const {
      bool moved = false;
      for (Helper* helper : driven) {
        moved |= helper->round();
      }
      return moved;
    }
    [[nodiscard]] bool asks_mpi() const { return true; }
    [[nodiscard]] bool can_sleep() const { return false; }
    void before_sleep() const {}
    void look_around(std::uint64_t /*waited_ns*/) const {}
  };
  // The helper of the domain, wherever it is, must work for the others until all are here, paused or not.
  Plea plea;
  if (has_helpers_) {
    plea.make(memory_->root(arena_of(carrier())));
  }
  Waiter waiter{.driven = driven};
  check_mpi(MPI_Ibarrier(comm, &waiter.request), "MPI_Ibarrier");
  wait_until_done(*this, waiter);
}

void Engine::destroy() {
  {
    const std::lock_guard lock(engines.mutex);
    engines.alive.remove(this);
  }
  take_helpers_place();
  std::optional<Error> failure;
  std::vector<Request*> requests;
  {
    const std::lock_guard lock(requests_mutex_);
    requests.assign(requests_.begin(), requests_.end());
  }
  for (Request* request : requests) {
    try {
      request->wait();
    } catch (const Error& error) {
      failure = error;
    }
  }
  std::list<GlobalMemory*> globals;
  {
    const std::lock_guard lock(requests_mutex_);
    globals = globals_;
  }
  for (GlobalMemory* global : globals) {
    const auto failed = attempt([&] { global->close(); });
    failure = failed ? failed : failure;
  }
  // The others may still fetch from this rank's memory, and the helper may have epochs to retire, until all are here.
  meet(control_);
  if (helper_ != nullptr) {
    helper_->stop();
    in_its_place_.reset();
    helper_.reset();
  }
  put_windows_.free();
  meet(control_);
  destroyed_ = true;
  if (trace_ != nullptr) {
    trace_->write(control_);
  }
  while (!contexts_.empty()) {
    MPI_Comm_delete_attr(contexts_.front().first, keyval_); // calls forget_context
  }
  MPI_Comm_free_keyval(&keyval_);
  MPI_Group_free(&group_);
  inline_.reset();
  data_ = OwnedComm();
  ready_ = OwnedComm();
  global_short_messages_ = OwnedComm();
  global_data_ = OwnedComm();
  global_ready_ = OwnedComm();
  control_ = OwnedComm();
  memory_.reset();
  if (failure) {
    throw *failure;
  }
}

void Engine::pause() { memory_->root(arena_of(carrier())).paused.store(1, std::memory_order_relaxed); }

void Engine::resume() {
  RankRoot& root = memory_->root(arena_of(carrier()));
  root.paused.store(0, std::memory_order_relaxed);
  root.helper.ring(); // its fence orders the store before the look at sleepers
}

void* Engine::allocate(std::size_t bytes) {
  const std::uint64_t offset = memory_->arena().allocate(bytes, static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  void* memory = memory_->arena().base() + offset;
  const std::lock_guard lock(allocations.mutex);
  allocations.entries[memory] = {memory_, offset};
  return memory;
}

void deallocate(void* memory) {
  Allocations::Entry entry;
  {
    const std::lock_guard lock(allocations.mutex);
    const auto found = allocations.entries.find(memory);
    if (found == allocations.entries.end()) {
      throw Error(Code::argument, "memory is not (or no longer) from stoker_alloc");
    }
    entry = found->second;
    allocations.entries.erase(found);
  }
  entry.memory->arena().deallocate(entry.offset);
}

std::shared_ptr<CommContext> Engine::context(MPI_Comm comm) {
  {
    const std::lock_guard lock(contexts_mutex_);
    for (const auto& [known, context] : contexts_) {
      if (known == comm) {
        return context; // freed communicators are not in the list: forget_context took them out
      }
    }
  }
  auto context = std::make_shared<CommContext>(comm, group_, layout());
  check_mpi(MPI_Comm_set_attr(comm, keyval_, context.get()), "MPI_Comm_set_attr");
  const std::lock_guard lock(contexts_mutex_);
  contexts_.emplace_back(comm, context);
  return context;
}

void Engine::start_inline(Task& task, std::uint64_t epoch) {
  const std::lock_guard lock(inline_mutex_);
  inline_->adopt(task, epoch, 0); // nobody naps here
  inline_->poll();
}

bool Engine::inline_round() {
  const std::unique_lock lock(inline_mutex_, std::try_to_lock);
  return lock.owns_lock() && inline_->poll();
}

void Engine::enlist(Request& request) {
  const std::lock_guard lock(requests_mutex_);
  requests_.push_back(&request);
}

void Engine::delist(Request& request) {
  const std::lock_guard lock(requests_mutex_);
  requests_.remove(&request);
}

void Engine::enlist(GlobalMemory& global) {
  const std::lock_guard lock(requests_mutex_);
  globals_.push_back(&global);
}

void Engine::delist(GlobalMemory& global) {
  const std::lock_guard lock(requests_mutex_);
  globals_.remove(&global);
}

void Engine::open_global_access() {
  if (!has_helpers_) {
    return;
  }
  if (!global_opened_) {
    Network network;
    if (layout().nodes() > 1) {
      global_short_messages_ = duplicate(control_);
      global_data_ = duplicate(control_);
      global_ready_ = duplicate(control_);
      network = {.data = global_data_, .ready = global_ready_, .piece_bytes = network_.piece_bytes};
    }
    if (helper_ != nullptr) {
      helper_->open_global_access(network, global_short_messages_);
    }
    global_opened_ = true;
  }
  if (++globals_open_ == 1 && helper_ != nullptr) {
    helper_->serve(true);
  }
}

void Engine::close_global_access() {
  if (has_helpers_ && --globals_open_ == 0 && helper_ != nullptr) {
    helper_->serve(false);
  }
}

std::uint64_t Engine::next_segment() {
  const std::uint64_t counted = segments_.fetch_add(1, std::memory_order_relaxed);
  return (counted * static_cast<std::uint64_t>(layout().ranks())) + static_cast<std::uint64_t>(rank_) + 1;
}

void Engine::give_back(std::uint64_t block, std::uint64_t last_epoch, bool submitted) {
  {
    const std::lock_guard lock(requests_mutex_);
    freed_.push_back({block, last_epoch, submitted});
  }
  sweep();
}

void Engine::sweep() {
  const std::lock_guard lock(requests_mutex_);
  std::erase_if(freed_, [&](const FreedBlock& freed) {
    const auto* block = reinterpret_cast<const Block*>(memory_->base(memory_->self()) + freed.block);
    if (!reclaimable(*block, freed.last_epoch, freed.submitted)) {
      return false;
    }
    reclaim(*memory_, freed.block);
    return true;
  });
}

} // namespace stoker::engine
