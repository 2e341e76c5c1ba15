// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/given_program.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"
#include "engine/requests/choices.hpp"
#include "engine/requests/placing.hpp"
#include "engine/requests/reach.hpp"

#include <utility>

namespace stoker::engine {

std::unique_ptr<Request> init_program(const std::shared_ptr<Engine>& engine, MPI_Comm comm, const GivenProgram& given) {
  const std::uint64_t begin = now_ns();
  engine->sweep();
  RequestPlan plan;
  plan.context = engine->context(comm);
  Paths paths;
  attempt_on_all(comm, [&] {
    const auto bytes = [](void* address, std::uint64_t count) {
      return UserBuffer(address, Datatype(MPI_BYTE, "MPI_BYTE"), {{.count = static_cast<std::int64_t>(count)}});
    };
    plan.send = bytes(given.send, given.program.send_bytes);
    plan.recv = bytes(given.recv, given.program.recv_bytes);
    if (given.op != MPI_OP_NULL) {
      plan.operation = Operation(given.op, given.element);
    }
    plan.choice = {&algos::algorithms_of(given.collective).front(), {}};
    plan.chosen_by = "in its place a given program";
    plan.vector_bytes = ~std::uint64_t{0}; // not known
    plan.in_place = true;                  // what the program reads of recv is not known
    plan.executor = chosen_executor(*engine, plan.operation, MPI_INFO_NULL);
    // Nothing is known of what is fetched from where.
    const Readers readers = readers_of(*engine, *plan.context, given.collective, plan.executor, 0, true);
    paths = {.send = chosen_path(*engine, plan.send, readers, "send"),
             .recv = chosen_path(*engine, plan.recv, readers, "recv")};
  });
  return make_request(
      engine, std::move(plan), paths, [&](const algos::Choice&) { return CompiledProgram{given.program}; }, begin);
}

} // namespace stoker::engine
