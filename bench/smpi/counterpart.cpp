// SPDX-License-Identifier: BSD-3-Clause
// The simulator's side of the comparison with SimGrid's SMPI: writes what smpirun needs for a machine, or carries out
// the same points in our simulator.
//
//   smpi-counterpart describe MACHINE LONG RANKS PPN FOLDER     platform.xml, hostfile and options in FOLDER
//   smpi-counterpart simulate MACHINE LONG RANKS PPN POINTS     one line of JSON a point
#include "algos/simulate/places.hpp"
#include "algos/simulate/simulate.hpp"
#include "bench/smpi/platform.hpp"
#include "bench/smpi/point.hpp"
#include "engine/settings/machine_file.hpp"

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

using namespace stoker;

namespace {

void describe(const algos::Machine& machine, const topology::Layout& layout, const std::filesystem::path& folder) {
  const algos::Places places(layout, machine, 1);
  std::ofstream platform(folder / "platform.xml");
  bench::write_platform(platform, machine, places);
  std::ofstream hosts(folder / "hostfile");
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    hosts << bench::host_prefix << rank << '\n';
  }
  std::ofstream options(folder / "options");
  for (const std::string& option : bench::smpirun_options(machine)) {
    options << option << '\n';
  }
}

void simulate(const algos::Machine& machine, bench::LongMessages long_messages, const topology::Layout& layout, int ppn,
              const std::string& points) {
  algos::Scenario scenario;
  scenario.long_messages = long_messages == bench::LongMessages::announced ? algos::LongMessages::announced
                                                                           : algos::LongMessages::rendezvous;
  for (const bench::Point& point : bench::read_points(points)) {
    if (point.algorithm == bench::library) {
      continue;
    }
    const algos::Outcome outcome = algos::simulate(
        layout, machine, [&](int rank) { return bench::program_of(point, layout, rank); }, scenario);
    std::cout << bench::to_json(point, "stoker", layout, ppn, outcome.seconds) << std::endl;
  }
}

} // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 6 || (arguments[0] != "describe" && arguments[0] != "simulate")) {
    std::cerr << "usage: smpi-counterpart describe MACHINE LONG RANKS PPN FOLDER\n"
                 "       smpi-counterpart simulate MACHINE LONG RANKS PPN POINTS\n"
                 "LONG: eager, announced or rendezvous\n";
    return 2;
  }
  try {
    const bench::LongMessages long_messages = bench::long_messages_of(arguments[2]);
    const algos::Machine machine = bench::without_what_smpi_lacks(engine::read_machine(arguments[1]), long_messages);
    const int ppn = std::stoi(arguments[4]);
    const topology::Layout layout = bench::layout_of(machine, std::stoi(arguments[3]), ppn);
    if (arguments[0] == "describe") {
      describe(machine, layout, arguments[5]);
    } else {
      simulate(machine, long_messages, layout, ppn, arguments[5]);
    }
  } catch (const std::exception& error) {
    std::cerr << "smpi-counterpart: " << error.what() << '\n';
    return 1;
  }
}
