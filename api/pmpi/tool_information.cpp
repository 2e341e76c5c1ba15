// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/tool_information.hpp"

#include "api/pmpi/tool_variables.hpp"

#include <algorithm>
#include <cstddef>

namespace stoker::pmpi {

constinit ToolIndices pvar_indices(&Library::MPI_T_pvar_get_num,
                                   [] { return static_cast<int>(performance_variables().size()); });
constinit ToolIndices cvar_indices(&Library::MPI_T_cvar_get_num,
                                   [] { return static_cast<int>(control_variables().size()); });
constinit ToolIndices category_indices(&Library::MPI_T_category_get_num, [] { return 1; });

// `num`: how many the MPI library has now. Relaxed: the number is all that threads tell each other.
int ToolIndices::first(int num) {
  int known = -1;
  return first_.compare_exchange_strong(known, num, std::memory_order_relaxed) ? num : known;
}

int ToolIndices::get_num(int* num) {
  const int code = call_library(real().*get_num_, num);
  if (code == MPI_SUCCESS) {
    *num = std::max(first(*num), *num) + own_();
  }
  return code;
}

int ToolIndices::settle() {
  int num = 0;
  return get_num(&num);
}

ToolIndex ToolIndices::find(int index) {
  if (const int code = settle(); code != MPI_SUCCESS) {
    return {.code = code};
  }
  const int begin = shown_own(0);
  const int end = shown_own(own_());
  if (index < begin) {
    return {.index = index};
  }
  return index < end ? ToolIndex{.own = true, .index = index - begin} : ToolIndex{.index = index - (end - begin)};
}

int ToolIndices::shown(int index_of_library) const {
  return index_of_library < shown_own(0) ? index_of_library : index_of_library + own_();
}

void ToolIndices::show(std::span<int> indices_of_library) const {
  std::ranges::transform(indices_of_library, indices_of_library.begin(), [this](int index) { return shown(index); });
}

void return_text(std::string_view text, char* buffer, int* length) {
  if (length == nullptr) {
    return;
  }
  if (buffer != nullptr && *length > 0) {
    const std::size_t copied = text.copy(buffer, static_cast<std::size_t>(*length) - 1);
    buffer[copied] = '\0';
  }
  *length = static_cast<int>(text.size()) + 1;
}

} // namespace stoker::pmpi
