// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of the C interface: checks of arguments, and the one place where exceptions become codes and a
// message per thread.
#pragma once

#include "engine/base/error.hpp"
#include <stoker/stoker.h>

#include <exception>
#include <memory>
#include <new>
#include <string>

namespace stoker::engine {
class Engine;
class Request;
} // namespace stoker::engine

namespace stoker::api {

// Keeps the message for this thread; returns the code. The rank is put in front where the message does not begin with
// one.
int fail(engine::Code code, const std::string& message);

// The one place where exceptions end.
template <class Call>
int guarded(Call&& call) {
  try {
    call();
    return STOKER_SUCCESS;
  } catch (const engine::Error& error) {
    return fail(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(engine::Code::resource, "out of memory");
  } catch (const std::exception& error) {
    return fail(engine::Code::argument, error.what());
  }
}

// All throw engine::Error.
inline void check_pointer(const void* pointer, const char* name) {
  if (pointer == nullptr) {
    throw engine::Error(engine::Code::argument, "{} is null", name);
  }
}
// A struct says its size, which must not be less than that of the first release.
template <class Struct>
void check_struct(const Struct* out, std::size_t least, const char* name) {
  check_pointer(out, name);
  if (out->size < least) {
    throw engine::Error(engine::Code::argument, "{}->size is {}; expected at least {}", name, out->size, least);
  }
}
// A list of `count` entries.
inline void check_list(int count, const void* list, const char* name) {
  if (count < 0) {
    throw engine::Error(engine::Code::argument, "count is {}; expected 0 or more", count);
  }
  if (count > 0) {
    check_pointer(list, name);
  }
}
void check_comm(MPI_Comm comm); // an intracommunicator, while MPI works
[[nodiscard]] const std::shared_ptr<engine::Engine>& live(stoker_engine handle);
// Takes ownership. Throws engine::Error(resource) when there are too many.
[[nodiscard]] stoker_request keep(std::unique_ptr<engine::Request> request);

} // namespace stoker::api
