// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/time_lines.hpp"

#include "api/cli/output_file.hpp"
#include "api/cli/svg.hpp"
#include "api/cli/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace stoker::cli {
namespace {

using algos::Activity;

constexpr std::size_t kinds = 7;
constexpr std::array<std::string_view, kinds> kind_colours = {"#994455", "#4477aa", "#66ccee", "#228833",
                                                              "#aa3377", "#ddcc77", "#e4e4e4"}; // by Activity::Kind

std::string_view colour_of(Activity::Kind kind) { return kind_colours[static_cast<std::size_t>(kind)]; }

// The helper that serves a rank, numbered as processors are.
int helper_of(int rank, const TimeLines& lines) {
  const int node = lines.layout.node_of(rank);
  std::set<int> domains;
  for (const int other : lines.layout.node_ranks(node)) {
    domains.insert(lines.layout.domain_of(other));
  }
  const auto domain = std::distance(domains.begin(), domains.find(lines.layout.domain_of(rank)));
  const int helpers = lines.scenario.helpers_per_node;
  return lines.layout.ranks() + (node * helpers) +
         (static_cast<int>(domain) * helpers / static_cast<int>(domains.size()));
}

// A helper lives in the process of its carrier, the first rank that it serves.
int carrier_of(int helper, const TimeLines& lines) {
  const int node = (helper - lines.layout.ranks()) / lines.scenario.helpers_per_node;
  const auto ranks = lines.layout.node_ranks(node);
  return *std::ranges::find_if(ranks, [&](int rank) { return helper_of(rank, lines) == helper; });
}

std::string name_of(int processor, const TimeLines& lines) {
  const int ranks = lines.layout.ranks();
  return processor < ranks ? fmt::format("rank {}", processor)
                           : fmt::format("helper on {}", carrier_of(processor, lines));
}

std::string tool_tip(const Activity& activity, TimeUnit unit) {
  std::string text(algos::name_of(activity.kind));
  if (activity.bytes > 0) {
    text += fmt::format(" {} B", activity.bytes);
  }
  if (activity.peer >= 0) {
    text += fmt::format(" {} {}", activity.kind == Activity::Kind::send ? "to" : "from", activity.peer);
  }
  if (activity.rank >= 0 && activity.rank != activity.processor) {
    text += fmt::format(" for rank {}", activity.rank);
  }
  return text +
         fmt::format(": {:.3f} to {:.3f} {}", activity.begin / unit.seconds, activity.end / unit.seconds, unit.name);
}

// 1, 2 or 5 times a power of ten, of which some ten make `whole`.
double pleasant_step(double whole) {
  const double rough = whole / 10;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) {
      return factor * power;
    }
  }
  return 10 * power;
}

constexpr double left = 110;
constexpr double right = 20;
constexpr double top = 56;
constexpr double lane_height = 18;
constexpr double pitch = 24;
constexpr double width = 1200;

class Drawing {
public:
  Drawing(const TimeLines& lines, std::size_t lanes)
      : lines_(lines), svg_(width, top + (static_cast<double>(lanes) * pitch) + 40), seconds_(lines.outcome.seconds),
        unit_(time_unit(seconds_)), bottom_(top + (static_cast<double>(lanes) * pitch)) {}

  void title_and_legend() {
    svg_.text(left, 20, lines_.what);
    std::set<Activity::Kind> present;
    for (const Activity& activity : lines_.outcome.activities) {
      present.insert(activity.kind);
    }
    double x = left;
    for (const Activity::Kind kind : present) {
      svg_.rectangle(x, 32, 12, 12, colour_of(kind));
      svg_.text(x + 17, 42, algos::name_of(kind));
      x += 90;
    }
  }

  void axis() {
    const double step = pleasant_step(seconds_);
    for (int i = 0; step * i <= seconds_ * (1 + 1e-9); ++i) {
      const double x = x_of(step * i);
      svg_.line(x, top - 4, x, bottom_ + 4, "#cccccc");
      svg_.text(x, bottom_ + 18, fmt::format("{:g}", step * i / unit_.seconds), "middle");
    }
    svg_.text(left + ((width - left - right) / 2), bottom_ + 34, fmt::format("time in {}", unit_.name), "middle");
  }

  // Those of one processor, in order. Many that are narrower than a hair are drawn as one.
  void lane(double y, const std::string& name, const std::vector<Activity>& activities) {
    svg_.text(left - 8, y + lane_height - 5, name, "end");
    constexpr double hair = 0.4;
    for (std::size_t i = 0; i < activities.size();) {
      Activity drawn = activities[i];
      std::size_t next = i + 1;
      while (next < activities.size() && activities[next].kind == drawn.kind &&
             x_of(activities[next].end) - x_of(drawn.begin) < hair) {
        drawn.end = activities[next++].end;
      }
      const std::string tip =
          next == i + 1 ? tool_tip(drawn, unit_) : fmt::format("{} times {}", next - i, algos::name_of(drawn.kind));
      svg_.rectangle(x_of(drawn.begin), y, std::max(x_of(drawn.end) - x_of(drawn.begin), hair), lane_height,
                     colour_of(drawn.kind), tip);
      i = next;
    }
  }

  void write(const std::string& path) const { svg_.write("--svg", path); }

private:
  [[nodiscard]] double x_of(double seconds) const {
    return left + (seconds / std::max(seconds_, 1e-12) * (width - left - right));
  }

  const TimeLines& lines_;
  Svg svg_;
  double seconds_;
  TimeUnit unit_;
  double bottom_;
};

// Those of the observed ranks and of their helpers, also of one that had nothing to do.
std::map<int, std::vector<Activity>> by_processor(const TimeLines& lines) {
  std::map<int, std::vector<Activity>> lanes;
  for (const int rank : lines.scenario.observed) {
    lanes[rank];
    if (lines.scenario.progress != algos::Progress::rank) {
      lanes[helper_of(rank, lines)];
    }
  }
  for (const Activity& activity : lines.outcome.activities) {
    lanes[activity.processor].push_back(activity);
  }
  return lanes;
}

} // namespace

void draw_time_lines(const TimeLines& lines, const std::string& path) {
  const std::map<int, std::vector<Activity>> lanes = by_processor(lines);
  constexpr std::size_t most = 128;
  if (lanes.size() > most) {
    throw std::invalid_argument(
        fmt::format("--svg: {} time lines cannot be read; expected {} ranks and helpers at most", lanes.size(), most));
  }
  Drawing drawing(lines, lanes.size());
  drawing.title_and_legend();
  drawing.axis();
  double y = top;
  for (const auto& [processor, activities] : lanes) {
    drawing.lane(y, name_of(processor, lines), activities);
    y += pitch;
  }
  drawing.write(path);
}

void write_trace(const TimeLines& lines, const std::string& path) {
  using nlohmann::ordered_json;
  const int ranks = lines.layout.ranks();
  ordered_json events = ordered_json::array();
  for (const auto& [processor, activities] : by_processor(lines)) {
    const bool is_rank = processor < ranks;
    const int process = is_rank ? processor : carrier_of(processor, lines);
    const int thread = is_rank ? 0 : 1;
    events.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", process},
                      {"args",
                       {{"name", fmt::format("rank {}", process)},
                        {"node", lines.layout.node_of(process)},
                        {"domain", lines.layout.domain_of(process)}}}});
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", process},
                      {"tid", thread},
                      {"args", {{"name", is_rank ? "rank" : "helper"}}}});
    for (const Activity& activity : activities) {
      ordered_json event{{"name", algos::name_of(activity.kind)},
                         {"ph", "X"},
                         {"pid", process},
                         {"tid", thread},
                         {"ts", 1e6 * activity.begin},
                         {"dur", 1e6 * (activity.end - activity.begin)},
                         {"args", {{"bytes", activity.bytes}}}};
      if (activity.peer >= 0) {
        event["args"]["peer"] = activity.peer;
      }
      if (activity.rank >= 0 && activity.rank != processor) {
        event["args"]["rank"] = activity.rank;
      }
      events.push_back(std::move(event));
    }
  }
  write_output("--trace", path, events.dump() + '\n');
}

} // namespace stoker::cli
