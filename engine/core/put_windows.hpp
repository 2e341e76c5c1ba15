// SPDX-License-Identifier: BSD-3-Clause
// The windows that the puts of requests go through. Requests over the same memory share a window for as long as one of
// them lives. After that the memory may be gone, or other memory may lie at its address.
#pragma once

#include "engine/core/comm_context.hpp"
#include "engine/transport/window.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace stoker::engine {

class Helper;
class NodeMemory;

// A window, and where in it this rank's memory is.
struct PutWindow {
  std::shared_ptr<Window> window;
  MPI_Comm comm =
      MPI_COMM_NULL; // of this request's alone, for what its ranks have to say: others may be active at the same time
  const void* base = nullptr; // of this rank's memory
  std::uint64_t bytes = 0;
  bool by_carriers = false;
  std::uint64_t exposed = 0; // displacement of `base` at the rank that exposes it
  std::uint64_t number = 0;  // of the window at the helper of this rank's carrier; 0: each rank puts by itself
};

// The carrier of a rank's puts, as far as a window has to know it.
struct CarrierView {
  int rank = -1;            // of the carrier in the communicator; -1: none of its ranks
  Helper* helper = nullptr; // of this process, where this rank is the carrier
  NodeMemory* memory = nullptr;
};

class PutWindows {
public:
  // Whether the ranks can have windows, of their own or exposed by their carriers. Collective over the context's
  // communicator, and tried once for each.
  [[nodiscard]] bool possible(const std::shared_ptr<CommContext>& context, bool by_carriers,
                              const CarrierView& carrier);

  // Whether, where they are possible, they move so many bytes to a rank sooner than messages do. The most on any rank
  // counts. Collective over the context's communicator, and tried once for each range of sizes.
  [[nodiscard]] bool faster(const std::shared_ptr<CommContext>& context, bool by_carriers, const CarrierView& carrier,
                            std::uint64_t bytes);

  // A window over `bytes` at `base` of each rank. Collective over the context's communicator. nullptr on all ranks if
  // the MPI library refuses it.
  [[nodiscard]] std::shared_ptr<const PutWindow> own(const std::shared_ptr<CommContext>& context, void* base,
                                                     std::uint64_t bytes);
  // The same, exposed by the processes of the carriers, whose helpers poll: `base` lies in the rank's arena, unless the
  // rank is a carrier.
  [[nodiscard]] std::shared_ptr<const PutWindow> carried(const std::shared_ptr<CommContext>& context,
                                                         const CarrierView& carrier, void* base, std::uint64_t bytes);

  // Collective over all ranks that created some. No request may be active.
  void free();

private:
  struct Known {
    std::pair<int, int> id; // equal on the ranks of the window, and another for every other window of the engine
    std::weak_ptr<CommContext> context;
    std::shared_ptr<const PutWindow> window;
  };
  // A window that is the same, and alive, on all ranks. Frees those that no rank needs any more. Collective.
  [[nodiscard]] std::shared_ptr<const PutWindow> find(const std::shared_ptr<CommContext>& context, bool by_carriers,
                                                      const void* base, std::uint64_t bytes);

  struct Tried {
    std::weak_ptr<CommContext> context;
    bool by_carriers = false;
    bool works = false;
    std::map<int, bool> faster; // by the width of the number of bytes
  };
  [[nodiscard]] Tried* known_trial(const std::shared_ptr<CommContext>& context, bool by_carriers); // with mutex_

  [[nodiscard]] std::shared_ptr<const PutWindow> keep(const std::shared_ptr<CommContext>& context, PutWindow window);
  void release(const std::shared_ptr<const PutWindow>& window); // collective

  // Guards the lists. Threads may initialise requests on different communicators at the same time, and a thread that
  // waits for other ranks holds no mutex; entries of one communicator are one thread's at a time.
  std::mutex mutex_;
  std::vector<Tried> tried_;
  std::vector<Known> known_; // those of one communicator in the order of creation
  int made_ = 0;
};

} // namespace stoker::engine
