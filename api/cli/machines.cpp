// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/machines.hpp"

#include "algos/select/edit_distance.hpp"
#include "engine/settings/machine_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace stoker::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view suffix = ".toml";

// Beside the program when it is installed; in the source tree when it is not.
fs::path folder_of_machines() {
  std::error_code failed;
  const fs::path installed =
      fs::read_symlink("/proc/self/exe", failed).parent_path().parent_path() / "share/stoker/machines";
  return fs::is_directory(installed, failed) ? installed : fs::path(STOKER_SOURCE_MACHINES);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().extension() == suffix) {
      names.push_back(entry.path().stem().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

// The numbers of domains that fill whole sockets, or one socket in part.
bool fits(int domains, const algos::Machine& machine) {
  const int of_a_socket = machine.domains_per_node / machine.sockets_per_node;
  return domains <= of_a_socket || (domains % of_a_socket == 0 && domains <= machine.domains_per_node);
}

} // namespace

algos::Machine find_machine(const std::string& file_or_name) {
  if (file_or_name.find('/') != std::string::npos || file_or_name.ends_with(suffix)) {
    return engine::read_machine(file_or_name);
  }
  const fs::path folder = folder_of_machines();
  const std::vector<std::string> names = names_in(folder);
  if (std::ranges::find(names, file_or_name) == names.end()) {
    const auto nearest = algos::nearest_name(file_or_name, std::vector<std::string_view>(names.begin(), names.end()));
    throw std::runtime_error(fmt::format("--machine {}: expected a file, or one of {}{}", file_or_name,
                                         fmt::join(names, ", "),
                                         nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
  }
  return engine::read_machine((folder / (file_or_name + std::string(suffix))).string());
}

algos::Machine part_of(algos::Machine machine, int ranks_per_node, int domains) {
  if (ranks_per_node > 0) {
    machine.ranks_per_node = ranks_per_node;
  }
  if (domains == 0) {
    domains = std::min(machine.domains_per_node, machine.ranks_per_node);
    while (!fits(domains, machine)) {
      --domains;
    }
  }
  if (domains > machine.ranks_per_node) {
    throw std::invalid_argument(
        fmt::format("--domains {}: expected {} at most, as many as ranks per node", domains, machine.ranks_per_node));
  }
  const int of_a_socket = machine.domains_per_node / machine.sockets_per_node;
  if (!fits(domains, machine)) {
    throw std::invalid_argument(
        fmt::format("--domains {}: {} has {} domains on {} sockets; expected {} at most, or a multiple of {}", domains,
                    machine.name, machine.domains_per_node, machine.sockets_per_node,
                    machine.sockets_per_node == 1 ? machine.domains_per_node : of_a_socket, of_a_socket));
  }
  machine.sockets_per_node = std::max(1, domains / of_a_socket);
  machine.domains_per_node = domains;
  return machine;
}

} // namespace stoker::cli
