// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/bound_lane.hpp"

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace stoker::engine {
namespace {

// A copy that is never freed, one of each text: reports name algorithms when shapes are gone.
std::string_view kept_text(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string>& texts = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return *texts.insert(text).first;
}

} // namespace

void give(Lane& lane, Bound bound, bool stands_in) {
  if (!bound.error) {
    lane.state = Lane::State::bound;
    lane.request = std::move(bound.request);
    lane.algorithm = kept_text(lane.request->reported_choice());
    return;
  }
  // A shape that the engine has no means for is left to the MPI library.
  const Code code = bound.error->code();
  const bool left_to_mpi = code == Code::resource ||
                           (stands_in && (code == Code::unsupported || code == Code::access || code == Code::mismatch));
  lane.state = left_to_mpi ? Lane::State::by_mpi : Lane::State::failed;
  lane.error = std::move(bound.error);
}

} // namespace stoker::engine
