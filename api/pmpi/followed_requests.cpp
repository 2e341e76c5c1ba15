// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/followed_requests.hpp"

#include "api/pmpi/advice.hpp"
#include "engine/base/clock.hpp"

namespace stoker::pmpi {

void Starting::look_at(const MPI_Request* requests) {
  requests_ = requests;
  begin_ns_ = advising() ? engine::now_ns() : 0;
}

} // namespace stoker::pmpi
