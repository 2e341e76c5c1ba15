// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/reach.hpp"

#include "engine/base/error.hpp"
#include "engine/data/arguments.hpp"
#include "engine/execute/eager_bytes.hpp"
#include "engine/requests/byte_blocks.hpp"

#include <utility>

namespace stoker::engine {

void take_buffers(Engine& engine, const CollectiveCall& call, const Neighbors* neighbors, RequestPlan& plan) {
  const CommContext& context = *plan.context;
  const CollectiveCall* checked = &call;
  if (traits_of(call.collective).own_types) {
    plan.byte_blocks = std::make_shared<const ByteBlocks>(engine, call, context.ranks(), neighbors);
    checked = &plan.byte_blocks->call();
  }
  CallBuffers buffers = checked_buffers(*checked, context.rank(), context.ranks(), neighbors);
  plan.in_place = buffers.in_place;
  plan.send = std::move(buffers.send);
  plan.recv = std::move(buffers.recv);
}

std::uint64_t eager_bytes_of(const Engine& engine, const CommContext& context, algos::Collective collective,
                             std::uint64_t vector_bytes, bool any_sizes) {
  return eager_bytes_of(algos::pattern_of(collective) == algos::Pattern::exchange, engine.settings().eager_bytes,
                        context.node_ranks().size(), vector_bytes, any_sizes);
}

Readers readers_of(const Engine& engine, const CommContext& context, algos::Collective collective, Executor executor,
                   std::uint64_t longest_in_node, bool bundles) {
  const bool shares_node = context.node_ranks().size() > 1;
  return {.helper = executor == Executor::engine && engine.helper() == nullptr,
          .peers = shares_node &&
                   (longest_in_node > eager_bytes_of(engine, context, collective, longest_in_node) || bundles)};
}

Path chosen_path(const Engine& engine, const UserBuffer& buffer, const Readers& readers, const char* name) {
  const NodeMemory& memory = *engine.memory();
  const bool in_arena = buffer.bytes() > 0 &&
                        engine.memory()->arena().contains(buffer.address() + buffer.lower(),
                                                          static_cast<std::uint64_t>(buffer.upper() - buffer.lower()));
  const bool on_device = buffer.residence() == Residence::device;
  const AccessChoice demanded = engine.settings().access;
  const bool copied =
      demanded == AccessChoice::automatic || demanded == AccessChoice::staged || demanded == AccessChoice::device;
  if (on_device && !copied) {
    throw Error(Code::access,
                "{}: the setting access rules out copies, but it lies in the memory of a device; expected access=auto "
                "or staged",
                name);
  }
  if (on_device || (buffer.bytes() > 0 && !buffer.type().contiguous())) {
    return Path::staged; // it has to be copied anyway
  }
  switch (engine.settings().access) {
  case AccessChoice::own:
    if (readers.helper || readers.peers) {
      throw Error(Code::access, "{}: access=own, but {} must reach it; expected access=auto, mapped, cma or staged",
                  name, readers.helper ? "the helper in another process" : "other ranks of the node");
    }
    return Path::own;
  case AccessChoice::mapped:
    if (!in_arena && buffer.bytes() > 0) {
      throw Error(Code::access, "{}: access=mapped, but it does not lie in memory from stoker_alloc", name);
    }
    return in_arena ? Path::mapped : Path::own;
  case AccessChoice::cma:
    return Path::attached; // that it works was checked when the engine was created
  case AccessChoice::staged:
    return Path::staged;
  case AccessChoice::automatic:
  case AccessChoice::device: // which carries out what it can
    break;
  }
  if (in_arena) {
    return Path::mapped;
  }
  if (!readers.helper && !readers.peers) {
    return Path::own;
  }
  const bool small = readers.helper && buffer.bytes() <= engine.settings().staged_bytes;
  const bool attachable = memory.attach_works() && buffer.residence() == Residence::host;
  return small || !attachable ? Path::staged : Path::attached;
}

Path chosen_path(const Engine& engine, const BoundData& data, const Readers& readers) {
  const NodeMemory& memory = *engine.memory();
  const AccessChoice choice = engine.settings().access;
  const bool shared = readers.helper || readers.peers;
  if (choice == AccessChoice::staged) {
    return Path::staged;
  }
  if (choice != AccessChoice::cma && engine.memory()->arena().contains(data.lowest(), data.span())) {
    return Path::mapped;
  }
  if (!shared) {
    return Path::own;
  }
  const bool small = readers.helper && data.bytes() <= engine.settings().staged_bytes && choice != AccessChoice::cma;
  const bool attachable = memory.attach_works() && data.attachable();
  return small || choice == AccessChoice::mapped || !attachable ? Path::staged : Path::attached;
}

bool is_packed(const UserBuffer& buffer) {
  return buffer.residence() == Residence::host && buffer.type().contiguous() &&
         program_bytes(buffer, Path::staged) == program_bytes(buffer, Path::attached) &&
         program_offsets(buffer, Path::staged) == program_offsets(buffer, Path::attached);
}

bool may_be_direct(const Engine& engine) {
  return engine.settings().access == AccessChoice::automatic && engine.memory()->attach_works();
}

std::vector<std::uint64_t> program_offsets(const UserBuffer& buffer, Path path) {
  if (path == Path::staged) {
    return buffer.packed_offsets();
  }
  std::vector<std::uint64_t> offsets(buffer.blocks().size());
  for (std::size_t r = 0; r < offsets.size(); ++r) {
    // Relative to the lowest byte in use: displacements may be negative, offsets may not.
    offsets[r] =
        buffer.block_bytes(r) == 0 ? 0 : static_cast<std::uint64_t>(buffer.blocks()[r].displacement - buffer.lower());
  }
  return offsets;
}

std::uint64_t program_bytes(const UserBuffer& buffer, Path path) {
  return path == Path::staged ? buffer.packed_bytes() : static_cast<std::uint64_t>(buffer.upper() - buffer.lower());
}

} // namespace stoker::engine
