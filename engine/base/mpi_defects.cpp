// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/mpi_defects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stoker::engine {
namespace {

// The first version that was seen without a defect.
constexpr MpiVersion mpich_4_2_1{4, 2, 1};
constexpr MpiVersion none_known{};

constexpr std::array defects{
    MpiDefectRow{MpiDefect::persistent_allgather, MpiFamily::mpich, mpich_4_2_1,
                 "persistent allgather and reduce hang or have wrong results from the second start on",
                 "a nonblocking call at each start takes their place", "pmpi families, library alone: persistent"},
    MpiDefectRow{
        MpiDefect::persistent_gather, MpiFamily::mpich, none_known,
        "persistent gather and scatter have wrong results from the second start on (pmodels/mpich#7078, #7550)",
        "a nonblocking call at each start takes their place", "pmpi families, library alone: persistent"},
    MpiDefectRow{MpiDefect::persistent_completion, MpiFamily::mpich, none_known,
                 "waiting for an inactive persistent collective hangs (pmodels/mpich#6334), MPI_Testall and the calls "
                 "for any and some do not complete an active one, and all ranks must start those of a communicator in "
                 "the same order",
                 "the drop-in library wraps persistent collectives that are left to MPI",
                 "pmpi requests and families, library alone: mixed-all, inactive, start-order"},
    MpiDefectRow{MpiDefect::persistent_datatypes, MpiFamily::open_mpi, none_known,
                 "a persistent collective crashes once a datatype or an operator of its arguments is freed",
                 "the drop-in library wraps persistent collectives that are left to MPI, with copies of datatypes",
                 "pmpi families, library alone: mpix, persistent"},
    MpiDefectRow{MpiDefect::wrong_calls, MpiFamily::mpich, mpich_4_2_1,
                 "neighbor_alltoallw takes sources for targets, alltoallw in place is wrong for some datatypes, and "
                 "reduce in place at a root other than 0 crashes",
                 "the engine carries out such persistent requests without trying MPI",
                 "pmpi families, library alone: persistent"},
    MpiDefectRow{MpiDefect::dynamic_windows, MpiFamily::open_mpi, none_known,
                 "over UCX, detaching memory from a dynamic window with several attachments crashes in 4.1, and so "
                 "does freeing such a window; with four ranks 5.0.7 hangs",
                 "messages take the place of dynamic windows", "api global_memory, 2 nodes x 1, windows"},
    MpiDefectRow{std::nullopt, MpiFamily::mpich, none_known, "MPI_Testall aborts where one of the requests is a file's",
                 "the drop-in library asks for some of the requests at a time",
                 "pmpi requests, library alone: mixed-all"},
    MpiDefectRow{std::nullopt, MpiFamily::mpich, none_known,
                 "over UCX, a window over memory that is in part of another one begins where that begins, or at a "
                 "multiple of 16, and puts land too low",
                 "displacements count from where the window says it begins (MPI_WIN_BASE)", "api one_sided, 2 ranks"},
    MpiDefectRow{std::nullopt, MpiFamily::mpich, none_known,
                 "where a graph has several edges from one rank to another, their blocks arrive in the reverse order, "
                 "as in grids (neighbor_alltoall; from 4.2.1 on also neighbor_alltoallv and neighbor_alltoallw)",
                 "a graph of one rank shows which order it is; the engine has the same", "api nonblocking, 1 rank"},
    MpiDefectRow{std::nullopt, MpiFamily::mpich, none_known, "new error codes of MPI's own classes have no texts",
                 "stoker looks whether they get texts; where not, its codes are of a class of its own",
                 "pmpi error texts"},
    MpiDefectRow{std::nullopt, MpiFamily::mpich, none_known,
                 "once some 700 derived types exist, MPI_Pack packs too few bytes of one without gaps",
                 "types are looked at by packing two elements with a gap between them", "soak"},
    MpiDefectRow{std::nullopt, MpiFamily::mpich, none_known,
                 "over UCX and TCP, MPI_Finalize may wait for ever if several hosts have several ranks each",
                 "stoker doctor says so; scripts/cluster leaves UCX's disconnecting out", "cluster scripts"},
    MpiDefectRow{
        std::nullopt, MpiFamily::mpich, none_known,
        "a freed communicator that a buffered send refers to is deleted in the middle of MPI_Buffer_detach (4.2.1)",
        "the drop-in library lets go of a communicator when the program frees it", "pmpi p2p kinds, two nodes"},
    MpiDefectRow{std::nullopt, MpiFamily::open_mpi, none_known,
                 "MPI_T_init_thread changes the thread level of all of MPI, and takes 0.2 s",
                 "only stoker doctor calls it, and asks for the highest level", "api eager_limit, 2 ranks"},
    MpiDefectRow{std::nullopt, MpiFamily::open_mpi, none_known,
                 "windows within a node try for ever where cross-memory attach is refused",
                 "windows are used only where stoker has seen that it works", "faults"},
};

constexpr std::array tested{
    TestedMpi{"MPICH", {4, 0, 2}},
    TestedMpi{"MPICH", {4, 2, 1}},
    TestedMpi{"Open MPI", {4, 1, 4}},
    TestedMpi{"Open MPI", {5, 0, 7}},
};

bool concerns(const MpiDefectRow& row, const MpiIdentity& library) {
  return row.family == library.family && (row.mended_in == none_known || library.base < row.mended_in);
}

} // namespace

std::span<const MpiDefectRow> mpi_defects() { return defects; }

bool has_defect(const MpiIdentity& library, MpiDefect defect) {
  return std::ranges::any_of(defects,
                             [&](const MpiDefectRow& row) { return row.defect == defect && concerns(row, library); });
}

bool mpi_has(MpiDefect defect) { return has_defect(mpi_identity(), defect); }

std::span<const TestedMpi> tested_mpi_libraries() { return tested; }

std::string untested(const MpiIdentity& library) {
  std::string all;
  const TestedMpi* oldest = nullptr;
  const TestedMpi* newest = nullptr;
  for (const TestedMpi& one : tested) {
    all += fmt::format("{}{} {}", all.empty() ? "" : ", ", one.name, text_of(one.version));
    if (one.name == library.name) {
      oldest = oldest == nullptr ? &one : oldest;
      newest = &one;
    }
  }
  if (newest == nullptr) {
    return fmt::format("{} is another library than those that stoker was tested with ({})", library.text, all);
  }
  if (library.version > newest->version || library.version < oldest->version) {
    return fmt::format("{} is {} than all that stoker was tested with ({})", library.text,
                       library.version > newest->version ? "newer" : "older", all);
  }
  return {};
}

} // namespace stoker::engine
