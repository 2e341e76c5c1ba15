// SPDX-License-Identifier: BSD-3-Clause
// A rank's program as the small assembly language of Jocksch et al. spells one: what the rank does by itself, in its
// order, with the memory of the node's other ranks read where it lies.
//
//   SMEMCPY target source bytes          copy
//   SREDUCE target left right bytes      target = left (op) right
//   SET_NODE_BARRIER rank                what that rank of the node waits for is ready
//   WAIT_NODE_BARRIER rank               until that rank has set its own
//   ISEND source bytes rank              message to another node, and from there
//   IRECV target bytes rank
//   WAITALL                              for the messages so far
//   RETURN
// Places are SENDBUF[rank]+offset, RECVBUF and TEMPBUF (scratch) likewise; `MESSAGE` is one that has just come.
#pragma once

#include "algos/schedule/schedule.hpp"
#include "topology/layout.hpp"

#include <span>
#include <string>

namespace stoker::algos {

// The programs of all ranks must match; throws std::invalid_argument with the defect otherwise.
[[nodiscard]] std::string listing(std::span<const Program> programs, const topology::Layout& layout, int rank);

} // namespace stoker::algos
