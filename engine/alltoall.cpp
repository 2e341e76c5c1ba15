// SPDX-License-Identifier: BSD-3-Clause
#include "engine/alltoall.hpp"

#include "algos/exchange.hpp"
#include "algos/selection.hpp"
#include "engine/agreement.hpp"
#include "engine/executor.hpp"
#include "engine/lower.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <optional>
#include <stdexcept>

#include <unistd.h>

namespace stoker::engine {
namespace {

using Sizes = std::vector<std::uint64_t>;

// ---- arguments ----

std::string at(const char* array, std::size_t index) { return std::string(array) + "[" + std::to_string(index) + "]"; }

std::vector<UserBlock> blocks_of(int ranks, const MPI_Count* counts, const MPI_Aint* displs, const Datatype& type,
                                 const char* counts_name, const char* displs_name) {
  if (counts == nullptr || displs == nullptr) {
    throw Error(Code::argument, std::string(counts == nullptr ? counts_name : displs_name) + " is null; expected " +
                                    std::to_string(ranks) + " entries");
  }
  std::vector<UserBlock> blocks(static_cast<std::size_t>(ranks));
  for (std::size_t r = 0; r < blocks.size(); ++r) {
    if (counts[r] < 0) {
      throw Error(Code::argument, at(counts_name, r) + " is " + std::to_string(counts[r]) + "; expected 0 or more");
    }
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(displs[r], type.extent(), &bytes)) {
      throw Error(Code::argument, at(displs_name, r) + " times the datatype's extent does not fit 64 bits");
    }
    blocks[r] = {bytes, counts[r]};
  }
  return blocks;
}

// Blocks of a receive buffer that share bytes would be written in no particular order. Only told for contiguous types, where
// it is cheap to know.
void check_blocks_apart(const UserBuffer& buffer, const char* displs_name) {
  if (!buffer.type().contiguous()) {
    return;
  }
  std::vector<std::size_t> order;
  for (std::size_t r = 0; r < buffer.blocks().size(); ++r) {
    if (buffer.block_bytes(r) > 0) {
      order.push_back(r);
    }
  }
  const auto begin = [&](std::size_t r) { return buffer.blocks()[r].displacement; };
  const auto end = [&](std::size_t r) { return begin(r) + static_cast<std::int64_t>(buffer.block_bytes(r)); };
  std::ranges::sort(order, {}, begin);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (end(order[i - 1]) > begin(order[i])) {
      throw Error(Code::argument, "recvbuf: the blocks at " + at(displs_name, order[i - 1]) + " and " +
                                      at(displs_name, order[i]) + " overlap; expected disjoint blocks");
    }
  }
}

void check_address(const UserBuffer& buffer, const char* name) {
  if (buffer.address() == nullptr && buffer.bytes() > 0) {
    throw Error(Code::argument,
                std::string(name) + " is null; expected room for " + std::to_string(buffer.bytes()) + " bytes");
  }
}

void check_buffers_apart(const UserBuffer& send, const UserBuffer& recv) {
  if (send.bytes() == 0 || recv.bytes() == 0 || !send.type().contiguous() || !recv.type().contiguous()) {
    return;
  }
  if (send.address() + send.lower() < recv.address() + recv.upper() &&
      recv.address() + recv.lower() < send.address() + send.upper()) {
    throw Error(Code::argument, "sendbuf and recvbuf overlap; expected disjoint buffers, or MPI_IN_PLACE on all ranks");
  }
}

std::optional<std::string> info_value(MPI_Info info, const char* key) {
  if (info == MPI_INFO_NULL) {
    return std::nullopt;
  }
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int found = 0;
  check_mpi(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &found), "MPI_Info_get");
  return found != 0 ? std::optional<std::string>(value.data()) : std::nullopt;
}

// ---- choices ----

// Info key, then the effective setting; without an algorithm: to be selected.
algos::Choice requested_choice(const Engine& engine, algos::Collective collective, const topology::Layout& layout,
                               MPI_Info info) {
  const std::string setting = collective == algos::Collective::alltoall ? engine.settings().alltoall_algorithm
                                                                        : engine.settings().alltoallv_algorithm;
  const std::optional<std::string> wish = info_value(info, "stoker_algorithm");
  const std::string& text = wish ? *wish : setting;
  if (text == "auto") {
    return {};
  }
  try {
    // A setting is for communicators of all sizes.
    return algos::resolve(algos::parse_choice(collective, text), layout,
                          wish ? algos::TooLarge::refuse : algos::TooLarge::reduce);
  } catch (const std::invalid_argument& error) {
    throw Error(Code::setting,
                (wish ? "info key stoker_algorithm=" : std::string(algos::name_of(collective)) + "_algorithm=") + text +
                    ": " + error.what());
  }
}

Executor chosen_executor(const Engine& engine, MPI_Info info) {
  const std::string wish = info_value(info, "stoker_executor").value_or("auto");
  if (wish == "inline") {
    return Executor::inline_;
  }
  if (wish == "engine" && !engine.has_helpers()) {
    throw Error(Code::unsupported, "info key stoker_executor=engine, but the engine has no helpers; see stoker info");
  }
  if (wish != "auto" && wish != "engine") {
    throw Error(Code::setting, "info key stoker_executor=" + wish + "; expected auto, engine or inline");
  }
  return engine.has_helpers() ? Executor::engine : Executor::inline_;
}

// Who but this process has to reach a buffer.
struct Readers {
  bool helper = false; // the domain's helper is in another process
  bool peers = false;  // ranks of the node fetch messages that are too long for a channel's slot
};

Path chosen_path(const Engine& engine, const UserBuffer& buffer, const Readers& readers, const char* name) {
  const NodeMemory& memory = *engine.memory();
  const bool in_arena = buffer.bytes() > 0 &&
                        engine.memory()->arena().contains(buffer.address() + buffer.lower(),
                                                          static_cast<std::uint64_t>(buffer.upper() - buffer.lower()));
  if (buffer.bytes() > 0 && !buffer.type().contiguous()) {
    return Path::staged; // it has to be packed anyway
  }
  switch (engine.settings().access) {
  case AccessChoice::own:
    if (readers.helper || readers.peers) {
      throw Error(Code::access, std::string(name) + ": access=own, but " +
                                    (readers.helper ? "the helper in another process" : "other ranks of the node") +
                                    " must reach it; expected access=auto, mapped, cma or staged");
    }
    return Path::own;
  case AccessChoice::mapped:
    if (!in_arena && buffer.bytes() > 0) {
      throw Error(Code::access, std::string(name) + ": access=mapped, but it does not lie in memory from stoker_alloc");
    }
    return in_arena ? Path::mapped : Path::own;
  case AccessChoice::cma:
    return Path::cma; // that it works was checked when the engine was created
  case AccessChoice::staged:
    return Path::staged;
  case AccessChoice::automatic:
    break;
  }
  if (in_arena) {
    return Path::mapped;
  }
  if (!readers.helper && !readers.peers) {
    return Path::own;
  }
  const bool small = readers.helper && buffer.bytes() <= engine.settings().staged_bytes;
  return small || !memory.attach_works() ? Path::staged : Path::cma;
}

// ---- what the ranks tell each other ----

// Sizes that this rank receives according to its peers; compared with what it expects.
void check_sizes(const CommContext& context, const Sizes& announced, const UserBuffer& recv) {
  for (std::size_t r = 0; r < announced.size(); ++r) {
    if (announced[r] != recv.block_bytes(r)) {
      throw Error(Code::mismatch, "rank " + std::to_string(context.rank()) + ": rank " + std::to_string(r) + " sends " +
                                      std::to_string(announced[r]) + " bytes to it, but its receive arguments expect " +
                                      std::to_string(recv.block_bytes(r)) + " from there");
    }
  }
}

// Every rank must be able to hold all sizes; equal on all ranks.
constexpr std::uint64_t most_bytes_of_sizes = std::uint64_t{1} << 29U; // twice that while they are exchanged

algos::BlockSizes known_sizes(const CommContext& context, const algos::Choice& choice, const Sizes& row,
                              const Sizes& column) {
  if (choice.algorithm->collective == algos::Collective::alltoall) {
    return algos::BlockSizes::uniform(context.ranks(), row.front()); // check_sizes has compared them
  }
  const algos::Knowledge knowledge = algos::knowledge_of(choice);
  auto sizes = algos::BlockSizes::table(context.ranks());
  if (knowledge == algos::Knowledge::own) {
    sizes.set_row(context.rank(), row);
    sizes.set_column(context.rank(), column);
    return sizes;
  }
  // With the rows of all ranks the columns are known, too; of a node's ranks both are needed.
  const bool all = knowledge == algos::Knowledge::all;
  if (const std::uint64_t bytes = row.size() * row.size() * sizeof row.front(); all && bytes > most_bytes_of_sizes) {
    throw Error(Code::unsupported, algos::to_text(choice) + " for alltoallv of " + std::to_string(row.size()) +
                                       " ranks would take " + std::to_string(bytes >> 20U) +
                                       " MiB for block sizes on every rank; expected 512 at most, or an algorithm that "
                                       "forwards only what its own node sends or receives");
  }
  Sizes mine = row;
  if (!all) {
    mine.insert(mine.end(), column.begin(), column.end());
  }
  std::vector<int> members(static_cast<std::size_t>(context.ranks()));
  std::iota(members.begin(), members.end(), 0);
  if (!all) {
    const auto node = context.layout().node_ranks(context.layout().node_of(context.rank()));
    members.assign(node.begin(), node.end());
  }
  Sizes gathered(mine.size() * members.size());
  const int bytes = static_cast<int>(mine.size() * sizeof(std::uint64_t));
  check_mpi(MPI_Allgather(mine.data(), bytes, MPI_BYTE, gathered.data(), bytes, MPI_BYTE,
                          all ? context.comm() : context.node()),
            "MPI_Allgather");
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto begin = gathered.begin() + static_cast<std::ptrdiff_t>(i * mine.size());
    const auto middle = begin + static_cast<std::ptrdiff_t>(row.size());
    sizes.set_row(members[i], Sizes(begin, middle));
    if (!all) {
      sizes.set_column(members[i], Sizes(middle, begin + static_cast<std::ptrdiff_t>(mine.size())));
    }
  }
  return sizes;
}

std::uint64_t total(const Sizes& sizes) { return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}); }

// Buffers as the program sees them: by displacement in place, or one block behind the other when they are staged.
Sizes program_offsets(const UserBuffer& buffer, bool staged) {
  if (staged) {
    return buffer.packed_offsets();
  }
  Sizes offsets(buffer.blocks().size());
  for (std::size_t r = 0; r < offsets.size(); ++r) {
    // Relative to the lowest byte in use: displacements may be negative, offsets may not.
    offsets[r] =
        buffer.block_bytes(r) == 0 ? 0 : static_cast<std::uint64_t>(buffer.blocks()[r].displacement - buffer.lower());
  }
  return offsets;
}

BufferDescriptor describe(NodeMemory& memory, const UserBuffer& buffer, Path path, std::uint64_t& staging) {
  BufferDescriptor descriptor{.path = path, .pid = static_cast<std::int32_t>(getpid()), .bytes = buffer.bytes()};
  if (buffer.bytes() == 0) {
    descriptor.path = Path::own;
    return descriptor;
  }
  if (path == Path::staged) {
    staging = memory.arena().allocate(buffer.bytes(), cache_line);
    descriptor.offset = staging;
    return descriptor;
  }
  std::byte* const lowest = buffer.address() + buffer.lower();
  descriptor.address = reinterpret_cast<std::uint64_t>(lowest);
  if (path == Path::mapped) {
    descriptor.offset = memory.arena().offset_of(lowest);
  }
  return descriptor;
}

Neighbourhood neighbourhood(const Engine& engine, const CommContext& context, Executor executor) {
  Neighbourhood hood;
  hood.rank = context.rank();
  for (const int rank : context.engine_ranks()) {
    hood.arena_of.push_back(engine.layout().same_node(rank, engine.rank()) ? static_cast<int>(engine.arena_of(rank))
                                                                           : -1);
  }
  hood.endpoint = executor == Executor::engine ? engine.carrier() : engine.rank();
  hood.endpoint_arena = engine.arena_of(hood.endpoint);
  hood.highest_tag = engine.highest_tag();
  return hood;
}

} // namespace

std::unique_ptr<Request> make_alltoall(const std::shared_ptr<Engine>& engine, const AlltoallArguments& arguments) {
  const std::uint64_t begin = now_ns();
  engine->sweep();
  RequestPlan plan;
  plan.context = engine->context(arguments.comm);
  const CommContext& context = *plan.context;
  const MPI_Comm comm = context.comm();
  const auto ranks = static_cast<std::size_t>(context.ranks());
  NodeMemory& memory = *engine->memory();
  const auto by_rank = [&](std::optional<Error> e) {
    return e ? std::optional(Error(e->code(), "rank " + std::to_string(context.rank()) + ": " + e->what())) : e;
  };

  // 1. What each rank can check by itself.
  Sizes row;
  Readers send_readers;
  Readers recv_readers;
  Path send_path = Path::own;
  Path recv_path = Path::own;
  agree(comm, by_rank(attempt([&] {
          plan.in_place = arguments.sendbuf == MPI_IN_PLACE;
          Datatype recvtype(arguments.recvtype, "recvtype");
          auto recv_blocks =
              blocks_of(context.ranks(), arguments.recvcounts, arguments.rdispls, recvtype, "recvcounts", "rdispls");
          plan.recv = UserBuffer(arguments.recvbuf, std::move(recvtype), std::move(recv_blocks));
          check_address(plan.recv, "recvbuf");
          check_blocks_apart(plan.recv, "rdispls");
          if (arguments.recvbuf == MPI_IN_PLACE) {
            throw Error(Code::argument, "recvbuf is MPI_IN_PLACE; expected that in sendbuf only");
          }
          if (!plan.in_place) {
            Datatype sendtype(arguments.sendtype, "sendtype");
            auto send_blocks =
                blocks_of(context.ranks(), arguments.sendcounts, arguments.sdispls, sendtype, "sendcounts", "sdispls");
            plan.send = UserBuffer(const_cast<void*>(arguments.sendbuf), std::move(sendtype),
                                   std::move(send_blocks)); // only read
            check_address(plan.send, "sendbuf");
            check_buffers_apart(plan.send, plan.recv);
          }
          plan.choice = requested_choice(*engine, arguments.collective, context.layout(), arguments.info);
          plan.executor = chosen_executor(*engine, arguments.info);

          row.resize(ranks);
          std::uint64_t longest_in_node = 0;
          for (std::size_t r = 0; r < ranks; ++r) {
            row[r] = plan.in_place ? plan.recv.block_bytes(r) : plan.send.block_bytes(r);
            if (static_cast<int>(r) != context.rank() &&
                context.layout().same_node(static_cast<int>(r), context.rank())) {
              longest_in_node = std::max(longest_in_node, row[r]);
            }
          }
          send_readers.helper = recv_readers.helper = plan.executor == Executor::engine && engine->helper() == nullptr;
          // Where blocks are bundled, messages are longer than blocks, and have to be fetched whatever the size of those.
          const bool bundles =
              context.layout().nodes() > 1 ||
              (plan.choice.algorithm != nullptr && algos::knowledge_of(plan.choice) != algos::Knowledge::own);
          send_readers.peers = context.layout().node_ranks(context.layout().node_of(context.rank())).size() > 1 &&
                               (longest_in_node > engine->settings().eager_bytes || (bundles && total(row) > 0));
          recv_path = chosen_path(*engine, plan.recv, recv_readers, "recvbuf");
          send_path = plan.in_place ? Path::own : chosen_path(*engine, plan.send, send_readers, "sendbuf");
        })));

  // 2. What the ranks must agree on, and who sends how much to whom.
  struct Choices {
    int collective;
    int in_place;
    int algorithm; // row of the registry; -1: to be selected
    algos::Tuning tuning;
  };
  const Choices mine{
      static_cast<int>(arguments.collective), plan.in_place ? 1 : 0,
      plan.choice.algorithm == nullptr ? -1 : static_cast<int>(plan.choice.algorithm - algos::registry().data()),
      plan.choice.tuning};
  Choices first = mine;
  check_mpi(MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, comm), "MPI_Bcast");
  agree(comm, by_rank(attempt([&] {
          if (mine.collective != first.collective) {
            throw Error(Code::mismatch,
                        std::string(algos::name_of(arguments.collective)) + " is initialised here, but on rank 0 " +
                            std::string(algos::name_of(static_cast<algos::Collective>(first.collective))) +
                            "; expected the same on all ranks");
          }
          if (mine.in_place != first.in_place) {
            throw Error(Code::mismatch,
                        std::string("sendbuf is ") +
                            (plan.in_place ? "MPI_IN_PLACE here, but not" : "a buffer here, but MPI_IN_PLACE") +
                            " on rank 0; expected the same on all ranks");
          }
          if (mine.algorithm != first.algorithm || mine.tuning != first.tuning) {
            const auto name = [](const Choices& choices) {
              return choices.algorithm < 0
                         ? std::string("auto")
                         : algos::to_text(
                               {&algos::registry()[static_cast<std::size_t>(choices.algorithm)], choices.tuning});
            };
            throw Error(Code::mismatch, "info key stoker_algorithm is " + name(mine) + " here and " + name(first) +
                                            " on rank 0; expected the same on all ranks");
          }
        })));
  Sizes announced(ranks);
  check_mpi(MPI_Alltoall(row.data(), 1, MPI_UINT64_T, announced.data(), 1, MPI_UINT64_T, comm), "MPI_Alltoall");
  agree(comm, attempt([&] { check_sizes(context, announced, plan.recv); }));
  if (plan.choice.algorithm == nullptr) {
    std::uint64_t sent = total(row);
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &sent, 1, MPI_UINT64_T, MPI_SUM, comm), "MPI_Allreduce");
    plan.choice = algos::select(arguments.collective, context.layout(), sent / (ranks * ranks));
  }

  // 3. Compile and place.
  const algos::BlockSizes sizes = known_sizes(context, plan.choice, row, announced);
  const Neighbourhood hood = neighbourhood(*engine, context, plan.executor);
  std::vector<PairInfo> pairs(ranks);
  std::vector<PairInfo> peers(ranks);
  const auto give_back = [&] {
    for (const std::uint64_t place : {plan.block, plan.send_staging, plan.recv_staging}) {
      if (place != 0) {
        memory.arena().deallocate(place);
      }
    }
  };
  std::optional<Error> failure = attempt([&] {
    const bool send_staged = send_path == Path::staged && plan.send.bytes() > 0;
    const bool recv_staged = recv_path == Path::staged && plan.recv.bytes() > 0;
    const algos::Exchange exchange{.layout = context.layout(),
                                   .rank = context.rank(),
                                   .sizes = sizes,
                                   .send_offsets = plan.in_place ? Sizes{} : program_offsets(plan.send, send_staged),
                                   .recv_offsets = program_offsets(plan.recv, recv_staged),
                                   .in_place = plan.in_place};
    const algos::Program program = algos::compile(plan.choice, exchange);
    for (const algos::Step& step : program.steps) {
      if (step.kind == algos::StepKind::send) {
        (hood.arena_of[static_cast<std::size_t>(step.peer)] >= 0 ? plan.bytes_node : plan.bytes_wire) += step.bytes;
      }
    }
    PlacementOptions options;
    options.send = describe(memory, plan.send, send_path, plan.send_staging);
    options.recv = describe(memory, plan.recv, recv_path, plan.recv_staging);
    options.eager_bytes = engine->settings().eager_bytes;
    options.timed = plan.executor == Executor::engine || engine->trace() != nullptr;
    options.exclusive = plan.executor == Executor::inline_;
    plan.block = place(program, memory, hood, options, pairs);
  });
  failure = by_rank(failure);
  try {
    agree(comm, failure);
    // 4. Tell the peers where things are. What place() wrote happens before MPI delivers this.
    check_mpi(MPI_Alltoall(pairs.data(), sizeof(PairInfo), MPI_BYTE, peers.data(), sizeof(PairInfo), MPI_BYTE, comm),
              "MPI_Alltoall");
    Block& block = *reinterpret_cast<Block*>(memory.base(memory.self()) + plan.block);
    agree(comm, attempt([&] { link(block, memory, hood, pairs, peers); }));
  } catch (...) {
    give_back(); // nobody has started it, so nobody touches it
    throw;
  }

  plan.choice_text = algos::to_text(plan.choice);
  plan.init_seconds = 1e-9 * static_cast<double>(now_ns() - begin);
  engine->log().info("rank {}: {} init: algorithm {}, executor {}, {} bytes to send, {} ms", context.rank(),
                     algos::name_of(arguments.collective), plan.choice_text,
                     plan.executor == Executor::engine ? "engine" : "inline", total(row), 1e3 * plan.init_seconds);
  return std::make_unique<Request>(engine, std::move(plan));
}

} // namespace stoker::engine
