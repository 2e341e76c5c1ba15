// SPDX-License-Identifier: BSD-3-Clause
// The linker turns every call of a function of functions.def that the engine makes into one of __wrap_ and its name
// (--wrap): the library's own communication is never taken for the application's. That works for the engine only, which
// is compiled by itself: the linker leaves a call alone where the same unit defines the function, and which files of
// this folder form a unit is not theirs to say. They call real().MPI_*. `pmpi own names` looks for what was forgotten.
#include "api/pmpi/library.hpp"

#include <boost/preprocessor/repetition/enum.hpp>
#include <boost/preprocessor/repetition/enum_params.hpp>

#include <cstddef>
#include <tuple>

namespace {

template <class Function>
struct Parameters;
template <class... All>
struct Parameters<int (*)(All...)> {
  template <std::size_t I>
  using Of = std::tuple_element_t<I, std::tuple<All...>>;
  static constexpr std::size_t count = sizeof...(All);
};

} // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): names
#define STOKER_PMPI_PARAMETER(repetition, i, name) Parameters<decltype(&name)>::Of<i> a##i
#define STOKER_PMPI_FUNCTION(name, arity)                                                                              \
  static_assert(Parameters<decltype(&name)>::count == (arity));                                                        \
  extern "C" int __wrap_P##name(BOOST_PP_ENUM(arity, STOKER_PMPI_PARAMETER, name));                                    \
  extern "C" int __wrap_P##name(BOOST_PP_ENUM(arity, STOKER_PMPI_PARAMETER, name)) {                                   \
    const auto function = stoker::pmpi::real().name;                                                                   \
    return function != nullptr ? function(BOOST_PP_ENUM_PARAMS(arity, a)) : MPI_ERR_UNSUPPORTED_OPERATION;             \
  }
#define STOKER_PMPI_VARIADIC(name)
#include "api/pmpi/functions.def"
// NOLINTEND(bugprone-macro-parentheses)
