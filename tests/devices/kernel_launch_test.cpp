// SPDX-License-Identifier: BSD-3-Clause
// A program of two ranks that the kernel carries out in this process, launched by a stream that waits for words. With
// STOKER_TEST_DRIVER=libcuda.so.1 and STOKER_DEVICE_KERNEL naming stoker_kernel.fatbin it is a real device that does so.
#include "algos/schedule/builder.hpp"
#include "engine/device/shared_memory.hpp"
#include "engine/device_kernel/both_compilers.hpp"
#include "engine/device_kernel/device_program.hpp"
#include "engine/device_kernel/launcher.hpp"
#include "tests/devices/device.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace stoker::engine::device {
namespace {

using algos::Buffer;
using device_tests::DeviceMemory;

constexpr std::uint64_t count = 20'000; // several blocks for each rank
constexpr std::uint64_t bytes = count * sizeof(std::uint32_t);

// Both send what they have, and add what comes.
algos::Program sum_of_two(int rank) {
  algos::Builder builder(rank, 2, bytes, bytes);
  builder.reduces(sizeof(std::uint32_t));
  const std::array send{algos::Slice{Buffer::send, 0, bytes}};
  const std::array recv{algos::Slice{Buffer::recv, 0, bytes}};
  builder.send(1 - rank, send);
  builder.recv_operand(1 - rank, algos::Operand::right, recv, send);
  return std::move(builder).finish();
}

std::vector<std::uint32_t> values(std::uint32_t first) {
  std::vector<std::uint32_t> result(count);
  std::iota(result.begin(), result.end(), first);
  return result;
}

TEST(KernelLaunch, CarriesOutEpochsInTheOrderOfItsStream) {
  const std::vector<algos::Program> programs{sum_of_two(0), sum_of_two(1)};
  const std::array<DeviceMemory, 2> send{DeviceMemory(bytes), DeviceMemory(bytes)};
  const std::array<DeviceMemory, 2> recv{DeviceMemory(bytes), DeviceMemory(bytes)};
  const Device device = shared_buffer(send[0].address(), bytes).device;
  ASSERT_TRUE(has_stream_words(device));
  const Kernel kernel = kernel_in(device, std::getenv("STOKER_DEVICE_KERNEL"));
  ASSERT_GE(kernel.most_blocks, 2U);
  const DeviceProgram program(programs, {.operation = {ReduceOp::sum, ReduceType::uint32},
                                         .most_blocks = std::min(kernel.most_blocks / 2, 4U)});

  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const pages = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  auto* const controls = static_cast<Control*>(pages);
  const DeviceMemory on_device(program.bytes().size());
  on_device.upload(program.bytes().data(), program.bytes().size());
  const std::vector<std::uint64_t> zeros(program.words(0) + program.words(1));
  const DeviceMemory words(zeros.size() * sizeof zeros[0]);
  words.upload(zeros.data(), zeros.size() * sizeof zeros[0]);
  {
    const MappedPages mapped(device, pages, page);
    const auto place = [](const DeviceMemory& memory) { return reinterpret_cast<std::uint64_t>(memory.address()); };
    const std::array<std::uint64_t, 11> table{place(send[0]),
                                              place(recv[0]),
                                              0,
                                              place(send[1]),
                                              place(recv[1]),
                                              0,
                                              place(words),
                                              place(words) + program.words(0) * sizeof(std::uint64_t),
                                              mapped.of_device(&controls[0]),
                                              mapped.of_device(&controls[1]),
                                              std::uint64_t{1} << 32U}; // ranks 0 and 1
    const DeviceMemory tables(sizeof table);
    tables.upload(table.data(), sizeof table);
    const auto* const begin = reinterpret_cast<const std::uint64_t*>(tables.address());
    Launch launch_of{.program = reinterpret_cast<const ProgramHeader*>(on_device.address()),
                     .buffers = reinterpret_cast<std::byte* const*>(begin),
                     .words = reinterpret_cast<std::uint64_t* const*>(begin + 6),
                     .controls = reinterpret_cast<Control* const*>(begin + 8),
                     .launched = reinterpret_cast<const std::uint32_t*>(begin + 10),
                     .blocks = program.header().blocks};
    const OwnStream stream(device);
    for (std::uint32_t epoch = 1; epoch <= 5; ++epoch) {
      launch_of.epoch = epoch;
      for (const std::uint32_t rank : {0U, 1U}) {
        await_word(device, stream.handle(), mapped.of_device(&controls[rank].started), epoch);
      }
      launch(device, kernel, stream, launch_of, 2 * launch_of.blocks);
      for (const std::uint32_t rank : {0U, 1U}) {
        send[rank].upload(values(1000 * epoch + rank).data(), bytes);
        recv[rank].upload(std::vector<std::uint32_t>(count, 7).data(), bytes);
        SystemWord(controls[rank].started).store(epoch, release);
      }
      std::vector<std::uint32_t> expected(count);
      std::iota(expected.begin(), expected.end(), 0U);
      for (std::uint32_t& value : expected) {
        value = 2 * (1000 * epoch + value) + 1;
      }
      for (const std::uint32_t rank : {0U, 1U}) {
        while (SystemWord(controls[rank].completed).load(acquire) < epoch) {
          ASSERT_EQ(stream.error(), 0);
          pause();
        }
        std::vector<std::uint32_t> result(count);
        recv[rank].download(result.data(), bytes);
        EXPECT_EQ(result, expected) << "rank " << rank << ", epoch " << epoch;
      }
    }
  }
  munmap(pages, page);
}

} // namespace
} // namespace stoker::engine::device
