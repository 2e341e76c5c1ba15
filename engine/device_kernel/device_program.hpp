// SPDX-License-Identifier: BSD-3-Clause
// Makes what the kernel reads (program_layout.hpp) from the programs of all ranks of a node.
//
// A step becomes an instruction. A message is one instruction, the receiver's, which reads the sender's buffer; a put
// is one, the sender's. What a step waits for becomes waits and signals: an instruction of the same rank is waited for
// by its counter, one of another rank by a flag that it sets. So `ready` is the flag of a send at its receiver, and
// `taken` that of a recv at its sender.
#pragma once

#include "algos/schedule/schedule.hpp"
#include "engine/device_kernel/program_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stoker::engine::device {

struct ProgramOptions {
  OperationCode operation;                // of steps that combine operands
  std::uint32_t most_blocks = 32;         // of a rank
  std::uint64_t bytes_per_block = 32'768; // a step has a block for each as many, but at least one
};

// Throws Error(unsupported) for operations and types that devices do not have.
void check_on_devices(OperationCode operation);

class DeviceProgram {
public:
  // `programs` holds one for each rank, in rank order. Throws Error(argument) for programs that have a defect, alone or
  // together, and Error(unsupported) for operations and types that devices do not have.
  DeviceProgram(std::span<const algos::Program> programs, const ProgramOptions& options);

  // What a device gets a copy of; aligned for the header.
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] const ProgramHeader& header() const { return *reinterpret_cast<const ProgramHeader*>(bytes_.data()); }
  // How many words a rank has, for its counters and for the flags that others set.
  [[nodiscard]] std::uint32_t words(std::uint32_t rank) const;

private:
  std::vector<std::byte> bytes_;
};

} // namespace stoker::engine::device
