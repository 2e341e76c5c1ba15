// SPDX-License-Identifier: BSD-3-Clause
#include "algos/libraries/library_rules.hpp"

#include "algos/libraries/rules.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace stoker::algos {

std::optional<Library> find_library(std::string_view name) {
  const auto* const found = std::ranges::find(library_names, name);
  return found == library_names.end() ? std::nullopt
                                      : std::optional(static_cast<Library>(found - library_names.begin()));
}

LibraryChoice library_choice(Library library, const topology::Layout& layout, const LibraryCall& call) {
  if (call.element_bytes == 0) {
    throw std::invalid_argument("library_choice: elements of 0 bytes");
  }
  const Rule rule = library == Library::mpich ? mpich_rule(layout, call) : openmpi_rule(layout, call);
  if (rule.choice.empty()) {
    throw std::invalid_argument("there are no rules of " + std::string(name_of(library)) + " for " +
                                std::string(name_of(call.collective)) +
                                "; expected an all-to-all, or a collective of a vector other than a scan");
  }
  return {resolve(parse_choice(call.collective, rule.choice), layout), rule.algorithm, rule.difference};
}

std::string choice_of(std::string_view name, Values values) {
  std::string text(name);
  char separator = ':';
  for (const auto& [key, value] : values) {
    if (!value.empty()) {
      text.append(1, separator).append(key).append("=").append(value);
      separator = ',';
    }
  }
  return text;
}

namespace {

std::string repeated(std::int32_t factor, std::size_t times, Signs signs) {
  FactorList list;
  for (std::size_t i = 0; i < times && signs != Signs::gathering; ++i) {
    list.add(-factor);
  }
  for (std::size_t i = 0; i < times && signs != Signs::dividing; ++i) {
    list.add(factor);
  }
  return to_text(list);
}

} // namespace

std::string factors_of(std::int32_t factor, std::size_t members, Signs signs) {
  std::size_t times = 0;
  for (std::size_t held = 1; held < members; held *= static_cast<std::size_t>(factor)) {
    ++times;
  }
  return repeated(factor, times, signs);
}

std::string all_at_once(std::size_t members, Signs signs) {
  return repeated(static_cast<std::int32_t>(members), members > 1 ? 1 : 0, signs);
}

std::string folded_twos(std::size_t members, Signs signs) { return factors_of(2, std::bit_floor(members), signs); }

std::string halving(std::string_view part, std::size_t ranks) {
  return choice_of(std::has_single_bit(ranks) ? "recursive-exchange" : "cyclic-shift",
                   {{"factors", factors_of(2, ranks, Signs::dividing)}, {"part", std::string(part)}});
}

std::string scatter_and_allgather(std::size_t members) {
  const std::string scatter = factors_of(2, members, Signs::dividing);
  const std::string allgather = factors_of(2, members > 1 ? members - 1 : 1, Signs::gathering);
  return scatter + (allgather.empty() ? "" : " ") + allgather;
}

} // namespace stoker::algos
