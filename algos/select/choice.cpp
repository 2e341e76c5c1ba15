// SPDX-License-Identifier: BSD-3-Clause
// Parsing and checking of algorithm names with parameters.
#include "algos/select/choice.hpp"

#include "algos/collectives/teams.hpp"
#include "algos/select/edit_distance.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace stoker::algos {

namespace {

std::string list(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

[[noreturn]] void refuse_name(const std::string& what, std::string_view name,
                              const std::vector<std::string_view>& names) {
  const auto nearest = std::min_element(
      names.begin(), names.end(), [&](auto a, auto b) { return edit_distance(name, a) < edit_distance(name, b); });
  if (names.empty()) {
    refuse(what + "; expected none");
  }
  refuse(what + "; expected one of " + list(names) + "; did you mean " + std::string(*nearest) + "?");
}

std::optional<std::int32_t> number(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<FlatExchange> flat_exchange(std::string_view text) {
  using Kind = FlatExchange::Kind;
  if (text == "nonblocking") {
    return FlatExchange{Kind::direct, 0};
  }
  if (text == "pairwise") {
    return FlatExchange{Kind::direct, 1};
  }
  if (text == "bruck") {
    return FlatExchange{Kind::radix, 2};
  }
  if (text == "radix") {
    return FlatExchange{Kind::radix, 0};
  }
  for (const auto& [prefix, kind, least] : {std::tuple{std::string_view("batched-"), Kind::direct, 1},
                                            std::tuple{std::string_view("radix-"), Kind::radix, 2}}) {
    if (text.starts_with(prefix)) {
      const auto value = number(text.substr(prefix.size()));
      return value && *value >= least ? std::optional(FlatExchange{kind, static_cast<std::uint32_t>(*value)})
                                      : std::nullopt;
    }
  }
  return std::nullopt;
}

void set(Choice& choice, const Parameter& parameter, std::string_view value) {
  const std::string what =
      std::string(choice.algorithm->name) + ": " + std::string(parameter.name) + "=" + std::string(value);
  if (parameter.exchange != nullptr) {
    const auto exchange = flat_exchange(value);
    if (!exchange) {
      refuse(what + "; expected nonblocking, pairwise, batched-N (N from 1), bruck, radix or radix-R (R from 2)");
    }
    choice.tuning.*parameter.exchange = *exchange;
    return;
  }
  if (parameter.factors != nullptr) {
    const auto factors = parse_factors(value);
    if (!factors) {
      refuse(what + "; expected factors of at least 2, or -2 and less, with blanks between them, as in -4 -2 2 4");
    }
    choice.tuning.*parameter.factors = *factors;
    return;
  }
  if (parameter.domains && value == "domains") {
    choice.tuning.*parameter.number = Parts::domains;
    return;
  }
  const auto given = number(value);
  if (!given || *given < parameter.least) {
    refuse(what + "; expected a number from " + std::to_string(parameter.least) +
           (parameter.domains ? ", or domains" : ""));
  }
  choice.tuning.*parameter.number = *given;
}

std::vector<std::string_view> names_of_collectives() {
  std::vector<std::string_view> names;
  for (std::size_t c = 0; c < collectives_with_algorithms; ++c) {
    names.push_back(name_of(static_cast<Collective>(c)));
  }
  return names;
}

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

// What stands before the equals sign behind a comma.
std::string_view name_behind(std::string_view list, std::size_t comma) {
  const std::string_view rest = list.substr(comma + 1);
  return without_blanks(rest.substr(0, rest.find_first_of("=,")));
}

std::size_t end_of_item(std::string_view list, std::size_t begin) {
  std::size_t comma = list.find(',', begin);
  while (comma != std::string_view::npos && !find_collective(name_behind(list, comma))) {
    comma = list.find(',', comma + 1);
  }
  return std::min(comma, list.size());
}

// A misspelt collective behind a comma was taken for a parameter.
std::string misspelt_collective(std::string_view choice) {
  for (std::size_t comma = choice.find(','); comma != std::string_view::npos; comma = choice.find(',', comma + 1)) {
    if (const auto near = nearest_name(name_behind(choice, comma), names_of_collectives())) {
      return "; or did you mean the collective " + std::string(*near) + "?";
    }
  }
  return "";
}

std::vector<std::string_view> names_for_any_operation(Collective collective) {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms_of(collective)) {
    if (!algorithm.commutative) {
      names.push_back(algorithm.name);
    }
  }
  return names;
}

void resolve_factors(Choice& choice, const Parameter& parameter, const topology::Layout& layout, Misfit misfit) {
  FactorList& factors = choice.tuning.*parameter.factors;
  const std::string defect = factors.empty() ? "" : parameter.factors_defect(factors, layout, choice.tuning);
  if (!defect.empty() && misfit != Misfit::adapt) {
    refuse(std::string(choice.algorithm->name) + ": " + std::string(parameter.name) + "=" + to_text(factors) + " " +
           defect);
  }
  if (factors.empty() || !defect.empty()) {
    factors = parameter.preset_factors(layout, choice.tuning);
  }
}

} // namespace

Choice parse_choice(Collective collective, std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  Choice choice{find(collective, name), {}};
  if (choice.algorithm == nullptr) {
    std::vector<std::string_view> names;
    for (const Algorithm& algorithm : algorithms_of(collective)) {
      names.push_back(algorithm.name);
    }
    refuse_name("there is no algorithm " + std::string(name) + " for " + std::string(name_of(collective)), name, names);
  }
  std::vector<std::string_view> given;
  for (std::size_t begin = colon; begin != std::string_view::npos;) {
    const std::size_t comma = text.find(',', begin + 1);
    const std::string_view item = text.substr(begin + 1, comma == std::string_view::npos ? comma : comma - begin - 1);
    begin = comma;
    const std::size_t equals = item.find('=');
    const std::string_view key = item.substr(0, equals);
    const auto parameters = choice.algorithm->parameters;
    const auto parameter =
        std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.name == key; });
    if (parameter == parameters.end()) {
      std::vector<std::string_view> names;
      for (const Parameter& p : parameters) {
        names.push_back(p.name);
      }
      refuse_name(std::string(name) + " has no parameter " + std::string(key), key, names);
    }
    if (equals == std::string_view::npos) {
      refuse(std::string(name) + ": " + std::string(key) + " needs a value, as in " + std::string(key) + "=...");
    }
    if (std::find(given.begin(), given.end(), key) != given.end()) {
      refuse(std::string(name) + ": " + std::string(key) + " is given twice");
    }
    given.push_back(key);
    set(choice, *parameter, item.substr(equals + 1));
  }
  return choice;
}

std::string to_text(FlatExchange exchange) {
  const std::string parameter = std::to_string(exchange.parameter);
  if (exchange.kind == FlatExchange::Kind::radix) {
    return exchange.parameter == 0 ? "radix" : exchange.parameter == 2 ? "bruck" : "radix-" + parameter;
  }
  return exchange.parameter == 0 ? "nonblocking" : exchange.parameter == 1 ? "pairwise" : "batched-" + parameter;
}

std::string to_text(const Choice& choice) {
  std::string text(choice.algorithm->name);
  char separator = ':';
  for (const Parameter& parameter : choice.algorithm->parameters) {
    std::string value;
    if (parameter.exchange != nullptr) {
      const FlatExchange exchange = choice.tuning.*parameter.exchange;
      value = exchange == FlatExchange{} ? "" : to_text(exchange);
    } else if (parameter.factors != nullptr) {
      value = to_text(choice.tuning.*parameter.factors);
    } else if (const std::int32_t n = choice.tuning.*parameter.number; n != 0) {
      value = n == Parts::domains ? "domains" : std::to_string(n);
    }
    if (!value.empty()) {
      text += separator + std::string(parameter.name) + "=" + value;
      separator = ',';
    }
  }
  return text;
}

void parse_choices(std::string_view list, Choices& choices) {
  if (list == "auto") {
    choices = {};
    return;
  }
  std::array<bool, collectives_with_algorithms> named{};
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = end_of_item(list, begin);
    const std::string_view item = without_blanks(list.substr(begin, end - begin));
    begin = end + 1;
    const std::size_t equals = item.find('=');
    const std::string name(item.substr(0, equals));
    const auto collective = find_collective(name);
    if (!collective) {
      refuse_name("there is no collective \"" + name + "\"", name, names_of_collectives());
    }
    if (equals == std::string_view::npos) {
      refuse(std::string(name).append(" needs an algorithm, as in ").append(name).append("=auto"));
    }
    if (std::exchange(named[static_cast<std::size_t>(*collective)], true)) {
      refuse(name + " is given twice");
    }
    const std::string_view text = item.substr(equals + 1);
    try {
      choices[static_cast<std::size_t>(*collective)] = text == "auto" ? Choice{} : parse_choice(*collective, text);
    } catch (const std::invalid_argument& error) {
      refuse(error.what() + misspelt_collective(text));
    }
  }
}

std::string to_text(const Choices& choices) {
  std::string text;
  for (const Choice& choice : choices) {
    if (choice.algorithm != nullptr) {
      text += (text.empty() ? "" : ",") + std::string(name_of(choice.algorithm->collective)) + "=" + to_text(choice);
    }
  }
  return text.empty() ? "auto" : text;
}

Choice resolve(Choice choice, const topology::Layout& layout, Misfit misfit) {
  for (const Parameter& parameter : choice.algorithm->parameters) {
    if (parameter.factors != nullptr) {
      resolve_factors(choice, parameter, layout, misfit);
      continue;
    }
    if (parameter.number == nullptr) {
      continue;
    }
    std::int32_t& value = choice.tuning.*parameter.number;
    if (value == Parts::domains && parameter.domains) {
      continue;
    }
    const std::int32_t most = parameter.most(layout);
    if (value == 0) {
      value = std::min(parameter.preset(layout), most);
    }
    if (misfit != Misfit::refuse) {
      value = std::min(value, most);
    }
    if (value < parameter.least || value > most) {
      refuse(std::string(choice.algorithm->name) + ": " + std::string(parameter.name) + "=" + std::to_string(value) +
             " is out of range for " + std::to_string(layout.ranks()) + " ranks on " + std::to_string(layout.nodes()) +
             " nodes; expected " + std::to_string(parameter.least) + " to " + std::to_string(most) +
             "; the nearest is " + std::string(parameter.name) + "=" +
             std::to_string(std::clamp(value, parameter.least, most)));
    }
  }
  return choice;
}

Knowledge knowledge_of(const Choice& choice) {
  return choice.tuning.between.forwards() ? Knowledge::all : choice.algorithm->knowledge;
}

Program compile(const Choice& choice, const Exchange& exchange) {
  return std::get<Program (*)(const Exchange&, const Tuning&)>(choice.algorithm->compile)(exchange, choice.tuning);
}

Program compile(const Choice& choice, const NeighborExchange& exchange) {
  return std::get<Program (*)(const NeighborExchange&)>(choice.algorithm->compile)(exchange);
}

Program compile(const Choice& choice, const DistributedVector& vector) {
  if (choice.algorithm->commutative && !vector.commutative) {
    refuse(std::string(choice.algorithm->name) +
           " combines operands in any order, but the operation is not "
           "commutative; expected one of " +
           list(names_for_any_operation(choice.algorithm->collective)));
  }
  return std::get<Program (*)(const DistributedVector&, const Tuning&)>(choice.algorithm->compile)(vector,
                                                                                                   choice.tuning);
}

} // namespace stoker::algos
