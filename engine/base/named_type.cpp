// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/named_type.hpp"

#include "engine/base/agreement.hpp"

// Functions of MPI-4, which the library may lack; null then. They tell of all datatypes, the others only of
// those that were made by functions with int.
// Some mpi.h have them.
// NOLINTBEGIN(readability-redundant-declaration, readability-inconsistent-declaration-parameter-name)
extern "C" [[gnu::weak]] int PMPI_Type_get_envelope_c(MPI_Datatype type, MPI_Count* integers, MPI_Count* addresses,
                                                      MPI_Count* counts, MPI_Count* types, int* combiner);
extern "C" [[gnu::weak]] int PMPI_Type_get_contents_c(MPI_Datatype type, MPI_Count most_integers,
                                                      MPI_Count most_addresses, MPI_Count most_counts,
                                                      MPI_Count most_types, int integers[], MPI_Aint addresses[],
                                                      MPI_Count counts[], MPI_Datatype types[]);
// NOLINTEND(readability-redundant-declaration, readability-inconsistent-declaration-parameter-name)

namespace stoker::engine {
namespace {

struct Envelope {
  MPI_Count integers = 0;
  MPI_Count addresses = 0;
  MPI_Count counts = 0;
  MPI_Count types = 0;
  int combiner = MPI_COMBINER_NAMED;
};

Envelope envelope_of(MPI_Datatype type) {
  Envelope envelope;
  if (PMPI_Type_get_envelope_c != nullptr) {
    check_mpi(PMPI_Type_get_envelope_c(type, &envelope.integers, &envelope.addresses, &envelope.counts, &envelope.types,
                                       &envelope.combiner),
              "MPI_Type_get_envelope_c");
    return envelope;
  }
  int integers = 0;
  int addresses = 0;
  int types = 0;
  check_mpi(PMPI_Type_get_envelope(type, &integers, &addresses, &types, &envelope.combiner), "MPI_Type_get_envelope");
  envelope.integers = integers;
  envelope.addresses = addresses;
  envelope.types = types;
  return envelope;
}

} // namespace

int combiner_of(MPI_Datatype type) { return envelope_of(type).combiner; }

MPI_Datatype element_of(MPI_Datatype type) {
  const Envelope envelope = envelope_of(type); // of one type, and at most one number
  MPI_Datatype element = MPI_DATATYPE_NULL;
  int integer = 0;
  MPI_Count count = 0;
  if (PMPI_Type_get_contents_c != nullptr) {
    check_mpi(
        PMPI_Type_get_contents_c(type, envelope.integers, 0, envelope.counts, 1, &integer, nullptr, &count, &element),
        "MPI_Type_get_contents_c");
  } else {
    check_mpi(PMPI_Type_get_contents(type, static_cast<int>(envelope.integers), 0, 1, &integer, nullptr, &element),
              "MPI_Type_get_contents");
  }
  return element;
}

bool is_named(MPI_Datatype type) {
  const int combiner = combiner_of(type);
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX;
}

} // namespace stoker::engine
