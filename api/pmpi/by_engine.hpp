// SPDX-License-Identifier: BSD-3-Clause
// A persistent collective that the engine carries out.
#pragma once

#include "api/pmpi/operators.hpp"
#include "api/pmpi/request.hpp"
#include "api/pmpi/statistics.hpp"
#include "engine/base/error.hpp"
#include "engine/data/collective_call.hpp"
#include "engine/requests/request.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace stoker::pmpi {

class ByEngine final : public Request {
public:
  // `communicator`: its id.
  ByEngine(const engine::CollectiveCall& call, std::uint64_t communicator, std::unique_ptr<engine::Request> request);

  [[nodiscard]] const CallRecord& latest() const { return record_; }

  [[nodiscard]] bool persistent() const override { return true; }
  [[nodiscard]] bool active() const override { return active_; }
  void start() override;
  [[nodiscard]] bool done() override;
  void wait() override;
  void settle() override;
  void finish() override;

private:
  // An error ends the epoch, too: finish() tells it.
  template <class Attempt>
  void attempt(Attempt&& once) {
    try {
      once();
    } catch (const engine::Error& error) {
      failure_ = error;
    }
  }
  void take_times();

  OperatorUse op_;
  std::unique_ptr<engine::Request> request_;
  CallRecord record_;
  engine::RequestStatistics before_;
  bool active_ = false;
  bool waited_ = false;
  bool settled_ = false;
  std::optional<engine::Error> failure_;
};

} // namespace stoker::pmpi
