// SPDX-License-Identifier: BSD-3-Clause
// How an engine comes into being: all steps are taken by all ranks, and fail on all of them.
#include "engine/base/agreement.hpp"
#include "engine/core/engine.hpp"
#include "engine/core/live_engines.hpp"
#include "engine/helper/program_poller.hpp"
#include "engine/settings/machine_file.hpp"
#include "engine/settings/setting_table.hpp"
#include "engine/settings/tuning_file.hpp"
#include "engine/shared/shared_table.hpp"
#include "engine/transport/eager_limit.hpp"
#include "topology/reservation.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <sstream>
#include <type_traits>

namespace stoker::engine {
namespace {

std::shared_ptr<spdlog::logger> make_log(LogLevel level) {
  auto log = std::make_shared<spdlog::logger>("stoker", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log->set_pattern("[%n] %l: %v");
  static constexpr std::array levels{spdlog::level::err, spdlog::level::warn, spdlog::level::info,
                                     spdlog::level::debug};
  log->set_level(levels[static_cast<std::size_t>(level)]);
  return log;
}

// Collective. The result must be equal on all ranks: else a message would be expected whole and arrive in pieces.
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

// Names the first key whose value is not rank 0's, except the drop-in library's keys, which may differ.
void check_equal_settings(MPI_Comm comm, const Settings& mine) {
  std::string text;
  for (const SettingRow& row : setting_table()) {
    text += row.get(mine) + '\n';
  }
  const std::string first = text_of_rank_0(comm, text);
  attempt_on_all(comm, [&] {
    std::istringstream lines(first);
    for (const SettingRow& row : setting_table()) {
      std::string value;
      std::getline(lines, value);
      if (value != row.get(mine) && row.kind != SettingKind::drop_in) {
        throw Error(Code::mismatch, "setting {} is {} here and {} on rank 0; expected equal settings on all ranks",
                    row.key, row.get(mine), value);
      }
    }
  });
}

} // namespace

Engine::Engine(MPI_Comm comm, std::span<const SettingText> settings, Misfits misfits) : misfits_(misfits) {
  control_ = OwnedComm::like(comm);
  PMPI_Comm_rank(control_, &rank_);
  read_settings(settings);
  read_cost_model();
  read_tuning();
  choose_executor();
  discover();
  open_network();
  join_node();
  wait_site_ = {.spin_ns = static_cast<std::uint64_t>(settings_.wait_spin_us) * 1000,
                .network = data_,
                .bell = &memory_->root(memory_->self()).completion};
  if (!settings_.trace.empty()) {
    trace_ = std::make_unique<Trace>(settings_.trace);
  }
  inline_ = std::make_unique<Progress>(network_, rank_executor);
  attempt_on_all(control_, [&] {
    if (has_helpers_) {
      start_helper();
    }
  });
  if (has_helpers_ && !on_all(control_, carrier() != rank_ || helper_ != nullptr)) {
    has_helpers_ = false;
    helper_.reset();
  }
  exchange_helper_facts();
  note_created(*this);
}

void Engine::read_settings(std::span<const SettingText> settings) {
  const auto failure = attempt([&] { settings_ = load_settings(settings); });
  log_ = make_log(settings_.log);
  wisdom_ = std::make_unique<Wisdom>(settings_.wisdom, log_);
  agree(control_, with_rank(rank_, failure));
  check_equal_settings(control_, settings_);
  if (rank_ == 0) {
    for (const std::string& line : environment_warnings()) {
      log_->warn("{}", line);
    }
  }
}

void Engine::read_cost_model() {
  if (!settings_.cost_model.empty()) { // the file may exist where rank 0 is, and nowhere else
    std::string text;
    const auto failure = rank_ == 0 ? attempt([&] {
      cost_model_ = read_machine(settings_.cost_model);
      text = machine_text(cost_model_);
    })
                                    : std::nullopt;
    agree(control_, failure ? std::optional(Error(Code::setting, "cost_model: {}", failure->what())) : std::nullopt);
    cost_model_ = parse_machine(text_of_rank_0(control_, std::move(text)), settings_.cost_model);
  }
}

// All ranks read the text that rank 0 has found good, so that they decide alike.
void Engine::read_tuning() {
  if (settings_.tuning.empty()) {
    return;
  }
  std::string text;
  if (rank_ == 0) {
    const auto failure = attempt([&] {
      text = text_of_file(settings_.tuning);
      tuning_ = parse_tuning(text, settings_.tuning);
    });
    if (failure) {
      log_->warn("tuning: {}; the cost model chooses instead", failure->what());
      text.clear();
    }
  }
  text = text_of_rank_0(control_, std::move(text));
  if (rank_ != 0 && !text.empty()) {
    tuning_ = parse_tuning(text, settings_.tuning);
  }
}

void Engine::choose_executor() {
  int provided = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&provided);
  int lowest = provided;
  check_mpi(PMPI_Allreduce(&provided, &lowest, 1, MPI_INT, MPI_MIN, control_), "MPI_Allreduce");
  is_threaded_ = lowest >= MPI_THREAD_MULTIPLE;
  has_helpers_ = settings_.executor != ExecutorChoice::inline_ && is_threaded_;
  if (!is_threaded_ && settings_.executor == ExecutorChoice::engine) {
    throw Error(Code::thread_level,
                "rank {}: executor=engine needs MPI_THREAD_MULTIPLE on all ranks, but MPI provides less; initialise "
                "MPI with MPI_Init_thread, or use executor=auto",
                rank_);
  }
  if (!is_threaded_ && settings_.executor == ExecutorChoice::automatic && rank_ == 0) {
    log_->warn("MPI does not provide MPI_THREAD_MULTIPLE: no helpers, requests are executed inline");
  }
}

void Engine::discover() {
  // Topology errors are agreed by discover() itself.
  const auto failure = attempt([&] { machine_ = std::make_unique<topology::Machine>(settings_.machine); });
  agree(control_, failure ? std::optional(Error(Code::setting, "rank {}: {}", rank_, failure->what())) : std::nullopt);
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
}

void Engine::open_network() {
  PMPI_Comm_group(control_, &group_);
  data_ = OwnedComm::like(control_);
  ready_ = OwnedComm::like(control_);
  transport_.emplace(std::array<MPI_Comm, Transport::channels>{data_, ready_, MPI_COMM_NULL});
  network_ = {.transport = &*transport_, .piece_bytes = agreed_piece_bytes(control_, layout(), settings_)};
  const std::span<const int> members = layout().domain_ranks(layout().domain_of(rank_)); // with the carrier's endpoint
  const auto self = std::ranges::find(members, rank_) - members.begin();
  tags_.emplace(largest_tag(data_), members.size(), static_cast<std::uint64_t>(self));
  check_mpi(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_context, &keyval_, this), "MPI_Comm_create_keyval");
}

void Engine::join_node() {
  const OwnedComm node = OwnedComm::part_of(control_, layout().node_of(rank_));
  agree(control_, attempt([&] { map_node_memory(node); }));
  if (auto tables = shared_table(node, layout().tables())) {
    discovery_->layout = topology::Layout::over(std::move(tables));
  }
}

void Engine::map_node_memory(const OwnedComm& node) {
  int numa = -1;
  if (machine_->is_this_system()) {
    const auto os = machine_->numa_domain(discovery_->numa_of(rank_)).os;
    numa = os ? os->value : -1;
  }
  const bool shares_node = discovery_->node_ranks.size() > 1;
  const bool chooses = settings_.access == AccessChoice::automatic || settings_.access == AccessChoice::device;
  memory_ = std::make_shared<NodeMemory>(
      node, NodeMemoryOptions{.bytes = settings_.arena_bytes,
                              .numa = numa,
                              .attachable = shares_node && settings_.access != AccessChoice::staged,
                              .xpmem = shares_node && chooses && settings_.xpmem == XpmemChoice::automatic});
  if (!memory_->attach_works() && settings_.access == AccessChoice::cma) {
    const auto& errors = memory_->attach_errors();
    const auto refused = std::ranges::find_if(errors, [](int e) { return e != 0; });
    throw Error(Code::access,
                "rank {}: access=cma, but cross-memory attach is refused{}; expected permission to trace the ranks of "
                "the node (see stoker doctor), or access=auto",
                rank_, refused != errors.end() ? std::string(": ") + std::strerror(*refused) : " on this node");
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
  helper_ = std::make_unique<Helper>(*machine_, memory_, std::move(members),
                                     HelperOptions{.place = place,
                                                   .spin_us = static_cast<std::uint64_t>(settings_.spin_us),
                                                   .nap_us = static_cast<std::uint64_t>(settings_.nap_us),
                                                   .batch = static_cast<std::size_t>(settings_.batch)},
                                     trace_ != nullptr ? &trace_->helper : nullptr);
  helper_->add(Submitted::epoch, std::make_unique<ProgramPoller>(*memory_, network_, helper_->windows()));
  if (const auto no_thread = attempt([&] { helper_->start(); })) {
    helper_.reset();
    if (settings_.executor == ExecutorChoice::engine) {
      throw *no_thread;
    }
    log_->warn("rank {}: no helpers, requests are executed inline: {}", rank_, no_thread->what());
    return;
  }
  helper_explanation_ = place.explanation;
  const std::string& problem = helper_->binding().problem;
  if (!problem.empty()) {
    helper_explanation_ += "; " + problem;
    if (settings_.best_effort || settings_.reserve == "auto" || settings_.reserve == "none") {
      log_->info("rank {}: helper not bound as wished: {}", rank_, problem);
    } else {
      throw Error(Code::resource, "reserve={}: {}; set best_effort=1 to go on without", settings_.reserve, problem);
    }
  }
  log_->info("rank {}: helper of domain {}: {}", rank_, layout().domain_of(rank_), helper_explanation_);
}

void Engine::exchange_helper_facts() {
  HelperFacts mine;
  if (helper_ != nullptr) {
    const topology::CpuSet& cpus = helper_->binding().obtained;
    mine = {.running = 1, .core = cpus.size() == 1 ? cpus.first().value : -1, .reserved = helper_reserved_ ? 1 : 0};
  }
  helper_facts_ = gathered(control_, mine)[static_cast<std::size_t>(carrier())];
}

} // namespace stoker::engine
