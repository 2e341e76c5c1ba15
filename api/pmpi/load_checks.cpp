// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/load_checks.hpp"

#include "api/pmpi/library.hpp"

#include <fmt/format.h>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

namespace stoker::pmpi {
namespace {

#ifdef MPICH_VERSION
constexpr std::string_view built_for = "MPICH";
constexpr std::string_view other_mpi = "Open MPI";
constexpr std::array<std::string_view, 2> other_libraries{"libmpi.so.40", "libmpi.so.80"};
#else
constexpr std::string_view built_for = "Open MPI";
constexpr std::string_view other_mpi = "MPICH";
constexpr std::array<std::string_view, 2> other_libraries{"libmpich.so", "libmpi.so.12"};
#endif

std::string_view file_of(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

// The path of the file that the address lies in; for the program, the name by which it was called.
std::string object_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "?";
}

const void* base_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

const void* base_of_program() {
  const void* base = nullptr;
  // The program comes first.
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t /*size*/, void* result) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            *static_cast<const void**>(result) = // NOLINTNEXTLINE(performance-no-int-to-ptr)
                reinterpret_cast<const void*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
            break;
          }
        }
        return 1;
      },
      static_cast<void*>(&base));
  return base;
}

// Whether the program's own file defines MPI_Init. If it exports nothing, only its symbol table tells.
bool program_defines_mpi() {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  struct stat status {};
  void* mapped = MAP_FAILED;
  if (fstat(file, &status) == 0 && status.st_size > static_cast<off_t>(sizeof(ElfW(Ehdr)))) {
    mapped = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  }
  close(file);
  if (mapped == MAP_FAILED) {
    return false;
  }
  const auto* const bytes = static_cast<const char*>(mapped);
  const auto size = static_cast<std::size_t>(status.st_size);
  const auto inside = [size](std::size_t offset, std::size_t length) {
    return offset <= size && length <= size - offset;
  };
  bool found = false;
  const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(bytes);
  const std::size_t sections = header->e_shnum;
  if (header->e_shentsize == sizeof(ElfW(Shdr)) && inside(header->e_shoff, sections * sizeof(ElfW(Shdr)))) {
    const auto* const section = reinterpret_cast<const ElfW(Shdr)*>(bytes + header->e_shoff);
    for (std::size_t s = 0; s < sections && !found; ++s) {
      if (section[s].sh_type != SHT_SYMTAB || section[s].sh_link >= sections ||
          !inside(section[s].sh_offset, section[s].sh_size)) {
        continue;
      }
      const auto& names = section[section[s].sh_link];
      const auto* const symbols = reinterpret_cast<const ElfW(Sym)*>(bytes + section[s].sh_offset);
      for (std::size_t i = 0; i < section[s].sh_size / sizeof(ElfW(Sym)) && !found; ++i) {
        constexpr std::string_view name("MPI_Init\0", 9);
        found = symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name + name.size() <= names.sh_size &&
                inside(names.sh_offset, names.sh_size) &&
                std::string_view(bytes + names.sh_offset + symbols[i].st_name, name.size()) == name;
      }
    }
  }
  munmap(mapped, size);
  return found;
}

// The rank as the launcher puts it into the environment; null if it does not.
const char* rank_in_environment() {
  for (const char* name : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"}) {
    if (const char* const rank = std::getenv(name)) {
      return rank;
    }
  }
  return nullptr;
}

// Prints the defect on one rank only, because all ranks are likely to have it.
void complain(const std::string& defect) {
  const char* const rank = rank_in_environment();
  if (!defect.empty() && (rank == nullptr || std::string_view(rank) == "0")) {
    fmt::print(stderr, "stoker: {}\n", defect);
  }
}

std::string wrong_order() {
  const void* const first = dlsym(RTLD_DEFAULT, "MPI_Init");
  const void* const own = base_of(reinterpret_cast<const void*>(&complain_of_mixed_libraries));
  const std::string own_file(file_of(object_of(own)));
  if (first != nullptr && base_of(first) != own) {
    return base_of(first) == base_of_program()
               ? fmt::format("the program has the MPI library linked into itself (static), so that {} cannot come "
                             "before it and has no effect; link the program with the shared MPI library",
                             own_file)
               : fmt::format("{} comes before {}, which has no effect so; put {} first in LD_PRELOAD, or before the "
                             "MPI library where the program is linked",
                             file_of(object_of(first)), own_file, own_file);
  }
  if (rank_in_environment() != nullptr && program_defines_mpi()) {
    return fmt::format("the program has the MPI library linked into itself (static), so that {} cannot come before "
                       "it and has no effect; link the program with the shared MPI library",
                       own_file);
  }
  return "";
}

// Runs when the library is loaded, because MPI_Init may never reach this library.
[[gnu::constructor]] void check_order() { complain(wrong_order()); }

// Polls with pauses, so that ranks that are late get the core.
template <class Done>
[[nodiscard]] bool wait_for(Done&& done, std::chrono::seconds limit) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    if (done()) {
      return true;
    }
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (waited > limit) {
      return false;
    }
    if (waited > std::chrono::milliseconds(5)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

bool complete(MPI_Request& request) {
  int flag = 0;
  real().MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  return flag != 0;
}

std::string list_of(const std::vector<int>& ranks) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), most); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  return ranks.size() > most ? fmt::format("{} and {} more", text, ranks.size() - most) : text;
}

} // namespace

bool complain_of_mixed_libraries() {
  std::string other;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t /*size*/, void* result) {
        const std::string_view file = file_of(info->dlpi_name);
        const bool is_other =
            std::ranges::any_of(other_libraries, [&](std::string_view name) { return file.starts_with(name); });
        if (is_other) {
          *static_cast<std::string*>(result) = info->dlpi_name;
        }
        return is_other ? 1 : 0;
      },
      static_cast<void*>(&other));
  if (!other.empty()) {
    complain(fmt::format(
        "two MPI libraries in one process: {} was built for {}, but {} ({}) is loaded as well; take the "
        "libstoker-pmpi.so that was built for the program's MPI library",
        file_of(object_of(reinterpret_cast<const void*>(&complain_of_mixed_libraries))), built_for, other, other_mpi));
  }
  return !other.empty();
}

bool all_have_it(MPI_Comm comm, int timeout_seconds) {
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  int* bound = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(comm, MPI_TAG_UB, static_cast<void*>(&bound), &found);
  const int tag = found != 0 ? *bound : 32767; // that the application is not likely to use at once
  const std::chrono::seconds timeout(timeout_seconds);

  int word = 1;
  if (rank != 0) {
    int answer = 0;
    std::array<MPI_Request, 2> requests{};
    PMPI_Isend(&word, 1, MPI_INT, 0, tag, comm, &requests[0]);
    PMPI_Irecv(&answer, 1, MPI_INT, 0, tag, comm, &requests[1]);
    if (!wait_for([&] { return complete(requests[1]); }, 2 * timeout + std::chrono::seconds(10))) {
      fmt::print(
          stderr,
          "stoker: rank {} has libstoker-pmpi.so loaded, but rank 0 does not answer: it lacks the library, or is "
          "stuck; load it on all ranks or on none\n",
          rank);
      PMPI_Abort(comm, 1);
    }
    real().MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    return answer != 0;
  }

  std::vector<MPI_Request> requests(static_cast<std::size_t>(size), MPI_REQUEST_NULL);
  std::vector<int> words(requests.size());
  for (int r = 1; r < size; ++r) {
    const auto i = static_cast<std::size_t>(r);
    PMPI_Irecv(&words[i], 1, MPI_INT, r, tag, comm, &requests[i]);
  }
  const auto all_here = [&requests] {
    bool all = true;
    for (MPI_Request& request : requests) { // each has to be looked at, or it never completes
      all = (request == MPI_REQUEST_NULL || complete(request)) && all;
    }
    return all;
  };
  (void)wait_for(all_here, timeout);
  std::vector<int> missing;
  for (int r = 1; r < size; ++r) {
    if (requests[static_cast<std::size_t>(r)] != MPI_REQUEST_NULL) {
      missing.push_back(r);
    }
  }
  int answer = missing.empty() ? 1 : 0;
  for (int r = 1; r < size; ++r) {
    MPI_Request& request = requests[static_cast<std::size_t>(r)];
    if (request == MPI_REQUEST_NULL) {
      PMPI_Send(&answer, 1, MPI_INT, r, tag, comm);
    } else {
      real().MPI_Cancel(&request);
      real().MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  if (!missing.empty()) {
    fmt::print(stderr,
               "stoker: libstoker-pmpi.so is not loaded on rank{} {} of {} (within {} s); all ranks go on with the MPI "
               "library alone\n",
               missing.size() == 1 ? "" : "s", list_of(missing), size, timeout_seconds);
  }
  return missing.empty();
}

} // namespace stoker::pmpi
