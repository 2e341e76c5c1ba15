// SPDX-License-Identifier: BSD-3-Clause
// Control variables: the MPI library's, and this library's settings.
#include "api/pmpi/alias.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/tool_information.hpp"
#include "api/pmpi/tool_variables.hpp"
#include "engine/base/agreement.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace stoker::pmpi {
namespace {

constexpr int most_letters = 4096; // of a value, with its zero; longer ones are cut

MPI_T_cvar_handle handle_of(int index) {
  return reinterpret_cast<MPI_T_cvar_handle>((2 * static_cast<std::uintptr_t>(index)) + 1);
}
std::optional<std::size_t> index_of(MPI_T_cvar_handle handle) {
  return is_odd(handle) ? std::optional(reinterpret_cast<std::uintptr_t>(handle) / 2) : std::nullopt;
}

} // namespace
} // namespace stoker::pmpi

using stoker::pmpi::call_library;
using stoker::pmpi::control_variables;
using stoker::pmpi::ControlVariable;
using stoker::pmpi::cvar_indices;
using stoker::pmpi::real;
using stoker::pmpi::return_text;
using stoker::pmpi::return_value;
using stoker::pmpi::ToolIndex;

extern "C" {

int MPI_T_cvar_get_num(int* num_cvar) { return cvar_indices.get_num(num_cvar); }

int MPI_T_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype,
                        MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* scope) {
  const ToolIndex place = cvar_indices.find(cvar_index);
  if (place.code != MPI_SUCCESS) {
    return place.code;
  }
  if (!place.own) {
    return call_library(real().MPI_T_cvar_get_info, place.index, name, name_len, verbosity, datatype, enumtype, desc,
                        desc_len, bind, scope);
  }
  const ControlVariable& variable = control_variables()[static_cast<std::size_t>(place.index)];
  return_text(variable.name, name, name_len);
  return_text(variable.help, desc, desc_len);
  return_value(verbosity, variable.verbosity);
  return_value(datatype, MPI_CHAR);
  return_value(enumtype, MPI_T_ENUM_NULL);
  return_value<int>(bind, MPI_T_BIND_NO_OBJECT);
  return_value<int>(scope, MPI_T_SCOPE_READONLY);
  return MPI_SUCCESS;
}

int MPI_T_cvar_get_index(const char* name, int* cvar_index) {
  return cvar_indices.get_index(
      name, cvar_index,
      [&] {
        const auto& variables = control_variables();
        const auto found = std::ranges::find(variables, name, &ControlVariable::name);
        return found != variables.end() ? static_cast<int>(found - variables.begin()) : -1;
      },
      [&] { return call_library(real().MPI_T_cvar_get_index, name, cvar_index); });
}

int MPI_T_cvar_handle_alloc(int cvar_index, void* obj_handle, MPI_T_cvar_handle* handle, int* count) {
  const ToolIndex place = cvar_indices.find(cvar_index);
  if (place.code != MPI_SUCCESS) {
    return place.code;
  }
  if (!place.own) {
    return call_library(real().MPI_T_cvar_handle_alloc, place.index, obj_handle, handle, count);
  }
  if (handle == nullptr || count == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  *handle = stoker::pmpi::handle_of(place.index);
  *count = stoker::pmpi::most_letters;
  return MPI_SUCCESS;
}

int MPI_T_cvar_handle_free(MPI_T_cvar_handle* handle) {
  if (handle == nullptr || !stoker::pmpi::index_of(*handle)) {
    return call_library(real().MPI_T_cvar_handle_free, handle);
  }
  const int code = cvar_indices.settle();
  if (code == MPI_SUCCESS) {
    *handle = MPI_T_CVAR_HANDLE_NULL;
  }
  return code;
}

int MPI_T_cvar_read(MPI_T_cvar_handle handle, void* buf) {
  const auto index = stoker::pmpi::index_of(handle);
  if (!index) {
    return call_library(real().MPI_T_cvar_read, handle, buf);
  }
  const auto& variables = control_variables();
  if (*index >= variables.size()) {
    return MPI_T_ERR_INVALID_HANDLE;
  }
  if (buf == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  const int code = cvar_indices.settle();
  if (code != MPI_SUCCESS) {
    return code;
  }
  const auto failure = stoker::engine::attempt([&] {
    int length = stoker::pmpi::most_letters;
    return_text(text_of(variables[*index]), static_cast<char*>(buf), &length);
  });
  return failure ? MPI_T_ERR_MEMORY : MPI_SUCCESS;
}

int MPI_T_cvar_write(MPI_T_cvar_handle handle, const void* buf) {
  if (!stoker::pmpi::index_of(handle)) {
    return call_library(real().MPI_T_cvar_write, handle, buf);
  }
  const int code = cvar_indices.settle();
  return code == MPI_SUCCESS ? MPI_T_ERR_CVAR_SET_NEVER : code;
}
}

ALIAS_PMPI(MPI_T_cvar_get_num)
ALIAS_PMPI(MPI_T_cvar_get_info)
ALIAS_PMPI(MPI_T_cvar_get_index)
ALIAS_PMPI(MPI_T_cvar_handle_alloc)
ALIAS_PMPI(MPI_T_cvar_handle_free)
ALIAS_PMPI(MPI_T_cvar_read)
ALIAS_PMPI(MPI_T_cvar_write)
