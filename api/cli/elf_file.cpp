// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/elf_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

namespace stoker::cli {
namespace {

template <typename Type>
bool read_at(std::ifstream& file, std::uint64_t offset, Type& value) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(&value), sizeof value));
}

constexpr unsigned char own_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;

ElfW(Half) own_machine() {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  ElfW(Ehdr) header{};
  return read_at(self, 0, header) ? header.e_machine : ElfW(Half){EM_NONE};
}

FileHead read_elf(std::ifstream& file) {
  ElfW(Ehdr) header{};
  if (!read_at(file, 0, header) || header.e_ident[EI_CLASS] != own_class || header.e_machine != own_machine()) {
    return {FileKind::foreign, "", {}};
  }
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    if (read_at(file, header.e_phoff + i * header.e_phentsize, segment) && segment.p_type == PT_INTERP) {
      std::string loader;
      file.seekg(static_cast<std::streamoff>(segment.p_offset));
      std::getline(file, loader, '\0');
      return {FileKind::dynamic, loader, {}};
    }
  }
  return {FileKind::without_loader, "", {}};
}

} // namespace

FileHead read_head(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, SELFMAG> magic{};
  if (file.read(magic.data(), magic.size()) && std::memcmp(magic.data(), ELFMAG, magic.size()) == 0) {
    return read_elf(file);
  }
  FileHead head{FileKind::script, "", {"/bin/sh"}};
  file.clear();
  file.seekg(0);
  if (std::string line; magic[0] == '#' && magic[1] == '!' && std::getline(file, line)) {
    std::istringstream words(line.substr(2));
    head.interpreter.assign(std::istream_iterator<std::string>(words), {});
  }
  return head;
}

bool contains_mpi_init(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  struct stat status {};
  const std::size_t size = fstat(file, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0); // fails if there is nothing
  close(file);
  if (mapped == MAP_FAILED) {
    return false;
  }
  // The linker lets a name share the bytes of another that ends like it, as PMPI_Init does.
  constexpr std::string_view name("MPI_Init\0", 9);
  const bool found = memmem(mapped, size, name.data(), name.size()) != nullptr;
  munmap(mapped, size);
  return found;
}

std::string own_loader() { return read_head("/proc/self/exe").loader; }

} // namespace stoker::cli
