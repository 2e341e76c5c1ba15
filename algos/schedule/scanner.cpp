// SPDX-License-Identifier: BSD-3-Clause
#include "algos/schedule/scanner.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace stoker::algos {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

} // namespace

void Scanner::skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size())); }

bool Scanner::at_end() {
  skip_blanks();
  return rest_.empty();
}

bool Scanner::accept(std::string_view word) {
  skip_blanks();
  if (!rest_.starts_with(word) ||
      (is_letter(word.back()) && rest_.size() > word.size() && is_letter(rest_[word.size()]))) {
    return false;
  }
  rest_.remove_prefix(word.size());
  return true;
}

void Scanner::expect(std::string_view word) {
  if (!accept(word)) {
    refuse("\"" + std::string(word) + "\"");
  }
}

void Scanner::expect_end() {
  if (!at_end()) {
    refuse("the end of the line");
  }
}

std::string_view Scanner::word(std::string_view what) {
  skip_blanks();
  const auto end = static_cast<std::size_t>(std::ranges::find_if_not(rest_, is_letter) - rest_.begin());
  if (end == 0) {
    refuse(what);
  }
  const std::string_view result = rest_.substr(0, end);
  rest_.remove_prefix(end);
  return result;
}

bool Scanner::at_number() {
  skip_blanks();
  return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9';
}

std::uint64_t Scanner::number(std::string_view what, std::uint64_t most) {
  skip_blanks();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error == std::errc::invalid_argument) {
    refuse(std::string(what) + ", a whole number");
  }
  if (error != std::errc() || value > most) {
    refuse(std::string(what) + ", at most " + std::to_string(most));
  }
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return value;
}

void Scanner::refuse(std::string_view what) {
  constexpr std::size_t shown = 40;
  const std::string there = at_end()
                                ? "the end of the line"
                                : "\"" + std::string(rest_.substr(0, shown)) + (rest_.size() > shown ? "...\"" : "\"");
  throw std::invalid_argument("expected " + std::string(what) + ", not " + there);
}

} // namespace stoker::algos
