// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/peer_watch.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

namespace stoker::engine {
namespace {

struct Status {
  char state = 0; // 0: not to be read
  std::uint64_t began = 0;
};

Status status_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')'); // the name may hold anything
  Status status;
  if (name_end != std::string::npos) {
    constexpr int between = 18; // fields from the state, which is the 3rd, to the time, which is the 22nd
    std::istringstream fields(line.substr(name_end + 1));
    fields >> status.state;
    std::string skipped;
    for (int i = 0; i < between; ++i) {
      fields >> skipped;
    }
    fields >> status.began;
  }
  return status;
}

} // namespace

ProcessId process_of(pid_t pid) { return {pid, status_of(pid).began}; }

bool is_gone(const ProcessId& process) {
  if (kill(process.pid, 0) != 0) {
    return errno == ESRCH;
  }
  const Status now = status_of(process.pid);
  return now.state == 'Z' || now.state == 'X' || (process.began != 0 && now.began != 0 && now.began != process.began);
}

void PeerWatch::look(std::uint64_t now_ns) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || now_ns < next_look_ns_) {
    return;
  }
  next_look_ns_ = now_ns + interval_ns;
  for (std::size_t left = std::min(processes_at_a_time, peers_.size()); left > 0; --left) {
    Peer& peer = peers_[next_++ % peers_.size()];
    if (is_gone(peer.process)) {
      peer.gone.store(true, std::memory_order_relaxed);
    }
  }
}

} // namespace stoker::engine
