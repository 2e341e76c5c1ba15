// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/choices.hpp"

#include "algos/select/selection.hpp"
#include "engine/base/agreement.hpp"

#include <spdlog/logger.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

namespace stoker::engine {
namespace {

using algos::Collective;

bool fits(const algos::Algorithm& algorithm, const Operation& operation, bool deterministic) {
  return (operation.commutative() || !algorithm.commutative) && (!deterministic || algorithm.fixed_order);
}

std::string fitting(Collective collective, const Operation& operation, bool deterministic) {
  std::string names = "auto";
  for (const algos::Algorithm& algorithm : algos::algorithms_of(collective)) {
    if (fits(algorithm, operation, deterministic)) {
      names += ", " + std::string(algorithm.name);
    }
  }
  return names;
}

// Why it does not carry out the operation as it has to be, or "".
std::string why_unfit(const algos::Algorithm& algorithm, const Operation& operation, bool deterministic) {
  if (fits(algorithm, operation, deterministic)) {
    return "";
  }
  const std::string_view why =
      algorithm.commutative && !operation.commutative()
          ? " combines operands in any order, but op is not commutative"
          : " has no fixed order of combining operands, but the request is to be deterministic";
  return fmt::format("algorithm {} of {}{}; expected {}", algorithm.name, algos::name_of(algorithm.collective), why,
                     fitting(algorithm.collective, operation, deterministic));
}

// What all ranks have to have in common, as rank 0 tells the others.
struct Common {
  Collective collective;
  bool in_place;
  bool commutative;
  bool deterministic;
  OperationCode operation;
  std::uint64_t element_bytes;
  int root;
  Executor executor;
  DeviceUse device_use;
  std::uint64_t starts;
  int algorithm; // row of the registry; -1: to be selected
  algos::Tuning tuning;

  Common(Collective of, const RequestPlan& plan)
      : collective(of), in_place(plan.in_place && !algos::has_root(of)), commutative(plan.operation.commutative()),
        deterministic(plan.deterministic), operation(plan.operation.code()),
        element_bytes(plan.operation.element_bytes()), root(plan.root), executor(plan.executor),
        device_use(plan.device_use), starts(plan.starts),
        algorithm(
            plan.choice.algorithm == nullptr ? -1 : static_cast<int>(plan.choice.algorithm - algos::registry().data())),
        tuning(plan.choice.tuning) {}

  [[nodiscard]] std::string algorithm_name() const {
    return algorithm < 0
               ? "auto"
               : algos::to_text(algos::Choice{&algos::registry()[static_cast<std::size_t>(algorithm)], tuning});
  }
  [[nodiscard]] std::string starts_text() const { return starts == 0 ? "not given" : std::to_string(starts); }
  [[nodiscard]] const char* executor_name() const {
    return device_use == DeviceUse::required ? "device" : name_of(executor);
  }
};

// Throws Error(mismatch).
void compare(const Common& mine, const Common& first) {
  const auto refuse = [](const std::string& what) {
    throw Error(Code::mismatch, "{} on rank 0; expected the same on all ranks", what);
  };
  if (mine.collective != first.collective) {
    throw Error(Code::mismatch, "{} is initialised here, but on rank 0 {}; expected the same on all ranks",
                name_of(mine.collective), name_of(first.collective));
  }
  if (mine.root != first.root) {
    refuse("root is " + std::to_string(mine.root) + " here and " + std::to_string(first.root));
  }
  if (mine.in_place != first.in_place) {
    refuse(std::string("sendbuf is ") +
           (mine.in_place ? "MPI_IN_PLACE here, but not" : "a buffer here, but MPI_IN_PLACE"));
  }
  if (mine.operation.op != first.operation.op || mine.commutative != first.commutative) {
    throw Error(Code::mismatch, "op is not the one of rank 0; expected the same operation on all ranks");
  }
  if (mine.operation.type != first.operation.type || mine.element_bytes != first.element_bytes) {
    throw Error(Code::mismatch,
                "datatype does not stand for the same elements as on rank 0: {} bytes here and {} there; expected the "
                "same kind on all ranks",
                mine.element_bytes, first.element_bytes);
  }
  if (mine.deterministic != first.deterministic) {
    refuse(std::string("info key stoker_deterministic is ") + (mine.deterministic ? "1 here and 0" : "0 here and 1"));
  }
  if (mine.executor != first.executor || mine.device_use != first.device_use) {
    refuse(std::string("info key stoker_executor asks for ") + mine.executor_name() + " here and " +
           first.executor_name());
  }
  if (mine.starts != first.starts) {
    refuse("info key stoker_starts is " + mine.starts_text() + " here and " + first.starts_text());
  }
  if (mine.algorithm != first.algorithm || mine.tuning != first.tuning) {
    refuse("info key stoker_algorithm is " + mine.algorithm_name() + " here and " + first.algorithm_name());
  }
}

} // namespace

std::optional<std::string> info_value(MPI_Info info, const char* key) {
  if (info == MPI_INFO_NULL) {
    return std::nullopt;
  }
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int found = 0;
#if MPI_VERSION >= 4 // which deprecates the other one
  auto length = static_cast<int>(value.size());
  check_mpi(PMPI_Info_get_string(info, key, &length, value.data(), &found), "MPI_Info_get_string");
#else
  check_mpi(PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &found), "MPI_Info_get");
#endif
  return found != 0 ? std::optional<std::string>(value.data()) : std::nullopt;
}

MemoryKinds asserted_kinds(MPI_Info info, MemoryKinds otherwise) {
  const std::optional<std::string> list = info_value(info, "mpi_assert_memory_alloc_kinds");
  return list ? kinds_in(*list) : otherwise;
}

namespace {

// By an info key, which is for one request.
void take_wish(const std::string& wish, Collective collective, RequestPlan& plan) {
  if (wish == "auto") {
    return;
  }
  std::string unfit;
  try {
    plan.choice = algos::resolve(algos::parse_choice(collective, wish), plan.context->layout());
    plan.chosen_by = "info key";
    unfit = why_unfit(*plan.choice.algorithm, plan.operation, plan.deterministic);
  } catch (const std::invalid_argument& error) {
    unfit = error.what();
  }
  if (!unfit.empty()) {
    throw Error(Code::setting, "info key stoker_algorithm={}: {}", wish, unfit);
  }
}

// By a setting, which is for communicators of all sizes: so numbers that are too large for one are no error.
void take_setting(Engine& engine, Collective collective, RequestPlan& plan) {
  const algos::Choice& setting = engine.settings().algorithms[static_cast<std::size_t>(collective)];
  if (setting.algorithm == nullptr) {
    return;
  }
  const bool replace = engine.misfits() == Misfits::replaced;
  const auto text = [&] {
    return fmt::format("setting algorithms, {}={}", algos::name_of(collective), algos::to_text(setting));
  };
  std::string unfit = why_unfit(*setting.algorithm, plan.operation, plan.deterministic);
  if (unfit.empty()) {
    const topology::Layout& layout = plan.context->layout();
    try {
      plan.choice = algos::resolve(setting, layout, replace ? algos::Misfit::adapt : algos::Misfit::adapt_numbers);
      plan.chosen_by = "setting algorithms";
      static_cast<void>(algos::resolve(setting, layout));
      return;
    } catch (const std::invalid_argument& error) {
      unfit = error.what();
    }
  }
  if (plan.choice.algorithm == nullptr && !replace) {
    throw Error(Code::setting, "{}: {}", text(), unfit);
  }
  if (plan.context->rank() == 0 && engine.first_misfit(collective)) {
    engine.log().warn("{}: {}; where it does not fit, what does is taken, here {}", text(), unfit,
                      plan.choice.algorithm == nullptr ? "auto" : algos::to_text(plan.choice));
  }
}

// How often the request will be started, as the caller says; 0: it does not.
std::uint64_t announced_starts(MPI_Info info) {
  const std::optional<std::string> text = info_value(info, "stoker_starts");
  if (!text) {
    return 0;
  }
  std::uint64_t starts = 0;
  const char* const end = text->data() + text->size();
  if (const auto read = std::from_chars(text->data(), end, starts);
      read.ec != std::errc{} || read.ptr != end || starts == 0) {
    throw Error(Code::setting, "info key stoker_starts={}; expected a whole number, 1 or more", *text);
  }
  return starts;
}

} // namespace

Executor chosen_executor(const Engine& engine, MPI_Info info) {
  const std::string wish = info_value(info, "stoker_executor").value_or("auto");
  if (wish == "inline") {
    return Executor::inline_;
  }
  if (wish == "engine" && !engine.has_helpers()) {
    throw Error(Code::unsupported, "info key stoker_executor=engine, but the engine has no helpers; see stoker info");
  }
  if (wish != "auto" && wish != "engine" && wish != "device") {
    throw Error(Code::setting, "info key stoker_executor={}; expected auto, engine, inline or device", wish);
  }
  return engine.has_helpers() ? Executor::engine : Executor::inline_;
}

// The function of a user-defined operation is known in its own process only.
Executor chosen_executor(const Engine& engine, const Operation& operation, MPI_Info info) {
  const Executor executor = chosen_executor(engine, info);
  if (!operation.user_defined()) {
    return executor;
  }
  if (info_value(info, "stoker_executor") == "engine") {
    throw Error(Code::unsupported,
                "info key stoker_executor=engine, but op is a user-defined operation, whose function "
                "helpers in other processes cannot call; expected auto or inline");
  }
  return Executor::inline_;
}

bool is_deterministic(const Engine& engine, Collective collective, MPI_Info info) {
  const std::optional<std::string> wish = info_value(info, "stoker_deterministic");
  if (wish && *wish != "0" && *wish != "1" && *wish != "false" && *wish != "true") {
    throw Error(Code::setting, "info key stoker_deterministic={}; expected 0 or 1", *wish);
  }
  return algos::combines(collective) && (wish ? *wish == "1" || *wish == "true" : engine.settings().deterministic);
}

void choose(Engine& engine, Collective collective, MPI_Info info, RequestPlan& plan) {
  plan.deterministic = is_deterministic(engine, collective, info);
  plan.starts = announced_starts(info);
  if (plan.starts > 0) {
    plan.chosen_by = "cost model for " + std::to_string(plan.starts) + " starts";
  }
  if (const std::optional<std::string> wish = info_value(info, "stoker_algorithm")) {
    take_wish(*wish, collective, plan);
  } else {
    take_setting(engine, collective, plan);
  }
}

void take_tuned(const Engine& engine, Collective collective, std::uint64_t bytes, RequestPlan& plan) {
  const topology::Layout& layout = plan.context->layout();
  const algos::TuningEntry* const entry = engine.tuning().find(collective, layout, bytes);
  if (entry == nullptr || plan.executor == Executor::device) { // which was not tuned
    return;
  }
  const std::string place = engine.settings().tuning + ":" + std::to_string(entry->line);
  try {
    const algos::Choice choice = algos::resolve(entry->choice, layout);
    if (fits(*choice.algorithm, plan.operation, plan.deterministic) &&
        (plan.operation.commutative() || algos::takes_any_operation(choice, layout))) {
      plan.choice = choice;
      plan.chosen_by = place;
      return;
    }
  } catch (const std::invalid_argument&) { // nodes of other sizes have other numbers
  }
  plan.chosen_by = "cost model, since " + algos::to_text(entry->choice) + " of " + place + " does not fit";
}

void agree_on_choice(const CommContext& context, Collective collective, const RequestPlan& plan) {
  const Common mine(collective, plan);
  static_assert(std::is_trivially_copyable_v<Common>);
  Common first = mine;
  check_mpi(PMPI_Bcast(&first, sizeof first, MPI_BYTE, 0, context.comm()), "MPI_Bcast");
  attempt_on_all(context.comm(), [&] { compare(mine, first); });
}

} // namespace stoker::engine
