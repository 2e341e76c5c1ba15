// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/operators.hpp"

#include "api/pmpi/library.hpp"
#include "engine/base/never_destroyed.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <vector>

namespace stoker::pmpi {
namespace {

// Few programs have more than a handful of operators.
class Uses {
public:
  void add(MPI_Op op) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(uses_, op, &Use::op);
    if (found == uses_.end()) {
      uses_.push_back({.op = op, .count = 1, .to_be_freed = false});
    } else {
      ++found->count;
    }
  }

  void remove(MPI_Op op) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::ranges::find(uses_, op, &Use::op);
      if (--found->count > 0) {
        return;
      }
      const bool to_be_freed = found->to_be_freed;
      uses_.erase(found);
      if (!to_be_freed) {
        return;
      }
    }
    int finalized = 0;
    PMPI_Finalized(&finalized);
    if (finalized == 0) {
      real().MPI_Op_free(&op);
    }
  }

  // Whether the operator is in use, and will be freed afterwards.
  bool free_later(MPI_Op op) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(uses_, op, &Use::op);
    if (found == uses_.end()) {
      return false;
    }
    found->to_be_freed = true;
    return true;
  }

private:
  struct Use {
    MPI_Op op;
    int count;
    bool to_be_freed;
  };
  std::mutex mutex_;
  std::vector<Use> uses_;
};

// Never destroyed: requests may be destroyed after it would have been.
engine::NeverDestroyed<Uses> uses_storage;
Uses& uses = uses_storage.object;

} // namespace

bool is_predefined(MPI_Op op) {
  const MPI_Op predefined[] = {MPI_MAX,  MPI_MIN,  MPI_SUM,    MPI_PROD,   MPI_LAND,    MPI_BAND,  MPI_LOR,    MPI_BOR,
                               MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP, MPI_OP_NULL};
  return std::ranges::find(predefined, op) != std::end(predefined);
}

OperatorUse::OperatorUse(MPI_Op op) {
  if (!is_predefined(op)) {
    uses.add(op);
    op_ = op;
  }
}

OperatorUse::~OperatorUse() {
  if (op_ != MPI_OP_NULL) {
    uses.remove(op_);
  }
}

} // namespace stoker::pmpi

extern "C" {

int MPI_Op_free(MPI_Op* op) {
  if (op != nullptr && stoker::pmpi::uses.free_later(*op)) {
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
  }
  return stoker::pmpi::real().MPI_Op_free(op);
}

int PMPI_Op_free(MPI_Op* op) __attribute__((alias("MPI_Op_free")));

} // extern "C"
