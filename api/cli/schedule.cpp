// SPDX-License-Identifier: BSD-3-Clause
// `stoker schedule`: counts, prints and draws what an algorithm sends. Needs no MPI and no machine.
#include "algos/schedule/listing.hpp"
#include "algos/schedule/print.hpp"
#include "algos/schedule/rounds.hpp"
#include "algos/schedule/traffic.hpp"
#include "algos/select/choice.hpp"
#include "algos/simulate/simulate.hpp"
#include "api/cli/call.hpp"
#include "api/cli/commands.hpp"
#include "api/cli/written_programs.hpp"
#include "engine/settings/machine_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>

namespace stoker::cli {
namespace {

using algos::Level;
using nlohmann::ordered_json;

constexpr std::array distances = {Level::domain, Level::node, Level::network};
constexpr std::array<const char*, 3> distance_names = {"within a domain", "within a node", "between nodes"};
constexpr std::array<const char*, 3> distance_colours = {"#4477aa", "#228833", "#cc3311"};

// Sent at one level.
struct Counts {
  algos::Volume all, busiest_rank, busiest_node;
};

struct Summary {
  std::array<Counts, 3> sent;
  std::uint64_t copied = 0;  // bytes that ranks copy within their own buffers
  std::uint64_t scratch = 0; // most of one rank
  std::size_t steps = 0;     // most of one rank
  int rounds = 0;
  std::optional<double> seconds; // predicted
  bool verified = false;
};

algos::Volume larger(const algos::Volume& a, const algos::Volume& b) {
  return {std::max(a.messages, b.messages), std::max(a.bytes, b.bytes)};
}

Summary summarize(const std::vector<algos::Program>& programs, const std::vector<algos::RoundMessage>& messages,
                  const topology::Layout& layout) {
  Summary summary;
  for (const algos::Program& program : programs) {
    const algos::Traffic traffic = traffic_of(program, layout);
    for (std::size_t i = 0; i < distances.size(); ++i) {
      summary.sent[i].all += traffic.sent_at(distances[i]);
      summary.sent[i].busiest_rank = larger(summary.sent[i].busiest_rank, traffic.sent_at(distances[i]));
    }
    summary.copied += traffic.sent_at(Level::self).bytes;
    summary.scratch = std::max(summary.scratch, program.scratch_bytes);
    summary.steps = std::max(summary.steps, program.steps.size());
  }
  for (const algos::Traffic& node : traffic_by_node(programs, layout)) {
    for (std::size_t i = 0; i < distances.size(); ++i) {
      summary.sent[i].busiest_node = larger(summary.sent[i].busiest_node, node.sent_at(distances[i]));
    }
  }
  summary.rounds = messages.empty() ? 0 : messages.back().round;
  return summary;
}

void print(const std::string& what, const Summary& summary) {
  fmt::print("{}: {} rounds, at most {} steps and {} B of scratch per rank, {} B copied within ranks\n\n", what,
             summary.rounds, summary.steps, summary.scratch, summary.copied);
  fmt::print("{:<16} {:>10} {:>14} {:>12} {:>14} {:>12} {:>14}\n", "sent", "messages", "bytes", "most by rank", "bytes",
             "by node", "bytes");
  for (std::size_t i = 0; i < distances.size(); ++i) {
    const Counts& sent = summary.sent[i];
    fmt::print("{:<16} {:>10} {:>14} {:>12} {:>14} {:>12} {:>14}\n", distance_names[i], sent.all.messages,
               sent.all.bytes, sent.busiest_rank.messages, sent.busiest_rank.bytes, sent.busiest_node.messages,
               sent.busiest_node.bytes);
  }
  if (summary.seconds) {
    fmt::print("\npredicted: {:.1f} us\n", *summary.seconds * 1e6);
  }
  if (summary.verified) {
    fmt::print("\nverified: every byte arrives, in {} orders of execution\n", algos::all_executions().size());
  }
}

ordered_json to_json(const std::string& what, const Summary& summary) {
  const auto volume = [](const algos::Volume& v) { return ordered_json{{"messages", v.messages}, {"bytes", v.bytes}}; };
  ordered_json json{{"schedule", what},
                    {"rounds", summary.rounds},
                    {"steps", summary.steps},
                    {"scratch_bytes", summary.scratch},
                    {"copied_bytes", summary.copied}};
  if (summary.seconds) {
    json["predicted_seconds"] = *summary.seconds;
  }
  if (summary.verified) {
    json["verified"] = true;
  }
  for (std::size_t i = 0; i < distances.size(); ++i) {
    const Counts& sent = summary.sent[i];
    json["sent"].push_back({{"level", algos::name_of(distances[i])},
                            {"all", volume(sent.all)},
                            {"busiest_rank", volume(sent.busiest_rank)},
                            {"busiest_node", volume(sent.busiest_node)}});
  }
  return json;
}

// One square for each round: sources down, targets across, darker for more bytes.
void draw(const std::string& path, const std::string& what, const std::vector<algos::RoundMessage>& messages,
          const topology::Layout& layout) {
  const int ranks = layout.ranks();
  const int rounds = messages.empty() ? 0 : messages.back().round;
  if (ranks > 256 || rounds > 256) {
    throw std::invalid_argument(fmt::format(
        "--svg: {} rounds of {} ranks cannot be drawn legibly; expected 256 at most of each", rounds, ranks));
  }
  const int cell = std::max(1, 160 / ranks);
  const int side = cell * ranks;
  const int columns = std::clamp(rounds, 1, 6);
  const int pitch = side + 34;
  const int rows = (rounds + columns - 1) / columns;
  std::uint64_t most = 1;
  for (const algos::RoundMessage& message : messages) {
    most = std::max(most, message.bytes);
  }
  std::ofstream file(path);
  const int width = std::max(columns * pitch + 20, 560);
  file << fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" "
                      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"20\" "
                      "y=\"18\">{}</text>\n",
                      width, 60 + rows * pitch, what);
  for (std::size_t i = 0; i < distances.size(); ++i) {
    file << fmt::format("<rect x=\"{0}\" y=\"28\" width=\"10\" height=\"10\" fill=\"{1}\"/><text x=\"{2}\" "
                        "y=\"38\">{3}</text>\n",
                        20 + 130 * i, distance_colours[i], 34 + 130 * i, distance_names[i]);
  }
  file << fmt::format("<text x=\"{}\" y=\"38\">rows send, columns receive</text>\n", 20 + 130 * distances.size());
  for (int round = 1; round <= rounds; ++round) {
    const int x = 20 + (round - 1) % columns * pitch;
    const int y = 66 + (round - 1) / columns * pitch;
    file << fmt::format("<text x=\"{}\" y=\"{}\">round {}</text><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
                        "fill=\"none\" stroke=\"#999\"/>\n",
                        x, y - 4, round, x, y, side, side);
  }
  for (const algos::RoundMessage& message : messages) {
    const Level level = algos::level_between(layout, message.source, message.target);
    const auto colour =
        static_cast<std::size_t>(std::find(distances.begin(), distances.end(), level) - distances.begin());
    file << fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" fill-opacity=\"{:.2f}\"/>\n",
                        20 + (message.round - 1) % columns * pitch + message.target * cell,
                        66 + (message.round - 1) / columns * pitch + message.source * cell, cell, cell,
                        distance_colours[colour],
                        0.35 + 0.65 * static_cast<double>(message.bytes) / static_cast<double>(most));
  }
  file << "</svg>\n";
  if (!file.flush()) {
    throw std::runtime_error(fmt::format("--svg {}: {}", path, std::strerror(errno)));
  }
}

// A call with the program of each rank, and what it is about, in words.
struct Subject {
  algos::WholeCall call;
  std::vector<algos::Program> programs;
  std::string what;
};

algos::WholeCall call_of(const ScheduleOptions& options, const topology::Layout& layout) {
  const auto collective = algos::find_collective(options.collective);
  const bool is_vector = collective && pattern_of(*collective) == algos::Pattern::distributed_vector;
  if (!is_vector && collective != algos::Collective::alltoall) {
    throw std::invalid_argument(
        fmt::format("{}: expected alltoall, allreduce, reduce, bcast, reduce_scatter, allgather, "
                    "gather, scatter, barrier, scan or exscan",
                    options.collective));
  }
  if (!is_vector && !options.factors.empty()) {
    throw std::invalid_argument("--factors: expected a collective that has them, as in stoker schedule allreduce");
  }
  if (is_vector && !options.grid.empty()) {
    throw std::invalid_argument("--grid: expected no other collective");
  }
  if (options.root >= layout.ranks()) {
    throw std::invalid_argument(fmt::format("--root {}: expected 0 to {}", options.root, layout.ranks() - 1));
  }
  if (options.in_place && !options.grid.empty()) {
    throw std::invalid_argument("--in-place: neighborhood collectives have no such form");
  }
  algos::WholeCall call;
  call.collective = options.grid.empty() ? *collective : algos::Collective::neighbor_alltoall;
  call.grid = grid_of(options.grid);
  if (collective != algos::Collective::barrier) {
    call.bytes = {options.bytes};
    call.element_bytes = is_vector ? element_bytes(options.bytes) : 1;
  }
  call.root = algos::has_root(call.collective) ? options.root : 0;
  call.in_place = options.in_place;
  return call;
}

Subject compiled(const ScheduleOptions& options, const topology::Layout& layout) {
  algos::WholeCall call = call_of(options, layout);
  std::string text =
      options.algorithm.empty() ? std::string(algorithms_of(call.collective).front().name) : options.algorithm;
  if (!options.factors.empty()) {
    text += (text.find(':') == std::string::npos ? ":" : ",") + ("factors=" + options.factors);
  }
  const algos::Choice choice = resolve(parse_choice(call.collective, text), layout);
  const bool is_vector = pattern_of(call.collective) == algos::Pattern::distributed_vector;
  const std::string shape =
      is_vector ? fmt::format("of {} B{}", options.bytes, algos::has_blocks(call.collective) ? " for each rank" : "")
      : call.grid.empty() ? fmt::format("of {} B for each pair", options.bytes)
                          : fmt::format("of {} B for each neighbor on a grid of {}", options.bytes, options.grid);
  std::vector<algos::Program> programs = call.compile(choice, layout);
  return {std::move(call), std::move(programs),
          fmt::format("{}{} {}, {} ranks on {} nodes{}", is_vector ? options.collective + " " : "", to_text(choice),
                      shape, layout.ranks(), layout.nodes(), options.in_place ? ", in place" : "")};
}

void print_rank(const Subject& subject, const topology::Layout& layout, int rank) {
  if (rank >= layout.ranks()) {
    throw std::invalid_argument(fmt::format("--rank {}: expected 0 to {}", rank, layout.ranks() - 1));
  }
  fmt::print("{}", to_text(subject.programs[static_cast<std::size_t>(rank)]));
  if (pattern_of(subject.call.collective) == algos::Pattern::distributed_vector) {
    fmt::print("\n{}", listing(subject.programs, layout, rank));
  }
}

int show(const ScheduleOptions& options, const Subject& subject, const topology::Layout& layout) {
  const auto& [call, programs, what] = subject;
  if (options.verify) {
    verify_call(call, programs);
  }
  if (options.all_programs) {
    fmt::print("# {}\n{}", what, to_text(call, programs));
    return 0;
  }
  if (options.rank >= 0) {
    print_rank(subject, layout, options.rank);
    return 0;
  }
  const std::vector<algos::RoundMessage> messages = messages_by_round(programs);
  Summary summary = summarize(programs, messages, layout);
  if (!options.model.empty()) {
    summary.seconds = simulate(layout, engine::read_machine(options.model), [&all = programs](int rank) {
                        return all[static_cast<std::size_t>(rank)];
                      }).seconds;
  }
  summary.verified = options.verify;
  if (options.json) {
    fmt::print("{}\n", to_json(what, summary).dump(2));
  } else {
    print(what, summary);
    if (pattern_of(call.collective) == algos::Pattern::distributed_vector) {
      fmt::print("\nrank 0:\n{}", listing(programs, layout, 0));
    }
  }
  if (!options.svg.empty()) {
    draw(options.svg, what, messages, layout);
  }
  return 0;
}

} // namespace

int schedule(const ScheduleOptions& options) {
  if (!options.run.empty()) {
    return run_call(options.run);
  }
  if (options.check.empty()) {
    const topology::Layout layout =
        topology::Layout::uniform(options.ranks, options.ranks_per_node, options.domains_per_node);
    return show(options, compiled(options, layout), layout);
  }
  algos::WrittenCall written = read_call(options.check);
  const topology::Layout layout = topology::Layout::uniform(static_cast<int>(written.programs.size()),
                                                            options.ranks_per_node, options.domains_per_node);
  std::string what =
      fmt::format("{}: {}, {} ranks on {} nodes", options.check, to_text(written.call), layout.ranks(), layout.nodes());
  const Subject subject{std::move(written.call), std::move(written.programs), std::move(what)};
  ScheduleOptions checked = options;
  checked.verify = true;
  return show(checked, subject, layout);
}

} // namespace stoker::cli
