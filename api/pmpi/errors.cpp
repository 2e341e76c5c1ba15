// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/errors.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/never_destroyed.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <string>

namespace stoker::pmpi {
namespace {

// Codes of MPI, one for each of the engine's, made when first needed. Their texts are those of the latest error.
struct Codes {
  std::mutex mutex;
  std::array<int, 12> codes{}; // MPI_SUCCESS: not made yet
};
engine::NeverDestroyed<Codes> codes_storage;
Codes& codes = codes_storage.object;

int error_class(engine::Code code) {
  switch (code) {
  case engine::Code::argument:
    return MPI_ERR_ARG;
  case engine::Code::mismatch:
    return MPI_ERR_TRUNCATE;
  case engine::Code::request:
    return MPI_ERR_REQUEST;
  case engine::Code::unsupported:
    return MPI_ERR_UNSUPPORTED_OPERATION;
  case engine::Code::resource:
    return MPI_ERR_NO_MEM;
  default:
    return MPI_ERR_OTHER;
  }
}

// MPICH 4.0 has no texts of ours for new codes of its own classes.
bool takes_text(int code, const char* text) {
  return PMPI_Add_error_string(code, text) == MPI_SUCCESS && engine::mpi_text(code) == text;
}

// A code of the given class; if MPI has none with a text of ours, a code of a new class.
int new_code(int of_class) {
  constexpr const char* text = "stoker: an error of the engine";
  int code = MPI_SUCCESS;
  if (PMPI_Add_error_code(of_class, &code) == MPI_SUCCESS && takes_text(code, text)) {
    return code;
  }
  int own_class = MPI_ERR_OTHER;
  PMPI_Add_error_class(&own_class);
  PMPI_Add_error_string(own_class, text);
  PMPI_Add_error_code(own_class, &code);
  return code;
}

std::string text_of(const engine::Error& error) {
  std::string text = "stoker: " + std::string(error.what());
  text.resize(std::min<std::size_t>(text.size(), MPI_MAX_ERROR_STRING - 1));
  return text;
}

} // namespace

int code_of(const engine::Error& error) {
  if (error.mpi_code() != MPI_SUCCESS) {
    return error.mpi_code();
  }
  const std::lock_guard lock(codes.mutex);
  int& code = codes.codes[static_cast<std::size_t>(error.code())];
  if (code == MPI_SUCCESS) {
    code = new_code(error_class(error.code()));
  }
  PMPI_Add_error_string(code, text_of(error).c_str());
  return code;
}

int report_error(MPI_Comm comm, const engine::Error& error) {
  const int code = code_of(error);
  PMPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? MPI_COMM_SELF : comm, code);
  return code;
}

} // namespace stoker::pmpi
