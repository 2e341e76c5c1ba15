// SPDX-License-Identifier: BSD-3-Clause
// The reader of Matrix Market files: see matrix_market.hpp.
#include "api/sparse/matrix_market.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <sstream>
#include <system_error>

namespace matrix_market {
namespace {

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

// The value at (column, row) if only (row, column) is in the file.
enum class Mirror { none, same, negative, conjugate };

Mirror mirror_of(const std::string& symmetry) {
  if (symmetry == "general") {
    return Mirror::none;
  }
  if (symmetry == "symmetric") {
    return Mirror::same;
  }
  return symmetry == "hermitian" ? Mirror::conjugate : Mirror::negative;
}

std::complex<double> mirrored(std::complex<double> value, Mirror mirror) {
  if (mirror == Mirror::negative) {
    return -value;
  }
  return mirror == Mirror::conjugate ? std::conj(value) : value;
}

// The entry of the line that was read last.
Entry read_entry(const Lines& lines, const Coordinates& matrix, const std::string& field) {
  constexpr double largest = std::numeric_limits<double>::max();
  if (field == "pattern" && lines.words().size() != 2) {
    lines.fail("expected row and column");
  }
  if (field == "complex" && lines.words().size() != 4) {
    lines.fail("expected row, column, real and imaginary part");
  }
  if (field != "pattern" && field != "complex" && lines.words().size() != 3) {
    lines.fail("expected row, column and value");
  }
  Entry entry{lines.number(0, 1, matrix.rows, "the row") - 1, lines.number(1, 1, matrix.columns, "the column") - 1, 1};
  if (field != "pattern") {
    entry.value.real(lines.number(2, -largest, largest, "the value"));
  }
  if (field == "complex") {
    entry.value.imag(lines.number(3, -largest, largest, "the imaginary part"));
  }
  return entry;
}

} // namespace

Coordinates read(const std::string& file) {
  constexpr int most = std::numeric_limits<int>::max() / 2; // a symmetric entry counts twice
  Lines lines(file);
  if (!lines.next() || lines.words().size() != 5 || lower(lines.words()[0]) != "%%matrixmarket") {
    lines.fail("expected '%%MatrixMarket matrix coordinate FIELD SYMMETRY'");
  }
  std::vector<std::string> header;
  std::ranges::transform(lines.words(), std::back_inserter(header), lower);
  const std::string& field = header[3];
  const std::string& symmetry = header[4];
  if (header[1] != "matrix" || header[2] != "coordinate") {
    lines.fail(fmt::format("'{} {}', expected 'matrix coordinate': a sparse matrix", header[1], header[2]));
  }
  if (!is_one_of(field, {"real", "integer", "complex", "pattern"})) {
    lines.fail(fmt::format("field '{}', expected real, integer, complex or pattern", field));
  }
  if (!is_one_of(symmetry, {"general", "symmetric", "skew-symmetric", "hermitian"})) {
    lines.fail(fmt::format("symmetry '{}', expected general, symmetric, skew-symmetric or hermitian", symmetry));
  }
  const Mirror mirror = mirror_of(symmetry);
  if ((mirror == Mirror::conjugate && field != "complex") || (mirror == Mirror::negative && field == "pattern")) {
    lines.fail(fmt::format("a {} matrix of field '{}'", symmetry, field));
  }

  if (!lines.next_data() || lines.words().size() != 3) {
    lines.fail("expected the numbers of rows, columns and entries");
  }
  Coordinates matrix;
  matrix.rows = lines.number(0, 1, most, "the number of rows");
  matrix.columns = lines.number(1, 1, most, "the number of columns");
  matrix.complex = field == "complex";
  const int count = lines.number(2, 0, most, "the number of entries");
  if (mirror != Mirror::none && matrix.rows != matrix.columns) {
    lines.fail(fmt::format("a {} matrix of {} rows and {} columns", symmetry, matrix.rows, matrix.columns));
  }
  for (int i = 0; i < count; ++i) {
    if (!lines.next_data()) {
      lines.fail(fmt::format("the file ends after {} of {} entries", i, count));
    }
    const Entry entry = read_entry(lines, matrix, field);
    matrix.entries.push_back(entry);
    if (entry.row != entry.column && mirror != Mirror::none) {
      matrix.entries.push_back({entry.column, entry.row, mirrored(entry.value, mirror)});
    } else if (mirror == Mirror::negative) {
      lines.fail("an entry on the diagonal of a skew-symmetric matrix");
    }
  }
  if (lines.next_data()) {
    lines.fail(fmt::format("more than the {} entries announced", count));
  }
  return matrix;
}

} // namespace matrix_market
