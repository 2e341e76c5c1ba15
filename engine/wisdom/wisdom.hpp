// SPDX-License-Identifier: BSD-3-Clause
// Wisdom: what init has worked out, kept in a folder for later inits and later jobs. One file for each key, written
// under another name and renamed, so that none is ever seen half written; many ranks, jobs and hosts may use one folder
// at a time. A file is evidence, not truth: unless all of it is as it was written, for exactly this key, it is refused,
// which costs no more than working out again what it holds, and is replaced.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spdlog {
class logger;
}

namespace stoker::engine {

// A digest of 128 bits. It does not resist people who look for collisions on purpose.
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const Digest&) const = default;
  [[nodiscard]] std::string text() const; // 32 hexadecimal digits
};
[[nodiscard]] Digest digest_of(std::span<const std::byte> bytes);

// Everything that a piece of wisdom depends on, as text: ranks with the same key would work out the same. It begins
// with the version of stoker and a digest of the sources of its algorithms.
class WisdomKey {
public:
  explicit WisdomKey(std::string_view what);
  WisdomKey& add(std::string_view name, std::string_view value);
  WisdomKey& add(std::string_view name, std::uint64_t value);
  WisdomKey& add(std::string_view name, std::span<const std::uint64_t> values); // their number and digest

  [[nodiscard]] const std::string& text() const { return text_; }

private:
  std::string text_;
};

// The bytes of a file.
[[nodiscard]] std::vector<std::byte> wisdom_file(const WisdomKey& key, std::span<const std::byte> content);
// The content of such a file. Throws std::invalid_argument that says what is wrong.
[[nodiscard]] std::vector<std::byte> content_of(std::span<const std::byte> file, const WisdomKey& key);

// Several threads may use it at a time. No function throws: failures to read or write are reported in the log, the
// first one as a warning.
class Wisdom {
public:
  // `folder` is created when something is kept. If it is empty, nothing is found or kept.
  Wisdom(std::string folder, std::shared_ptr<spdlog::logger> log);

  [[nodiscard]] bool enabled() const { return !folder_.empty(); }
  [[nodiscard]] std::string path_of(const WisdomKey& key) const;

  // Returns what parse() makes of the content; nothing if there is no file, or if it is refused. parse() throws
  // std::invalid_argument for content that it does not accept.
  template <class Parse>
  [[nodiscard]] auto find(const WisdomKey& key, Parse&& parse) -> std::optional<decltype(parse({}))> {
    if (!enabled()) {
      return std::nullopt;
    }
    try {
      const auto content = read(key);
      return content ? std::optional(parse(*content)) : std::nullopt;
    } catch (const std::exception& error) {
      complain(path_of(key), error.what());
      return std::nullopt;
    }
  }
  void keep(const WisdomKey& key, std::span<const std::byte> content);

private:
  [[nodiscard]] std::optional<std::vector<std::byte>> read(const WisdomKey& key) const;
  void complain(const std::string& path, const std::string& reason);

  std::string folder_;
  std::shared_ptr<spdlog::logger> log_;
  std::atomic<bool> complained_ = false;
};

} // namespace stoker::engine
