// SPDX-License-Identifier: BSD-3-Clause
// Every predefined operator on every predefined datatype, against MPI_Reduce_local or a refusal; operators of the
// application, on all kinds of datatypes.
#include "engine/base/error.hpp"
#include "engine/data/operation.hpp"
#include "tests/api/mpi_main.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace api_tests {
namespace {

using stoker::engine::Code;
using stoker::engine::Error;
using stoker::engine::Operation;

using Bytes = std::vector<std::byte>;

// The parts of an element, as far as filling and comparing it needs them.
enum class Kind { signed_integer, unsigned_integer, truth, single, twice, extended };

// A long double's; the rest of x87's is padding.
constexpr std::size_t extended_bytes = std::numeric_limits<long double>::digits == 64 ? 10 : sizeof(long double);

struct Member {
  Kind kind;
  std::size_t offset;
  std::size_t bytes; // that have a meaning
};

struct TypeCase {
  const char* name;
  MPI_Datatype type;
  std::string ops; // that MPI allows, by the initials below
  std::vector<Member> members;
  std::size_t extent;
};

struct OpCase {
  const char* name;
  MPI_Op op;
  char initial;
};

std::vector<OpCase> ops() {
  return {{"MPI_SUM", MPI_SUM, '+'},         {"MPI_PROD", MPI_PROD, '*'},     {"MPI_MAX", MPI_MAX, '>'},
          {"MPI_MIN", MPI_MIN, '<'},         {"MPI_LAND", MPI_LAND, 'A'},     {"MPI_BAND", MPI_BAND, '&'},
          {"MPI_LOR", MPI_LOR, 'O'},         {"MPI_BOR", MPI_BOR, '|'},       {"MPI_LXOR", MPI_LXOR, 'X'},
          {"MPI_BXOR", MPI_BXOR, '^'},       {"MPI_MAXLOC", MPI_MAXLOC, 'H'}, {"MPI_MINLOC", MPI_MINLOC, 'L'},
          {"MPI_REPLACE", MPI_REPLACE, 'r'}, {"MPI_NO_OP", MPI_NO_OP, 'n'}};
}

constexpr auto on_c_integers = "+*><A&O|X^";
constexpr auto on_other_integers = "+*><&|^";
constexpr auto on_reals = "+*><";
constexpr auto on_truths = "AOX";
constexpr auto on_complex = "+*";
constexpr auto on_bytes = "&|^";
constexpr auto on_pairs = "HL";

std::size_t size_of(MPI_Datatype type) {
  int size = 0;
  MPI_Type_size(type, &size);
  return static_cast<std::size_t>(size);
}

Kind real_of(std::size_t bytes) { return bytes == 4 ? Kind::single : Kind::twice; }

class ReducedTypes {
public:
  void one(const char* name, MPI_Datatype type, const char* ops, Kind kind) {
    if (type != MPI_DATATYPE_NULL) {
      add(name, type, ops, {{kind, 0, kind == Kind::extended ? extended_bytes : size_of(type)}}, size_of(type));
    }
  }
  void real(const char* name, MPI_Datatype type) { one(name, type, on_reals, real_of(size_of(type))); }
  void complex(const char* name, MPI_Datatype type) {
    if (type != MPI_DATATYPE_NULL) {
      const std::size_t half = size_of(type) / 2;
      add(name, type, on_complex, {{real_of(half), 0, half}, {real_of(half), half, half}}, 2 * half);
    }
  }
  void complex_extended(const char* name, MPI_Datatype type) {
    if (type != MPI_DATATYPE_NULL) {
      const std::size_t half = sizeof(long double);
      add(name, type, on_complex, {{Kind::extended, 0, extended_bytes}, {Kind::extended, half, extended_bytes}},
          2 * half);
    }
  }
  template <class Pair>
  void pair(const char* name, MPI_Datatype type, Kind value, Kind location) {
    constexpr std::size_t value_bytes =
        std::is_same_v<decltype(Pair::first), long double> ? extended_bytes : sizeof(Pair::first);
    add(name, type, on_pairs, {{value, 0, value_bytes}, {location, offsetof(Pair, second), sizeof(Pair::second)}},
        sizeof(Pair));
  }
  [[nodiscard]] const std::vector<TypeCase>& all() const { return all_; }

private:
  void add(const char* name, MPI_Datatype type, const char* ops, std::vector<Member> members, std::size_t extent) {
    all_.push_back({name, type, ops, std::move(members), extent});
  }
  std::vector<TypeCase> all_;
};

template <class First, class Second>
struct PairOf {
  First first;
  Second second;
};

#define NAMED(type) #type, type

std::vector<TypeCase> types() {
  ReducedTypes t;
  const auto signed_c = [&](const char* name, MPI_Datatype type) {
    t.one(name, type, on_c_integers, Kind::signed_integer);
  };
  const auto unsigned_c = [&](const char* name, MPI_Datatype type) {
    t.one(name, type, on_c_integers, Kind::unsigned_integer);
  };
  const auto other_integer = [&](const char* name, MPI_Datatype type) {
    t.one(name, type, on_other_integers, Kind::signed_integer);
  };
  signed_c(NAMED(MPI_INT));
  signed_c(NAMED(MPI_LONG));
  signed_c(NAMED(MPI_SHORT));
  signed_c(NAMED(MPI_LONG_LONG));
  signed_c(NAMED(MPI_LONG_LONG_INT));
  signed_c(NAMED(MPI_SIGNED_CHAR));
  signed_c(NAMED(MPI_INT8_T));
  signed_c(NAMED(MPI_INT16_T));
  signed_c(NAMED(MPI_INT32_T));
  signed_c(NAMED(MPI_INT64_T));
  unsigned_c(NAMED(MPI_UNSIGNED));
  unsigned_c(NAMED(MPI_UNSIGNED_LONG));
  unsigned_c(NAMED(MPI_UNSIGNED_SHORT));
  unsigned_c(NAMED(MPI_UNSIGNED_LONG_LONG));
  unsigned_c(NAMED(MPI_UNSIGNED_CHAR));
  unsigned_c(NAMED(MPI_UINT8_T));
  unsigned_c(NAMED(MPI_UINT16_T));
  unsigned_c(NAMED(MPI_UINT32_T));
  unsigned_c(NAMED(MPI_UINT64_T));
  other_integer(NAMED(MPI_AINT));
  other_integer(NAMED(MPI_COUNT));
  other_integer(NAMED(MPI_OFFSET));
  other_integer(NAMED(MPI_INTEGER));
  other_integer(NAMED(MPI_INTEGER1));
  other_integer(NAMED(MPI_INTEGER2));
  other_integer(NAMED(MPI_INTEGER4));
  other_integer(NAMED(MPI_INTEGER8));
  t.one(NAMED(MPI_BYTE), on_bytes, Kind::unsigned_integer);
  t.one(NAMED(MPI_C_BOOL), on_truths, Kind::truth);
  t.one(NAMED(MPI_CXX_BOOL), on_truths, Kind::truth);
  t.one(NAMED(MPI_LOGICAL), on_truths, Kind::truth);
  t.real(NAMED(MPI_FLOAT));
  t.real(NAMED(MPI_DOUBLE));
  t.real(NAMED(MPI_REAL));
  t.real(NAMED(MPI_DOUBLE_PRECISION));
  t.real(NAMED(MPI_REAL4));
  t.real(NAMED(MPI_REAL8));
  t.one(NAMED(MPI_LONG_DOUBLE), on_reals, Kind::extended);
  t.complex(NAMED(MPI_C_COMPLEX));
  t.complex(NAMED(MPI_C_FLOAT_COMPLEX));
  t.complex(NAMED(MPI_C_DOUBLE_COMPLEX));
  t.complex(NAMED(MPI_CXX_FLOAT_COMPLEX));
  t.complex(NAMED(MPI_CXX_DOUBLE_COMPLEX));
  t.complex(NAMED(MPI_COMPLEX));
  t.complex(NAMED(MPI_DOUBLE_COMPLEX));
  t.complex(NAMED(MPI_COMPLEX8));
  t.complex(NAMED(MPI_COMPLEX16));
  t.complex_extended(NAMED(MPI_C_LONG_DOUBLE_COMPLEX));
  t.complex_extended(NAMED(MPI_CXX_LONG_DOUBLE_COMPLEX));
  t.pair<PairOf<float, int>>(NAMED(MPI_FLOAT_INT), Kind::single, Kind::signed_integer);
  t.pair<PairOf<double, int>>(NAMED(MPI_DOUBLE_INT), Kind::twice, Kind::signed_integer);
  t.pair<PairOf<long, int>>(NAMED(MPI_LONG_INT), Kind::signed_integer, Kind::signed_integer);
  t.pair<PairOf<int, int>>(NAMED(MPI_2INT), Kind::signed_integer, Kind::signed_integer);
  t.pair<PairOf<short, int>>(NAMED(MPI_SHORT_INT), Kind::signed_integer, Kind::signed_integer);
  t.pair<PairOf<long double, int>>(NAMED(MPI_LONG_DOUBLE_INT), Kind::extended, Kind::signed_integer);
  t.pair<PairOf<int, int>>(NAMED(MPI_2INTEGER), Kind::signed_integer, Kind::signed_integer);
  t.pair<PairOf<float, float>>(NAMED(MPI_2REAL), Kind::single, Kind::single);
  t.pair<PairOf<double, double>>(NAMED(MPI_2DOUBLE_PRECISION), Kind::twice, Kind::twice);
  // No operator takes these.
  t.one(NAMED(MPI_CHAR), "", Kind::signed_integer);
  t.one(NAMED(MPI_WCHAR), "", Kind::signed_integer);
  t.one(NAMED(MPI_CHARACTER), "", Kind::signed_integer);
  t.one(NAMED(MPI_PACKED), "", Kind::unsigned_integer);
  return t.all();
}

#undef NAMED

template <class T>
void put(std::byte* place, T value) {
  std::memcpy(place, &value, sizeof value);
}

// Values of which some are equal, some are zero, and integers are of any bits.
void fill(std::byte* element, const TypeCase& c, std::mt19937_64& random) {
  for (const Member& m : c.members) {
    std::byte* place = element + m.offset;
    const auto small = static_cast<int>(random() % 7) - 3;
    const bool fraction = random() % 2 == 0;
    const std::uint64_t bits = random();
    switch (m.kind) {
    case Kind::signed_integer:
    case Kind::unsigned_integer:
      std::memcpy(place, &bits, m.bytes);
      if (fraction) {
        const std::int64_t number = small;
        std::memcpy(place, &number, m.bytes);
      }
      break;
    case Kind::truth: { // as C and gfortran have it
      const std::uint64_t truth = bits % 2;
      std::memcpy(place, &truth, m.bytes);
      break;
    }
    case Kind::single:
      put(place, static_cast<float>(small) + (fraction ? static_cast<float>(bits % 1000) / 7 : 0));
      break;
    case Kind::twice:
      put(place, static_cast<double>(small) + (fraction ? static_cast<double>(bits % 1000) / 7 : 0));
      break;
    case Kind::extended: {
      const auto value = static_cast<long double>(small) + (fraction ? static_cast<long double>(bits % 1000) / 7 : 0);
      std::memcpy(place, &value, m.bytes);
      break;
    }
    }
  }
}

Bytes filled(const TypeCase& c, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes result(count * c.extent, std::byte{0xee});
  for (std::size_t i = 0; i < count; ++i) {
    fill(result.data() + (i * c.extent), c, random);
  }
  return result;
}

// The first element that differs in a member; nothing where all agree.
std::string difference(const TypeCase& c, const std::byte* got, const Bytes& expected) {
  for (std::size_t i = 0; i < expected.size() / c.extent; ++i) {
    for (const Member& m : c.members) {
      const std::size_t at = (i * c.extent) + m.offset;
      if (std::memcmp(got + at, expected.data() + at, m.bytes) != 0) {
        return "element " + std::to_string(i) + ", byte " + std::to_string(m.offset);
      }
    }
  }
  return "";
}

std::int64_t signed_at(const std::byte* place, std::size_t bytes) {
  std::int64_t value = 0;
  std::memcpy(&value, place, bytes); // little-endian
  const std::size_t unused = 8 * (sizeof value - bytes);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused;
}

bool is_larger(Kind kind, std::int64_t left, std::int64_t right) {
  return kind == Kind::unsigned_integer ? static_cast<std::uint64_t>(left) > static_cast<std::uint64_t>(right)
                                        : left > right;
}

// Both libraries compare some integers with the wrong sign, and Open MPI's sums of narrow ones stop at the largest
// value instead of wrapping around, on processors with vector instructions for that.
bool library_errs(const TypeCase& c, MPI_Op op) {
  return c.members.front().kind <= Kind::unsigned_integer && (op == MPI_MAX || op == MPI_MIN || op == MPI_SUM);
}

void combine_integers(const TypeCase& c, MPI_Op op, const std::byte* left, std::byte* right) {
  const std::int64_t a = signed_at(left, c.extent);
  const std::int64_t b = signed_at(right, c.extent);
  const auto sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  const bool left_taken = is_larger(c.members.front().kind, a, b) == (op == MPI_MAX);
  const std::int64_t result = op == MPI_SUM ? sum : left_taken ? a : b;
  std::memcpy(right, &result, c.extent);
}

// Libraries multiply complex numbers with instructions that multiply and add, where the processor has them: these round
// once for both.
bool library_rounds_less(const TypeCase& c, MPI_Op op) { return c.ops == on_complex && op == MPI_PROD; }

template <class Real>
void multiply(const std::byte* left, std::byte* right) {
  std::array<Real, 2> a;
  std::array<Real, 2> b;
  std::memcpy(a.data(), left, sizeof a);
  std::memcpy(b.data(), right, sizeof b);
  const std::array<Real, 2> products{a[0] * b[0], a[1] * b[1]};
  const std::array<Real, 2> crossed{a[0] * b[1], a[1] * b[0]};
  const std::array<Real, 2> result{products[0] - products[1], crossed[0] + crossed[1]};
  std::memcpy(right, result.data(), sizeof result);
}

void multiply(const TypeCase& c, const std::byte* left, std::byte* right) {
  switch (c.members.front().kind) {
  case Kind::single:
    return multiply<float>(left, right);
  case Kind::twice:
    return multiply<double>(left, right);
  default:
    return multiply<long double>(left, right);
  }
}

Bytes reference(const TypeCase& c, MPI_Op op, const Bytes& left, const Bytes& right) {
  Bytes result = right;
  if (library_errs(c, op) || library_rounds_less(c, op)) {
    for (std::size_t at = 0; at < left.size(); at += c.extent) {
      library_errs(c, op) ? combine_integers(c, op, &left[at], &result[at]) : multiply(c, &left[at], &result[at]);
    }
  } else if (!left.empty()) {
    const auto count = static_cast<int>(left.size() / c.extent);
    EXPECT_EQ(MPI_Reduce_local(left.data(), result.data(), count, c.type, op), MPI_SUCCESS);
  }
  return result;
}

void compare(const TypeCase& c, const OpCase& o, std::size_t count, std::size_t misalignment) {
  const Operation operation(o.op, c.type);
  ASSERT_FALSE(operation.user_defined());
  ASSERT_FALSE(operation.cells());
  ASSERT_TRUE(operation.commutative());
  ASSERT_EQ(operation.element_bytes(), c.extent);
  const Bytes left = filled(c, count, 1 + count);
  const Bytes right = filled(c, count, 1000 + count);
  const Bytes expected = reference(c, o.op, left, right);
  const std::uint64_t bytes = left.size();
  Bytes place_left(bytes + misalignment + 1);
  Bytes place_right(bytes + misalignment + 1);
  Bytes place_target(bytes + misalignment + 1, std::byte{0x5a});
  std::byte* const l = place_left.data() + misalignment;
  std::byte* const r = place_right.data() + misalignment;
  std::byte* const t = place_target.data() + misalignment;
  const auto restore = [&] {
    std::ranges::copy(left, l);
    std::ranges::copy(right, r);
  };
  restore();
  operation.combine(t, l, r, bytes);
  EXPECT_EQ(difference(c, t, expected), "");
  EXPECT_EQ(t[bytes], std::byte{0x5a}) << "written behind the target";
  EXPECT_TRUE(std::equal(left.begin(), left.end(), l) && std::equal(right.begin(), right.end(), r))
      << "an operand was changed";
  operation.combine(l, l, r, bytes);
  EXPECT_EQ(difference(c, l, expected), "") << "in the left operand's place";
  restore();
  operation.combine(r, l, r, bytes);
  EXPECT_EQ(difference(c, r, expected), "") << "in the right operand's place";
}

// Runs `work` and returns the error that it must throw.
template <class Work>
std::optional<Error> error_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

void expect_refused(MPI_Op op, MPI_Datatype type, Code code, const std::vector<std::string>& words) {
  const std::optional<Error> error = error_of([&] { const Operation operation(op, type); });
  ASSERT_TRUE(error) << "expected a refusal that says " << words.front();
  EXPECT_EQ(error->code(), code) << error->what();
  for (const std::string& word : words) {
    EXPECT_NE(std::string(error->what()).find(word), std::string::npos) << error->what() << "; expected " << word;
  }
}

TEST(Operations, PredefinedOnesAgreeWithMpiOrAreRefused) {
  int allowed = 0;
  for (const TypeCase& c : types()) {
    std::array<char, MPI_MAX_OBJECT_NAME> name{};
    int length = 0;
    MPI_Type_get_name(c.type, name.data(), &length);
    for (const OpCase& o : ops()) {
      SCOPED_TRACE(std::string(o.name) + " on " + c.name);
      if (c.ops.find(o.initial) == std::string::npos) {
        expect_refused(o.op, c.type, Code::argument, {o.name, name.data(), "op is ", "expected "});
        continue;
      }
      ++allowed;
      for (const std::size_t count : {0, 1, 3, 16, 101, 1000}) {
        compare(c, o, count, 0);
        compare(c, o, count, 1);
      }
    }
  }
  EXPECT_GE(allowed, 300);
}

TEST(Operations, TypesOfFortransKinds) {
  MPI_Datatype integer = MPI_DATATYPE_NULL;
  MPI_Datatype real = MPI_DATATYPE_NULL;
  MPI_Datatype complex = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_integer(9, &integer);
  MPI_Type_create_f90_real(15, 307, &real);
  MPI_Type_create_f90_complex(6, 37, &complex);
  using stoker::engine::ReduceType;
  EXPECT_EQ(Operation(MPI_BXOR, integer).code().type, ReduceType::int32);
  EXPECT_EQ(Operation(MPI_MAX, real).code().type, ReduceType::float64);
  EXPECT_EQ(Operation(MPI_PROD, complex).code().type, ReduceType::complex_float32);
  expect_refused(MPI_LAND, integer, Code::argument, {"MPI_LAND"});
  expect_refused(MPI_MIN, complex, Code::argument, {"MPI_MIN"});
}

TEST(Operations, SixteenBytesAreNotSupported) {
  if (MPI_REAL16 == MPI_DATATYPE_NULL || MPI_COMPLEX32 == MPI_DATATYPE_NULL) {
    GTEST_SKIP() << "this MPI library has no MPI_REAL16";
  }
  expect_refused(MPI_SUM, MPI_REAL16, Code::unsupported, {"MPI_REAL16", "expected"});
  expect_refused(MPI_SUM, MPI_COMPLEX32, Code::unsupported, {"MPI_COMPLEX32", "expected"});
}

TEST(Operations, NullHandles) {
  expect_refused(MPI_OP_NULL, MPI_INT, Code::argument, {"op is MPI_OP_NULL", "expected"});
  expect_refused(MPI_SUM, MPI_DATATYPE_NULL, Code::argument, {"datatype is MPI_DATATYPE_NULL", "expected"});
}

TEST(Operations, NoneCombinesNothing) {
  const Operation none;
  EXPECT_EQ(none.code().op, stoker::engine::ReduceOp::none);
  EXPECT_EQ(none.element_bytes(), 1U);
  EXPECT_FALSE(none.user_defined());
  EXPECT_FALSE(none.cells());
  EXPECT_TRUE(none.commutative());
}

// Datatypes and operators for one test.
class UserOperations : public ::testing::Test {
protected:
  ~UserOperations() override {
    for (MPI_Datatype& type : types_) {
      MPI_Type_free(&type);
    }
    for (MPI_Op& op : ops_) {
      MPI_Op_free(&op);
    }
  }
  MPI_Datatype keep(MPI_Datatype type) {
    MPI_Type_commit(&type);
    types_.push_back(type);
    return type;
  }
  MPI_Datatype structure(const std::vector<int>& lengths, const std::vector<MPI_Aint>& offsets,
                         const std::vector<MPI_Datatype>& types) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(static_cast<int>(lengths.size()), lengths.data(), offsets.data(), types.data(), &type);
    return keep(type);
  }
  MPI_Datatype contiguous(int count, MPI_Datatype of) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(count, of, &type);
    return keep(type);
  }
  MPI_Datatype resized(MPI_Datatype of, MPI_Aint lower, MPI_Aint extent) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(of, lower, extent, &type);
    return keep(type);
  }
  MPI_Op op(MPI_User_function* function, bool commutes) {
    MPI_Op created = MPI_OP_NULL;
    MPI_Op_create(function, commutes ? 1 : 0, &created);
    ops_.push_back(created);
    return created;
  }

private:
  std::vector<MPI_Datatype> types_;
  std::vector<MPI_Op> ops_;
};

// NOLINTBEGIN(readability-non-const-parameter): MPI_User_function says so.

// inout = 10 * in + inout: neither commutative nor associative, so that each operand is where it should be.
void tens_of_int(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  for (int i = 0; i < *count; ++i) {
    static_cast<int*>(inout)[i] += 10 * static_cast<int*>(in)[i];
  }
}

void sum_of_int(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  for (int i = 0; i < *count; ++i) {
    static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
  }
}

void nothing(void* /*in*/, void* /*inout*/, int* /*count*/, MPI_Datatype* /*type*/) {}

std::byte* bytes_of(std::vector<int>& values) { return reinterpret_cast<std::byte*>(values.data()); }

// All places that the target may have.
void expect_tens(const Operation& operation, std::size_t ints, int factor) {
  std::vector<int> left(ints);
  std::iota(left.begin(), left.end(), 1);
  std::vector<int> right(ints);
  std::iota(right.begin(), right.end(), 500);
  std::vector<int> expected(ints);
  std::vector<int> with_itself(ints);
  for (std::size_t i = 0; i < ints; ++i) {
    expected[i] = (factor * left[i]) + right[i];
    with_itself[i] = (factor * left[i]) + left[i];
  }
  const std::uint64_t bytes = ints * sizeof(int);
  std::vector<int> target(ints, -1);
  operation.combine(bytes_of(target), bytes_of(left), bytes_of(right), bytes);
  EXPECT_EQ(target, expected);
  target = left;
  operation.combine(bytes_of(target), bytes_of(target), bytes_of(right), bytes);
  EXPECT_EQ(target, expected);
  target = right;
  operation.combine(bytes_of(target), bytes_of(left), bytes_of(target), bytes);
  EXPECT_EQ(target, expected);
  target = left;
  operation.combine(bytes_of(target), bytes_of(target), bytes_of(target), bytes);
  EXPECT_EQ(target, with_itself);
}

TEST_F(UserOperations, OperandsAreWhereTheyShouldBe) {
  const Operation tens(op(tens_of_int, false), MPI_INT);
  EXPECT_TRUE(tens.user_defined());
  EXPECT_FALSE(tens.commutative());
  EXPECT_FALSE(tens.cells());
  EXPECT_EQ(tens.element_bytes(), sizeof(int));
  EXPECT_EQ(tens.code().op, stoker::engine::ReduceOp::user);
  const Operation sum(op(sum_of_int, true), MPI_INT);
  EXPECT_TRUE(sum.commutative());
  for (const std::size_t ints : {0U, 1U, 37U, 4096U, 100001U}) {
    expect_tens(tens, ints, 10);
    expect_tens(sum, ints, 1);
  }
}

MPI_Datatype seen_type = MPI_DATATYPE_NULL;
int most_seen = 0;

// In units of the datatype: two ints.
void tens_of_two(void* in, void* inout, int* count, MPI_Datatype* type) {
  seen_type = *type;
  most_seen = std::max(most_seen, *count);
  int ints = *count * 2;
  tens_of_int(in, inout, &ints, nullptr);
}

TEST_F(UserOperations, ContiguousDerivedTypesAreCombinedWhereTheyLie) {
  MPI_Datatype freed = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &freed);
  MPI_Type_commit(&freed);
  const Operation operation(op(tens_of_two, false), freed);
  MPI_Type_free(&freed); // as the application may
  EXPECT_FALSE(operation.cells());
  EXPECT_EQ(operation.element_bytes(), 2 * sizeof(int));
  most_seen = 0;
  expect_tens(operation, 30000, 10);
  EXPECT_GT(most_seen, 1000);
  int size = 0;
  MPI_Type_size(seen_type, &size);
  EXPECT_EQ(size, 8);
}

TEST_F(UserOperations, PairsAreCombinedWhereTheyLie) {
  const Operation operation(op(sum_of_int, true), MPI_DOUBLE_INT);
  EXPECT_FALSE(operation.cells());
  EXPECT_EQ(operation.element_bytes(), sizeof(PairOf<double, int>));
}

TEST_F(UserOperations, OperationsMove) {
  Operation first(op(tens_of_two, false), contiguous(2, MPI_INT));
  Operation second(std::move(first));
  first = Operation(MPI_SUM, MPI_INT);
  EXPECT_FALSE(first.user_defined());
  expect_tens(second, 6, 10);
}

TEST_F(UserOperations, PredefinedOnesRefuseDerivedTypes) {
  MPI_Datatype duplicate = MPI_DATATYPE_NULL;
  MPI_Type_dup(MPI_INT, &duplicate);
  expect_refused(MPI_SUM, keep(duplicate), Code::argument, {"MPI_SUM", "expected integers"});
  expect_refused(MPI_SUM, contiguous(2, MPI_INT), Code::argument, {"MPI_SUM", "without a name"});
  MPI_Datatype named = contiguous(3, MPI_INT);
  MPI_Type_set_name(named, "three ints");
  expect_refused(MPI_MAX, named, Code::argument, {"MPI_MAX", "three ints"});
}

// An int at +4 and a double at +8, as struct {int unused; int number; double value;} has them; and what may surround
// them.
struct Gapped {
  int before;
  int number;
  double value;
};

int misaligned = 0;

void tens_of_gapped(void* in, void* inout, int* count, MPI_Datatype* type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(*type, &lower, &extent);
  for (int i = 0; i < *count; ++i) {
    const auto* from = reinterpret_cast<const Gapped*>(static_cast<std::byte*>(in) + (i * extent));
    auto* to = reinterpret_cast<Gapped*>(static_cast<std::byte*>(inout) + (i * extent));
    misaligned += reinterpret_cast<std::uintptr_t>(from) % alignof(Gapped) == 0 ? 0 : 1;
    misaligned += reinterpret_cast<std::uintptr_t>(to) % alignof(Gapped) == 0 ? 0 : 1;
    to->number += 10 * from->number;
    to->value += 10 * from->value;
  }
}

// Elements of `type`, whose numbers and values are Gapped's at the addresses that `extent` gives; the rest of memory
// stays.
void expect_cells(MPI_Datatype type, MPI_Op op, std::int64_t extent, std::int64_t shift = 0) {
  const Operation operation(op, type);
  ASSERT_TRUE(operation.cells());
  constexpr std::size_t count = 1500;
  const std::uint64_t cell = operation.element_bytes();
  const std::size_t room = (count * static_cast<std::size_t>(extent)) + 2 * sizeof(Gapped) + 128;
  std::vector<double> left_memory(room / 8);
  std::vector<double> right_memory(room / 8);
  std::vector<double> result_memory(room / 8);
  const auto in = [&](std::vector<double>& memory) { return reinterpret_cast<std::byte*>(memory.data()) + 64; };
  const auto element = [&](std::vector<double>& memory, std::size_t i) {
    return reinterpret_cast<Gapped*>(in(memory) + shift + (static_cast<std::int64_t>(i) * extent));
  };
  std::memset(result_memory.data(), 0x77, room / 8 * 8);
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<int>(i);
    *element(left_memory, i) = {-1, number, 0.5 * number};
    *element(right_memory, i) = {-1, 3 * number, 0.25 * number};
  }
  std::vector<double> expected_memory = result_memory;
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<int>(i);
    element(expected_memory, i)->number = (10 * number) + (3 * number);
    element(expected_memory, i)->value = (5.0 * number) + (0.25 * number);
  }
  std::vector<std::byte> left(count * cell);
  std::vector<std::byte> right(count * cell);
  std::vector<std::byte> result(count * cell);
  operation.to_cells(in(left_memory), count, left.data());
  operation.to_cells(in(right_memory), count, right.data());
  misaligned = 0;
  operation.combine(result.data(), left.data(), right.data(), result.size());
  operation.from_cells(result.data(), count, in(result_memory));
  EXPECT_EQ(std::memcmp(result_memory.data(), expected_memory.data(), room / 8 * 8), 0)
      << "a wrong result, or a gap of the application's memory was written";
  EXPECT_EQ(misaligned, 0) << "operands that are less aligned than in the application's memory";
  operation.combine(left.data(), left.data(), right.data(), left.size());
  operation.from_cells(left.data(), count, in(result_memory));
  EXPECT_EQ(std::memcmp(result_memory.data(), expected_memory.data(), room / 8 * 8), 0)
      << "in the left operand's place";
}

class Cells : public UserOperations {
protected:
  MPI_Datatype gapped() { return structure({1, 1}, {4, 8}, {MPI_INT, MPI_DOUBLE}); }
};

// gapped()'s own lower bound is 4 and its extent 12: its doubles are not aligned, as x86 allows and C does not.
TEST_F(Cells, GapBeforeTheData) { expect_cells(resized(gapped(), 0, 16), op(tens_of_gapped, false), 16); }

TEST_F(Cells, GapsBetweenElements) { expect_cells(resized(gapped(), 0, 48), op(tens_of_gapped, false), 48); }

TEST_F(Cells, LowerBoundOfItsOwn) { expect_cells(resized(gapped(), 4, 16), op(tens_of_gapped, false), 16); }

TEST_F(Cells, SecondMemberFirst) {
  expect_cells(resized(structure({1, 1}, {8, 4}, {MPI_DOUBLE, MPI_INT}), 0, 16), op(tens_of_gapped, false), 16);
}

void tens_of_shifted(void* in, void* inout, int* count, MPI_Datatype* type) {
  tens_of_gapped(static_cast<std::byte*>(in) - 16, static_cast<std::byte*>(inout) - 16, count, type);
}

void tens_of_far(void* in, void* inout, int* count, MPI_Datatype* type) {
  tens_of_gapped(static_cast<std::byte*>(in) + 48, static_cast<std::byte*>(inout) + 48, count, type);
}

TEST_F(Cells, DataBeforeTheAddress) {
  expect_cells(resized(structure({1, 1}, {-12, -8}, {MPI_INT, MPI_DOUBLE}), -16, 16), op(tens_of_shifted, false), 16,
               -16);
}

TEST_F(Cells, DataBehindTheExtent) {
  expect_cells(resized(structure({1, 1}, {52, 56}, {MPI_INT, MPI_DOUBLE}), 0, 16), op(tens_of_far, false), 16, 48);
}

// Elements that are interleaved: the columns of a matrix of two rows of ints, each as long as there are columns.
void tens_of_column(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  ASSERT_EQ(*count, 1);
  for (const std::size_t row : {0U, 7U}) {
    static_cast<int*>(inout)[row] += 10 * static_cast<int*>(in)[row];
  }
}

TEST_F(Cells, ElementsThatAreInterleaved) {
  constexpr std::size_t columns = 7;
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, columns, MPI_INT, &column);
  const Operation operation(op(tens_of_column, false), resized(keep(column), 0, sizeof(int)));
  ASSERT_TRUE(operation.cells());
  EXPECT_EQ(operation.element_bytes() % 16, 0U);
  std::vector<int> left(2 * columns);
  std::vector<int> right(2 * columns);
  std::vector<int> expected(2 * columns);
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i] = static_cast<int>(i) + 1;
    right[i] = static_cast<int>(i) + 100;
    expected[i] = (10 * left[i]) + right[i];
  }
  std::vector<std::byte> left_cells(columns * operation.element_bytes());
  std::vector<std::byte> right_cells(left_cells.size());
  operation.to_cells(bytes_of(left), columns, left_cells.data());
  operation.to_cells(bytes_of(right), columns, right_cells.data());
  operation.combine(right_cells.data(), left_cells.data(), right_cells.data(), right_cells.size());
  std::vector<int> result(2 * columns);
  operation.from_cells(right_cells.data(), columns, bytes_of(result));
  EXPECT_EQ(result, expected);
}

// Two ints in the other order: no gaps, and yet not as a message has them.
TEST_F(Cells, ReorderedWithoutGaps) {
  const Operation operation(op(tens_of_two, false), structure({1, 1}, {4, 0}, {MPI_INT, MPI_INT}));
  ASSERT_TRUE(operation.cells());
  EXPECT_EQ(operation.element_bytes(), 8U);
  std::vector<int> left{1, 2, 3, 4};
  std::vector<std::byte> cells(16);
  operation.to_cells(bytes_of(left), 2, cells.data());
  operation.combine(cells.data(), cells.data(), cells.data(), cells.size());
  std::vector<int> result(4);
  operation.from_cells(cells.data(), 2, bytes_of(result));
  EXPECT_EQ(result, (std::vector<int>{11, 22, 33, 44}));
}

TEST_F(Cells, ElementsWithoutData) {
  const Operation operation(op(nothing, true), contiguous(0, MPI_INT));
  ASSERT_TRUE(operation.cells());
  EXPECT_EQ(operation.element_bytes(), 1U);
  std::byte nothing{7};
  std::array<std::byte, 3> cells{};
  operation.to_cells(&nothing, cells.size(), cells.data());
  operation.combine(cells.data(), cells.data(), cells.data(), cells.size());
  operation.from_cells(cells.data(), cells.size(), &nothing);
  EXPECT_EQ(nothing, std::byte{7});
}

TEST_F(Cells, NegativeExtentsAreNotSupported) {
  expect_refused(op(sum_of_int, true), resized(MPI_INT, 0, -8), Code::unsupported, {"datatype", "-8", "expected"});
}

// NOLINTEND(readability-non-const-parameter)

} // namespace
} // namespace api_tests
