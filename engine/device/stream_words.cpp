// SPDX-License-Identifier: BSD-3-Clause
#include "engine/device/stream_words.hpp"

#include "engine/base/error.hpp"
#include "engine/device/device_context.hpp"

namespace stoker::engine {
namespace {

// Values of cuda.h.
constexpr int stream_words_attribute = 122;
constexpr unsigned at_least = 0;
constexpr unsigned with_barrier = 0;
constexpr int not_ready = 600;

} // namespace

bool has_stream_words(const Device& device) { return device.attribute(stream_words_attribute) != 0; }

void await_word(const Device& device, Driver::Stream stream, Driver::Address word, std::uint64_t value) {
  const Driver& driver = *device.driver;
  const CurrentContext current(driver, device.context);
  current.check_entered();
  check(driver, driver.kernels.wait_value(stream, word, value, at_least), "cuStreamWaitValue64", stream);
}

void write_word(const Device& device, Driver::Stream stream, Driver::Address word, std::uint64_t value) {
  const Driver& driver = *device.driver;
  const CurrentContext current(driver, device.context);
  current.check_entered();
  check(driver, driver.kernels.write_value(stream, word, value, with_barrier), "cuStreamWriteValue64", stream);
}

void check_not_captured(const Device& device, Driver::Stream stream) {
  const Driver& driver = *device.driver;
  const CurrentContext current(driver, device.context);
  current.check_entered();
  int status = 0;
  check(driver, driver.kernels.is_capturing(stream, &status), "cuStreamIsCapturing", stream);
  if (status != 0) {
    throw Error(Code::unsupported, "stream: it is being captured into a graph; expected one that is not, for every "
                                   "epoch has a number of its own");
  }
}

OwnStream::OwnStream(const Device& device, bool awaited_by_others) : device_(device) {
  const Driver& driver = *device.driver;
  const CurrentContext current(driver, device.context);
  current.check_entered();
  int least = 0;
  int greatest = 0;
  check(driver, driver.kernels.stream_priorities(&least, &greatest), "cuCtxGetStreamPriorityRange", nullptr);
  const bool are_many = greatest + 2 <= least; // greater ones are less; `least` is the usual one
  const int priority = awaited_by_others || !are_many ? greatest : greatest + 1;
  check(driver, driver.kernels.create_stream(&stream_, Driver::non_blocking, priority), "cuStreamCreateWithPriority",
        nullptr);
}

OwnStream::~OwnStream() {
  const CurrentContext current(*device_.driver, device_.context);
  if (current.entered()) { // else it is gone, with all its streams
    device_.driver->synchronize(stream_);
    device_.driver->kernels.destroy_stream(stream_);
  }
}

int OwnStream::error() const {
  const CurrentContext current(*device_.driver, device_.context);
  const int code = device_.driver->kernels.query(stream_);
  return code == not_ready ? 0 : code;
}

bool OwnStream::idle() const {
  const CurrentContext current(*device_.driver, device_.context);
  return !current.entered() || device_.driver->kernels.query(stream_) != not_ready;
}

} // namespace stoker::engine
