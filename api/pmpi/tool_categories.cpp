// SPDX-License-Identifier: BSD-3-Clause
// Categories: the MPI library's, and one of this library's that holds all of its variables. That never changes, so what
// MPI_T_category_changed says of the MPI library's is right for both.
#include "api/pmpi/alias.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/tool_information.hpp"
#include "api/pmpi/tool_variables.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace stoker::pmpi {
namespace {

constexpr const char* own_category = "stoker";

enum class Member : std::uint8_t { cvar, pvar, category };

ToolIndices& indices_of(Member member) {
  switch (member) {
  case Member::cvar:
    return cvar_indices;
  case Member::pvar:
    return pvar_indices;
  default:
    return category_indices;
  }
}

std::size_t own_members(Member member) {
  switch (member) {
  case Member::cvar:
    return control_variables().size();
  case Member::pvar:
    return performance_variables().size();
  default:
    return 0;
  }
}

// How many of the first `len` members the MPI library's category has.
std::size_t members_of_library(Member member, int category, int len) {
  int cvars = 0;
  int pvars = 0;
  int categories = 0;
  const int code =
      call_library(real().MPI_T_category_get_info, category, static_cast<char*>(nullptr), static_cast<int*>(nullptr),
                   static_cast<char*>(nullptr), static_cast<int*>(nullptr), &cvars, &pvars, &categories);
  const int all = member == Member::cvar ? cvars : member == Member::pvar ? pvars : categories;
  return code == MPI_SUCCESS ? static_cast<std::size_t>(std::clamp(all, 0, std::max(len, 0))) : 0;
}

// MPI_T_category_get_cvars and its like; `function`: the MPI library's.
template <class Function>
int get_members(Member member, Function function, int category, int len, int* indices) {
  const ToolIndex place = category_indices.find(category);
  ToolIndices& of_members = indices_of(member);
  const int settled = place.code == MPI_SUCCESS ? of_members.settle() : place.code;
  if (settled != MPI_SUCCESS) {
    return settled;
  }
  if (!place.own) {
    const int code = call_library(function, place.index, len, indices);
    if (code == MPI_SUCCESS && indices != nullptr) {
      of_members.show(std::span(indices, members_of_library(member, place.index, len)));
    }
    return code;
  }
  const int returned = std::min(len, static_cast<int>(own_members(member)));
  if (returned > 0 && indices == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  for (int i = 0; i < returned; ++i) {
    indices[i] = of_members.shown_own(i);
  }
  return MPI_SUCCESS;
}

} // namespace
} // namespace stoker::pmpi

using stoker::pmpi::call_library;
using stoker::pmpi::category_indices;
using stoker::pmpi::get_members;
using stoker::pmpi::Member;
using stoker::pmpi::own_category;
using stoker::pmpi::own_members;
using stoker::pmpi::real;
using stoker::pmpi::return_text;
using stoker::pmpi::return_value;
using stoker::pmpi::ToolIndex;

extern "C" {

int MPI_T_category_get_num(int* num_cat) { return category_indices.get_num(num_cat); }

int MPI_T_category_get_info(int cat_index, char* name, int* name_len, char* desc, int* desc_len, int* num_cvars,
                            int* num_pvars, int* num_categories) {
  const ToolIndex place = category_indices.find(cat_index);
  if (place.code != MPI_SUCCESS) {
    return place.code;
  }
  if (!place.own) {
    return call_library(real().MPI_T_category_get_info, place.index, name, name_len, desc, desc_len, num_cvars,
                        num_pvars, num_categories);
  }
  return_text(own_category, name, name_len);
  return_text("collectives on the progress engine stoker: what it has done, and its settings", desc, desc_len);
  return_value(num_cvars, static_cast<int>(own_members(Member::cvar)));
  return_value(num_pvars, static_cast<int>(own_members(Member::pvar)));
  return_value(num_categories, static_cast<int>(own_members(Member::category)));
  return MPI_SUCCESS;
}

int MPI_T_category_get_index(const char* name, int* cat_index) {
  return category_indices.get_index(
      name, cat_index, [&] { return std::strcmp(name, own_category) == 0 ? 0 : -1; },
      [&] { return call_library(real().MPI_T_category_get_index, name, cat_index); });
}

int MPI_T_category_get_cvars(int cat_index, int len, int indices[]) {
  return get_members(Member::cvar, real().MPI_T_category_get_cvars, cat_index, len, indices);
}

int MPI_T_category_get_pvars(int cat_index, int len, int indices[]) {
  return get_members(Member::pvar, real().MPI_T_category_get_pvars, cat_index, len, indices);
}

int MPI_T_category_get_categories(int cat_index, int len, int indices[]) {
  return get_members(Member::category, real().MPI_T_category_get_categories, cat_index, len, indices);
}

// This library has no events.
int MPI_T_category_get_num_events(int cat_index, int* num_events) {
  const ToolIndex place = category_indices.find(cat_index);
  if (place.code != MPI_SUCCESS) {
    return place.code;
  }
  if (!place.own) {
    return call_library(real().MPI_T_category_get_num_events, place.index, num_events);
  }
  return_value(num_events, 0);
  return MPI_SUCCESS;
}

int MPI_T_category_get_events(int cat_index, int len, int indices[]) {
  const ToolIndex place = category_indices.find(cat_index);
  if (place.code != MPI_SUCCESS || place.own) {
    return place.code;
  }
  return call_library(real().MPI_T_category_get_events, place.index, len, indices);
}
}

ALIAS_PMPI(MPI_T_category_get_num)
ALIAS_PMPI(MPI_T_category_get_info)
ALIAS_PMPI(MPI_T_category_get_index)
ALIAS_PMPI(MPI_T_category_get_cvars)
ALIAS_PMPI(MPI_T_category_get_pvars)
ALIAS_PMPI(MPI_T_category_get_categories)
ALIAS_PMPI(MPI_T_category_get_num_events)
ALIAS_PMPI(MPI_T_category_get_events)
