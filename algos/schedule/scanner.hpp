// SPDX-License-Identifier: BSD-3-Clause
// Reads one line of a text from left to right. Blanks between words are skipped. What is not as expected throws
// std::invalid_argument that says what was expected and what stands there.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace stoker::algos {

class Scanner {
public:
  explicit Scanner(std::string_view line) : rest_(line) {}

  [[nodiscard]] bool at_end();
  // Whether the next word, or sign, is this one, which is taken then.
  [[nodiscard]] bool accept(std::string_view word);
  void expect(std::string_view word);
  void expect_end();
  // Letters and underscores.
  [[nodiscard]] std::string_view word(std::string_view what);
  [[nodiscard]] bool at_number();
  [[nodiscard]] std::uint64_t number(std::string_view what,
                                     std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

  // Throws: "expected WHAT, not REST".
  [[noreturn]] void refuse(std::string_view what);

private:
  void skip_blanks();

  std::string_view rest_;
};

} // namespace stoker::algos
