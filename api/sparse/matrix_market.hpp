// SPDX-License-Identifier: BSD-3-Clause
// Reading Matrix Market files: any sparse matrix of the collections. Shared by the command line, an example and the benchmarks.
#pragma once

#include <complex>
#include <stdexcept>
#include <string>
#include <vector>

namespace matrix_market {

// An error in the input.
class InputError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct Entry {
  int row;
  int column;
  std::complex<double> value; // 1 in a pattern
};

struct Coordinates {
  int rows = 0;
  int columns = 0;
  bool complex = false;       // the field of the file, whatever the values are
  std::vector<Entry> entries; // in the file's order, mirrored ones added; counted from 0; not merged when given twice
};

// A file in coordinate format: real, integer, complex or pattern; general, symmetric, skew-symmetric or hermitian.
// Throws InputError that names file, line and what was expected.
Coordinates read(const std::string& file);

} // namespace matrix_market
