// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/outcome_json.hpp"

namespace stoker::cli {

using nlohmann::ordered_json;

ordered_json to_json(const algos::Outcome& outcome) {
  return {{"seconds", outcome.seconds},
          {"mean_seconds", outcome.mean_seconds},
          {"exposed_seconds", outcome.exposed},
          {"before_seconds", outcome.phases.before},
          {"between_seconds", outcome.phases.between},
          {"after_seconds", outcome.phases.after},
          {"steps", outcome.steps},
          {"messages", outcome.messages},
          {"network_messages", outcome.network_messages},
          {"network_bytes", outcome.network_bytes},
          {"busiest_port", outcome.busiest_port},
          {"busiest_processor", outcome.busiest_processor},
          {"different_programs", outcome.different_programs}};
}

std::string packed(const algos::Outcome& outcome) {
  ordered_json json = to_json(outcome);
  json["activities"] = ordered_json::array();
  for (const algos::Activity& a : outcome.activities) {
    json["activities"].push_back({a.processor, a.kind, a.rank, a.peer, a.bytes, a.begin, a.end});
  }
  return json.dump();
}

algos::Outcome unpacked(const std::string& text) {
  const ordered_json json = ordered_json::parse(text);
  algos::Outcome outcome{.seconds = json.at("seconds"),
                         .mean_seconds = json.at("mean_seconds"),
                         .exposed = json.at("exposed_seconds"),
                         .phases = {.before = json.at("before_seconds"),
                                    .between = json.at("between_seconds"),
                                    .after = json.at("after_seconds")},
                         .steps = json.at("steps"),
                         .messages = json.at("messages"),
                         .network_messages = json.at("network_messages"),
                         .network_bytes = json.at("network_bytes"),
                         .busiest_port = json.at("busiest_port"),
                         .busiest_processor = json.at("busiest_processor"),
                         .different_programs = json.at("different_programs"),
                         .activities = {}};
  for (const ordered_json& a : json.at("activities")) {
    outcome.activities.push_back({.processor = a.at(0),
                                  .kind = a.at(1),
                                  .rank = a.at(2),
                                  .peer = a.at(3),
                                  .bytes = a.at(4),
                                  .begin = a.at(5),
                                  .end = a.at(6)});
  }
  return outcome;
}

} // namespace stoker::cli
