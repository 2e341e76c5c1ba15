// SPDX-License-Identifier: BSD-3-Clause
// Every operator on every type that devices have, through the kernel's code, against the processor's loops: in a step of
// one rank and with a message as either operand, at addresses that suit the type or not, cut anywhere between elements.
#include "algos/schedule/builder.hpp"
#include "emulation.hpp"
#include "engine/base/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace stoker::engine::device {
namespace {

using algos::Buffer;
using algos::Operand;
using algos::Program;
using algos::Slice;

constexpr auto last_type = static_cast<int>(ReduceType::bfloat16);
constexpr Launching staying{.together = true, .stay = Stay::until_stopped};
constexpr std::uint64_t elements = 23; // for whole chunks of every type and a rest

std::vector<OperationCode> operations(bool on_devices) {
  std::vector<OperationCode> result;
  for (int type = 0; type <= last_type; ++type) {
    for (int op = 0; op <= static_cast<int>(ReduceOp::user); ++op) {
      const OperationCode code{static_cast<ReduceOp>(op), static_cast<ReduceType>(type)};
      const bool is_long = code.type == ReduceType::long_float || code.type == ReduceType::complex_long_float ||
                           code.type == ReduceType::long_float_int;
      if (combinable(code) && is_long != on_devices) {
        result.push_back(code);
      }
    }
  }
  return result;
}

// One rank that combines the halves of its send buffer in recv; the left one in two slices.
std::vector<Program> one_reduce(std::uint64_t bytes, std::uint64_t element_bytes) {
  algos::Builder builder(0, 1, 2 * bytes, bytes);
  builder.reduces(element_bytes);
  const std::vector<Slice> left{{Buffer::send, element_bytes, bytes - element_bytes}, {Buffer::send, 0, element_bytes}};
  const std::vector<Slice> right{{Buffer::send, bytes, bytes}};
  const std::vector<Slice> target{{Buffer::recv, 0, bytes}};
  builder.reduce(target, left, right);
  std::vector<Program> programs;
  programs.push_back(std::move(builder).finish());
  return programs;
}

// Rank 0 sends what rank 1 combines with its receive buffer, in place.
std::vector<Program> one_message(std::uint64_t bytes, std::uint64_t element_bytes, Operand message) {
  algos::Builder sender(0, 2, bytes, 0);
  sender.send(1, Slice{Buffer::send, 0, bytes});
  algos::Builder receiver(1, 2, 0, bytes);
  receiver.reduces(element_bytes);
  const Slice own{Buffer::recv, 0, bytes};
  receiver.recv_operand(0, message, {&own, 1}, {&own, 1});
  std::vector<Program> programs;
  programs.push_back(std::move(sender).finish());
  programs.push_back(std::move(receiver).finish());
  return programs;
}

// Bytes of any value, but NaN as an operand would leave open which NaN comes out: exponents are not the largest one.
// Every third byte is 0 or 1, so that equal values, truths and small numbers occur.
void fill(std::span<std::byte> bytes, std::mt19937& random) {
  for (std::byte& byte : bytes) {
    const auto value = static_cast<unsigned>(random());
    byte = static_cast<std::byte>(value % 3 == 0 ? value % 2 : value % 0x70);
  }
}

// The right ones of the left operand's elements, the second first.
std::vector<std::byte> moved(std::span<const std::byte> bytes, std::uint64_t element_bytes) {
  std::vector<std::byte> result(bytes.begin() + static_cast<std::ptrdiff_t>(element_bytes), bytes.end());
  result.insert(result.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(element_bytes));
  return result;
}

class EveryOperation : public testing::TestWithParam<OperationCode> {
protected:
  std::mt19937 random{1};
  const std::uint64_t element_bytes = size_of(GetParam().type);
  const std::uint64_t bytes = elements * element_bytes;
  [[nodiscard]] ProgramOptions options() const {
    return {.operation = GetParam(), .most_blocks = 3, .bytes_per_block = 64};
  }
};

TEST_P(EveryOperation, OfAStepIsTheProcessors) {
  const std::vector<Program> programs = one_reduce(bytes, element_bytes);
  for (const std::uint64_t misaligned : {0, 1, 4, 8}) {
    Emulation emulation(programs, options(), misaligned);
    std::vector<std::byte> expected(bytes);
    emulation.run(
        staying, 2, random,
        [&](std::uint32_t rank, std::uint64_t) {
          const std::span<std::byte> send = emulation.buffer(rank, Buffer::send);
          const std::span<std::byte> recv = emulation.buffer(rank, Buffer::recv);
          fill(send, random);
          fill(recv, random);
          std::ranges::copy(recv, expected.begin()); // the padding
          combine(GetParam(), expected.data(), moved(send.first(bytes), element_bytes).data(), send.data() + bytes,
                  bytes);
        },
        [&](std::uint32_t rank, std::uint64_t) {
          EXPECT_TRUE(std::ranges::equal(emulation.buffer(rank, Buffer::recv), expected)) << misaligned;
        });
  }
}

TEST_P(EveryOperation, OfAMessageIsTheProcessors) {
  for (const Operand message : {Operand::left, Operand::right}) {
    const std::vector<Program> programs = one_message(bytes, element_bytes, message);
    Emulation emulation(programs, options());
    std::vector<std::byte> sent(bytes);
    std::vector<std::byte> expected(bytes);
    emulation.run(
        staying, 2, random,
        [&](std::uint32_t rank, std::uint64_t) {
          if (rank == 0) {
            fill(sent, random);
            std::ranges::copy(sent, emulation.buffer(0, Buffer::send).begin());
            return;
          }
          const std::span<std::byte> own = emulation.buffer(1, Buffer::recv);
          fill(own, random);
          std::ranges::copy(own, expected.begin());
          combine(GetParam(), expected.data(), message == Operand::left ? sent.data() : own.data(),
                  message == Operand::left ? own.data() : sent.data(), bytes);
        },
        [&](std::uint32_t rank, std::uint64_t) {
          if (rank == 1) {
            EXPECT_TRUE(std::ranges::equal(emulation.buffer(1, Buffer::recv), expected));
          }
        });
  }
}

INSTANTIATE_TEST_SUITE_P(OnDevices, EveryOperation, testing::ValuesIn(operations(true)), [](const auto& instance) {
  return "op" + std::to_string(static_cast<int>(instance.param.op)) + "_type" +
         std::to_string(static_cast<int>(instance.param.type));
});

TEST(OnDevices, TheLeftOperandBesideNan) {
  const std::vector<Program> programs = one_message(sizeof(float), sizeof(float), Operand::right);
  Emulation emulation(programs, {.operation = {ReduceOp::max, ReduceType::float32}});
  std::mt19937 random(1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float one = 1;
  float result = 0;
  emulation.run(
      {}, 1, random,
      [&](std::uint32_t rank, std::uint64_t) {
        std::memcpy(emulation.buffer(rank, rank == 0 ? Buffer::send : Buffer::recv).data(), rank == 0 ? &nan : &one,
                    sizeof one);
      },
      [&](std::uint32_t rank, std::uint64_t) {
        if (rank == 1) {
          std::memcpy(&result, emulation.buffer(1, Buffer::recv).data(), sizeof result);
        }
      });
  EXPECT_EQ(result, one);
}

void expect_refused(std::span<const Program> programs, OperationCode operation, Code code, const std::string& what) {
  try {
    const DeviceProgram program(programs, {.operation = operation});
    FAIL() << "taken, though it should say: " << what;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
  }
}

TEST(Refused, IsWhatDevicesCannotCombine) {
  const std::vector<OperationCode> long_ones = operations(false);
  EXPECT_GE(long_ones.size(), 8U);
  for (const OperationCode code : long_ones) {
    expect_refused(one_reduce(64, 16), code, Code::unsupported, "long double, which devices do not have");
  }
  expect_refused(one_reduce(64, 8), {ReduceOp::user, ReduceType::int64}, Code::unsupported,
                 "which devices cannot call");
  expect_refused(one_reduce(64, 8), {ReduceOp::band, ReduceType::float64}, Code::argument, "has no meaning");
  expect_refused(one_reduce(64, 4), {ReduceOp::sum, ReduceType::float64}, Code::argument, "a multiple of the 8");
  // What combines nothing has no operation.
  algos::Builder builder(0, 1, 8, 8);
  builder.copy(Slice{Buffer::recv, 0, 8}, Slice{Buffer::send, 0, 8});
  const std::vector<Program> copy{std::move(builder).finish()};
  EXPECT_NO_THROW(DeviceProgram(copy, {.operation = {ReduceOp::user, ReduceType::long_float}}));
}

TEST(Refused, IsAProgramThatIsNone) {
  constexpr OperationCode sum{ReduceOp::sum, ReduceType::float64};
  std::vector<Program> programs = one_message(64, 8, Operand::left);
  programs[1].steps[0].target.count = 7;
  expect_refused(programs, sum, Code::argument, "rank 1");
  programs = one_message(64, 8, Operand::left);
  expect_refused(std::span(programs).first(1), sum, Code::argument, "expected those of all ranks");
  programs[0].steps.clear();
  expect_refused(programs, sum, Code::argument, "meets no send");
}

TEST(Refused, AreProgramsThatWaitForEachOther) {
  std::vector<Program> programs;
  for (const int rank : {0, 1}) {
    algos::Builder builder(rank, 2, 8, 8);
    const algos::StepId got = builder.recv(1 - rank, Slice{Buffer::recv, 0, 8});
    builder.send(1 - rank, Slice{Buffer::send, 0, 8}, {&got, 1});
    programs.push_back(std::move(builder).finish());
  }
  expect_refused(programs, {}, Code::argument, "wait for each other in a circle");
}

TEST(Refused, IsAPutThatNoFenceFollows) {
  std::vector<Program> programs;
  algos::Builder source(0, 2, 8, 0);
  const Slice sent{Buffer::send, 0, 8};
  source.put(1, {&sent, 1}, Slice{Buffer::recv, 0, 8}, true);
  programs.push_back(std::move(source).finish());
  algos::Builder target(1, 2, 0, 8);
  const Slice place{Buffer::recv, 0, 8};
  target.announced_recv(0, {&place, 1});
  programs.push_back(std::move(target).finish());
  expect_refused(programs, {}, Code::argument, "is waited for by no fence");
}

TEST(AProgram, HasAsManyBlocksAsItsLongestStepHasUseFor) {
  const auto blocks_for = [](std::uint64_t bytes) {
    const std::vector<Program> programs = one_message(bytes, 8, Operand::left);
    const DeviceProgram program(
        programs, {.operation = {ReduceOp::sum, ReduceType::float64}, .most_blocks = 4, .bytes_per_block = 1024});
    return program.header().blocks;
  };
  EXPECT_EQ(blocks_for(8), 1U);
  EXPECT_EQ(blocks_for(1024), 1U);
  EXPECT_EQ(blocks_for(1032), 2U);
  EXPECT_EQ(blocks_for(100'000), 4U);
}

} // namespace
} // namespace stoker::engine::device
