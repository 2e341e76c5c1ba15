// SPDX-License-Identifier: BSD-3-Clause
// Performance variables: the MPI library's and this library's own, in sessions that the MPI library makes.
//
// This library's are continuous: they always count, and no tool starts or stops them. A handle says how far its variable
// has come since the handle was made or reset; that of a level says what is in use.
#include "api/pmpi/alias.hpp"
#include "api/pmpi/library.hpp"
#include "api/pmpi/statistics.hpp"
#include "api/pmpi/tool_information.hpp"
#include "api/pmpi/tool_variables.hpp"
#include "engine/base/agreement.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <variant>

namespace stoker::pmpi {
namespace {

class OwnHandle {
public:
  explicit OwnHandle(const PerformanceVariable& variable) : variable_(&variable) { reset(); }

  // Tools may write and reset it.
  [[nodiscard]] bool writable() const { return !variable_->is_level(); }
  // Values have the variable's type.
  void read(void* value) const { copy(variable_->read(), value); }
  void write(const void* value) {
    origin_ = variable_->read();
    std::visit([&](auto& at_origin) { std::memcpy(&at_origin, value, sizeof at_origin); }, at_origin_);
  }
  void reset() { set_origin(variable_->read()); }
  void read_and_reset(void* value) {
    const ToolNumber now = variable_->read();
    copy(now, value);
    set_origin(now);
  }

private:
  void set_origin(ToolNumber now) {
    origin_ = now;
    at_origin_ = std::visit([](auto number) { return ToolNumber(decltype(number){}); }, now);
  }
  void copy(ToolNumber now, void* to) const {
    std::visit(
        [&](auto number) {
          using Number = decltype(number);
          if (!variable_->is_level()) { // threads that count at once may set a counter back
            number = std::get<Number>(at_origin_) + number - std::min(number, std::get<Number>(origin_));
          }
          std::memcpy(to, &number, sizeof number);
        },
        now);
  }

  const PerformanceVariable* variable_;
  ToolNumber origin_;
  ToolNumber at_origin_; // what the handle said then
};

// Numbers are not used again, so that a freed handle is never taken for another.
bool is_own(MPI_T_pvar_handle handle) { return handle != MPI_T_PVAR_ALL_HANDLES && is_odd(handle); }

// This library's handles, by the MPI library's sessions. Any thread.
class Sessions {
public:
  using Handles = std::map<MPI_T_pvar_handle, OwnHandle>;
  using Closed = std::map<MPI_T_pvar_session, Handles>::node_type;

  void open(MPI_T_pvar_session session) {
    const std::lock_guard lock(mutex_);
    sessions_.try_emplace(session);
  }
  [[nodiscard]] Closed close(MPI_T_pvar_session session) {
    const std::lock_guard lock(mutex_);
    return sessions_.extract(session);
  }
  void open_again(Closed closed) {
    const std::lock_guard lock(mutex_);
    sessions_.insert(std::move(closed));
  }

  // These return MPI's codes; or what `use` returns, which gets the session's handles or the handle.
  template <class Use>
  int with(MPI_T_pvar_session session, Use use) {
    if (const int code = pvar_indices.settle(); code != MPI_SUCCESS) {
      return code;
    }
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(session);
    return found != sessions_.end() ? use(found->second) : MPI_T_ERR_INVALID_SESSION;
  }
  template <class Use>
  [[nodiscard]] int with(MPI_T_pvar_session session, MPI_T_pvar_handle handle, Use use) {
    return with(session, [&](Handles& handles) {
      const auto found = handles.find(handle);
      return found != handles.end() ? use(found->second) : MPI_T_ERR_INVALID_HANDLE;
    });
  }
  [[nodiscard]] int allocate(MPI_T_pvar_session session, const PerformanceVariable& variable,
                             MPI_T_pvar_handle* handle) {
    return with(session, [&](Handles& handles) {
      latest_ += 2;
      const auto made = reinterpret_cast<MPI_T_pvar_handle>(latest_);
      handles.emplace(made, variable);
      *handle = made;
      return MPI_SUCCESS;
    });
  }

private:
  std::mutex mutex_; // guards what follows
  std::map<MPI_T_pvar_session, Handles> sessions_;
  std::uintptr_t latest_ = 1; // MPI_T_PVAR_ALL_HANDLES of the standard ABI
};

// Made when a tool first needs it, which may be before this library's constructors run, and never destroyed.
Sessions& sessions() {
  static auto& all = *new Sessions;
  return all;
}

// Carries out `change`, if the handle may be changed.
template <class Change>
int change(MPI_T_pvar_session session, MPI_T_pvar_handle handle, Change change) {
  return sessions().with(session, handle, [&](OwnHandle& own) {
    if (!own.writable()) {
      return MPI_T_ERR_PVAR_NO_WRITE;
    }
    change(own);
    return MPI_SUCCESS;
  });
}

int refuse_to_start_or_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return sessions().with(session, handle, [](OwnHandle& /*own*/) { return MPI_T_ERR_PVAR_NO_STARTSTOP; });
}

} // namespace
} // namespace stoker::pmpi

using stoker::pmpi::call_library;
using stoker::pmpi::is_own;
using stoker::pmpi::OwnHandle;
using stoker::pmpi::performance_variables;
using stoker::pmpi::PerformanceVariable;
using stoker::pmpi::pvar_indices;
using stoker::pmpi::real;
using stoker::pmpi::return_text;
using stoker::pmpi::return_value;
using stoker::pmpi::Sessions;
using stoker::pmpi::sessions;
using stoker::pmpi::ToolIndex;

extern "C" {

int MPI_T_pvar_get_num(int* num_pvar) { return pvar_indices.get_num(num_pvar); }

int MPI_T_pvar_get_info(int pvar_index, char* name, int* name_len, int* verbosity, int* var_class,
                        MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind,
                        int* readonly, int* continuous, int* atomic) {
  const ToolIndex place = pvar_indices.find(pvar_index);
  if (place.code != MPI_SUCCESS) {
    return place.code;
  }
  if (!place.own) {
    return call_library(real().MPI_T_pvar_get_info, place.index, name, name_len, verbosity, var_class, datatype,
                        enumtype, desc, desc_len, bind, readonly, continuous, atomic);
  }
  const PerformanceVariable& variable = performance_variables()[static_cast<std::size_t>(place.index)];
  return_text(variable.name, name, name_len);
  return_text(variable.help, desc, desc_len);
  return_value<int>(verbosity, MPI_T_VERBOSITY_USER_BASIC);
  return_value(var_class, variable.var_class);
  return_value(datatype, variable.datatype);
  return_value(enumtype, MPI_T_ENUM_NULL);
  return_value<int>(bind, MPI_T_BIND_NO_OBJECT);
  return_value(readonly, variable.is_level() ? 1 : 0);
  return_value(continuous, 1);
  return_value(atomic, variable.is_level() ? 0 : 1);
  return MPI_SUCCESS;
}

int MPI_T_pvar_get_index(const char* name, int var_class, int* pvar_index) {
  return pvar_indices.get_index(
      name, pvar_index,
      [&] {
        const auto& variables = performance_variables();
        const auto found = std::ranges::find(variables, name, &PerformanceVariable::name);
        return found != variables.end() && found->var_class == var_class ? static_cast<int>(found - variables.begin())
                                                                         : -1;
      },
      [&] { return call_library(real().MPI_T_pvar_get_index, name, var_class, pvar_index); });
}

// A session without a place here lacks this library's variables, and nothing else.
int MPI_T_pvar_session_create(MPI_T_pvar_session* session) {
  const int code = call_library(real().MPI_T_pvar_session_create, session);
  if (code == MPI_SUCCESS) {
    (void)stoker::engine::attempt([&] { sessions().open(*session); });
  }
  return code;
}

// The session is closed here first: once the MPI library has freed it, another thread may be given the same one.
int MPI_T_pvar_session_free(MPI_T_pvar_session* session) {
  Sessions::Closed closed = session != nullptr ? sessions().close(*session) : Sessions::Closed{};
  const int code = call_library(real().MPI_T_pvar_session_free, session);
  if (code != MPI_SUCCESS) {
    sessions().open_again(std::move(closed));
  }
  return code;
}

int MPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void* obj_handle, MPI_T_pvar_handle* handle,
                            int* count) {
  const ToolIndex place = pvar_indices.find(pvar_index);
  if (place.code != MPI_SUCCESS) {
    return place.code;
  }
  if (!place.own) {
    return call_library(real().MPI_T_pvar_handle_alloc, session, place.index, obj_handle, handle, count);
  }
  if (handle == nullptr || count == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  stoker::pmpi::record_for_tools();
  int code = MPI_SUCCESS;
  const auto failure = stoker::engine::attempt([&] {
    code = sessions().allocate(session, performance_variables()[static_cast<std::size_t>(place.index)], handle);
  });
  if (failure) {
    return MPI_T_ERR_OUT_OF_HANDLES;
  }
  if (code == MPI_SUCCESS) {
    *count = 1;
  }
  return code;
}

int MPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
  if (handle == nullptr || !is_own(*handle)) {
    return call_library(real().MPI_T_pvar_handle_free, session, handle);
  }
  const int code = sessions().with(
      session, [&](auto& handles) { return handles.erase(*handle) != 0 ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE; });
  if (code == MPI_SUCCESS) {
    *handle = MPI_T_PVAR_HANDLE_NULL;
  }
  return code;
}

// MPI_T_PVAR_ALL_HANDLES skips continuous variables, which all of this library's are: the MPI library's answer is complete.
int MPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return is_own(handle) ? stoker::pmpi::refuse_to_start_or_stop(session, handle)
                        : call_library(real().MPI_T_pvar_start, session, handle);
}

int MPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return is_own(handle) ? stoker::pmpi::refuse_to_start_or_stop(session, handle)
                        : call_library(real().MPI_T_pvar_stop, session, handle);
}

int MPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
  if (!is_own(handle)) {
    return call_library(real().MPI_T_pvar_read, session, handle, buf);
  }
  if (buf == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  return sessions().with(session, handle, [&](const OwnHandle& own) {
    own.read(buf);
    return MPI_SUCCESS;
  });
}

int MPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buf) {
  if (!is_own(handle)) {
    return call_library(real().MPI_T_pvar_write, session, handle, buf);
  }
  if (buf == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  return stoker::pmpi::change(session, handle, [&](OwnHandle& own) { own.write(buf); });
}

int MPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  if (is_own(handle)) {
    return stoker::pmpi::change(session, handle, [](OwnHandle& own) { own.reset(); });
  }
  const int code = call_library(real().MPI_T_pvar_reset, session, handle);
  // Open MPI refuses all handles where one of its own is no longer valid. Levels are skipped.
  if ((code == MPI_SUCCESS || code == MPI_T_ERR_PVAR_NO_WRITE) && handle == MPI_T_PVAR_ALL_HANDLES) {
    (void)sessions().with(session, [](auto& handles) {
      for (auto& [number, own] : handles) {
        if (own.writable()) {
          own.reset();
        }
      }
      return MPI_SUCCESS;
    });
  }
  return code;
}

int MPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
  if (!is_own(handle)) {
    return call_library(real().MPI_T_pvar_readreset, session, handle, buf);
  }
  if (buf == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  return sessions().with(session, handle, [&](OwnHandle& own) {
    if (!own.writable()) {
      return MPI_T_ERR_PVAR_NO_ATOMIC;
    }
    own.read_and_reset(buf);
    return MPI_SUCCESS;
  });
}
}

ALIAS_PMPI(MPI_T_pvar_get_num)
ALIAS_PMPI(MPI_T_pvar_get_info)
ALIAS_PMPI(MPI_T_pvar_get_index)
ALIAS_PMPI(MPI_T_pvar_session_create)
ALIAS_PMPI(MPI_T_pvar_session_free)
ALIAS_PMPI(MPI_T_pvar_handle_alloc)
ALIAS_PMPI(MPI_T_pvar_handle_free)
ALIAS_PMPI(MPI_T_pvar_start)
ALIAS_PMPI(MPI_T_pvar_stop)
ALIAS_PMPI(MPI_T_pvar_read)
ALIAS_PMPI(MPI_T_pvar_write)
ALIAS_PMPI(MPI_T_pvar_reset)
ALIAS_PMPI(MPI_T_pvar_readreset)
