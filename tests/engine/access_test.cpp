// SPDX-License-Identifier: BSD-3-Clause
// Copies and combinations between buffers that this process can address and such as it can only attach to, cut into
// slices at random. It attaches to itself.
#include "engine/shared/access.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

namespace stoker::engine {
namespace {

using algos::Buffer;
using algos::Slice;

constexpr double untouched = -1;
constexpr std::uint64_t word = sizeof(double);

// A rank's three buffers, of which some are attached to.
class Buffers {
public:
  Buffers(std::uint64_t doubles, unsigned attached) {
    for (std::size_t b = 0; b < data_.size(); ++b) {
      data_[b].assign(doubles, untouched);
      auto* bytes = reinterpret_cast<std::byte*>(data_[b].data());
      views_[b] = (attached & (1U << b)) != 0
                      ? BufferView{.pid = getpid(), .address = reinterpret_cast<std::uint64_t>(bytes)}
                      : BufferView{.direct = bytes};
    }
  }
  [[nodiscard]] const BufferViews& views() const { return views_; }
  [[nodiscard]] double& at(Buffer buffer, std::uint64_t index) {
    return data_[static_cast<std::size_t>(buffer)][index];
  }
  [[nodiscard]] std::ptrdiff_t touched() const {
    std::ptrdiff_t count = 0;
    for (const auto& buffer : data_) {
      count += std::ranges::count_if(buffer, [](double value) { return value != untouched; });
    }
    return count;
  }

private:
  std::array<std::vector<double>, 3> data_;
  BufferViews views_;
};

// Slices of `elements` elements of `element` doubles each, at random places of the three buffers, in no order.
struct Cut {
  std::vector<Slice> slices;
  std::vector<std::pair<Buffer, std::uint64_t>> places; // of every double

  Cut(std::uint64_t elements, std::uint64_t element, std::uint64_t longest, std::mt19937& random) {
    const auto pick = [&](std::uint64_t most) { return std::uniform_int_distribution<std::uint64_t>(1, most)(random); };
    std::array<std::uint64_t, 3> next{};
    while (elements > 0) {
      const auto buffer = static_cast<Buffer>(pick(3) - 1);
      const std::uint64_t length = pick(std::min(longest, elements));
      const std::uint64_t count = pick(std::min<std::uint64_t>(3, elements / length));
      const std::uint64_t stride = (length * element) + pick(3);
      std::uint64_t& begin = next[static_cast<std::size_t>(buffer)];
      slices.push_back({buffer, begin * word, length * element * word, stride * word, count});
      begin += count * stride;
      elements -= count * length;
    }
    std::ranges::reverse(slices);
    for (const Slice& slice : slices) {
      const std::uint64_t length_in_doubles = slice.length / word;
      for (std::uint64_t i = 0; i < slice.bytes() / word; ++i) {
        const std::uint64_t block = i / length_in_doubles;
        places.emplace_back(slice.buffer, ((slice.offset + (block * slice.stride)) / word) + (i % length_in_doubles));
      }
    }
  }
  [[nodiscard]] std::uint64_t room() const {
    std::uint64_t most = 0;
    for (const auto& [buffer, index] : places) {
      most = std::max(most, index + 1);
    }
    return most + 1;
  }
};

struct Operand {
  Cut cut;
  Buffers buffers;
  Operand(std::uint64_t elements, std::uint64_t element, std::uint64_t longest, unsigned attached, std::mt19937& random)
      : cut(elements, element, longest, random), buffers(cut.room(), attached) {}
  void fill(double first) {
    for (const auto& [buffer, index] : cut.places) {
      buffers.at(buffer, index) = first++;
    }
  }
  [[nodiscard]] Place place() const { return {buffers.views(), cut.slices}; }
  [[nodiscard]] double value(std::size_t i) {
    const auto& [buffer, index] = cut.places[i];
    return buffers.at(buffer, index);
  }
};

Combiner sums(std::uint64_t doubles) {
  return {.code = {ReduceOp::sum, ReduceType::float64}, .element_bytes = doubles * word};
}

struct Lengths {
  std::uint64_t elements;
  std::uint64_t element; // doubles
  std::uint64_t longest; // elements in a block
};
// Single numbers; several chunks, in long runs and in more short ones than a system call takes; elements that divide no
// chunk; elements longer than one.
constexpr Lengths all_lengths[] = {{1, 1, 1},      {20, 1, 5},       {50'000, 1, 50'000},
                                   {40'000, 1, 7}, {15'000, 3, 900}, {5, 20'000, 2}};

// What a system has to have for buffers that are attached to. Some emulators of other processors do not.
bool can_attach() {
  std::uint64_t held = 5;
  const int error = probe_cross_memory_attach(getpid(), reinterpret_cast<std::uint64_t>(&held), held);
  return error != ENOSYS;
}

class Combine : public ::testing::TestWithParam<unsigned> { // which buffers are attached to, three bits for each place
protected:
  void SetUp() override {
    if (GetParam() != 0 && !can_attach()) {
      GTEST_SKIP() << "this system has no cross-memory attach";
    }
  }
};

TEST_P(Combine, WhateverIsCutHow) {
  const unsigned attached = GetParam();
  std::mt19937 random(attached + 1);
  for (const Lengths& lengths : all_lengths) {
    SCOPED_TRACE(std::to_string(lengths.elements) + " elements of " + std::to_string(lengths.element));
    Operand target(lengths.elements, lengths.element, lengths.longest, attached & 7U, random);
    Operand left(lengths.elements, lengths.element, lengths.longest, (attached >> 3U) & 7U, random);
    Operand right(lengths.elements, lengths.element, lengths.longest, (attached >> 6U) & 7U, random);
    left.fill(1);
    right.fill(1'000'000);
    ASSERT_EQ(combine(sums(lengths.element), target.place(), left.place(), right.place()), 0);
    const std::size_t doubles = lengths.elements * lengths.element;
    for (std::size_t i = 0; i < doubles; ++i) {
      ASSERT_EQ(target.value(i), static_cast<double>(1'000'001 + (2 * i))) << i;
      ASSERT_EQ(left.value(i), static_cast<double>(1 + i));
      ASSERT_EQ(right.value(i), static_cast<double>(1'000'000 + i));
    }
    EXPECT_EQ(target.buffers.touched(), static_cast<std::ptrdiff_t>(doubles)) << "wrote beside its slices";
  }
}

TEST_P(Combine, ResultTakesAnOperandsPlace) {
  const unsigned attached = GetParam();
  std::mt19937 random(attached + 2);
  for (const Lengths& lengths : all_lengths) {
    for (const bool is_left : {true, false}) {
      Operand target(lengths.elements, lengths.element, lengths.longest, attached & 7U, random);
      Operand other(lengths.elements, lengths.element, lengths.longest, (attached >> 3U) & 7U, random);
      target.fill(1);
      other.fill(1'000'000);
      ASSERT_EQ(combine(sums(lengths.element), target.place(), (is_left ? target : other).place(),
                        (is_left ? other : target).place()),
                0);
      for (std::size_t i = 0; i < lengths.elements * lengths.element; ++i) {
        ASSERT_EQ(target.value(i), static_cast<double>(1'000'001 + (2 * i))) << i;
      }
    }
  }
}

TEST_P(Combine, CopiesGoTheSameWays) {
  const unsigned attached = GetParam();
  std::mt19937 random(attached + 3);
  for (const Lengths& lengths : all_lengths) {
    Operand target(lengths.elements, lengths.element, lengths.longest, attached & 7U, random);
    Operand source(lengths.elements, lengths.element, lengths.longest, (attached >> 3U) & 7U, random);
    source.fill(1);
    ASSERT_EQ(transfer(target.buffers.views(), target.cut.slices, source.buffers.views(), source.cut.slices), 0);
    const std::size_t doubles = lengths.elements * lengths.element;
    for (std::size_t i = 0; i < doubles; ++i) {
      ASSERT_EQ(target.value(i), static_cast<double>(1 + i)) << i;
    }
    EXPECT_EQ(target.buffers.touched(), static_cast<std::ptrdiff_t>(doubles)) << "wrote beside its slices";
  }
}

// Nothing, each place as a whole, all, and mixtures within one place.
INSTANTIATE_TEST_SUITE_P(Attached, Combine,
                         ::testing::Values(0U, 7U, 7U << 3U, 7U << 6U, 0777U, 1U, 2U << 3U, 0152U, 0421U));

TEST(Access, NothingIsCombinedWithNothing) {
  const BufferViews none{};
  EXPECT_EQ(combine(sums(1), {none, {}}, {none, {}}, {none, {}}), 0);
}

TEST(Access, NetworksAreGivenNoAttachedPages) {
  double value = 1;
  auto* const bytes = reinterpret_cast<std::byte*>(&value);
  const Slice one{.length = word};
  EXPECT_EQ(contiguous({BufferView{.direct = bytes}}, {&one, 1}), bytes);
  EXPECT_EQ(contiguous({BufferView{.direct = bytes, .pid = 7}}, {&one, 1}), nullptr);
}

TEST(Access, RefusalsAreToldWhicheverPlaceTheyMeet) {
  if (!can_attach()) {
    GTEST_SKIP() << "this system has no cross-memory attach";
  }
  double values[3] = {1, 2, 3};
  auto* bytes = reinterpret_cast<std::byte*>(values);
  const Slice one{.length = word};
  const BufferViews here{BufferView{.direct = bytes}};
  const BufferViews refused{BufferView{.pid = getpid(), .address = 8}}; // a page that nobody has
  const Place good{here, {&one, 1}};
  const Place bad{refused, {&one, 1}};
  EXPECT_EQ(combine(sums(1), bad, good, good), EFAULT);
  EXPECT_EQ(combine(sums(1), good, bad, good), EFAULT);
  EXPECT_EQ(combine(sums(1), good, good, bad), EFAULT);
  EXPECT_EQ(values[0], 1);
}

} // namespace
} // namespace stoker::engine
