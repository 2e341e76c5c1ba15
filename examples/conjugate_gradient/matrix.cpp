// SPDX-License-Identifier: BSD-3-Clause
// Reading, generating and checking matrices.
#include "matrix.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>

namespace conjugate_gradient {
namespace {

struct Entry {
  int row;
  int column;
  double value;
};

Matrix assemble(int rows, int columns, std::vector<Entry> entries) {
  std::ranges::stable_sort(
      entries, [](const Entry& a, const Entry& b) { return a.row != b.row ? a.row < b.row : a.column < b.column; });
  Matrix a{.rows = rows,
           .columns = columns,
           .first = std::vector<int>(static_cast<std::size_t>(rows) + 1),
           .column = {},
           .value = {}};
  const Entry* previous = nullptr;
  for (const Entry& e : entries) {
    if (previous != nullptr && previous->row == e.row && previous->column == e.column) {
      a.value.back() += e.value;
    } else {
      a.column.push_back(e.column);
      a.value.push_back(e.value);
      ++a.first[static_cast<std::size_t>(e.row) + 1];
    }
    previous = &e;
  }
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    a.first[row + 1] += a.first[row];
  }
  return a;
}

// Lines of a file, counted, and split into words.
class Lines {
public:
  explicit Lines(const std::string& file) : name_(file), in_(file) {
    if (!in_) {
      throw InputError(fmt::format("{}: cannot be opened: {}", file, std::generic_category().message(errno)));
    }
  }
  // False at the end of the file.
  bool next() {
    ++number_;
    words_.clear();
    if (!std::getline(in_, line_)) {
      return false;
    }
    std::istringstream stream(line_);
    for (std::string word; stream >> word;) {
      words_.push_back(word);
    }
    return true;
  }
  // The next line that is neither empty nor a comment.
  bool next_data() {
    while (next()) {
      if (!words_.empty() && words_.front().front() != '%') {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("{}, line {}: {}", name_, number_, what));
  }
  template <class T>
  [[nodiscard]] T number(std::size_t word, T least, T most, const char* what) const {
    T value{};
    const std::string& text = words_[word];
    const char* begin = text.data() + (text.front() == '+' ? 1 : 0);
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || stop != end || !(value >= least && value <= most)) {
      fail(fmt::format("{} is '{}', expected a number from {} to {}", what, text, least, most));
    }
    return value;
  }

private:
  std::string name_;
  std::ifstream in_;
  std::string line_;
  std::vector<std::string> words_;
  int number_ = 0;
};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_one_of(const std::string& word, std::initializer_list<const char*> choices) {
  return std::ranges::find(choices, word) != choices.end();
}

} // namespace

Matrix read_matrix_market(const std::string& file) {
  constexpr int most = std::numeric_limits<int>::max() / 2; // a symmetric entry counts twice
  constexpr double largest = std::numeric_limits<double>::max();
  Lines lines(file);
  if (!lines.next() || lines.words().size() != 5 || lower(lines.words()[0]) != "%%matrixmarket") {
    lines.fail("expected '%%MatrixMarket matrix coordinate FIELD SYMMETRY'");
  }
  std::vector<std::string> header;
  std::ranges::transform(lines.words(), std::back_inserter(header), lower);
  if (header[1] != "matrix" || header[2] != "coordinate") {
    lines.fail(fmt::format("'{} {}', expected 'matrix coordinate': a sparse matrix", header[1], header[2]));
  }
  if (!is_one_of(header[3], {"real", "integer", "pattern"})) {
    lines.fail(fmt::format("field '{}', expected real, integer or pattern", header[3]));
  }
  if (!is_one_of(header[4], {"general", "symmetric"})) {
    lines.fail(fmt::format("symmetry '{}', expected general or symmetric", header[4]));
  }
  const bool pattern = header[3] == "pattern";
  const bool symmetric = header[4] == "symmetric";

  if (!lines.next_data() || lines.words().size() != 3) {
    lines.fail("expected the numbers of rows, columns and entries");
  }
  const int rows = lines.number(0, 1, most, "the number of rows");
  const int columns = lines.number(1, 1, most, "the number of columns");
  const int count = lines.number(2, 0, most, "the number of entries");
  if (symmetric && rows != columns) {
    lines.fail(fmt::format("a symmetric matrix of {} rows and {} columns", rows, columns));
  }

  std::vector<Entry> entries;
  for (int i = 0; i < count; ++i) {
    if (!lines.next_data()) {
      lines.fail(fmt::format("the file ends after {} of {} entries", i, count));
    }
    if (lines.words().size() != (pattern ? 2U : 3U)) {
      lines.fail(pattern ? "expected row and column" : "expected row, column and value");
    }
    const int row = lines.number(0, 1, rows, "the row") - 1;
    const int column = lines.number(1, 1, columns, "the column") - 1;
    const double value = pattern ? 1 : lines.number(2, -largest, largest, "the value");
    entries.push_back({row, column, value});
    if (symmetric && row != column) {
      entries.push_back({column, row, value});
    }
  }
  if (lines.next_data()) {
    lines.fail(fmt::format("more than the {} entries announced", count));
  }
  return assemble(rows, columns, std::move(entries));
}

Matrix poisson(int side) {
  std::vector<Entry> entries;
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      const int i = y * side + x;
      entries.push_back({i, i, 4});
      if (x > 0) {
        entries.push_back({i, i - 1, -1});
        entries.push_back({i - 1, i, -1});
      }
      if (y > 0) {
        entries.push_back({i, i - side, -1});
        entries.push_back({i - side, i, -1});
      }
    }
  }
  return assemble(side * side, side * side, std::move(entries));
}

void require_symmetric(const Matrix& a) {
  if (a.rows != a.columns) {
    throw InputError(
        fmt::format("the matrix has {} rows and {} columns; conjugate gradients need a square one", a.rows, a.columns));
  }
  const auto value_at = [&](int row, int column) {
    const auto begin = a.column.begin() + a.first[static_cast<std::size_t>(row)];
    const auto end = a.column.begin() + a.first[static_cast<std::size_t>(row) + 1];
    const auto found = std::lower_bound(begin, end, column);
    return found == end || *found != column ? 0.0 : a.value[static_cast<std::size_t>(found - a.column.begin())];
  };
  for (int row = 0; row < a.rows; ++row) {
    if (!(value_at(row, row) > 0)) {
      throw InputError(fmt::format("diagonal entry {} is {}; conjugate gradients need a positive definite matrix",
                                   row + 1, value_at(row, row)));
    }
    for (int i = a.first[static_cast<std::size_t>(row)]; i < a.first[static_cast<std::size_t>(row) + 1]; ++i) {
      const int column = a.column[static_cast<std::size_t>(i)];
      if (a.value[static_cast<std::size_t>(i)] != value_at(column, row)) {
        throw InputError(
            fmt::format("entry ({0}, {1}) is {2} but ({1}, {0}) is {3}; conjugate gradients need a symmetric matrix",
                        row + 1, column + 1, a.value[static_cast<std::size_t>(i)], value_at(column, row)));
      }
    }
  }
}

} // namespace conjugate_gradient
