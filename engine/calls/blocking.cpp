// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/blocking.hpp"

#include "engine/base/agreement.hpp"
#include "engine/calls/calls.hpp"
#include "engine/calls/mpi_collective.hpp"
#include "engine/data/arguments.hpp"
#include "engine/device/driver.hpp"

namespace stoker::engine {
namespace {

// What the MPI library carries out: it may know nothing of devices.
void check_on_host(const CollectiveCall& call, const CommContext& context) {
  const CallBuffers buffers = checked_buffers(call, context.rank(), context.ranks());
  for (const UserBuffer* buffer : {&buffers.send, &buffers.recv}) {
    if (buffer->residence() == Residence::device) {
      throw Error(Code::unsupported,
                  "rank {}: {} lies in the memory of a device, and this call is the MPI library's; expected memory of "
                  "the host, or a persistent request",
                  context.rank(), buffer == &buffers.send ? "sendbuf" : "recvbuf");
    }
  }
}

} // namespace

void call_blocking(const std::shared_ptr<Engine>& engine, const CollectiveCall& call) {
  const std::shared_ptr<CommContext> context = engine->context(call.comm);
  const auto calls = context->attachments().get<Calls>(engine, context);
  std::unique_ptr<CallUnderWay> under_way;
  const auto wrong = attempt([&] {
    if (traits_of(call.collective).sizes == algos::SizesKnownTo::all) {
      under_way = calls->start(call, MPI_INFO_NULL, Executor::engine, true);
    } else {
      (void)checked_buffers(call, context->rank(), context->ranks());
    }
  });
  if (wrong) {
    throw *with_rank(context->rank(), wrong);
  }
  if (under_way == nullptr) {
    if (loaded_driver() != nullptr) {
      check_on_host(call, *context);
    }
    return wait_for_mpi(*engine, *context, call);
  }
  under_way->wait();
  under_way->finish();
}

} // namespace stoker::engine
