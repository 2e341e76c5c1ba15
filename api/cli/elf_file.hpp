// SPDX-License-Identifier: BSD-3-Clause
// What the head of an executable file says.
#pragma once

#include <string>
#include <vector>

namespace stoker::cli {

enum class FileKind {
  dynamic,        // an ELF file with a loader
  without_loader, // an ELF file without: a statically linked program, or a shared library
  foreign,        // an ELF file for other processors than this program's, or of another word length
  script,         // begins with "#!", or is no ELF file: execvp gives it to sh
};

struct FileHead {
  FileKind kind = FileKind::script;
  std::string loader;                   // of a dynamic ELF file
  std::vector<std::string> interpreter; // of a script, with its arguments
};

[[nodiscard]] FileHead read_head(const std::string& path);

// Whether a symbol or a text of the file is MPI_Init. In a program that loads no MPI library it means that the library
// is in the program.
[[nodiscard]] bool contains_mpi_init(const std::string& path);

// The loader of this process.
[[nodiscard]] std::string own_loader();

} // namespace stoker::cli
