// SPDX-License-Identifier: BSD-3-Clause
// The C interface to global memory.
#include <stoker/stoker_global.h>

#include "api/c/guarded.hpp"
#include "api/c/handles.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/never_destroyed.hpp"
#include "engine/global/global_memory.hpp"
#include "engine/global/team.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

using stoker::api::check_comm;
using stoker::api::check_list;
using stoker::api::check_pointer;
using stoker::api::check_struct;
using stoker::api::guarded;
using stoker::api::live;
using stoker::engine::AtomicOp;
using stoker::engine::Code;
using stoker::engine::ElementType;
using stoker::engine::Error;
using stoker::engine::GlobalMemory;
using stoker::engine::GlobalPointer;
using stoker::engine::OperationKind;
using stoker::engine::Team;
using stoker::engine::TransferCounters;

namespace {

struct HeldTransfer {
  std::shared_ptr<GlobalMemory> global;
  GlobalMemory::Transfer* transfer = nullptr;
};

// Never destroyed: an application may give back handles in destructors of its own global objects.
stoker::engine::NeverDestroyed<stoker::api::HandleTable<std::shared_ptr<GlobalMemory>, stoker_global>>
    global_table_storage;
auto& global_table = global_table_storage.object;
stoker::engine::NeverDestroyed<stoker::api::HandleTable<std::unique_ptr<Team>, stoker_team>> team_table_storage;
auto& team_table = team_table_storage.object;
stoker::engine::NeverDestroyed<stoker::api::HandleTable<HeldTransfer, stoker_transfer>> transfer_table_storage;
auto& transfer_table = transfer_table_storage.object;

[[noreturn]] void refuse_handle(const char* what) {
  throw Error(Code::request, "{} is not a live {}: null, freed, foreign or never created", what, what);
}

const std::shared_ptr<GlobalMemory>& live(stoker_global handle) {
  const auto* found = global_table.find(handle);
  if (found == nullptr) [[unlikely]] {
    refuse_handle("global");
  }
  return *found;
}

// Accepts teams of a global memory that is gone, too.
Team& known(stoker_team handle) {
  const auto* found = team_table.find(handle);
  if (found == nullptr) {
    refuse_handle("team");
  }
  return **found;
}

Team& live(stoker_team handle) {
  Team& team = known(handle);
  if (team.closed()) {
    throw Error(Code::request, "the team's global memory is freed, or its engine destroyed; expected a live one");
  }
  return team;
}

HeldTransfer& live(stoker_transfer handle) {
  auto* found = transfer_table.find(handle);
  if (found == nullptr) {
    refuse_handle("transfer");
  }
  return *found;
}

GlobalPointer engines(const stoker_gptr& pointer) { return {pointer.unit, pointer.segment, pointer.offset}; }
stoker_gptr doors(const GlobalPointer& pointer) { return {pointer.unit, pointer.segment, pointer.offset}; }

ElementType element(MPI_Datatype type) {
  const auto known = stoker::engine::element_type_of(type);
  if (!known) {
    throw Error(Code::argument,
                "type is none that atomics take; expected a predefined integer or floating-point datatype "
                "of 4 or 8 bytes");
  }
  return *known;
}

AtomicOp atomic_op(MPI_Op op, ElementType type) {
  const auto known = stoker::engine::atomic_op_of(op);
  if (!known || !applies_to(*known, type)) {
    throw Error(Code::argument, "op is none that atomics take with this datatype; expected MPI_SUM, MPI_PROD, MPI_MIN, "
                                "MPI_MAX, MPI_REPLACE or MPI_NO_OP, or for integers MPI_BAND, MPI_BOR or MPI_BXOR");
  }
  return *known;
}

// `start(memory, detached)` begins the transfer; `transfer`: null if nobody wants a handle.
template <class Start>
int begin(stoker_global global, stoker_transfer* transfer, Start&& start) {
  return guarded([&] {
    if (transfer != nullptr) {
      *transfer = STOKER_TRANSFER_NULL;
    }
    const std::shared_ptr<GlobalMemory>& memory = live(global);
    GlobalMemory::Transfer* begun = start(*memory, transfer == nullptr);
    if (begun == nullptr || transfer == nullptr) {
      return;
    }
    *transfer = transfer_table.insert({memory, begun});
    if (*transfer == STOKER_TRANSFER_NULL) {
      memory->wait(*begun);
      memory->release(*begun);
    }
  });
}

ElementType integer(MPI_Datatype type) {
  const ElementType known = element(type);
  if (!is_integer(known)) {
    throw Error(Code::argument, "type is a floating-point datatype; expected an integer one of 4 or 8 bytes");
  }
  return known;
}

std::vector<GlobalPointer> engines(const stoker_gptr targets[], size_t count) {
  if (count > 0) {
    check_pointer(targets, "targets");
  }
  std::vector<GlobalPointer> pointers(count);
  std::transform(targets, targets + count, pointers.begin(), [](const stoker_gptr& target) { return engines(target); });
  return pointers;
}

void release(stoker_transfer* transfer) {
  const HeldTransfer object = transfer_table.remove(*transfer);
  *transfer = STOKER_TRANSFER_NULL;
  object.global->release(*object.transfer);
}

void complete(stoker_transfer* transfer) {
  if (*transfer == STOKER_TRANSFER_NULL) {
    return;
  }
  const HeldTransfer& object = live(*transfer);
  (void)stoker::engine::attempt([&] { object.global->wait(*object.transfer); }); // release() says it: the handle goes
  release(transfer);
}

} // namespace

extern "C" {

int stoker_global_create(stoker_engine engine, size_t heap_bytes, stoker_global* global) {
  return guarded([&] {
    check_pointer(global, "global");
    *global = STOKER_GLOBAL_NULL;
    *global = global_table.insert(std::make_shared<GlobalMemory>(live(engine), heap_bytes));
  });
}

int stoker_global_free(stoker_global* global) {
  return guarded([&] {
    check_pointer(global, "global");
    const std::shared_ptr<GlobalMemory> object = live(*global);
    (void)global_table.remove(*global);
    *global = STOKER_GLOBAL_NULL;
    object->close();
  });
}

int stoker_team_create(stoker_global global, MPI_Comm comm, stoker_team* team) {
  return guarded([&] {
    check_pointer(team, "team");
    *team = STOKER_TEAM_NULL;
    check_comm(comm);
    *team = team_table.insert(std::make_unique<Team>(live(global), comm));
  });
}

int stoker_team_free(stoker_team* team) {
  return guarded([&] {
    check_pointer(team, "team");
    (void)known(*team);
    const std::unique_ptr<Team> object = team_table.remove(*team);
    *team = STOKER_TEAM_NULL;
    object->free();
  });
}

int stoker_team_size(stoker_team team, int* size) {
  return guarded([&] {
    check_pointer(size, "size");
    *size = live(team).size();
  });
}

int stoker_team_rank(stoker_team team, int* rank) {
  return guarded([&] {
    check_pointer(rank, "rank");
    *rank = live(team).rank();
  });
}

int stoker_team_unit(stoker_team team, int rank, int* unit) {
  return guarded([&] {
    check_pointer(unit, "unit");
    *unit = live(team).unit(rank);
  });
}

int stoker_team_allocate(stoker_team team, size_t bytes, stoker_gptr* pointer) {
  return guarded([&] {
    check_pointer(pointer, "pointer");
    *pointer = {STOKER_GPTR_NULL_UNIT, 0, 0};
    *pointer = doors(live(team).allocate(bytes));
  });
}

int stoker_team_deallocate(stoker_team team, stoker_gptr pointer) {
  return guarded([&] { live(team).deallocate(engines(pointer)); });
}

int stoker_global_allocate(stoker_global global, size_t bytes, stoker_gptr* pointer) {
  return guarded([&] {
    check_pointer(pointer, "pointer");
    *pointer = {STOKER_GPTR_NULL_UNIT, 0, 0};
    *pointer = doors(live(global)->allocate(bytes));
  });
}

int stoker_global_deallocate(stoker_global global, stoker_gptr pointer) {
  return guarded([&] { live(global)->deallocate(engines(pointer)); });
}

int stoker_global_address(stoker_global global, stoker_gptr pointer, size_t bytes, void** address) {
  return guarded([&] {
    check_pointer(address, "address");
    *address = nullptr;
    *address = live(global)->address(engines(pointer), bytes);
  });
}

int stoker_put(stoker_global global, stoker_gptr target, const void* local, size_t bytes) {
  return guarded([&] { live(global)->put(engines(target), local, bytes); });
}

int stoker_get(stoker_global global, void* local, stoker_gptr source, size_t bytes) {
  return guarded([&] { live(global)->get(local, engines(source), bytes); });
}

int stoker_put_nb(stoker_global global, stoker_gptr target, const void* local, size_t bytes,
                  stoker_transfer* transfer) {
  return begin(global, transfer, [&](GlobalMemory& memory, bool detached) {
    return memory.begin(OperationKind::put, engines(target), const_cast<void*>(local), bytes, detached);
  });
}

int stoker_put_signal_nb(stoker_global global, stoker_gptr target, const void* local, size_t bytes, stoker_gptr signal,
                         uint64_t value, stoker_transfer* transfer) {
  return begin(global, transfer, [&](GlobalMemory& memory, bool detached) {
    return memory.begin(OperationKind::put, engines(target), const_cast<void*>(local), bytes, detached,
                        GlobalMemory::Signal{engines(signal), value});
  });
}

int stoker_wait_until(stoker_global global, stoker_gptr word, int comparison, uint64_t value) {
  return guarded([&] {
    if (comparison < STOKER_EQ || comparison > STOKER_LE) {
      throw Error(Code::argument, "comparison is {}; expected STOKER_EQ to STOKER_LE", comparison);
    }
    static_assert(STOKER_EQ == static_cast<int>(GlobalMemory::Comparison::equal) &&
                  STOKER_LE == static_cast<int>(GlobalMemory::Comparison::less_equal));
    live(global)->wait_until(engines(word), static_cast<GlobalMemory::Comparison>(comparison), value);
  });
}

int stoker_get_nb(stoker_global global, void* local, stoker_gptr source, size_t bytes, stoker_transfer* transfer) {
  return begin(global, transfer, [&](GlobalMemory& memory, bool detached) {
    return memory.begin(OperationKind::get, engines(source), local, bytes, detached);
  });
}

int stoker_transfer_test(stoker_transfer* transfer, int* flag) {
  return guarded([&] {
    check_pointer(transfer, "transfer");
    check_pointer(flag, "flag");
    *flag = 1;
    if (*transfer == STOKER_TRANSFER_NULL) {
      return;
    }
    const HeldTransfer& object = live(*transfer);
    *flag = object.global->test(*object.transfer) ? 1 : 0;
    if (*flag != 0) {
      release(transfer);
    }
  });
}

int stoker_transfer_wait(stoker_transfer* transfer) {
  return guarded([&] {
    check_pointer(transfer, "transfer");
    complete(transfer);
  });
}

int stoker_transfer_waitall(int count, stoker_transfer transfers[]) {
  return guarded([&] {
    check_list(count, transfers, "transfers");
    std::optional<Error> failure; // the first; every transfer is completed
    for (int i = 0; i < count; ++i) {
      const auto error = stoker::engine::attempt([&] { complete(&transfers[i]); });
      if (error && !failure) {
        failure = Error(error->code(), "transfers[{}]: {}", i, error->what());
      }
    }
    if (failure) {
      throw Error(*failure);
    }
  });
}

int stoker_flush(stoker_global global, int unit) {
  return guarded([&] {
    if (unit < 0) {
      throw Error(Code::argument, "unit is {}; expected 0 or more", unit);
    }
    live(global)->flush(unit);
  });
}

int stoker_flush_all(stoker_global global) {
  return guarded([&] { live(global)->flush(-1); });
}

int stoker_fetch_and_op(stoker_global global, stoker_gptr target, MPI_Datatype type, MPI_Op op, const void* operand,
                        void* result) {
  return guarded([&] {
    const ElementType known = element(type);
    live(global)->fetch_and_op(engines(target), known, atomic_op(op, known), operand, result);
  });
}

int stoker_compare_and_swap(stoker_global global, stoker_gptr target, MPI_Datatype type, const void* expected,
                            const void* desired, void* result) {
  return guarded([&] { live(global)->compare_and_swap(engines(target), integer(type), expected, desired, result); });
}

int stoker_accumulate(stoker_global global, stoker_gptr target, MPI_Datatype type, MPI_Op op, const void* operands,
                      size_t count) {
  return guarded([&] {
    const ElementType known = element(type);
    live(global)->accumulate(engines(target), known, atomic_op(op, known), operands, count);
  });
}

int stoker_fetch_and_op_nb(stoker_global global, stoker_gptr target, MPI_Datatype type, MPI_Op op, const void* operand,
                           void* result, stoker_transfer* transfer) {
  return begin(global, transfer, [&](GlobalMemory& memory, bool detached) {
    const ElementType known = element(type);
    return memory.begin_fetch_and_op(engines(target), known, atomic_op(op, known), operand, result, detached);
  });
}

int stoker_compare_and_swap_nb(stoker_global global, stoker_gptr target, MPI_Datatype type, const void* expected,
                               const void* desired, void* result, stoker_transfer* transfer) {
  return begin(global, transfer, [&](GlobalMemory& memory, bool detached) {
    return memory.begin_compare_and_swap(engines(target), integer(type), expected, desired, result, detached);
  });
}

int stoker_accumulate_nb(stoker_global global, stoker_gptr target, MPI_Datatype type, MPI_Op op, const void* operands,
                         size_t count, stoker_transfer* transfer) {
  return begin(global, transfer, [&](GlobalMemory& memory, bool detached) {
    const ElementType known = element(type);
    return memory.begin_accumulate(engines(target), known, atomic_op(op, known), operands, count, detached);
  });
}

int stoker_accumulate_many(stoker_global global, const stoker_gptr targets[], MPI_Datatype type, MPI_Op op,
                           const void* operands, size_t count) {
  return guarded([&] {
    const ElementType known = element(type);
    live(global)->accumulate_many(engines(targets, count), known, atomic_op(op, known), operands);
  });
}

int stoker_fetch_and_op_many(stoker_global global, const stoker_gptr targets[], MPI_Datatype type, MPI_Op op,
                             const void* operands, void* results, size_t count) {
  return guarded([&] {
    const ElementType known = element(type);
    live(global)->fetch_and_op_many(engines(targets, count), known, atomic_op(op, known), operands, results);
  });
}

int stoker_global_get_statistics(stoker_global global, stoker_global_statistics* statistics) {
  return guarded([&] {
    check_struct(statistics, sizeof *statistics, "statistics");
    live(global)->check_open();
    const TransferCounters::Sums sums = live(global)->statistics();
    *statistics = {.size = statistics->size,
                   .node_transfers = sums[TransferCounters::node_transfers],
                   .node_bytes = sums[TransferCounters::node_bytes],
                   .wire_transfers = sums[TransferCounters::wire_transfers],
                   .wire_bytes = sums[TransferCounters::wire_bytes],
                   .node_atomics = sums[TransferCounters::node_atomics],
                   .wire_atomics = sums[TransferCounters::wire_atomics]};
  });
}

} // extern "C"
