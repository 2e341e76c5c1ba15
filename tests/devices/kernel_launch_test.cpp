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
#include <optional>
#include <utility>
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

// Their buffers, and what launches of them use.
class TwoRanks {
public:
  TwoRanks() {
    EXPECT_TRUE(has_stream_words(device_));
    EXPECT_GE(kernel_.most_blocks, 2U);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const pages = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(pages, MAP_FAILED);
    controls_ = static_cast<Control*>(pages);
    mapped_ = MappedPages(device_, pages, page);
    on_device_.upload(program_.bytes().data(), program_.bytes().size());
    const std::vector<std::uint64_t> zeros(program_.words(0) + program_.words(1));
    words_.upload(zeros.data(), zeros.size() * sizeof zeros[0]);
    const auto place = [](const DeviceMemory& memory) { return reinterpret_cast<std::uint64_t>(memory.address()); };
    const std::array<std::uint64_t, 11> table{place(send_[0]),
                                              place(recv_[0]),
                                              0,
                                              place(send_[1]),
                                              place(recv_[1]),
                                              0,
                                              place(words_),
                                              place(words_) + program_.words(0) * sizeof(std::uint64_t),
                                              mapped_.of_device(&controls_[0]),
                                              mapped_.of_device(&controls_[1]),
                                              std::uint64_t{1} << 32U}; // ranks 0 and 1
    static_assert(sizeof table == table_bytes);
    tables_.upload(table.data(), sizeof table);
    const auto* const begin = reinterpret_cast<const std::uint64_t*>(tables_.address());
    launch_ = {.program = reinterpret_cast<const ProgramHeader*>(on_device_.address()),
               .buffers = reinterpret_cast<std::byte* const*>(begin),
               .words = reinterpret_cast<std::uint64_t* const*>(begin + 6),
               .controls = reinterpret_cast<Control* const*>(begin + 8),
               .launched = reinterpret_cast<const std::uint32_t*>(begin + 10),
               .blocks = program_.header().blocks};
  }
  TwoRanks(const TwoRanks&) = delete;
  TwoRanks& operator=(const TwoRanks&) = delete;
  ~TwoRanks() {
    stream_.reset();
    mapped_ = {};
    munmap(controls_, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  }

  // Launches the first `ranks` of them.
  void launch(std::uint64_t epoch, std::uint32_t ranks, bool waited = false) {
    launch_.epoch = epoch;
    launch_.waited = waited ? 1 : 0;
    device::launch(device_, kernel_, *stream_, launch_, ranks * launch_.blocks);
  }

  // An epoch that is launched before its ranks have started.
  void run(std::uint32_t epoch) {
    await_starts(epoch);
    launch(epoch, 2, true);
    for (const std::uint32_t rank : {0U, 1U}) {
      send_[rank].upload(values(1000 * epoch + rank).data(), bytes);
      poison(rank);
      start(rank, epoch);
    }
    std::vector<std::uint32_t> expected(count);
    std::iota(expected.begin(), expected.end(), 0U);
    for (std::uint32_t& value : expected) {
      value = 2 * (1000 * epoch + value) + 1;
    }
    for (const std::uint32_t rank : {0U, 1U}) {
      while (completed(rank) < epoch) {
        ASSERT_EQ(stream_->error(), 0);
        pause();
      }
      EXPECT_EQ(result(rank), expected) << "rank " << rank << ", epoch " << epoch;
    }
  }

  [[nodiscard]] std::uint64_t completed(std::uint32_t rank) const {
    return SystemWord(controls_[rank].completed).load(acquire);
  }
  void await_starts(std::uint64_t epoch) const {
    for (const std::uint32_t rank : {0U, 1U}) {
      await_word(device_, stream_->handle(), mapped_.of_device(&controls_[rank].started), epoch);
    }
  }
  void start(std::uint32_t rank, std::uint64_t epoch) const {
    SystemWord(controls_[rank].started).store(epoch, release);
  }
  void abandon() const {
    for (const std::uint32_t rank : {0U, 1U}) {
      SystemWord(controls_[rank].abandoned).store(1, release);
      fence();
      SystemWord(controls_[rank].completed).store(Control::never, release);
    }
  }
  [[nodiscard]] int synchronize() const { return device_.driver->synchronize(stream_->handle()); }
  void poison(std::uint32_t rank) const { recv_[rank].upload(std::vector<std::uint32_t>(count, 7).data(), bytes); }
  [[nodiscard]] std::vector<std::uint32_t> result(std::uint32_t rank) const {
    std::vector<std::uint32_t> got(count);
    recv_[rank].download(got.data(), bytes);
    return got;
  }

private:
  static constexpr std::size_t table_bytes = 88;
  const std::array<DeviceMemory, 2> send_{DeviceMemory(bytes), DeviceMemory(bytes)};
  const std::array<DeviceMemory, 2> recv_{DeviceMemory(bytes), DeviceMemory(bytes)};
  const Device device_ = shared_buffer(send_[0].address(), bytes).device;
  const Kernel kernel_ = kernel_in(device_, std::getenv("STOKER_DEVICE_KERNEL"));
  const std::vector<algos::Program> programs_{sum_of_two(0), sum_of_two(1)};
  const DeviceProgram program_{
      programs_,
      {.operation = {ReduceOp::sum, ReduceType::uint32}, .most_blocks = std::min(kernel_.most_blocks / 2, 4U)}};
  Control* controls_ = nullptr; // in pages of the host
  MappedPages mapped_;
  const DeviceMemory on_device_{program_.bytes().size()};
  const DeviceMemory words_{(program_.words(0) + program_.words(1)) * sizeof(std::uint64_t)};
  const DeviceMemory tables_{table_bytes};
  Launch launch_;
  std::optional<OwnStream> stream_{std::in_place, device_};
};

TEST(KernelLaunch, CarriesOutEpochsInTheOrderOfItsStream) {
  TwoRanks ranks;
  for (std::uint32_t epoch = 1; epoch <= 5; ++epoch) {
    ranks.run(epoch);
  }
}

const std::vector<std::uint32_t> untouched(count, 7);

TEST(KernelLaunch, EndsWhenItsEpochIsAbandoned) {
  TwoRanks ranks;
  ranks.poison(0);
  ranks.launch(1, 1); // the other rank's part never comes
  usleep(1000);
  EXPECT_EQ(ranks.completed(0), 0U);
  ranks.abandon();
  EXPECT_EQ(ranks.synchronize(), 0);
  EXPECT_EQ(ranks.completed(0), Control::never);
  EXPECT_EQ(ranks.result(0), untouched);
}

TEST(KernelLaunch, DoesNothingIfItsEpochIsAbandonedBeforeItsRanksStart) {
  TwoRanks ranks;
  ranks.poison(0);
  ranks.poison(1);
  ranks.await_starts(1);
  ranks.launch(1, 2, true);
  ranks.abandon();
  ranks.start(0, Control::never);
  ranks.start(1, Control::never);
  EXPECT_EQ(ranks.synchronize(), 0);
  EXPECT_EQ(ranks.completed(0), Control::never);
  EXPECT_EQ(ranks.result(0), untouched);
  EXPECT_EQ(ranks.result(1), untouched);
}

TEST(KernelLaunch, LeavesNoNumberBehindInAnEpochThatIsAbandonedMeanwhile) {
  TwoRanks ranks;
  ranks.await_starts(1);
  ranks.launch(1, 2); // as if it had not waited
  ranks.abandon();
  ranks.start(0, 1);
  ranks.start(1, 1);
  EXPECT_EQ(ranks.synchronize(), 0);
  EXPECT_EQ(ranks.completed(0), Control::never);
  EXPECT_EQ(ranks.completed(1), Control::never);
}

TEST(KernelLaunch, GoesOnAfterADeviceWasReset) {
  auto* const reset = reinterpret_cast<int (*)(int)>(device_tests::driver_function("cuDevicePrimaryCtxReset_v2"));
  ASSERT_NE(reset, nullptr);
  TwoRanks().run(1);
  ASSERT_EQ(reset(0), 0);
  TwoRanks().run(1);
}

} // namespace
} // namespace stoker::engine::device
