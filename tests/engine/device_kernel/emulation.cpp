// SPDX-License-Identifier: BSD-3-Clause
#include "emulation.hpp"

#include "engine/device_kernel/kernel.hpp"

#include <algorithm>
#include <utility>

namespace stoker::engine::device {
namespace {

constexpr std::uint64_t alignment = 16;

} // namespace

Emulation::Emulation(std::span<const algos::Program> programs, const ProgramOptions& options, std::uint64_t misaligned)
    : programs_(programs), program_(programs, options), control_memory_(programs.size()) {
  for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
    const algos::Program& program = programs[rank];
    for (const std::uint64_t bytes : {program.send_bytes, program.recv_bytes, program.scratch_bytes}) {
      std::vector<std::byte>& memory = memory_.emplace_back(bytes + 2 * alignment, poison);
      const std::uint64_t beyond = reinterpret_cast<std::uint64_t>(memory.data()) % alignment;
      buffers_.push_back(memory.data() + (alignment - beyond) % alignment + misaligned);
      lengths_.push_back(bytes);
    }
    words_.push_back(word_memory_.emplace_back(program_.words(rank)).data());
    controls_.push_back(&control_memory_[rank]);
  }
}

std::span<std::byte> Emulation::buffer(std::uint32_t rank, algos::Buffer which) {
  const std::size_t index = 3 * std::size_t{rank} + static_cast<std::size_t>(which);
  return {buffers_[index], lengths_[index]};
}

std::vector<Emulation::Group> Emulation::groups(bool together) const {
  std::vector<Group> result(together ? 1 : ranks());
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    result[together ? 0 : rank].ranks.push_back(rank);
  }
  return result;
}

// The blocks start in any order, some of them late.
void Emulation::launch(Group& group, Stay stay, std::mt19937& random) {
  const Launch launch{.program = &program_.header(),
                      .buffers = buffers_.data(),
                      .words = words_.data(),
                      .controls = controls_.data(),
                      .launched = group.ranks.data(),
                      .epoch = epoch_ + group.epoch,
                      .blocks = program_.header().blocks,
                      .stay = stay};
  std::vector<std::uint32_t> order(group.ranks.size() * launch.blocks);
  for (std::uint32_t block = 0; block < order.size(); ++block) {
    order[block] = block;
  }
  std::ranges::shuffle(order, random);
  for (const std::uint32_t block : order) {
    group.blocks.emplace_back([launch, block, late = random() % 4] {
      for (unsigned i = 0; i < late; ++i) {
        std::this_thread::yield();
      }
      run_block(launch, block);
    });
  }
}

void Emulation::begin(Group& group, Stay stay, std::mt19937& random, const Visit& prepare) {
  ++group.epoch;
  group.active = true;
  for (const std::uint32_t rank : group.ranks) {
    std::ranges::fill(buffer(rank, algos::Buffer::scratch), poison);
    prepare(rank, epoch_ + group.epoch);
  }
  if (group.blocks.empty()) {
    launch(group, stay, random);
  }
  for (const std::uint32_t rank : group.ranks) {
    SystemWord(controls_[rank]->started).store(epoch_ + group.epoch, release);
  }
}

bool Emulation::completed(const Group& group) {
  return std::ranges::all_of(group.ranks, [&](std::uint32_t rank) {
    return SystemWord(controls_[rank]->completed).load(acquire) == epoch_ + group.epoch;
  });
}

void Emulation::stop(std::span<Group> groups) {
  for (Group& group : groups) {
    for (const std::uint32_t rank : group.ranks) {
      SystemWord(controls_[rank]->started).store(Control::stop, release);
    }
    for (std::thread& block : group.blocks) {
      block.join();
    }
  }
}

void Emulation::run(Launching launching, std::uint64_t epochs, std::mt19937& random, const Visit& prepare,
                    const Visit& check) {
  std::vector<Group> all = groups(launching.together);
  const auto finished = [&](const Group& group) { return group.epoch == epochs && !group.active; };
  while (!std::ranges::all_of(all, finished)) {
    Group& group = all[random() % all.size()];
    if (!group.active && group.epoch < epochs) {
      begin(group, launching.stay, random, prepare);
    } else if (group.active && completed(group)) {
      if (launching.stay == Stay::one_epoch) {
        for (std::thread& block : std::exchange(group.blocks, {})) {
          block.join();
        }
      }
      group.active = false;
      for (const std::uint32_t rank : group.ranks) {
        check(rank, epoch_ + group.epoch);
      }
    } else {
      std::this_thread::yield();
    }
  }
  stop(all);
  epoch_ += epochs;
}

} // namespace stoker::engine::device
