// SPDX-License-Identifier: BSD-3-Clause
// The reader of Matrix Market files: what it accepts, and what it says about files that are wrong; and what a product
// exchanges.
#include "api/sparse/product_counts.hpp"
#include "examples/conjugate_gradient/matrix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

using conjugate_gradient::InputError;
using conjugate_gradient::Matrix;

class MatrixMarket : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "matrix_market.XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Matrix read(const std::string& text) { return conjugate_gradient::read_matrix_market(file_of(text)); }
  matrix_market::Coordinates coordinates(const std::string& text) { return matrix_market::read(file_of(text)); }
  // The message of the error that reading `text` ends in.
  std::string refused(const std::string& text) {
    try {
      read(text);
    } catch (const InputError& e) {
      return e.what();
    }
    return "accepted";
  }

private:
  std::string file_of(const std::string& text) {
    std::string file = folder_ / "a.mtx";
    std::ofstream(file) << text;
    return file;
  }

  std::filesystem::path folder_;
};

void expect_says(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << "message: " << message << "\nexpected in it: " << part;
}

TEST_F(MatrixMarket, GeneralReal) {
  const Matrix a =
      read("%%MatrixMarket matrix coordinate real general\n% comment\n\n2 3 3\n2 3 -1.5e1\n1 1 +2\n2 1 4\n");
  EXPECT_EQ(a.rows, 2);
  EXPECT_EQ(a.columns, 3);
  EXPECT_EQ(a.first, (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(a.column, (std::vector<int>{0, 0, 2}));
  EXPECT_EQ(a.value, (std::vector<double>{2, 4, -15}));
}

TEST_F(MatrixMarket, SymmetricIsMirrored) {
  const Matrix a = read("%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n1 1 3\n2 1 7\n");
  EXPECT_EQ(a.first, (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(a.column, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(a.value, (std::vector<double>{3, 7, 7}));
}

TEST_F(MatrixMarket, PatternIsOnesAndDuplicatesAreAdded) {
  const Matrix a = read("%%MatrixMarket MATRIX Coordinate pattern General\n1 2 3\n1 2\n1 1\n1 2\n");
  EXPECT_EQ(a.column, (std::vector<int>{0, 1}));
  EXPECT_EQ(a.value, (std::vector<double>{1, 2}));
}

TEST_F(MatrixMarket, SkewSymmetricIsMirroredWithTheOtherSign) {
  const Matrix a = read("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 7\n");
  EXPECT_EQ(a.column, (std::vector<int>{1, 0}));
  EXPECT_EQ(a.value, (std::vector<double>{-7, 7}));
}

TEST_F(MatrixMarket, HermitianIsMirroredAsConjugate) {
  const auto a = coordinates("%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 3 0\n2 1 7 -2\n");
  EXPECT_TRUE(a.complex);
  ASSERT_EQ(a.entries.size(), 3U);
  EXPECT_EQ(a.entries[1].value, std::complex<double>(7, -2));
  EXPECT_EQ(a.entries[2].row, 0);
  EXPECT_EQ(a.entries[2].column, 1);
  EXPECT_EQ(a.entries[2].value, std::complex<double>(7, 2));
}

TEST_F(MatrixMarket, NoEntries) {
  const Matrix a = read("%%MatrixMarket matrix coordinate real general\n3 3 0\n");
  EXPECT_EQ(a.first, (std::vector<int>{0, 0, 0, 0}));
}

TEST_F(MatrixMarket, WrongFilesAreNamedWithTheirLine) {
  const std::string header = "%%MatrixMarket matrix coordinate real general\n";
  expect_says(refused(""), "a.mtx, line 1: expected '%%MatrixMarket");
  expect_says(refused("1 1 1\n"), "line 1: expected '%%MatrixMarket");
  expect_says(refused("%%MatrixMarket matrix array real general\n"), "'matrix array', expected 'matrix coordinate'");
  expect_says(refused("%%MatrixMarket matrix coordinate complex general\n1 1 0\n"),
              "line 1: field 'complex', expected real");
  expect_says(refused("%%MatrixMarket matrix coordinate real hermitian\n"), "a hermitian matrix of field 'real'");
  expect_says(refused("%%MatrixMarket matrix coordinate pattern skew-symmetric\n"), "matrix of field 'pattern'");
  expect_says(refused("%%MatrixMarket matrix coordinate real banded\n"), "symmetry 'banded', expected general");
  expect_says(refused("%%MatrixMarket matrix coordinate quaternion general\n"), "field 'quaternion', expected real");
  expect_says(refused("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 1\n"),
              "line 3: an entry on the diagonal");
  expect_says(refused(header), "expected the numbers of rows, columns and entries");
  expect_says(refused(header + "2 2\n"), "line 2: expected the numbers of rows, columns and entries");
  expect_says(refused(header + "0 2 1\n"), "line 2: the number of rows is '0'");
  expect_says(refused(header + "2 2 99999999999\n"), "line 2: the number of entries is '99999999999'");
  expect_says(refused("%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n"), "symmetric matrix of 2 rows and 3");
  expect_says(refused(header + "2 2 1\n3 1 1\n"), "line 3: the row is '3', expected a number from 1 to 2");
  expect_says(refused(header + "2 2 1\n1 0 1\n"), "line 3: the column is '0', expected a number from 1 to 2");
  expect_says(refused(header + "2 2 1\n1 1 1x\n"), "line 3: the value is '1x'");
  expect_says(refused(header + "2 2 1\n1 1 nan\n"), "line 3: the value is 'nan'");
  expect_says(refused(header + "2 2 1\n1 1 +\n"), "line 3: the value is '+'");
  expect_says(refused(header + "2 2 1\n1 1\n"), "line 3: expected row, column and value");
  expect_says(refused(header + "2 2 2\n1 1 1\n"), "line 4: the file ends after 1 of 2 entries");
  expect_says(refused(header + "2 2 1\n1 1 1\n2 2 1\n"), "line 4: more than the 1 entries announced");
}

TEST_F(MatrixMarket, MissingFile) {
  try {
    conjugate_gradient::read_matrix_market("/nonexistent/a.mtx");
    FAIL();
  } catch (const InputError& e) {
    expect_says(e.what(), "/nonexistent/a.mtx: cannot be opened: No such file");
  }
}

TEST(Laplacian, RowsHaveTheStencilsNeighbors) {
  using conjugate_gradient::Stencil;
  const auto longest_row = [](const conjugate_gradient::Matrix& a) {
    int longest = 0;
    for (std::size_t row = 0; row < static_cast<std::size_t>(a.rows); ++row) {
      longest = std::max(longest, a.first[row + 1] - a.first[row]);
    }
    return longest;
  };
  const auto poisson = conjugate_gradient::poisson;
  EXPECT_EQ(longest_row(poisson(4, 2, Stencil::star)), 5);
  EXPECT_EQ(longest_row(poisson(4, 2, Stencil::box)), 9);
  EXPECT_EQ(longest_row(poisson(4, 3, Stencil::star)), 7);
  const auto box = poisson(4, 3, Stencil::box);
  EXPECT_EQ(longest_row(box), 27);
  EXPECT_EQ(box.first[1], 8) << "a corner has 7 neighbors";
  EXPECT_EQ(box.column[7], 21) << "the last of them one step on in each direction";
  EXPECT_EQ(box.value[0], 26.0);
  EXPECT_EQ(box.value[7], -1.0);
  EXPECT_NO_THROW(require_symmetric(box));
}

TEST_F(MatrixMarket, OnlySymmetricWithPositiveDiagonalIsSolved) {
  EXPECT_NO_THROW(require_symmetric(conjugate_gradient::poisson(5)));
  const std::string header = "%%MatrixMarket matrix coordinate real general\n";
  EXPECT_THROW(require_symmetric(read(header + "1 2 1\n1 1 1\n")), InputError);
  EXPECT_THROW(require_symmetric(read(header + "2 2 3\n1 1 1\n2 2 1\n1 2 1\n")), InputError);
  EXPECT_THROW(require_symmetric(read(header + "2 2 4\n1 1 1\n2 2 1\n1 2 1\n2 1 2\n")), InputError);
  EXPECT_THROW(require_symmetric(read(header + "2 2 1\n1 1 1\n")), InputError);
  EXPECT_THROW(require_symmetric(read(header + "2 2 2\n1 1 1\n2 2 -1\n")), InputError);
  EXPECT_NO_THROW(require_symmetric(read(header + "2 2 4\n1 1 1\n2 2 1\n1 2 0.5\n2 1 0.5\n")));
}

TEST(ProductCounts, EachNeededElementCountsOnce) {
  // Five rows on three ranks begin at 0, 1, 3; seven columns at 0, 2, 4.
  const matrix_market::Coordinates matrix{5,
                                          7,
                                          false,
                                          {{0, 0, 1},   // its own
                                           {0, 6, 1},   // rank 0 needs one of rank 2
                                           {1, 5, 1},   // rank 1 needs 5 of rank 2
                                           {2, 5, 1},   // again, for another row
                                           {2, 5, 1},   // an entry that is there twice
                                           {2, 4, 1},   // and 4
                                           {4, 1, 1}}}; // rank 2 needs one of rank 0
  EXPECT_EQ(product_counts(matrix, 3), (matrix_market::CountMatrix{{0, 0, 1}, {0, 0, 0}, {1, 2, 0}}));
  EXPECT_EQ(product_counts(matrix, 1), (matrix_market::CountMatrix{{0}}));
}

} // namespace
