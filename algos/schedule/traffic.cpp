// SPDX-License-Identifier: BSD-3-Clause
// The traffic of a schedule: messages and bytes, counted by distance.
#include "algos/schedule/traffic.hpp"

namespace stoker::algos {

std::string_view name_of(Level level) {
  switch (level) {
  case Level::self:
    return "self";
  case Level::domain:
    return "domain";
  case Level::node:
    return "node";
  case Level::network:
    return "network";
  }
  return "unknown level";
}

Level level_between(const topology::Layout& layout, int a, int b) {
  if (a == b) {
    return Level::self;
  }
  if (layout.same_domain(a, b)) {
    return Level::domain;
  }
  return layout.same_node(a, b) ? Level::node : Level::network;
}

Volume& Volume::operator+=(const Volume& other) {
  messages += other.messages;
  bytes += other.bytes;
  return *this;
}

Traffic& Traffic::operator+=(const Traffic& other) {
  for (std::size_t level = 0; level < level_count; ++level) {
    sent[level] += other.sent[level];
    received[level] += other.received[level];
  }
  return *this;
}

Traffic traffic_of(const Program& program, const topology::Layout& layout) {
  Traffic traffic;
  for (const Step& step : program.steps) {
    if (step.kind == StepKind::fence) {
      continue; // how ranks meet is not the schedule's business
    }
    const int peer = step.peer < 0 ? program.rank : step.peer;
    const auto level = static_cast<std::size_t>(level_between(layout, program.rank, peer));
    (step.kind == StepKind::recv ? traffic.received : traffic.sent)[level] += {1, step.bytes};
  }
  return traffic;
}

std::vector<Traffic> traffic_by_node(std::span<const Program> programs, const topology::Layout& layout) {
  std::vector<Traffic> nodes(static_cast<std::size_t>(layout.nodes()));
  for (const Program& program : programs) {
    nodes[layout.node_of(program.rank)] += traffic_of(program, layout);
  }
  return nodes;
}

} // namespace stoker::algos
