// SPDX-License-Identifier: BSD-3-Clause
// Elements of global memory that are read or changed as a whole: atomics, and words of which no half may be seen.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace stoker::engine {

enum class ElementType : std::uint8_t { int32, uint32, int64, uint64, float32, float64 };
enum class AtomicOp : std::uint8_t { sum, prod, min, max, replace, no_op, band, bor, bxor };

// Nothing for a datatype or operation that atomics do not take.
[[nodiscard]] std::optional<ElementType> element_type_of(MPI_Datatype type);
[[nodiscard]] std::optional<AtomicOp> atomic_op_of(MPI_Op op);

[[nodiscard]] constexpr std::size_t size_of(ElementType type) {
  return type == ElementType::int32 || type == ElementType::uint32 || type == ElementType::float32 ? 4 : 8;
}
[[nodiscard]] constexpr bool is_integer(ElementType type) { return type < ElementType::float32; }
[[nodiscard]] constexpr bool applies_to(AtomicOp op, ElementType type) {
  return op < AtomicOp::band || is_integer(type);
}

// `target` is naturally aligned and may be used by any process; the others belong to the caller and may lie anywhere.
void fetch_and_op(std::byte* target, ElementType type, AtomicOp op, const std::byte* operand, std::byte* result);
void compare_and_swap(std::byte* target, ElementType type, const std::byte* expected, const std::byte* desired,
                      std::byte* result);
void accumulate(std::byte* target, ElementType type, AtomicOp op, const std::byte* operands, std::size_t count);

// Calls `as_word` with a value of the unsigned type of that size where `place` is a naturally aligned word; else
// returns false.
template <class AsWord>
inline bool moved_as_word(const std::byte* place, std::size_t bytes, AsWord as_word) {
  const auto at = reinterpret_cast<std::uintptr_t>(place);
  if (bytes == 8 && at % 8 == 0) {
    as_word(std::uint64_t{});
  } else if (bytes == 4 && at % 4 == 0) {
    as_word(std::uint32_t{});
  } else {
    return false;
  }
  return true;
}

// Copies to, or from, memory that others use at the same time. A naturally aligned word moves whole, and in order:
// whoever sees the word that store_shared() wrote (release) by load_shared() or an atomic (acquire) sees what the
// writer did before.
inline void store_shared(std::byte* target, const void* source, std::size_t bytes) {
  const auto as_word = [&]<class Word>(Word word) {
    std::memcpy(&word, source, sizeof word);
    std::atomic_ref<Word>(*reinterpret_cast<Word*>(target)).store(word, std::memory_order_release);
  };
  if (!moved_as_word(target, bytes, as_word)) {
    std::memcpy(target, source, bytes);
  }
}
inline void load_shared(void* target, const std::byte* source, std::size_t bytes) {
  const auto as_word = [&]<class Word>(Word /*like this*/) {
    auto& place = *reinterpret_cast<Word*>(const_cast<std::byte*>(source));
    const Word word = std::atomic_ref<Word>(place).load(std::memory_order_acquire); // pairs with store_shared()
    std::memcpy(target, &word, sizeof word);
  };
  if (!moved_as_word(source, bytes, as_word)) {
    std::memcpy(target, source, bytes);
  }
}

} // namespace stoker::engine
