// SPDX-License-Identifier: BSD-3-Clause
// Which MPI library runs, by what it says of itself; which defects it is taken to have.
#include "engine/base/mpi_defects.hpp"
#include "engine/base/mpi_identity.hpp"

#include <gtest/gtest.h>

namespace stoker::engine {
namespace {

struct Said {
  const char* text;
  const char* name;
  MpiVersion version;
  MpiVersion base;
  MpiFamily family;
  const char* called;
};

const Said mpich_4_0{"MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\nMPICH ABI:\t14:2:2\n"
                     "MPICH Device:\tch4:ucx\nMPICH configure:\t--prefix=/usr\n",
                     "MPICH",
                     {4, 0, 2},
                     {4, 0, 2},
                     MpiFamily::mpich,
                     "MPICH 4.0.2 (ch4:ucx)"};
const Said mpich_4_2{"MPICH Version:      4.2.1\nMPICH Release date: Wed Apr 17 15:30:02 CDT 2024\nMPICH ABI:          "
                     "16:1:4\nMPICH Device:       ch4:ofi\n",
                     "MPICH",
                     {4, 2, 1},
                     {4, 2, 1},
                     MpiFamily::mpich,
                     "MPICH 4.2.1 (ch4:ofi)"};
const Said mpich_candidate{
    "MPICH Version:      4.3.0rc2\n", "MPICH", {4, 3, 0}, {4, 3, 0}, MpiFamily::mpich, "MPICH 4.3.0rc2"};
const Said open_mpi_4{"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022",
                      "Open MPI",
                      {4, 1, 4},
                      {4, 1, 4},
                      MpiFamily::open_mpi,
                      "Open MPI 4.1.4"};
const Said open_mpi_5{"Open MPI v5.0.7, package: Debian OpenMPI, ident: 5.0.7, repo rev: v5.0.7, Feb 14, 2025",
                      "Open MPI",
                      {5, 0, 7},
                      {5, 0, 7},
                      MpiFamily::open_mpi,
                      "Open MPI 5.0.7"};
const Said intel{
    "Intel(R) MPI Library 2021.9 for Linux* OS\n", "Intel MPI", {2021, 9, 0}, {}, MpiFamily::mpich, "Intel MPI 2021.9"};
const Said mvapich{"MVAPICH Version:\t3.0\nMVAPICH Release date:\tTue Jan 30 23:00:00 EST 2024\n",
                   "MVAPICH",
                   {3, 0, 0},
                   {},
                   MpiFamily::mpich,
                   "MVAPICH 3.0"};
const Said mvapich2{"MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date :\tWed March 02 22:00:00 EST 2022\n",
                    "MVAPICH2",
                    {2, 3, 7},
                    {},
                    MpiFamily::mpich,
                    "MVAPICH2 2.3.7"};
const Said cray{
    "MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)\nMPI BUILD INFO : Sun Feb 26 15:15 2023\n",
    "Cray MPICH",
    {8, 1, 25},
    {3, 4, 0},
    MpiFamily::mpich,
    "Cray MPICH 8.1.25.17"};
const Said unknown{"Our MPI 1.0\nof today", "", {}, {}, MpiFamily::other, "Our MPI 1.0"};
const Said silent{"", "", {}, {}, MpiFamily::other, ""};

MpiIdentity identity(const Said& said) { return mpi_identity_from(said.text); }

TEST(MpiIdentity, IsWhatTheLibrarySays) {
  for (const Said* const said : {&mpich_4_0, &mpich_4_2, &mpich_candidate, &open_mpi_4, &open_mpi_5, &intel, &mvapich,
                                 &mvapich2, &cray, &unknown, &silent}) {
    const MpiIdentity library = identity(*said);
    EXPECT_EQ(library.name, said->name) << said->text;
    EXPECT_EQ(library.version, said->version) << said->text << text_of(library.version);
    EXPECT_EQ(library.base, said->base) << said->text << text_of(library.base);
    EXPECT_EQ(library.family, said->family) << said->text;
    EXPECT_EQ(library.text, said->called) << said->text;
  }
}

TEST(MpiIdentity, OfTheLibraryThatRuns) {
  EXPECT_FALSE(mpi_identity().name.empty()) << mpi_identity().text;
  EXPECT_GT(mpi_identity().version, MpiVersion()) << mpi_identity().text;
}

TEST(MpiDefects, GoWithTheVersionThatMendsThem) {
  EXPECT_TRUE(has_defect(identity(mpich_4_0), MpiDefect::persistent_allgather));
  EXPECT_FALSE(has_defect(identity(mpich_4_2), MpiDefect::persistent_allgather));
  EXPECT_FALSE(has_defect(identity(open_mpi_4), MpiDefect::persistent_allgather));
  EXPECT_TRUE(has_defect(identity(mpich_4_2), MpiDefect::persistent_gather));
  EXPECT_TRUE(has_defect(identity(open_mpi_4), MpiDefect::persistent_datatypes));
  EXPECT_TRUE(has_defect(identity(open_mpi_5), MpiDefect::persistent_datatypes));
  EXPECT_FALSE(has_defect(identity(mpich_4_0), MpiDefect::persistent_datatypes));
}

TEST(MpiAbi, IsThatOfTheFileName) {
  EXPECT_EQ(mpi_abi_of("libmpi_abi.so.1"), "the standard ABI");
  EXPECT_EQ(mpi_abi_of("libmpich.so.12"), "MPICH");
  EXPECT_EQ(mpi_abi_of("libmpi.so.12.1.1"), "MPICH");
  EXPECT_EQ(mpi_abi_of("libmpi.so.40"), "Open MPI");
  for (const char* const other : {"libmpi_mpifh.so.40", "libmpicxx.so.12", "libmpi_abi_helper.so", "libc.so.6", ""}) {
    EXPECT_EQ(mpi_abi_of(other), "") << other;
  }
}

TEST(MpiDefects, AreAllThereIfTheBaseIsNotTold) {
  for (const Said* const said : {&intel, &mvapich, &mvapich2, &cray}) {
    EXPECT_TRUE(has_defect(identity(*said), MpiDefect::wrong_calls)) << said->text;
    EXPECT_FALSE(has_defect(identity(*said), MpiDefect::dynamic_windows)) << said->text;
  }
  EXPECT_FALSE(has_defect(identity(unknown), MpiDefect::wrong_calls));
}

TEST(Untested, SaysWhichLibraryAndWithWhichItWasTested) {
  for (const TestedMpi& one : tested_mpi_libraries()) {
    MpiIdentity library;
    library.name = one.name;
    library.version = one.version;
    EXPECT_EQ(untested(library), "") << one.name << text_of(one.version);
  }
  EXPECT_EQ(untested(identity(mpich_candidate)).find("MPICH 4.3.0rc2 is newer than all that stoker was tested with ("),
            0U)
      << untested(identity(mpich_candidate));
  EXPECT_NE(untested(identity(mpich_candidate)).find("MPICH 4.2.1"), std::string::npos);
  const MpiIdentity old = mpi_identity_from("Open MPI v3.1.0, package: none");
  EXPECT_EQ(untested(old).find("Open MPI 3.1.0 is older than all"), 0U) << untested(old);
  EXPECT_EQ(untested(identity(intel)).find("Intel MPI 2021.9 is another library than"), 0U)
      << untested(identity(intel));
}

} // namespace
} // namespace stoker::engine
