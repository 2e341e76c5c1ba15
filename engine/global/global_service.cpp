// SPDX-License-Identifier: BSD-3-Clause
#include "engine/global/global_service.hpp"

#include "engine/global/global_access.hpp"

#include <array>
#include <memory>

namespace stoker::engine {

void GlobalService::open() {
  if (!engine_.has_helpers()) {
    return;
  }
  if (!opened_) {
    Network network;
    if (engine_.layout().nodes() > 1) {
      short_messages_ = OwnedComm::like(engine_.control());
      data_ = OwnedComm::like(engine_.control());
      ready_ = OwnedComm::like(engine_.control());
      transport_.emplace(std::array<MPI_Comm, Transport::channels>{data_, ready_, short_messages_});
      network = {.transport = &*transport_, .piece_bytes = engine_.piece_bytes()};
    }
    if (Helper* helper = engine_.helper()) {
      auto access = std::make_unique<GlobalAccess>(*engine_.memory(), network, helper->windows());
      access_ = access.get();
      helper->add(Submitted::operation, std::move(access));
    }
    opened_ = true;
  }
  if (++open_ == 1) {
    serve(true);
  }
}

void GlobalService::close() {
  if (engine_.has_helpers() && --open_ == 0) {
    serve(false);
  }
}

void GlobalService::serve(bool on) {
  if (access_ != nullptr) {
    engine_.helper()->change([&] { access_->serve(on); });
  }
}

std::uint64_t GlobalService::next_segment() {
  const std::uint64_t counted = segments_.fetch_add(1, std::memory_order_relaxed);
  return (counted * static_cast<std::uint64_t>(engine_.layout().ranks())) + static_cast<std::uint64_t>(engine_.rank()) +
         1;
}

} // namespace stoker::engine
