// SPDX-License-Identifier: BSD-3-Clause
// MPI's predefined operators, the classes of datatypes that the standard allows each on (MPI 4.0, 6.9.2), and how the
// machine represents them.
#include "engine/data/operation.hpp"

#include "engine/base/error.hpp"
#include "engine/base/named_type.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

namespace stoker::engine {
namespace {

// The standard's groups of datatypes. They are bits, because an operator takes several of them.
enum class TypeClass : unsigned {
  c_integer = 1U << 0U,
  fortran_integer = 1U << 1U,
  multi_language = 1U << 2U,
  floating = 1U << 3U,
  logical = 1U << 4U,
  complex = 1U << 5U,
  byte = 1U << 6U,
  pair = 1U << 7U,
};

template <class... Classes>
constexpr unsigned any_of(Classes... classes) {
  return (static_cast<unsigned>(classes) | ...);
}

struct OperatorRow {
  MPI_Op handle;
  ReduceOp op;
  const char* name;
  unsigned takes; // classes
  const char* expected;
};

std::optional<OperatorRow> predefined(MPI_Op op) {
  constexpr unsigned integers = any_of(TypeClass::c_integer, TypeClass::fortran_integer, TypeClass::multi_language);
  constexpr unsigned ordered = integers | any_of(TypeClass::floating);
  constexpr unsigned numbers = ordered | any_of(TypeClass::complex);
  constexpr unsigned truths = any_of(TypeClass::c_integer, TypeClass::logical);
  constexpr unsigned bits = integers | any_of(TypeClass::byte);
  constexpr unsigned pairs = any_of(TypeClass::pair);
  constexpr auto of_numbers = "integers, floating-point or complex numbers";
  constexpr auto of_ordered = "integers or floating-point numbers";
  constexpr auto of_truths = "C integers or logicals";
  constexpr auto of_bits = "integers or MPI_BYTE";
  constexpr auto of_pairs = "pairs of a value and its location";
  constexpr auto of_none = "another operator, for this one is of one-sided communication";
  // MPI's handles need not be constants, so this is no table in memory.
  const std::array rows{
      OperatorRow{MPI_SUM, ReduceOp::sum, "MPI_SUM", numbers, of_numbers},
      OperatorRow{MPI_PROD, ReduceOp::prod, "MPI_PROD", numbers, of_numbers},
      OperatorRow{MPI_MAX, ReduceOp::max, "MPI_MAX", ordered, of_ordered},
      OperatorRow{MPI_MIN, ReduceOp::min, "MPI_MIN", ordered, of_ordered},
      OperatorRow{MPI_LAND, ReduceOp::land, "MPI_LAND", truths, of_truths},
      OperatorRow{MPI_BAND, ReduceOp::band, "MPI_BAND", bits, of_bits},
      OperatorRow{MPI_LOR, ReduceOp::lor, "MPI_LOR", truths, of_truths},
      OperatorRow{MPI_BOR, ReduceOp::bor, "MPI_BOR", bits, of_bits},
      OperatorRow{MPI_LXOR, ReduceOp::lxor, "MPI_LXOR", truths, of_truths},
      OperatorRow{MPI_BXOR, ReduceOp::bxor, "MPI_BXOR", bits, of_bits},
      OperatorRow{MPI_MAXLOC, ReduceOp::maxloc, "MPI_MAXLOC", pairs, of_pairs},
      OperatorRow{MPI_MINLOC, ReduceOp::minloc, "MPI_MINLOC", pairs, of_pairs},
      OperatorRow{MPI_REPLACE, ReduceOp::none, "MPI_REPLACE", 0, of_none},
      OperatorRow{MPI_NO_OP, ReduceOp::none, "MPI_NO_OP", 0, of_none},
  };
  const auto* const row = std::ranges::find(rows, op, &OperatorRow::handle);
  return row == rows.end() ? std::nullopt : std::optional(*row);
}

// By size: 1, 2, 4 and 8 bytes.
using Integers = std::array<ReduceType, 4>;
constexpr Integers signed_integers{ReduceType::int8, ReduceType::int16, ReduceType::int32, ReduceType::int64};
// Also bytes and logicals.
constexpr Integers unsigned_integers{ReduceType::uint8, ReduceType::uint16, ReduceType::uint32, ReduceType::uint64};

std::optional<ReduceType> integer(const Integers& of, int bytes) {
  const bool known = bytes > 0 && bytes <= 8 && std::has_single_bit(static_cast<unsigned>(bytes));
  return known ? std::optional(of[static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(bytes)))])
               : std::nullopt;
}

// Returns `of_4` for numbers (or pairs of them) of 4 bytes each, `of_8` for numbers of 8.
std::optional<ReduceType> by_size(int bytes_each, std::optional<ReduceType> of_4, std::optional<ReduceType> of_8) {
  return bytes_each == 4 ? of_4 : bytes_each == 8 ? of_8 : std::nullopt;
}

struct KnownType {
  TypeClass type_class;
  std::optional<ReduceType> representation; // none: there is no arithmetic for it
};

// Some handles of the list may be MPI_DATATYPE_NULL, in a library without Fortran; `type` is not.
bool among(MPI_Datatype type, std::initializer_list<MPI_Datatype> list) {
  return std::ranges::find(list, type) != list.end();
}

std::optional<KnownType> known_pair(MPI_Datatype type, int bytes) {
  const auto pair = [](std::optional<ReduceType> representation) { return KnownType{TypeClass::pair, representation}; };
  const std::array<std::pair<MPI_Datatype, ReduceType>, 6> of_c{{{MPI_DOUBLE_INT, ReduceType::float64_int},
                                                                 {MPI_FLOAT_INT, ReduceType::float32_int},
                                                                 {MPI_2INT, ReduceType::int_int},
                                                                 {MPI_LONG_INT, ReduceType::long_int},
                                                                 {MPI_SHORT_INT, ReduceType::short_int},
                                                                 {MPI_LONG_DOUBLE_INT, ReduceType::long_float_int}}};
  if (const auto* found = std::ranges::find(of_c, type, &std::pair<MPI_Datatype, ReduceType>::first);
      found != of_c.end()) {
    return pair(found->second);
  }
  if (type == MPI_2INTEGER) {
    return pair(by_size(bytes / 2, ReduceType::int_int, std::nullopt));
  }
  if (among(type, {MPI_2REAL, MPI_2DOUBLE_PRECISION})) {
    return pair(by_size(bytes / 2, ReduceType::float32_float32, ReduceType::float64_float64));
  }
  return std::nullopt;
}

// The types of MPI_Type_create_f90_integer and the like, which have no names.
std::optional<KnownType> known_f90(MPI_Datatype type, int bytes) {
  switch (combiner_of(type)) {
  case MPI_COMBINER_F90_INTEGER:
    return KnownType{TypeClass::fortran_integer, integer(signed_integers, bytes)};
  case MPI_COMBINER_F90_REAL:
    return KnownType{TypeClass::floating, by_size(bytes, ReduceType::float32, ReduceType::float64)};
  case MPI_COMBINER_F90_COMPLEX:
    return KnownType{TypeClass::complex, by_size(bytes / 2, ReduceType::complex_float32, ReduceType::complex_float64)};
  default:
    return std::nullopt;
  }
}

// Nothing for datatypes that no predefined operator takes.
std::optional<KnownType> known_type(MPI_Datatype type) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  if (among(type, {MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8, MPI_REAL16})) {
    return KnownType{TypeClass::floating, by_size(bytes, ReduceType::float32, ReduceType::float64)};
  }
  if (type == MPI_LONG_DOUBLE) {
    return KnownType{TypeClass::floating, ReduceType::long_float};
  }
  if (among(type, {MPI_INT, MPI_LONG, MPI_SHORT, MPI_LONG_LONG, MPI_LONG_LONG_INT, MPI_SIGNED_CHAR, MPI_INT8_T,
                   MPI_INT16_T, MPI_INT32_T, MPI_INT64_T})) {
    return KnownType{TypeClass::c_integer, integer(signed_integers, bytes)};
  }
  if (among(type, {MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_SHORT, MPI_UNSIGNED_LONG_LONG, MPI_UNSIGNED_CHAR,
                   MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T})) {
    return KnownType{TypeClass::c_integer, integer(unsigned_integers, bytes)};
  }
  if (among(type, {MPI_AINT, MPI_COUNT, MPI_OFFSET})) {
    return KnownType{TypeClass::multi_language, integer(signed_integers, bytes)};
  }
  if (among(type, {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})) {
    return KnownType{TypeClass::fortran_integer, integer(signed_integers, bytes)};
  }
  if (among(type, {MPI_C_BOOL, MPI_CXX_BOOL, MPI_LOGICAL})) {
    return KnownType{TypeClass::logical, integer(unsigned_integers, bytes)};
  }
  if (among(type,
            {MPI_C_COMPLEX, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX,
             MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32})) {
    return KnownType{TypeClass::complex, by_size(bytes / 2, ReduceType::complex_float32, ReduceType::complex_float64)};
  }
  if (among(type, {MPI_C_LONG_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX})) {
    return KnownType{TypeClass::complex, ReduceType::complex_long_float};
  }
  if (type == MPI_BYTE) {
    return KnownType{TypeClass::byte, integer(unsigned_integers, bytes)};
  }
  const std::optional<KnownType> pair = known_pair(type, bytes);
  return pair ? pair : known_f90(type, bytes);
}

std::string name_of(MPI_Datatype type) {
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  PMPI_Type_get_name(type, name.data(), &length);
  return length == 0 ? "a datatype without a name" : name.data();
}

bool takes(const OperatorRow& row, const std::optional<KnownType>& type) {
  return type && (any_of(type->type_class) & row.takes) != 0;
}

OperationCode code_of(const OperatorRow& row, MPI_Datatype type) {
  const std::optional<KnownType> known = known_type(type);
  if (!takes(row, known)) {
    throw Error(Code::argument, "op is {}, which does not take {}, the datatype; expected {}", row.name, name_of(type),
                row.expected);
  }
  if (!known->representation) {
    throw Error(Code::unsupported,
                "datatype is {}, of a size that reductions do not compute with; expected numbers of at most 8 bytes, "
                "or long double",
                name_of(type));
  }
  return {row.op, *known->representation};
}

} // namespace

bool combines_elements(MPI_Op op, MPI_Datatype type) {
  const std::optional<OperatorRow> row = predefined(op);
  const std::optional<KnownType> known = type == MPI_DATATYPE_NULL ? std::nullopt : known_type(type);
  return row && takes(*row, known) && known->representation;
}

Operation::Operation(MPI_Op op, MPI_Datatype type) {
  if (op == MPI_OP_NULL) {
    throw Error(Code::argument, "op is MPI_OP_NULL; expected an operator");
  }
  if (type == MPI_DATATYPE_NULL) {
    throw Error(Code::argument, "datatype is MPI_DATATYPE_NULL; expected a committed datatype");
  }
  if (const std::optional<OperatorRow> row = predefined(op)) {
    code_ = code_of(*row, type);
    element_bytes_ = size_of(code_.type);
    return;
  }
  user_ = std::make_unique<UserOperator>(op, type);
  code_.op = ReduceOp::user;
  element_bytes_ = user_->element_bytes();
}

void Operation::to_cells(const std::byte* buffer, std::uint64_t count, std::byte* cells) const {
  user_->to_cells(buffer, count, cells);
}

void Operation::from_cells(const std::byte* cells, std::uint64_t count, std::byte* buffer) const {
  user_->from_cells(cells, count, buffer);
}

void Operation::combine(std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t bytes) const {
  if (user_) {
    user_->combine(target, left, right, bytes);
  } else {
    engine::combine(code_, target, left, right, bytes);
  }
}

} // namespace stoker::engine
