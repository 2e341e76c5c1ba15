// SPDX-License-Identifier: BSD-3-Clause
// Numbers and texts one behind the other, written and read back with checks.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stoker::engine {

class ByteWriter {
public:
  template <std::integral N>
  void number(N value) {
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), begin, begin + sizeof value);
  }
  void append(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void text(std::string_view text) {
    number<std::uint64_t>(text.size());
    append(std::as_bytes(std::span(text)));
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

private:
  std::vector<std::byte> bytes_;
};

// All throw std::invalid_argument where the bytes end too early.
class ByteReader {
public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <std::integral N>
  [[nodiscard]] N number() {
    N value{};
    std::memcpy(&value, part(sizeof value).data(), sizeof value);
    return value;
  }
  [[nodiscard]] std::span<const std::byte> part(std::uint64_t length) {
    if (length > bytes_.size()) {
      throw std::invalid_argument("it ends too early");
    }
    const auto begin = bytes_.first(length);
    bytes_ = bytes_.subspan(length);
    return begin;
  }
  [[nodiscard]] std::string text() {
    const auto characters = part(number<std::uint64_t>());
    return {reinterpret_cast<const char*>(characters.data()), characters.size()};
  }
  // How many entries of a list follow, of which each takes so many bytes.
  [[nodiscard]] std::uint64_t entries(std::uint64_t each) {
    const auto count = number<std::uint64_t>();
    if (count > bytes_.size() / each) {
      throw std::invalid_argument("it ends too early");
    }
    return count;
  }
  [[nodiscard]] std::span<const std::byte> rest() const { return bytes_; }

private:
  std::span<const std::byte> bytes_;
};

} // namespace stoker::engine
