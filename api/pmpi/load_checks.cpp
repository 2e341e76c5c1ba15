// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/load_checks.hpp"

#include "api/pmpi/file_name.hpp"
#include "engine/base/mpi_identity.hpp"

#include <fmt/format.h>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace stoker::pmpi {
namespace {

constexpr unsigned seconds_to_tell = 2; // more than another rank is late

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

// Prints the defect on one rank only, because all ranks are likely to have it. Returns whether that is this one.
bool complain_on_one_rank(const std::string& defect) {
  const char* const rank = rank_in_environment();
  const bool is_told_here = rank == nullptr || std::string_view(rank) == "0";
  if (!defect.empty() && is_told_here) {
    fmt::print(stderr, "stoker: {}\n", defect);
  }
  return is_told_here;
}

std::string wrong_order() {
  const void* const first = dlsym(RTLD_DEFAULT, "MPI_Init");
  const void* const own = base_of(reinterpret_cast<const void*>(&complain_of_mixed_libraries));
  if (first != nullptr && base_of(first) != own) {
    return base_of(first) == base_of_program()
               ? fmt::format("the program has the MPI library linked into itself (static), so that {} cannot come "
                             "before it and has no effect; link the program with the shared MPI library",
                             own_file())
               : fmt::format("{} comes before {}, which has no effect so; put {} first in LD_PRELOAD, or before the "
                             "MPI library where the program is linked",
                             file_name_of(object_of(first)), own_file(), own_file());
  }
  if (rank_in_environment() != nullptr && program_defines_mpi()) {
    return fmt::format("the program has the MPI library linked into itself (static), so that {} cannot come before "
                       "it and has no effect; link the program with the shared MPI library",
                       own_file());
  }
  return "";
}

// Runs when the library is loaded, because MPI_Init may never reach this library.
[[gnu::constructor]] void check_order() { (void)complain_on_one_rank(wrong_order()); }

} // namespace

std::string own_file() { return std::string(file_name_of(object_of(reinterpret_cast<const void*>(&own_file)))); }

bool complain_of_mixed_libraries() {
  std::string other;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t /*size*/, void* result) {
        const std::string_view file = file_name_of(info->dlpi_name);
        const std::string_view abi = engine::mpi_abi_of(file);
        const bool is_other = !abi.empty() && abi != engine::own_mpi_abi();
        if (is_other) {
          *static_cast<std::string*>(result) = info->dlpi_name;
        }
        return is_other ? 1 : 0;
      },
      static_cast<void*>(&other));
  if (!other.empty()) {
    const bool told_here = complain_on_one_rank(
        fmt::format("two MPI libraries in one process: {} was built for {}, but {} ({}) is loaded as well; take the "
                    "drop-in library that was built for the program's MPI library",
                    own_file(), engine::own_mpi_abi(), other, engine::mpi_abi_of(file_name_of(other))));
    if (!told_here) {
      sleep(seconds_to_tell); // a launcher ends all processes when the first exits
    }
  }
  return !other.empty();
}

} // namespace stoker::pmpi
