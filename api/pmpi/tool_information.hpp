// SPDX-License-Identifier: BSD-3-Clause
// What the functions of MPI's tool information interface (MPI_T) have in common: indices, and arguments to return.
#pragma once

#include "api/pmpi/library.hpp"

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

namespace stoker::pmpi {

// Where an index of a tool's leads.
struct ToolIndex {
  int code = MPI_SUCCESS; // else the interface is not initialised: the MPI library's code
  bool own = false;
  int index = 0; // among this library's, or the MPI library's
};

// Indices of variables, or of categories. MPI wants them to have no gaps and never to change, and an MPI library may
// add some at any time. So this library's own stand behind those that the MPI library had when a tool first asked, and
// those that it adds later stand behind this library's. Any thread.
class ToolIndices {
public:
  using GetNum = int (*Library::*)(int*);

  constexpr ToolIndices(GetNum get_num, int (*own)()) : get_num_(get_num), own_(own) {}

  // As MPI_T_*_get_num.
  [[nodiscard]] int get_num(int* num);
  // As MPI_T_*_get_index. `find_own` returns this library's number for the name, -1 if it has none; `ask_library` is the
  // MPI library's function with the tool's arguments.
  template <class FindOwn, class AskLibrary>
  [[nodiscard]] int get_index(const char* name, int* index, FindOwn find_own, AskLibrary ask_library) {
    if (const int code = settle(); code != MPI_SUCCESS) {
      return code;
    }
    if (const int own = name != nullptr && index != nullptr ? find_own() : -1; own >= 0) {
      *index = shown_own(own);
      return MPI_SUCCESS;
    }
    const int code = ask_library();
    if (code == MPI_SUCCESS) {
      *index = shown(*index);
    }
    return code;
  }
  // Settles where this library's own stand. Returns the MPI library's code if the interface is not initialised.
  [[nodiscard]] int settle();
  [[nodiscard]] ToolIndex find(int index);
  // The other way round, once it is settled.
  [[nodiscard]] int shown(int index_of_library) const;
  [[nodiscard]] int shown_own(int index) const { return first_.load(std::memory_order_relaxed) + index; }
  void show(std::span<int> indices_of_library) const;

private:
  [[nodiscard]] int first(int num);

  GetNum get_num_;
  int (*own_)();
  std::atomic<int> first_{-1}; // of this library's; -1: no tool has asked yet
};

extern ToolIndices pvar_indices;
extern ToolIndices cvar_indices;
extern ToolIndices category_indices;

// The MPI library's function, if it has it.
template <class Function, class... Arguments>
[[nodiscard]] int call_library(Function function, Arguments... arguments) {
  return function != nullptr ? function(arguments...) : MPI_ERR_UNSUPPORTED_OPERATION;
}

// A handle of this library's is an odd number, which says whose it is: the MPI library's are addresses of structures.
template <class Handle>
[[nodiscard]] bool is_odd(Handle handle) {
  return reinterpret_cast<std::uintptr_t>(handle) % 2 != 0;
}

// An output argument; null: the tool does not want it.
template <class T>
void return_value(T* argument, T value) {
  if (argument != nullptr) {
    *argument = value;
  }
}
// A text by MPI's convention: `length` is that of the buffer, and becomes that of the text with its zero.
void return_text(std::string_view text, char* buffer, int* length);

} // namespace stoker::pmpi
