// SPDX-License-Identifier: BSD-3-Clause
// Whether the engine takes calls at all; and how many it did not take, and why. Every call of the application looks
// here.
#pragma once

#include "algos/collectives/collective.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace stoker::engine {
class Engine;
}

namespace stoker::pmpi {

using algos::Collective;

enum class Form : std::uint8_t { blocking, nonblocking, persistent };
inline constexpr int form_count = 3;
[[nodiscard]] std::string_view name_of(Form form);

// Why a call is left to the MPI library.
enum class Reason : std::uint8_t {
  outside_mpi,
  no_engine,
  one_process,
  switched_off,
  form_off,
  nested,
  one_rank,
  intercommunicator,
  foreign_ranks,
  unwatched,
  no_comm,
  graph,
  few_calls,
  no_neighbors,
  off_by_info,
  too_small,
  thread_level,
  no_helpers,
  operation,
  operator_on_type,
  in_place,
  mistake,
  no_place,
  not_set_up,
  arguments,
  memory,
  unsupported,
};
inline constexpr int reason_count = 27;
[[nodiscard]] std::string_view text_of(Reason reason);

// One of them for each form, and why it is not open. Written while the process has one thread in MPI, or by
// MPI_Pcontrol.
struct Gate {
  std::atomic<bool> open{false};
  std::atomic<Reason> because{Reason::outside_mpi};
};
inline constinit std::array<Gate, form_count> gates{};
[[nodiscard]] inline Gate& gate(Form form) { return gates[static_cast<std::size_t>(form)]; }
[[nodiscard]] inline bool is_open(Form form) { return gate(form).open.load(std::memory_order_relaxed); }

// Whether some communicator waits to be used. Written by its own threads in MPI, which also read what they need.
inline constinit std::atomic<bool> uses_are_noted{false};

// A counter that must cost next to nothing. Calls from several threads at once may be missed.
using Counter = std::atomic<std::uint64_t>;
inline constinit std::array<std::array<std::array<Counter, reason_count>, algos::collective_count>, form_count>
    fallbacks{};
inline void count_fallback(Form form, Collective collective, Reason reason) {
  Counter& counter =
      fallbacks[static_cast<std::size_t>(form)][static_cast<std::size_t>(collective)][static_cast<std::size_t>(reason)];
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
inline void count_closed(Form form, Collective collective) {
  count_fallback(form, collective, gate(form).because.load(std::memory_order_relaxed));
}

// Set while this thread is in a function of the MPI library that may call others. Such calls are not the application's.
#if defined(__GNUC__)
[[gnu::tls_model("initial-exec")]]
#endif
inline constinit thread_local int depth = 0;
class Inside {
public:
  Inside() { ++depth; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { --depth; }
};

// MPI runs with more threads than the application asked for.
[[nodiscard]] bool raised_thread_level();

// Null if there is none.
[[nodiscard]] const std::shared_ptr<engine::Engine>& the_engine();

} // namespace stoker::pmpi
