// SPDX-License-Identifier: BSD-3-Clause
// `stoker run` and `stoker advise`: become a program that has the drop-in library preloaded.
#include "api/cli/command_line.hpp"
#include "api/cli/commands.hpp"
#include "api/cli/drop_ins.hpp"
#include "api/cli/elf_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace stoker::cli {
namespace {

using Variables = SettingArguments;

DropIn drop_in_of(const std::string& file) {
  const auto mpi = mpi_library_of(own_loader(), file);
  if (!mpi) {
    throw CannotRun(CannotRun::other, fmt::format("--drop-in {}: no library that loads an MPI library", file));
  }
  return {file, *mpi};
}

// The drop-in library for the MPI library of the command.
DropIn drop_in_for(const MpiOfCommand& mpi, const RunOptions& options) {
  const auto fits = [&mpi](const DropIn& one) {
    return mpi.soname.empty() ? one.mpi.abi == mpi.abi : one.mpi.soname == mpi.soname;
  };
  if (!options.drop_in.empty()) {
    DropIn named = drop_in_of(std::filesystem::absolute(options.drop_in).string());
    if (!mpi.soname.empty() && !fits(named)) {
      throw CannotRun(CannotRun::other,
                      fmt::format("{}, but {} was built for {}", mpi.reason, named.file, text_of(named.mpi)));
    }
    return named;
  }
  if (mpi.abi.empty()) {
    throw CannotRun(
        CannotRun::other,
        fmt::format("{}; if it loads one later, name the drop-in library for that: --drop-in FILE", mpi.reason));
  }
  const std::vector<DropIn> installed = find_drop_ins();
  const auto found = std::ranges::find_if(installed, fits);
  if (found == installed.end()) {
    std::vector<std::string> others;
    for (const DropIn& one : installed) {
      others.push_back(fmt::format("{} for {}", one.file, text_of(one.mpi)));
    }
    throw CannotRun(CannotRun::other,
                    fmt::format("{}, for which there is no drop-in library ({}); it was looked for as {}; build stoker "
                                "for that library, or name the file: --drop-in FILE",
                                mpi.reason,
                                others.empty() ? "nor any other" : fmt::format("only {}", fmt::join(others, ", ")),
                                fmt::join(places_of_drop_ins(), ", ")));
  }
  return *found;
}

// Entries of LD_PRELOAD.
std::vector<std::string> entries_of(const std::string& preload, std::string_view separators) {
  std::vector<std::string> entries;
  for (std::size_t begin = 0; begin < preload.size();) {
    const std::size_t end = std::min(preload.find_first_of(separators, begin), preload.size());
    if (end > begin) {
      entries.push_back(preload.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return entries;
}

// `before`, which comes first, as a profiler has to, and the file, unless that is there. Another build's, for
// another MPI library, makes way.
std::string preloaded(const std::string& before, const std::string& file) {
  constexpr std::string_view separators = " :";
  if (file.find_first_of(separators) != std::string::npos) {
    throw CannotRun(CannotRun::other,
                    fmt::format("{}: LD_PRELOAD cannot name a file with a space or a colon in its path", file));
  }
  const auto name_of = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
  const auto is_the_file = [&](const std::string& entry) {
    std::error_code failed;
    return entry == name_of(file) || std::filesystem::equivalent(entry, file, failed);
  };
  const auto is_another_build = [&](const std::string& entry) {
    constexpr std::string_view drop_ins = "libstoker-pmpi"; // and libstoker-pmpi_abi
    const std::string name = name_of(entry);
    return name == name_of(file) || (name.starts_with(drop_ins) && name_of(file).starts_with(drop_ins));
  };
  std::vector<std::string> entries = entries_of(before, separators);
  if (std::ranges::any_of(entries, is_the_file)) {
    return before;
  }
  std::erase_if(entries, is_another_build);
  entries.push_back(file);
  return fmt::format("{}", fmt::join(entries, ":"));
}

// The library that takes over malloc lies beside the drop-in library.
std::string heap_beside(const std::string& drop_in) {
  const std::filesystem::path file = std::filesystem::path(drop_in).replace_filename("libstoker-heap.so");
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed)) {
    throw CannotRun(CannotRun::other, fmt::format("--mapped: there is no {}", file.string()));
  }
  return file.string();
}

Variables variables_for(const DropIn& drop_in, const RunOptions& options) {
  const char* const before = std::getenv("LD_PRELOAD");
  Variables variables{{"LD_PRELOAD", preloaded(before == nullptr ? "" : before, drop_in.file)}};
  if (options.mapped) {
    variables.front().second = preloaded(variables.front().second, heap_beside(drop_in.file));
    variables.emplace_back("STOKER_PMPI_ALLOC_MEM", "1");
    if (std::getenv("STOKER_PMPI_HEAP") == nullptr) {
      variables.emplace_back("STOKER_PMPI_HEAP", "64K");
    }
  }
  variables.insert(variables.end(), options.settings.begin(), options.settings.end());
  return variables;
}

void print(const MpiOfCommand& mpi, const DropIn& drop_in, const Variables& variables,
           const std::vector<std::string>& command) {
  fmt::print("# {}\n# {} was built for {}\n", mpi.reason, drop_in.file, text_of(drop_in.mpi));
  for (const auto& [variable, value] : variables) {
    fmt::print("{}={}\n", variable, value);
  }
  fmt::print("{}\n", fmt::join(command, " "));
}

// Slurm takes a value as it stands, to the end of the line.
void print_exports(const Variables& variables) {
  std::string lines;
  for (const auto& [variable, value] : variables) {
    if (value.find('\n') != std::string::npos) {
      throw CannotRun(CannotRun::other, fmt::format("--exports: the value of {} has more than one line", variable));
    }
    lines += fmt::format("export {}={}\n", variable, value);
  }
  fmt::print("{}", lines);
}

[[noreturn]] void become(const Variables& variables, std::vector<std::string> command) {
  for (const auto& [variable, value] : variables) {
    if (setenv(variable.c_str(), value.c_str(), 1) != 0) {
      throw CannotRun(CannotRun::other, fmt::format("{}: {}", variable, std::strerror(errno)));
    }
  }
  std::vector<char*> arguments;
  for (std::string& word : command) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  throw CannotRun(errno == ENOENT ? CannotRun::not_found : CannotRun::not_executable,
                  fmt::format("{}: {}", command.front(), std::strerror(errno)));
}

// Whether a process of that rank says what all of them would.
bool speaks_for_job(const std::string& rank) { return rank.empty() || rank == "0"; }

// Rank 0 speaks for the job. Others have reasons that it may not have, or it is a program without stoker, so
// they speak, too: when it has had its turn, since launchers end a job of which a process fails.
void complain(const std::string& command, const std::string& reason) {
  const std::string rank = rank_in_job();
  if (speaks_for_job(rank)) {
    fmt::print(stderr, "stoker {}: {}\n", command, reason);
    return;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  fmt::print(stderr, "stoker {}, rank {}: {}\n", command, rank, reason);
}

} // namespace

std::string summary_place(const std::string& file) {
  if (file.empty() || file.starts_with("--")) { // of a variable that is not set; what stands behind "--summary="
    throw std::invalid_argument(fmt::format("--summary: expected a file, or -, got \"{}\"", file));
  }
  std::error_code failed; // the folder where this runs may be gone
  const std::filesystem::path path = file == "-" ? "" : std::filesystem::absolute(file, failed);
  if (failed) {
    throw std::invalid_argument(fmt::format("--summary {}: {}", file, failed.message()));
  }
  return file == "-" ? "1" : path.string();
}

int run(const RunOptions& options) {
  try {
    const MpiOfCommand mpi = mpi_of_command(options.command, !options.drop_in.empty());
    const DropIn drop_in = drop_in_for(mpi, options);
    const Variables variables = variables_for(drop_in, options);
    if (options.exports) {
      print_exports(variables);
      return 0;
    }
    if (options.dry_run) {
      if (speaks_for_job(rank_in_job())) {
        print(mpi, drop_in, variables, options.command);
      }
      return 0;
    }
    become(variables, options.command);
  } catch (const CannotRun& error) {
    complain(options.name, error.what());
    return error.code();
  }
}

} // namespace stoker::cli
