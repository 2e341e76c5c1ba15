// SPDX-License-Identifier: BSD-3-Clause
// The engine: what the ranks of a communicator share. Created and destroyed collectively; requests keep it alive, but
// refuse to work once it is destroyed.
#pragma once

#include "algos/select/machine.hpp"
#include "algos/select/tuning_table.hpp"
#include "engine/base/attachments.hpp"
#include "engine/base/own_comm.hpp"
#include "engine/core/comm_context.hpp"
#include "engine/core/dependent.hpp"
#include "engine/core/put_windows.hpp"
#include "engine/execute/progress.hpp"
#include "engine/execute/tag_space.hpp"
#include "engine/helper/helper.hpp"
#include "engine/helper/trace.hpp"
#include "engine/helper/waiting.hpp"
#include "engine/settings/settings.hpp"
#include "engine/shared/node_memory.hpp"
#include "engine/transport/mpi_transport.hpp"
#include "engine/wisdom/wisdom.hpp"
#include "topology/discover.hpp"
#include "topology/machine.hpp"

#include <mpi.h>

#include <array>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace spdlog {
class logger;
}

namespace stoker::engine {

// The facts about a domain's helper that every rank of the domain knows.
struct HelperFacts {
  int running = 0;
  int core = -1; // OS index, read back; -1: not bound to a single core
  int reserved = 0;
};

// Algorithms that the settings name, where they do not fit a communicator or an operation: an error of the call; or,
// under a program that knows nothing of the engine, a warning, and the call takes others.
enum class Misfits : std::uint8_t { refused, replaced };

class Engine {
public:
  static constexpr int most_comms = 3; // that it takes from the MPI library

  // Collective over comm. Throws Error on every rank.
  Engine(MPI_Comm comm, std::span<const SettingText> settings, Misfits misfits = Misfits::refused);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  // Collective over the engine's communicator. Completes and closes what depends on the engine first.
  void destroy();
  // Collective over comm: returns when all ranks have called it.
  void meet(MPI_Comm comm);
  // From now on until the helper ends, its thread makes no MPI call. What it would have done is done in advance().
  void take_helpers_place();
  [[nodiscard]] bool destroyed() const { return destroyed_; }

  void pause();
  void resume();

  // Cached as an attribute of comm. Collective over comm when it is new.
  [[nodiscard]] std::shared_ptr<CommContext> context(MPI_Comm comm);
  // Whether context() has one by now, and is local. One thread at a time for each communicator.
  [[nodiscard]] bool has_context(MPI_Comm comm) { return known_context(comm) != nullptr; }
  // A context of the caller's own, which the engine neither keeps nor frees. Collective over comm. `ranks`: what
  // ranks_of() returned, before `together` was made. `together`: see CommContext.
  [[nodiscard]] std::shared_ptr<CommContext> private_context(MPI_Comm comm, std::vector<int> ranks,
                                                             CommsTogether& together) const {
    return std::make_shared<CommContext>(comm, std::move(ranks), layout(), together);
  }

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const topology::Machine& machine() const { return *machine_; }
  [[nodiscard]] const topology::Discovery& discovery() const { return *discovery_; }
  [[nodiscard]] const topology::Layout& layout() const { return discovery_->layout; }
  [[nodiscard]] int rank() const { return rank_; }
  // Whether MPI provides MPI_THREAD_MULTIPLE on all ranks.
  [[nodiscard]] bool is_threaded() const { return is_threaded_; }
  [[nodiscard]] bool has_helpers() const { return has_helpers_; } // equal on all ranks
  [[nodiscard]] Helper* helper() const { return helper_.get(); }  // in the carrier's process
  [[nodiscard]] int carrier() const { return layout().domain_ranks(layout().domain_of(rank_)).front(); }
  [[nodiscard]] std::uint32_t arena_of(int engine_rank) const {
    return static_cast<std::uint32_t>(layout().local_index(engine_rank));
  }
  // For the helper of this rank's domain.
  [[nodiscard]] const HelperFacts& helper_facts() const { return helper_facts_; }
  [[nodiscard]] HelperStatistics helper_statistics() const;
  [[nodiscard]] const std::string& helper_explanation() const { return helper_explanation_; }
  [[nodiscard]] const std::shared_ptr<NodeMemory>& memory() const { return memory_; }
  [[nodiscard]] const algos::Machine& cost_model() const { return cost_model_; } // equal on all ranks
  [[nodiscard]] const algos::TuningTable& tuning() const { return tuning_; }     // likewise
  [[nodiscard]] MPI_Comm control() const { return control_; }
  [[nodiscard]] MPI_Comm network() const { return data_; }
  [[nodiscard]] std::uint64_t piece_bytes() const { return network_.piece_bytes; } // of messages between nodes
  [[nodiscard]] TagSpace& tags() { return *tags_; }                                // of this rank
  [[nodiscard]] spdlog::logger& log() const { return *log_; }
  [[nodiscard]] Trace* trace() const { return trace_.get(); }
  [[nodiscard]] Misfits misfits() const { return misfits_; }
  // Whether it is the first time that the algorithm that the settings name for a collective does not fit. Any thread.
  [[nodiscard]] bool first_misfit(algos::Collective collective) {
    return !misfit_[static_cast<std::size_t>(collective)].exchange(true, std::memory_order_relaxed);
  }

  [[nodiscard]] Wisdom& wisdom() { return *wisdom_; }
  [[nodiscard]] PutWindows& put_windows() { return put_windows_; }

  // Inline execution of this rank's own requests. Any thread of the application.
  void start_inline(Task& task, std::uint64_t epoch);
  void forget_inline(const Task& task); // whose request goes
  // Nobody executes any of them meanwhile. Not held where a thread is at it.
  [[nodiscard]] std::unique_lock<std::mutex> try_hold_inline() { return {inline_mutex_, std::try_to_lock}; }
  [[nodiscard]] bool has_inline() const { return has_inline_.load(std::memory_order_relaxed); } // active ones

  // What a thread of the application does for others while it waits or tests: a round over this rank's inline requests
  // and, while engines end, one of each helper whose place was taken. Returns whether anything moved.
  bool advance();
  [[nodiscard]] bool drives_taken_helpers() const;

  // Stores a submission in the rank's ring. While the ring is full, the helper takes entries out, or this thread in its
  // place. The helper is neither called nor woken otherwise.
  void submit(const Submission& submission, Plea& plea);

  [[nodiscard]] const WaitSite& wait_site() const { return wait_site_; }
  // Until attempt() is true, which asks the MPI library, or until the MPI request is complete. Meanwhile this rank's
  // requests get on, even if its helper is paused.
  template <class Attempt>
  void wait_for_mpi(Attempt&& attempt) {
    Plea plea;
    engine::wait_for_mpi(
        wait_site_, [this] { return advance(); }, attempt, [&] { plead_if_paused(plea); });
  }
  void wait_for_mpi(MPI_Request& request);
  // For a wait in which peers may need this domain's helper.
  void plead(Plea& plea);
  void plead_if_paused(Plea& plea);

  void enlist(Dependent& dependent);
  void delist(Dependent& dependent);
  // They live until the engine's communicators are freed.
  [[nodiscard]] Attachments& attachments() { return attachments_; }
  // The engine rank of each rank of comm. Throws Error(argument) if one is none of the engine's.
  [[nodiscard]] std::vector<int> ranks_of(MPI_Comm comm) const { return translate(comm, group_); }

  // Takes over a freed request's block until no other process can touch it any more.
  void give_back(const BlockHeader& block, std::uint64_t last_epoch, bool submitted);
  // Gives back what can be given back by now.
  void sweep();

private:
  [[nodiscard]] std::shared_ptr<CommContext> known_context(MPI_Comm comm);
  struct FreedBlock {
    BlockHeader block; // as the rank has it
    std::uint64_t last_epoch;
    bool submitted;
  };
  bool drive_taken_helpers(); // returns whether anything moved
  bool inline_round();        // likewise; false as well while another thread is at it
  bool poll_inline();         // with inline_mutex_
  // Called when a communicator with a context is freed, or the engine drops it.
  static int forget_context(MPI_Comm comm, int keyval, void* value, void* extra);
  // Steps of the constructor, all collective.
  void read_settings(std::span<const SettingText> settings);
  void read_cost_model();
  void read_tuning();
  void choose_executor();
  void discover();
  void open_network();
  void join_node();
  void map_node_memory(const OwnedComm& node);
  void exchange_helper_facts();
  // Local.
  void start_helper();

  Misfits misfits_;
  Settings settings_;
  std::array<std::atomic<bool>, algos::collectives_with_algorithms> misfit_{};
  std::shared_ptr<spdlog::logger> log_;
  std::unique_ptr<Wisdom> wisdom_;
  std::unique_ptr<topology::Machine> machine_;
  std::optional<topology::Discovery> discovery_;
  int rank_ = 0;
  std::optional<TagSpace> tags_;
  bool is_threaded_ = false;
  bool has_helpers_ = false;
  OwnedComm control_; // for what the application's threads have to say
  algos::Machine cost_model_ = algos::typical_cluster();
  algos::TuningTable tuning_;
  OwnedComm data_; // for the endpoints' messages
  OwnedComm ready_;
  std::optional<MpiTransport> transport_; // over these two
  Network network_;
  MPI_Group group_ = MPI_GROUP_NULL;
  int keyval_ = MPI_KEYVAL_INVALID;
  std::mutex contexts_mutex_;
  std::list<std::pair<MPI_Comm, std::shared_ptr<CommContext>>> contexts_;
  PutWindows put_windows_;
  std::shared_ptr<NodeMemory> memory_;
  std::unique_ptr<Trace> trace_;
  Attachments attachments_; // before the helper, whose pollers may use what is attached
  std::unique_ptr<Helper> helper_;
  std::optional<Helper::Assist> in_its_place_; // while the engine is being destroyed
  HelperFacts helper_facts_;
  std::string helper_explanation_;
  bool helper_reserved_ = false;

  std::mutex inline_mutex_; // guards inline_
  std::unique_ptr<Progress> inline_;
  std::atomic<bool> has_inline_{false}; // whether inline_ is active, for looks without the mutex
  std::atomic<bool> ending_{false};
  std::mutex submission_mutex_; // guards this rank's end of the submission ring, which has a single producer
  WaitSite wait_site_;
  std::mutex dependents_mutex_; // guards dependents_ and freed_
  std::list<Dependent*> dependents_;
  std::vector<FreedBlock> freed_;
  bool destroyed_ = false;
};

} // namespace stoker::engine
