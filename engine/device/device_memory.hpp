// SPDX-License-Identifier: BSD-3-Clause
// Memory of a device: which addresses are such, and copies between it and the host's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace stoker::engine {

enum class Residence : std::uint8_t {
  host,
  pinned, // the host's, but the driver manages it: other processes may not be able to attach to it
  device, // or managed memory, which moves between the two: this library has the driver copy it
};

// What an application says of the memory of its buffers.
enum class MemoryKinds : std::uint8_t {
  any,
  host, // which no driver of a device manages
};

// `list`: the value of MPI-4.1's info key mpi_assert_memory_alloc_kinds (section 11.4.3), such as
// "system,mpi:alloc_mem".
[[nodiscard]] MemoryKinds kinds_in(std::string_view list);

// Where the memory at an address is. Thread-safe. Host for everything that the driver does not know, and, without
// asking it, for what `kinds` says to be the host's. Throws Error(access) where a device has failed for good.
[[nodiscard]] Residence residence_of(const void* address, MemoryKinds kinds = MemoryKinds::any);

// Bytes that are, or will be, the same in both places.
struct DevicePiece {
  std::byte* host = nullptr;
  std::byte* device = nullptr;
  std::size_t bytes = 0;
};

// Copy pieces, of whichever devices; done when they return. They do not wait for what the application has given the
// device to do. Throw Error(access), which names the driver's error. Thread-safe; the thread's current context stays.
void copy_to_host(std::span<const DevicePiece> pieces);
void copy_to_device(std::span<const DevicePiece> pieces);

// Whole pages of the host that a device reads and writes without a copy by the driver; or not, where it refuses.
class PinnedPages {
public:
  PinnedPages() = default;
  PinnedPages(void* pages, std::size_t bytes, const void* of_device); // the device that has this memory
  PinnedPages(PinnedPages&& other) noexcept;
  PinnedPages& operator=(PinnedPages&& other) noexcept;
  ~PinnedPages();

private:
  void* pages_ = nullptr;
  void* context_ = nullptr;
};

} // namespace stoker::engine
