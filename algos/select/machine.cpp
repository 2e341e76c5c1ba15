// SPDX-License-Identifier: BSD-3-Clause
#include "algos/select/machine.hpp"

namespace stoker::algos {

namespace {

// The units of machine files.
constexpr double us = 1e-6;
constexpr double per_gb = 1e-9; // second for each byte at 1 GB/s

} // namespace

const Machine& typical_cluster() {
  static const Machine machine = [] {
    Machine m;
    m.name = "cluster";
    m.source = "vendors' data sheets (AMD EPYC 9654, InfiniBand NDR); overheads are estimates";
    m.ranks_per_node = 192;
    m.domains_per_node = 8;
    m.sockets_per_node = 2;
    MessageCost within{.send_overhead = 0.1 * us, .receive_overhead = 0.12 * us, .gap = 0.05 * us};
    within.latency = 0.15 * us;
    within.gap_per_byte = per_gb / 10;
    m.at(Distance::domain) = within;
    within.latency = 0.22 * us;
    within.gap_per_byte = per_gb / 8;
    m.at(Distance::socket) = within;
    within.latency = 0.42 * us;
    within.gap_per_byte = per_gb / 7;
    m.at(Distance::node) = within;
    MessageCost between{.latency = 0.6 * us,
                        .send_overhead = 0.2 * us,
                        .receive_overhead = 0.2 * us,
                        .gap = 0.05 * us,
                        .gap_per_byte = per_gb / 48};
    m.at(Distance::switched) = between;
    between.latency = 1.1 * us;
    m.at(Distance::network) = between;
    m.eager_bytes = 16384;
    m.remote_reads = true;
    m.match_per_posted = 0.004 * us;
    m.post = 0.05 * us;
    m.unexpected_per_byte = per_gb / 8;
    m.copy = 0.03 * us;
    m.copy_per_byte = per_gb / 12;
    m.combine_per_byte = per_gb / 8;
    m.piece = 0.01 * us;
    m.memory_per_byte = per_gb / 46;
    m.helper = {.submit = 0.06 * us, .notice = 0.15 * us, .poll = 0.05 * us, .wake_up = 4 * us, .nap = 50 * us};
    m.ports = 1;
    m.port = {0.01 * us, per_gb / 49};
    m.network = {.kind = Network::Kind::fat_tree, .nodes_per_switch = 32, .taper = 1};
    return m;
  }();
  return machine;
}

const Machine& typical_device() {
  static const Machine machine = [] {
    Machine m;
    m.name = "device";
    m.source = "estimates: a flag takes a microsecond, and ranks share some 2 TB/s of memory";
    m.ranks_per_node = 8;
    for (const Distance distance : {Distance::domain, Distance::socket, Distance::node}) {
      m.at(distance) = {
          .latency = 1 * us, .send_overhead = 0.2 * us, .receive_overhead = 0.2 * us, .gap_per_byte = per_gb / 400};
    }
    m.copy = 1 * us;
    m.copy_per_byte = per_gb / 400;
    m.combine_per_byte = per_gb / 300;
    m.piece = 0.1 * us;
    m.memory_per_byte = per_gb / 1000;
    return m;
  }();
  return machine;
}

} // namespace stoker::algos
