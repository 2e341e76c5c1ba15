// SPDX-License-Identifier: BSD-3-Clause
#include "engine/wisdom/wisdom.hpp"

#include "engine/base/byte_stream.hpp"
#include "engine/base/owned_fd.hpp"
#include "engine/wisdom/built_from.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stoker::engine {
namespace {

constexpr std::uint64_t magic = 0x6d6f647369576b73; // "skWisdom" where the lowest byte comes first
constexpr std::uint32_t byte_order = 0x01020304;
constexpr std::uint32_t format = 1;
// Magic, byte order, format, length of the file, digest of what follows.
constexpr std::uint64_t header_bytes = 8 + 4 + 4 + 8 + 16;

std::system_error last_error(const char* what) { return {errno, std::generic_category(), what}; }

// splitmix64's finaliser: a bijection.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

std::vector<std::byte> contents(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) {
    throw last_error("fstat");
  }
  if (!S_ISREG(status.st_mode)) {
    throw std::invalid_argument("it is no regular file");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::read(fd, bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno != EINTR) {
      throw last_error("read");
    }
    if (got == 0) {
      break; // shortened meanwhile: content_of() finds that
    }
    have += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }
  bytes.resize(have);
  return bytes;
}

void write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      throw last_error("write");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
}

// The file is not flushed to the disc: a file that a crash has left incomplete is refused when it is read.
void write_and_rename(const std::string& path, std::span<const std::byte> bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::string other = path + ".XXXXXX";
  OwnedFd file(mkostemp(other.data(), O_CLOEXEC));
  if (file < 0) {
    throw last_error("mkostemp");
  }
  try {
    write_all(file, bytes);
    if (close(file.release()) != 0) { // some file systems report only then that there was no room
      throw last_error("close");
    }
    std::filesystem::rename(other, path);
  } catch (...) {
    unlink(other.c_str());
    throw;
  }
}

} // namespace

std::string Digest::text() const { return fmt::format("{:016x}{:016x}", high, low); }

// Two chains of bijections: words that differ in one place never have the same digest.
Digest digest_of(std::span<const std::byte> bytes) {
  Digest digest{0x9e3779b97f4a7c15U ^ bytes.size(), 0xd1b54a32d192ed03U};
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t taken = std::min(sizeof word, bytes.size());
    std::memcpy(&word, bytes.data(), taken);
    bytes = bytes.subspan(taken);
    digest.high = mix(digest.high + word);
    digest.low = mix((digest.low ^ word) * 0xda942042e4dd58b5U);
  }
  return digest;
}

WisdomKey::WisdomKey(std::string_view what)
    : text_(fmt::format("{} of stoker {}, algorithms {}", what, stoker_version, algos_digest)) {}

WisdomKey& WisdomKey::add(std::string_view name, std::string_view value) {
  text_ += fmt::format("\n{} {}", name, value);
  return *this;
}

WisdomKey& WisdomKey::add(std::string_view name, std::uint64_t value) { return add(name, std::to_string(value)); }

WisdomKey& WisdomKey::add(std::string_view name, std::span<const std::uint64_t> values) {
  return add(name, fmt::format("{} {}", values.size(), digest_of(std::as_bytes(values)).text()));
}

std::vector<std::byte> wisdom_file(const WisdomKey& key, std::span<const std::byte> content) {
  ByteWriter body;
  body.text(key.text());
  body.append(content);
  const std::vector<std::byte> bytes = body.take();
  const Digest digest = digest_of(bytes);
  ByteWriter file;
  file.number(magic);
  file.number(byte_order);
  file.number(format);
  file.number<std::uint64_t>(header_bytes + bytes.size());
  file.number(digest.high);
  file.number(digest.low);
  file.append(bytes);
  return file.take();
}

std::vector<std::byte> content_of(std::span<const std::byte> file, const WisdomKey& key) {
  ByteReader reader(file);
  const auto check = [](bool good, const std::string& otherwise) {
    if (!good) {
      throw std::invalid_argument(otherwise);
    }
  };
  check(file.size() >= header_bytes, "it is shorter than its header");
  check(reader.number<std::uint64_t>() == magic, "it is no wisdom of stoker's");
  check(reader.number<std::uint32_t>() == byte_order, "it was written in another byte order");
  const auto version = reader.number<std::uint32_t>();
  check(version == format, fmt::format("its format is {}; expected {}", version, format));
  const auto length = reader.number<std::uint64_t>();
  check(length == file.size(), fmt::format("it has {} bytes; expected {}", file.size(), length));
  Digest digest;
  digest.high = reader.number<std::uint64_t>();
  digest.low = reader.number<std::uint64_t>();
  check(digest == digest_of(reader.rest()), "it is damaged: its checksum does not match");
  check(reader.text() == key.text(), "it holds something else under this name");
  return {reader.rest().begin(), reader.rest().end()};
}

Wisdom::Wisdom(std::string folder, std::shared_ptr<spdlog::logger> log)
    : folder_(std::move(folder)), log_(std::move(log)) {}

// Subfolders keep folders short where thousands of ranks have files.
std::string Wisdom::path_of(const WisdomKey& key) const {
  const std::string name = digest_of(std::as_bytes(std::span(key.text()))).text();
  return fmt::format("{}/{}/{}", folder_, name.substr(0, 2), name.substr(2));
}

std::optional<std::vector<std::byte>> Wisdom::read(const WisdomKey& key) const {
  const OwnedFd file(::open(path_of(key).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); // a FIFO must not keep us here
  if (file < 0) {
    if (errno == ENOENT) {
      return std::nullopt;
    }
    throw last_error("open");
  }
  return content_of(contents(file), key);
}

void Wisdom::keep(const WisdomKey& key, std::span<const std::byte> content) {
  if (!enabled()) {
    return;
  }
  const std::string path = path_of(key);
  try {
    write_and_rename(path, wisdom_file(key, content));
  } catch (const std::exception& error) {
    complain(path, error.what());
  }
}

void Wisdom::complain(const std::string& path, const std::string& reason) {
  const bool first = !complained_.exchange(true, std::memory_order_relaxed);
  log_->log(first ? spdlog::level::warn : spdlog::level::info, "wisdom: {} is of no use: {}; worked out anew{}", path,
            reason, first ? " (further ones are told with log=info only)" : "");
}

} // namespace stoker::engine
