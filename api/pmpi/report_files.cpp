// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/report_files.hpp"

#include "api/pmpi/advice.hpp"
#include "api/pmpi/settings.hpp"
#include "api/pmpi/statistics.hpp"
#include "api/reports/json.hpp"
#include "api/reports/text.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/gathered_texts.hpp"
#include "engine/base/mpi_defects.hpp"
#include "engine/base/mpi_identity.hpp"
#include "engine/base/owned_fd.hpp"

#include <stoker/stoker.h>

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace stoker::pmpi {
namespace {

// The sum over all ranks, at rank 0; empty at the others.
template <class Report>
Report summed_up(const Report& mine, MPI_Comm comm) {
  Report sum;
  for (const std::string& text : engine::gathered_texts(packed(mine), comm)) {
    sum.add(reports::unpacked<Report>(text));
  }
  return sum;
}

// The batch system's name for the job.
std::string job_id() {
  for (const char* const variable :
       {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "OAR_JOB_ID", "JOB_ID"}) {
    if (const char* const value = std::getenv(variable)) {
      return value;
    }
  }
  return {};
}

reports::Job this_job() {
  return {.program = program_invocation_short_name,
          .id = job_id(),
          .mpi = engine::mpi_identity().text,
          .stoker = fmt::format("{}.{}.{}", STOKER_VERSION_MAJOR, STOKER_VERSION_MINOR, STOKER_VERSION_PATCH),
          .finished = std::time(nullptr)};
}

void complain(const char* variable, const std::string& file) {
  fmt::print(stderr, "stoker: {}={}: cannot be written: {}\n", variable, file, std::strerror(errno));
}

// A report, and a line below it if the MPI library was not tested.
template <class Report>
std::string text_for_users(const Report& report) {
  const std::string untested = engine::untested(engine::mpi_identity());
  return text_of(report) + (untested.empty() ? "" : untested + "\n");
}

// A summary or an advice, to the place that STOKER_PMPI_SUMMARY says.
template <class Report>
void write_report(const reports::Job& job, const Report& report) {
  const std::string& file = settings().pmpi_summary;
  if (file == "1") {
    fmt::print(stderr, "{}", text_for_users(report));
    return;
  }
  std::FILE* const out = std::fopen(file.c_str(), "we");
  if (out == nullptr) {
    complain("STOKER_PMPI_SUMMARY", file);
    return;
  }
  const std::string text = file.ends_with(".json") ? json_of(job, report) : text_for_users(report);
  const bool written = std::fputs(text.c_str(), out) >= 0;
  if (std::fclose(out) != 0 || !written) {
    complain("STOKER_PMPI_SUMMARY", file);
  }
}

// In one write, so that the lines of jobs that end together do not mix.
void append_line(const std::string& file, const std::string& line) {
  constexpr mode_t everyone = 0666; // less what the umask takes away
  const engine::OwnedFd out(open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, everyone));
  if (out < 0 || write(out, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    complain("STOKER_PMPI_JOB_LINE", file);
  }
}

} // namespace

void write_reports(MPI_Comm comm) {
  const reports::Summary summary = summed_up(own_summary(), comm);
  if (engine::rank_in(comm) != 0) {
    return;
  }
  const reports::Job job = this_job();
  if (!settings().pmpi_summary.empty()) {
    write_report(job, summary);
  }
  if (!settings().pmpi_job_line.empty()) {
    append_line(settings().pmpi_job_line, line_of(job, summary));
  }
}

void write_advice(MPI_Comm comm) {
  const reports::Advice advice = summed_up(own_advice(), comm);
  if (engine::rank_in(comm) == 0) {
    write_report(this_job(), advice);
  }
}

} // namespace stoker::pmpi
