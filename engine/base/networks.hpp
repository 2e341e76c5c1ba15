// SPDX-License-Identifier: BSD-3-Clause
// Which networks lead from this host to others.
#pragma once

namespace stoker::engine {

// Whether the kernel knows of no device but Ethernet's: messages to other hosts travel over TCP.
[[nodiscard]] bool has_only_tcp();

} // namespace stoker::engine
