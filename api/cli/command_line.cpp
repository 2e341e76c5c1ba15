// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/command_line.hpp"

#include "api/cli/child_output.hpp"
#include "api/cli/elf_file.hpp"

#include <fmt/format.h>

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>

namespace stoker::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 10> launchers{"mpiexec", "mpirun", "orterun",   "prterun", "srun",
                                                     "jsrun",   "aprun",  "ccc_mprun", "ibrun",   "flux"};
constexpr std::array<std::string_view, 10> containers{"apptainer", "singularity", "docker", "podman",  "shifter",
                                                      "ch-run",    "enroot",      "sarus",  "udocker", "chroot"};

struct Sign {
  const char* variable;
  std::string_view abi;
};
// MPICH can be built for PMIx, and Slurm starts Open MPI by PMI, too; but that is rare.
constexpr std::array<Sign, 3> signs{{
    {"OMPI_COMM_WORLD_SIZE", "Open MPI"},
    {"PMI_RANK", "MPICH"},
    {"PMIX_RANK", "Open MPI"},
}};

std::string name_of(const std::string& path) { return fs::path(path).filename().string(); }

bool is_executable(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

// The file that execvp takes for the word; empty: none.
std::string file_of(const std::string& word) {
  if (word.find('/') != std::string::npos) {
    return is_executable(word) ? word : "";
  }
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/bin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = (folder.empty() ? "." : folder) + "/" + word;
    if (!word.empty() && is_executable(file)) {
      return file;
    }
  }
  return "";
}

[[noreturn]] void refuse_missing(const std::string& word) {
  if (word.find('/') == std::string::npos) {
    throw CannotRun(CannotRun::not_found, fmt::format("{}: no such program in the folders of PATH", word));
  }
  struct stat status {};
  if (stat(word.c_str(), &status) != 0) {
    throw CannotRun(errno == EACCES ? CannotRun::not_executable : CannotRun::not_found,
                    fmt::format("{}: {}", word, std::strerror(errno)));
  }
  throw CannotRun(CannotRun::not_executable, S_ISDIR(status.st_mode)
                                                 ? fmt::format("{}: a folder", word)
                                                 : fmt::format("{}: not executable; chmod +x {}", word, word));
}

// Whether the system gives the program other rights than its caller's. The loader then ignores LD_PRELOAD.
bool changes_rights(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) {
    return false;
  }
  const bool other_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != getuid();
  const bool other_group = (status.st_mode & S_ISGID) != 0 && status.st_gid != getgid();
  const bool capabilities = getuid() != 0 && getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
  return other_user || other_group || capabilities;
}

// Empty where there is none.
std::string why_it_is_ignored(const std::string& word, const std::string& file) {
  return changes_rights(file)
             ? fmt::format("{}: has the rights of another user (setuid, setgid or capabilities), so that its loader "
                           "ignores LD_PRELOAD; link it with -lstoker-pmpi before the MPI library",
                           word)
             : "";
}

// What does not load an MPI library may be the launcher, or start a container.
std::string why_it_is_not_passed_on(const std::string& word, const std::string& file) {
  const std::string name = name_of(file);
  const auto is = [&name](std::string_view one) { return name == one || name.starts_with(fmt::format("{}.", one)); };
  if (std::ranges::any_of(launchers, is)) {
    return fmt::format("{}: a launcher; it starts stoker, and not the other way round: {} and its options come before "
                       "stoker",
                       word, word);
  }
  if (std::ranges::any_of(containers, is)) {
    return fmt::format("{}: a container has files and an MPI library of its own, for which the drop-in library of "
                       "this host was not built; install stoker in the container, and start it there: {} and its "
                       "options come before stoker",
                       word, word);
  }
  return "";
}

// Looks at the words of one command.
class Search {
public:
  // The first word is a program, and is run. Others may be arguments of any kind. Throws where nothing can be
  // preloaded into what is run.
  std::optional<MpiLibrary> look_at(const std::vector<std::string>& words);
  [[nodiscard]] const std::string& program() const { return program_; } // that loads the MPI library
  [[nodiscard]] const std::string& python() const { return python_; }
  // Why a word that may be run can have nothing preloaded; empty: no such reason.
  [[nodiscard]] const std::string& defect() const { return defect_; }
  // The same for words that may stand for something else altogether.
  [[nodiscard]] const std::string& doubt() const { return doubt_; }
  // Why what stands behind a word could have nothing preloaded, if that word is run.
  [[nodiscard]] const std::string& barrier() const { return barrier_; }

private:
  std::optional<MpiLibrary> look_at(const std::vector<std::string>& words, bool is_run, int nesting);
  std::optional<MpiLibrary> look_at_file(const std::string& word, const std::string& file, bool is_run, int nesting);

  std::string program_;
  std::string python_; // an interpreter of it; empty: none
  std::string defect_;
  std::string doubt_;
  std::string barrier_;
};

std::optional<MpiLibrary> Search::look_at(const std::vector<std::string>& words) { return look_at(words, true, 0); }

std::optional<MpiLibrary> Search::look_at(const std::vector<std::string>& words, bool is_run, int nesting) {
  const auto note = [&](const std::string& reason, bool word_is_run) {
    if (!reason.empty() && word_is_run) {
      throw CannotRun(CannotRun::other, reason);
    }
    barrier_ = barrier_.empty() ? reason : barrier_;
  };
  for (const std::string& word : words) {
    const std::string file = file_of(word);
    if (file.empty()) {
      continue;
    }
    const bool word_is_run = is_run && &word == &words.front();
    note(why_it_is_ignored(word, file), word_is_run);
    if (auto library = look_at_file(word, file, word_is_run, nesting)) {
      return library;
    }
    note(why_it_is_not_passed_on(word, file), word_is_run);
    if (!python_.empty()) {
      return std::nullopt; // the rest are arguments of a script
    }
  }
  return std::nullopt;
}

std::optional<MpiLibrary> Search::look_at_file(const std::string& word, const std::string& file, bool is_run,
                                               int nesting) {
  constexpr int most_nested = 4; // the kernel does not follow more interpreters, either
  const FileHead head = read_head(file);
  std::optional<MpiLibrary> library;
  switch (head.kind) {
  case FileKind::dynamic:
    library = mpi_library_of(head.loader, file);
    if (library) {
      program_ = word;
    } else if (contains_mpi_init(file)) {
      defect_ = fmt::format("{}: has the MPI library linked into itself (static), so that nothing can come before it; "
                            "link it with the shared MPI library",
                            word);
    }
    break;
  case FileKind::without_loader: // or it is a wrapper, which passes the environment on
    (contains_mpi_init(file) ? defect_ : doubt_) = fmt::format(
        "{}: statically linked, so that nothing can be loaded into it; link it with shared libraries", word);
    break;
  case FileKind::foreign:
    defect_ = fmt::format("{}: made for other processors, or for another length of addresses, than the drop-in "
                          "library",
                          word);
    break;
  case FileKind::script:
    if (nesting < most_nested) {
      library = look_at(head.interpreter, is_run, nesting + 1);
    }
    break;
  }
  if (!library && python_.empty() && name_of(file).starts_with("python")) {
    python_ = file;
  }
  return library;
}

std::optional<MpiLibrary> mpi_of_mpi4py(const std::string& python) {
  std::string file =
      output_of({python, "-c", "import importlib.util; print(importlib.util.find_spec('mpi4py.MPI').origin)"});
  file.erase(file.find_last_not_of('\n') + 1);
  return file.empty() ? std::nullopt : mpi_library_of(own_loader(), file);
}

} // namespace

MpiOfCommand mpi_of_command(const std::vector<std::string>& words, bool is_known) {
  if (file_of(words.front()).empty()) {
    refuse_missing(words.front());
  }
  Search search;
  const auto refuse = [is_known](const std::string& reason) {
    if (!reason.empty() && !is_known) {
      throw CannotRun(CannotRun::other, reason);
    }
  };
  if (const auto library = search.look_at(words)) {
    refuse(search.barrier());
    return {library->abi, library->soname, fmt::format("{} loads {}", search.program(), text_of(*library))};
  }
  refuse(search.defect());
  for (const Sign& sign : signs) {
    if (std::getenv(sign.variable) != nullptr) {
      return {std::string(sign.abi), "",
              fmt::format("{} loads no MPI library by itself; {} is set, as by the launcher of {}", words.front(),
                          sign.variable, sign.abi)};
    }
  }
  refuse(search.barrier());
  refuse(search.doubt());
  if (!search.python().empty()) {
    if (const auto library = mpi_of_mpi4py(search.python())) {
      return {library->abi, library->soname, fmt::format("mpi4py of {} loads {}", search.python(), text_of(*library))};
    }
    return {"", "",
            fmt::format("{}: its Python ({}) has no mpi4py, and no launcher of an MPI library has started this",
                        words.front(), search.python())};
  }
  return {"", "", fmt::format("{}: loads no MPI library, and no launcher of one has started this", words.front())};
}

std::string rank_in_job() {
  for (const char* const variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    if (const char* const rank = std::getenv(variable)) {
      return rank;
    }
  }
  return "";
}

} // namespace stoker::cli
