// SPDX-License-Identifier: BSD-3-Clause
#include "engine/core/put_windows.hpp"

#include "engine/base/agreement.hpp"
#include "engine/core/window_trial.hpp"
#include "engine/helper/helper.hpp"
#include "engine/shared/node_memory.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace stoker::engine {
namespace {

// The memory that a rank asks its carrier to expose.
struct Wish {
  std::int32_t carrier = -1;
  std::uint32_t arena = 0;
  std::uint64_t offset = 0; // in the arena
  std::uint64_t bytes = 0;
  std::uint64_t address = 0; // the carrier's own memory
};

// Collective over the ranks of the node. Where each of them is exposed, in their order; 0 where it could not be.
std::vector<std::uint64_t> expose(const CommContext& context, const CarrierView& carrier, Window& window, void* base,
                                  std::uint64_t bytes) {
  NodeMemory& memory = *carrier.memory;
  Wish mine{.carrier = carrier.rank, .arena = memory.self(), .bytes = bytes};
  if (carrier.helper != nullptr) {
    mine.address = reinterpret_cast<std::uint64_t>(base);
  } else if (bytes > 0) {
    mine.offset = memory.arena().offset_of(base);
  }
  const std::vector<Wish> wishes = gathered(context.node(), mine);
  std::vector<std::uint64_t> exposed(wishes.size(), 0);
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const Wish& wish = wishes[i];
    if (wish.carrier == context.rank() && wish.bytes > 0) {
      void* const place = wish.address != 0
                              ? reinterpret_cast<void*>(wish.address) // NOLINT(performance-no-int-to-ptr): its own
                              : memory.base(wish.arena) + wish.offset;
      exposed[i] = window.attach(place, wish.bytes).value_or(0);
    }
  }
  check_mpi(PMPI_Allreduce(MPI_IN_PLACE, exposed.data(), static_cast<int>(exposed.size()), MPI_UINT64_T, MPI_SUM,
                           context.node()),
            "MPI_Allreduce");
  return exposed;
}

} // namespace

bool PutWindows::possible(const std::shared_ptr<CommContext>& context, bool by_carriers, const CarrierView& carrier) {
  {
    const std::lock_guard lock(mutex_);
    if (const Tried* known = known_trial(context, by_carriers)) {
      return known->works;
    }
  }
  // Open MPI's windows copy by cross-memory attach within a node, and try for ever where that is refused.
  bool works = on_all(context->comm(), by_carriers ? carrier.rank >= 0 : carrier.memory->attach_works());
  if (works) { // by a trial
    std::uint64_t word = 0;
    const auto window =
        by_carriers ? Window::dynamic(context->comm()) : Window::over(context->comm(), &word, sizeof word);
    works = window != nullptr;
    if (works) {
      window->free();
    }
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(tried_, [](const Tried& trial) { return trial.context.expired(); });
  tried_.push_back({context, by_carriers, works, {}});
  return works;
}

bool PutWindows::faster(const std::shared_ptr<CommContext>& context, bool by_carriers, const CarrierView& carrier,
                        std::uint64_t bytes) {
  constexpr std::uint64_t most_bytes = 256 * 1024; // beyond, the time is that of the bytes
  bytes = std::clamp<std::uint64_t>(bytes, 1, most_bytes);
  check_mpi(PMPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_UINT64_T, MPI_MAX, context->comm()), "MPI_Allreduce");
  const int width = static_cast<int>(std::bit_width(bytes));
  {
    const std::lock_guard lock(mutex_);
    const std::map<int, bool>& found = known_trial(context, by_carriers)->faster;
    if (const auto known = found.find(width); known != found.end()) {
      return known->second;
    }
  }
  const bool takes_part = !by_carriers || carrier.helper != nullptr;
  const bool faster =
      window_is_faster(context->comm(), {.dynamic = by_carriers, .takes_part = takes_part, .bytes = bytes});
  const std::lock_guard lock(mutex_);
  known_trial(context, by_carriers)->faster.emplace(width, faster);
  return faster;
}

PutWindows::Tried* PutWindows::known_trial(const std::shared_ptr<CommContext>& context, bool by_carriers) {
  const auto known = std::ranges::find_if(
      tried_, [&](const Tried& t) { return t.context.lock() == context && t.by_carriers == by_carriers; });
  return known != tried_.end() ? &*known : nullptr;
}

std::shared_ptr<const PutWindow> PutWindows::find(const std::shared_ptr<CommContext>& context, bool by_carriers,
                                                  const void* base, std::uint64_t bytes) {
  std::vector<std::shared_ptr<const PutWindow>> candidates; // of this communicator: the same on all ranks
  std::vector<int> flags; // of each: whether it is in use, whether it cannot be shared
  {
    const std::lock_guard lock(mutex_);
    for (const Known& known : known_) {
      const PutWindow& window = *known.window;
      if (known.context.lock() == context && window.by_carriers == by_carriers) {
        const bool alive = known.window.use_count() > 1;
        flags.push_back(alive ? 1 : 0);
        flags.push_back(!alive || window.base != base || window.bytes != bytes ? 1 : 0);
        candidates.push_back(known.window);
      }
    }
  }
  check_mpi(
      PMPI_Allreduce(MPI_IN_PLACE, flags.data(), static_cast<int>(flags.size()), MPI_INT, MPI_MAX, context->comm()),
      "MPI_Allreduce");
  std::shared_ptr<const PutWindow> found;
  for (std::size_t i = candidates.size(); i-- > 0;) { // the newest first
    if (flags[2 * i + 1] == 0) {
      found = candidates[i];
    } else if (flags[2 * i] == 0) {
      release(candidates[i]);
    }
  }
  return found;
}

std::shared_ptr<const PutWindow> PutWindows::keep(const std::shared_ptr<CommContext>& context, PutWindow window) {
  window.comm = OwnedComm::like(context->comm()).release();
  std::pair<int, int> id{context->engine_rank(0), 0};
  {
    const std::lock_guard lock(mutex_);
    id.second = made_++;
  }
  check_mpi(PMPI_Bcast(&id.second, 1, MPI_INT, 0, context->comm()), "MPI_Bcast"); // the first rank's number counts
  auto kept = std::make_shared<const PutWindow>(std::move(window));
  const std::lock_guard lock(mutex_);
  known_.push_back({id, context, kept});
  return kept;
}

void PutWindows::release(const std::shared_ptr<const PutWindow>& window) {
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(known_, [&](const Known& known) { return known.window == window; });
    last = std::ranges::none_of(known_, [&](const Known& other) { return other.window->window == window->window; });
  }
  MPI_Comm comm = window->comm;
  PMPI_Comm_free(&comm);
  if (last) {
    window->window->free();
  }
}

std::shared_ptr<const PutWindow> PutWindows::own(const std::shared_ptr<CommContext>& context, void* base,
                                                 std::uint64_t bytes) {
  if (const auto found = find(context, false, base, bytes)) {
    return keep(context, *found);
  }
  PutWindow result;
  result.window = Window::over(context->comm(), base, bytes);
  if (result.window == nullptr) {
    return nullptr;
  }
  result.base = base;
  result.bytes = bytes;
  return keep(context, std::move(result));
}

std::shared_ptr<const PutWindow> PutWindows::carried(const std::shared_ptr<CommContext>& context,
                                                     const CarrierView& carrier, void* base, std::uint64_t bytes) {
  if (const auto found = find(context, true, base, bytes)) {
    return keep(context, *found);
  }
  PutWindow result;
  result.base = base;
  result.bytes = bytes;
  result.by_carriers = true;
  result.window = Window::dynamic(context->comm());
  if (result.window == nullptr) {
    return nullptr;
  }
  const auto exposed = expose(*context, carrier, *result.window, base, bytes);
  result.exposed = exposed[static_cast<std::size_t>(rank_in(context->node()))];
  if (!on_all(context->comm(), bytes == 0 || result.exposed != 0)) {
    result.window->free();
    return nullptr;
  }
  // The number comes to the helper with a block, and tells it which window of its process to use.
  struct Number {
    std::int32_t carrier;
    std::uint64_t number;
  };
  const Number mine{context->rank(), carrier.helper != nullptr ? carrier.helper->add_window(result.window) : 0};
  const std::vector<Number> all = gathered(context->node(), mine);
  result.number = std::ranges::find(all, carrier.rank, &Number::carrier)->number;
  return keep(context, std::move(result));
}

void PutWindows::free() {
  // Windows of different communicators may have been made in different orders on their ranks, and freeing one waits for
  // its other ranks: all follow one order.
  std::ranges::sort(known_, {}, &Known::id);
  while (!known_.empty()) {
    release(std::shared_ptr(known_.back().window));
  }
}

} // namespace stoker::engine
