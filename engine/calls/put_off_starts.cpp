// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/put_off_starts.hpp"

#include "engine/base/agreement.hpp"

#include <algorithm>

namespace stoker::engine {

PutOffStarts& PutOffStarts::of_process() {
  static PutOffStarts& starts = *new PutOffStarts;
  return starts;
}

void PutOffStarts::enlist(PutOff& starts) {
  if (std::ranges::find(waiting_, &starts) == waiting_.end()) {
    waiting_.push_back(&starts);
  }
  (void)engine::attempt(
      [&] { thread_.wake(); }); // without a thread, which only requests can lack, the application has to ask
}

OnDemandThread::Next PutOffStarts::try_all() {
  std::erase_if(waiting_, [](PutOff* starts) { return starts->try_starts(); });
  return waiting_.empty() ? OnDemandThread::Next::when_woken : OnDemandThread::Next::soon;
}

} // namespace stoker::engine
