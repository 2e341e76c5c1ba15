// SPDX-License-Identifier: BSD-3-Clause
// Indices of tools, over an MPI library that adds variables later. Three settings stand for this library's own.
#include "api/pmpi/tool_information.hpp"
#include "api/pmpi/tool_variables.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace stoker::pmpi {

namespace detail {
constinit std::atomic<bool> library_found{true};
constinit Library library;
void find_library() {}
} // namespace detail

const std::vector<PerformanceVariable>& performance_variables() {
  static const std::vector<PerformanceVariable> none;
  return none;
}
const std::vector<ControlVariable>& control_variables() {
  static const std::vector<ControlVariable> three(3);
  return three;
}

namespace {

int number_of_library = 0;
int state_of_library = MPI_SUCCESS;

class ToolIndicesTest : public testing::Test {
protected:
  ToolIndicesTest() {
    detail::library.MPI_T_cvar_get_num = [](int* num) {
      *num = number_of_library;
      return state_of_library;
    };
    number_of_library = 5;
    state_of_library = MPI_SUCCESS;
  }

  int number() {
    int num = 0;
    EXPECT_EQ(indices.get_num(&num), MPI_SUCCESS);
    return num;
  }
  void expect(int index, bool own, int leads_to) {
    const ToolIndex place = indices.find(index);
    EXPECT_EQ(place.code, MPI_SUCCESS);
    EXPECT_EQ(place.own, own) << index;
    EXPECT_EQ(place.index, leads_to) << index;
    EXPECT_EQ(own ? indices.shown_own(leads_to) : indices.shown(leads_to), index);
  }

  ToolIndices indices{&Library::MPI_T_cvar_get_num, [] { return 3; }};
};

TEST_F(ToolIndicesTest, OwnOnesStandBehindTheLibrarys) {
  EXPECT_EQ(number(), 8);
  expect(0, false, 0);
  expect(4, false, 4);
  expect(5, true, 0);
  expect(7, true, 2);
  expect(8, false, 5); // which the MPI library refuses
  expect(-1, false, -1);
}

TEST_F(ToolIndicesTest, StayWhereTheyAreWhenTheLibraryAddsSome) {
  expect(6, true, 1);
  number_of_library = 9;
  EXPECT_EQ(number(), 12);
  expect(4, false, 4);
  expect(6, true, 1);
  expect(8, false, 5);
  expect(11, false, 8);
  std::array<int, 3> members{1, 4, 6};
  indices.show(members);
  EXPECT_EQ(members, (std::array<int, 3>{1, 4, 9}));
}

TEST_F(ToolIndicesTest, StayWhereTheyAreWhenTheLibraryHasFewer) {
  EXPECT_EQ(number(), 8);
  number_of_library = 2;
  EXPECT_EQ(number(), 8);
  expect(5, true, 0);
}

TEST_F(ToolIndicesTest, AreNotSettledBeforeTheInterfaceIsInitialised) {
  state_of_library = MPI_T_ERR_NOT_INITIALIZED;
  EXPECT_EQ(indices.settle(), MPI_T_ERR_NOT_INITIALIZED);
  EXPECT_EQ(indices.find(0).code, MPI_T_ERR_NOT_INITIALIZED);
  state_of_library = MPI_SUCCESS;
  number_of_library = 7;
  expect(7, true, 0);
}

TEST_F(ToolIndicesTest, ALibraryWithoutTheInterfaceHasNone) {
  detail::library.MPI_T_cvar_get_num = nullptr;
  EXPECT_EQ(indices.settle(), MPI_ERR_UNSUPPORTED_OPERATION);
}

TEST(ToolTexts, AreCutToTheBuffer) {
  std::array<char, 6> buffer{'x', 'x', 'x', 'x', 'x', 'x'};
  int length = 4;
  return_text("name", buffer.data(), &length);
  EXPECT_EQ(std::string(buffer.data()), "nam");
  EXPECT_EQ(buffer[4], 'x');
  EXPECT_EQ(length, 5);
  length = 6;
  return_text("name", buffer.data(), &length);
  EXPECT_EQ(std::string(buffer.data()), "name");
  EXPECT_EQ(length, 5);
}

TEST(ToolTexts, AreMeasuredWithoutABuffer) {
  int length = 100;
  return_text("name", nullptr, &length);
  EXPECT_EQ(length, 5);
  char untouched = 'x';
  length = 0;
  return_text("name", &untouched, &length);
  EXPECT_EQ(length, 5);
  return_text("name", &untouched, nullptr);
  EXPECT_EQ(untouched, 'x');
}

} // namespace
} // namespace stoker::pmpi
