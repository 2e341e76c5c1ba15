// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/state.hpp"

namespace stoker::pmpi {

std::string_view name_of(Form form) {
  static constexpr std::array<std::string_view, form_count> names{"blocking", "nonblocking", "persistent"};
  return names[static_cast<std::size_t>(form)];
}

std::string_view text_of(Reason reason) {
  static constexpr std::array<std::string_view, reason_count> texts{
      "MPI is not initialised by MPI_Init, or only sessions are",
      "there is no engine",
      "the job has one process",
      "switched off by MPI_Pcontrol",
      "calls of this form are not asked for",
      "made by the MPI library itself",
      "communicator of one rank",
      "intercommunicator",
      "communicator with ranks of other jobs",
      "communicator from a function that is not watched",
      "no communicator left: STOKER_PMPI_COMMUNICATORS, or the MPI library's limit",
      "other than of neighborhoods, on a communicator with a distributed graph",
      "communicators with a distributed graph that are hardly called",
      "communicator with a distributed graph in which a rank has no neighbors",
      "switched off by stoker_off",
      "shorter than STOKER_PMPI_LEAST_BYTES",
      "MPI_THREAD_MULTIPLE is not to be had, or not asked for (executor=inline)",
      "the system gives no helper thread",
      "operation of the application",
      "predefined operation on a datatype that the engine does not combine with it",
      "in place",
      "arguments that the MPI library refuses",
      "more kinds of calls on the communicator than the engine keeps requests for",
      "the engine could not be set up for the communicator",
      "arguments that the engine does not take: overlap, MPI_IN_PLACE or sizes",
      "not enough memory",
      "datatype, operator or setting for which the engine has no algorithm",
  };
  return texts[static_cast<std::size_t>(reason)];
}

} // namespace stoker::pmpi
