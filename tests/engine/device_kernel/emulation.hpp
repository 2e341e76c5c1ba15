// SPDX-License-Identifier: BSD-3-Clause
// The kernel without a device: each block of a launch is a thread, and device memory is this process's.
#pragma once

#include "engine/device_kernel/device_program.hpp"
#include "engine/device_kernel/program_layout.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <thread>
#include <vector>

namespace stoker::engine::device {

inline constexpr std::byte poison{0xee}; // of memory that nobody has written

// How the ranks get to the kernel.
struct Launching {
  bool together = true; // one launch of all ranks; else each has its own, which begins when it likes
  Stay stay = Stay::one_epoch;
};
inline constexpr std::array all_launchings{Launching{true, Stay::one_epoch}, Launching{false, Stay::one_epoch},
                                           Launching{true, Stay::until_stopped}, Launching{false, Stay::until_stopped}};

class Emulation {
public:
  // Buffers are a few bytes longer than the programs say, and begin `misaligned` bytes behind a multiple of 16.
  Emulation(std::span<const algos::Program> programs, const ProgramOptions& options, std::uint64_t misaligned = 0);

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(programs_.size()); }
  [[nodiscard]] const ProgramHeader& program() const { return program_.header(); }
  [[nodiscard]] std::span<std::byte> buffer(std::uint32_t rank, algos::Buffer which);

  // Carries out so many more epochs. `prepare` and `check` are called for each rank before and after each of its epochs,
  // in an order of their own; scratch has been poisoned before `prepare`.
  using Visit = std::function<void(std::uint32_t rank, std::uint64_t epoch)>;
  void run(Launching launching, std::uint64_t epochs, std::mt19937& random, const Visit& prepare, const Visit& check);

private:
  // Ranks that begin an epoch together, and the blocks that carry it out.
  struct Group {
    std::vector<std::uint32_t> ranks;
    std::uint64_t epoch = 0;
    bool active = false;
    std::vector<std::thread> blocks = {};
  };

  [[nodiscard]] std::vector<Group> groups(bool together) const;
  void launch(Group& group, Stay stay, std::mt19937& random);
  void begin(Group& group, Stay stay, std::mt19937& random, const Visit& prepare);
  [[nodiscard]] bool completed(const Group& group);
  void stop(std::span<Group> groups);

  std::span<const algos::Program> programs_;
  DeviceProgram program_;
  std::vector<std::vector<std::byte>> memory_; // 3 of each rank
  std::vector<std::byte*> buffers_;            // likewise
  std::vector<std::uint64_t> lengths_;
  std::vector<std::vector<std::uint64_t>> word_memory_; // of each rank
  std::vector<std::uint64_t*> words_;
  std::vector<Control> control_memory_;
  std::vector<Control*> controls_;
  std::uint64_t epoch_ = 0; // the last one of all ranks
};

} // namespace stoker::engine::device
