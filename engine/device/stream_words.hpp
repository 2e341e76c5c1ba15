// SPDX-License-Identifier: BSD-3-Clause
// Streams that wait for words and write them, without the host.
#pragma once

#include "engine/device/shared_memory.hpp"

#include <cstdint>

namespace stoker::engine {

// Whether streams of the device can do that.
[[nodiscard]] bool has_stream_words(const Device& device);

// What follows in the stream waits until the word is no less than the value (acquire).
void await_word(const Device& device, Driver::Stream stream, Driver::Address word, std::uint64_t value);
// Once all before it in the stream is done, and visible to whoever sees the value (release).
void write_word(const Device& device, Driver::Stream stream, Driver::Address word, std::uint64_t value);
// Throws Error(unsupported) if what is put into the stream becomes part of a graph.
void check_not_captured(const Device& device, Driver::Stream stream);

// A stream of this library's own. Its hardware queue is none that the application's streams of usual priority are in:
// what those wait for must not come behind them. Kernels that other devices wait for go before those that none does.
class OwnStream {
public:
  explicit OwnStream(const Device& device, bool awaited_by_others = false);
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream(); // waits for what is in it

  [[nodiscard]] Driver::Stream handle() const { return stream_; }
  [[nodiscard]] int error() const; // of what was done in it, as the driver says; 0: none so far
  [[nodiscard]] bool idle() const; // nothing is under way in it any more

private:
  Device device_;
  Driver::Stream stream_ = nullptr;
};

} // namespace stoker::engine
