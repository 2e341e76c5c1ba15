// SPDX-License-Identifier: BSD-3-Clause
// Which memory is a device's, and copies of it.
#include "engine/base/error.hpp"
#include "engine/device/device_memory.hpp"
#include "engine/device/driver.hpp"
#include "tests/devices/device.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace stoker::engine {
namespace {

using device_tests::DeviceMemory;
using device_tests::Kind;

std::vector<std::byte> numbers(std::size_t count, unsigned first) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>((first + i * 7) % 251);
  }
  return bytes;
}

std::byte* bytes_of(const DeviceMemory& memory) { return reinterpret_cast<std::byte*>(memory.address()); }

// Runs first: nothing has loaded the driver yet.
TEST(ADriver, IsFoundOnceTheProcessLoadsIt) {
  EXPECT_EQ(loaded_driver(), nullptr);
  int on_stack = 0;
  EXPECT_EQ(residence_of(&on_stack), Residence::host);
  device_tests::load_driver();
  EXPECT_NE(loaded_driver(), nullptr);
  EXPECT_EQ(residence_of(&on_stack), Residence::host);
  EXPECT_EQ(residence_of(nullptr), Residence::host);
}

TEST(Residence, IsTheDriversWord) {
  const DeviceMemory device(100);
  const DeviceMemory pool(100, Kind::pool);
  const DeviceMemory managed(100, Kind::managed);
  const DeviceMemory pinned(100, Kind::pinned);
  const std::vector<std::byte> heap(100);
  EXPECT_EQ(residence_of(device.address()), Residence::device);
  EXPECT_EQ(residence_of(device.address() + 99), Residence::device);
  EXPECT_EQ(residence_of(pool.address()), Residence::device);
  EXPECT_EQ(residence_of(managed.address()), Residence::device);
  EXPECT_EQ(residence_of(pinned.address()), Residence::pinned);
  EXPECT_EQ(residence_of(heap.data()), Residence::host);
}

TEST(Residence, HasTheDriverCompleteItsSynchronousCalls) {
  const DeviceMemory memory(100);
  const auto settles = [&memory] {
    int name = 6;
    unsigned value = 7;
    void* place = &value;
    EXPECT_EQ(
        loaded_driver()->pointer_attributes(1, &name, &place, reinterpret_cast<Driver::Address>(memory.address())), 0);
    return value;
  };
  EXPECT_EQ(settles(), 0U);
  EXPECT_EQ(residence_of(memory.address()), Residence::device);
  EXPECT_EQ(settles(), 1U);
}

TEST(Residence, IsTheHostsWithoutAQuestionWhereThatIsAsserted) {
  const DeviceMemory device(100);
  EXPECT_EQ(residence_of(device.address(), MemoryKinds::host), Residence::host);
  EXPECT_EQ(residence_of(device.address(), MemoryKinds::any), Residence::device);
}

TEST(MemoryKinds, AreTheHostsIfAllOfThemAre) {
  for (const char* list : {"system", "mpi", "system,mpi", "mpi:alloc_mem:win_allocate,system"}) {
    EXPECT_EQ(kinds_in(list), MemoryKinds::host) << list;
  }
  for (const char* list : {"", ",", "system,cuda:device", "cuda:host", "rocm,system", "systems", "sys", "mpi ", ":"}) {
    EXPECT_EQ(kinds_in(list), MemoryKinds::any) << list;
  }
}

class Copies : public ::testing::TestWithParam<Kind> {};

TEST_P(Copies, ArriveAndStayWithinTheirPieces) {
  constexpr std::size_t size = 10000;
  const DeviceMemory memory(size, GetParam());
  for (unsigned epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::byte> expected = numbers(size, epoch);
    memory.upload(expected.data(), size);
    std::vector<std::byte> host(size, std::byte{0xa5});
    const std::array<DevicePiece, 2> pieces = {
        {{host.data(), bytes_of(memory) + 5000, 17}, {host.data() + 100, bytes_of(memory), 4000}}};
    copy_to_host(pieces);
    EXPECT_EQ(std::memcmp(host.data(), expected.data() + 5000, 17), 0);
    EXPECT_EQ(std::memcmp(host.data() + 100, expected.data(), 4000), 0);
    EXPECT_EQ(host[17], std::byte{0xa5});
    EXPECT_EQ(host[4100], std::byte{0xa5});

    std::vector<std::byte> other = numbers(size, epoch + 100);
    const std::array<DevicePiece, 2> back = {
        {{other.data(), bytes_of(memory) + 1, 3}, {other.data() + 3, bytes_of(memory) + 9000, 1000}}};
    copy_to_device(back);
    std::memcpy(expected.data() + 1, other.data(), 3);
    std::memcpy(expected.data() + 9000, other.data() + 3, 1000);
    other.resize(size);
    memory.download(other.data(), size);
    EXPECT_EQ(other, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Copies, ::testing::Values(Kind::device, Kind::pool, Kind::managed));

// The thread's context is another device's, or there is none.
TEST(Copies, LeaveTheThreadsContextAlone) {
  const auto* const driver = loaded_driver();
  const DeviceMemory first(64, Kind::device, 0);
  const std::vector<std::byte> data = numbers(64, 1);
  first.upload(data.data(), 64);
  std::vector<std::byte> host(64);
  const DevicePiece piece{host.data(), bytes_of(first), 64};
  std::thread without([&] {
    copy_to_host({&piece, 1});
    void* context = nullptr;
    EXPECT_NE(driver->pop_context(&context), 0) << "a context was left behind";
  });
  without.join();
  EXPECT_EQ(host, data);
  if (std::getenv("STOKER_TEST_DRIVER") != nullptr) { // which has two devices
    const DeviceMemory second(64, Kind::device, 1);
    second.upload(numbers(64, 2).data(), 64);
    const DevicePiece other{host.data(), bytes_of(second), 64};
    void* context = nullptr;
    ASSERT_EQ(driver->retain_primary_context(&context, 0), 0);
    ASSERT_EQ(driver->push_context(context), 0);
    copy_to_host({&other, 1});
    void* now = nullptr;
    EXPECT_EQ(driver->pop_context(&now), 0);
    EXPECT_EQ(now, context);
    EXPECT_EQ(host, numbers(64, 2));
  }
}

// A call may bring blocks on several devices.
TEST(Copies, OfSeveralDevicesAtOnce) {
  if (std::getenv("STOKER_TEST_DRIVER") == nullptr) {
    GTEST_SKIP() << "this machine may have one device only";
  }
  const DeviceMemory first(64, Kind::device, 0);
  const DeviceMemory second(64, Kind::device, 1);
  const DeviceMemory third(64, Kind::pool, 0);
  first.upload(numbers(64, 1).data(), 64);
  second.upload(numbers(64, 2).data(), 64);
  third.upload(numbers(64, 3).data(), 64);
  std::vector<std::byte> host(192);
  const std::array<DevicePiece, 4> pieces = {{{host.data(), bytes_of(first), 40},
                                              {host.data() + 40, bytes_of(first) + 40, 24},
                                              {host.data() + 64, bytes_of(second), 64},
                                              {host.data() + 128, bytes_of(third), 64}}};
  copy_to_host(pieces);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(std::memcmp(host.data() + 64 * i, numbers(64, i + 1).data(), 64), 0) << i;
  }
}

// Streams of before do not work any more.
TEST(Copies, GoOnAfterADeviceWasReset) {
  auto* const reset = reinterpret_cast<int (*)(int)>(device_tests::driver_function("cuDevicePrimaryCtxReset_v2"));
  std::vector<std::byte> host(64);
  for (unsigned round = 0; round < 3; ++round) {
    DeviceMemory memory(64);
    memory.upload(numbers(64, round).data(), 64);
    const DevicePiece piece{host.data(), bytes_of(memory), 64};
    copy_to_host({&piece, 1});
    EXPECT_EQ(host, numbers(64, round));
    memory.forget();
    ASSERT_EQ(reset(0), 0);
  }
}

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::access);
    return error.what();
  }
  return "no error";
}

TEST(Errors, NameTheCallAndTheDriversWord) {
  auto* const lose = reinterpret_cast<void (*)(int)>(device_tests::driver_function("stand_in_lose"));
  if (lose == nullptr) {
    GTEST_SKIP() << "a real device is not lost at will";
  }
  DeviceMemory memory(64);
  std::vector<std::byte> host(64, std::byte{7});
  const DevicePiece piece{host.data(), bytes_of(memory), 64};
  lose(1);
  EXPECT_NE(refusal([&] { copy_to_host({&piece, 1}); }).find("cuMemcpyDtoHAsync failed"), std::string::npos);
  EXPECT_NE(refusal([&] { copy_to_device({&piece, 1}); }).find("CUDA_ERROR_LAUNCH_FAILED"), std::string::npos);
  lose(0);
  EXPECT_EQ(host, std::vector<std::byte>(64, std::byte{7}));
  copy_to_device({&piece, 1}); // goes on
  memory.free();
  EXPECT_NE(refusal([&] { copy_to_host({&piece, 1}); }).find("stays allocated"), std::string::npos);
}

TEST(Pages, ArePinnedForAsLongAsTheObjectLives) {
  auto* const registered = reinterpret_cast<std::size_t (*)()>(device_tests::driver_function("stand_in_registered"));
  if (registered == nullptr) {
    GTEST_SKIP() << "a real driver does not say";
  }
  const DeviceMemory memory(64);
  alignas(4096) static std::array<std::byte, 8192> pages;
  {
    PinnedPages first(pages.data(), pages.size(), memory.address());
    EXPECT_EQ(registered(), 1U);
    const PinnedPages refused(pages.data(), 4096, memory.address()); // that are pinned already
    PinnedPages second = std::move(first);
    EXPECT_EQ(registered(), 1U);
    second = {};
    EXPECT_EQ(registered(), 0U);
    second = PinnedPages(pages.data(), pages.size(), memory.address());
    EXPECT_EQ(registered(), 1U);
  }
  EXPECT_EQ(registered(), 0U);
}

} // namespace
} // namespace stoker::engine
