// SPDX-License-Identifier: BSD-3-Clause
// The subcommands of `stoker`. Each returns the exit code of the process.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stoker::cli {

using SettingArguments = std::vector<std::pair<std::string, std::string>>;

struct InfoOptions {
  bool json = false;
  bool settings_markdown = false;      // only the reference page of the settings
  bool mpi_libraries_markdown = false; // only the page about MPI libraries
  SettingArguments settings;           // as if passed in the call
};
int info(const InfoOptions& options);
std::string version(); // "1.2.3", of stoker

struct RunOptions {
  std::string name = "run"; // of the subcommand, for errors
  std::vector<std::string> command;
  SettingArguments settings; // environment variables for it, and their values
  std::string drop_in;       // file; empty: found
  bool mapped = false;       // the program's memory, as much of it as can be, is shared by the ranks of a node
  bool dry_run = false;
  bool exports = false; // only print lines for Slurm's TaskProlog
};
// Returns only if the command cannot be run, or with `dry_run` or `exports`.
int run(const RunOptions& options);
// The value of STOKER_PMPI_SUMMARY for a file, or for "-", which stands for standard error. Throws
// std::invalid_argument for what is neither.
std::string summary_place(const std::string& file);

struct PlanOptions {
  bool json = false;
  int nodes = 1;
  int ranks_per_node = 1;
  int helpers_per_numa = 1;
  std::string machine; // hwloc synthetic description or XML file; empty: this machine
  bool oversubscribe = false;
  std::string launcher; // hydra, openmpi, slurm; empty: all
  std::string program = "./application";
};
int plan(const PlanOptions& options);

struct ScheduleOptions {
  bool json = false;
  std::string collective = "alltoall"; // of a vector call; else alltoall, or what grid says
  std::string algorithm;               // with its parameters; empty: the collective's first
  std::string factors;                 // of that algorithm
  int root = 0;
  std::string grid; // "8x4": the neighborhood collective on a periodic grid of ranks instead of alltoall
  int ranks = 8;
  int ranks_per_node = 4;
  int domains_per_node = 1;
  std::uint64_t bytes = 8; // of each block, or of the vector
  bool in_place = false;
  int rank = -1;             // whose program to print; -1: the counts of all
  bool all_programs = false; // print those of all ranks, so that they can be read back
  std::string check;         // file with such programs, to verify them in the place of an algorithm's; empty: none
  std::string run;           // likewise, to carry them out
  std::string svg;
  std::string model; // parameters of the cost model; empty: no prediction
  bool verify = false;
};
int schedule(const ScheduleOptions& options);

struct PredictOptions {
  bool json = false;
  std::vector<std::string> algorithms; // empty: what the default is chosen from
  int ranks = 32;
  int ranks_per_node = 8;
  int domains_per_node = 1;
  std::vector<std::uint64_t> bytes = {8, 64, 512, 4096, 32768, 262144}; // of each block
  std::string model;                                                    // as above; empty: a typical cluster
  bool helpers = false; // one helper per domain does the work of its ranks
};
int predict(const PredictOptions& options);

struct SimulateOptions {
  bool json = false;
  std::string collective = "alltoall";
  std::vector<std::string> algorithms; // "all": those of the collective, as without algorithms and libraries
  std::vector<std::string> libraries;  // whose rules choose
  std::string machine = "cluster";     // a file, or a name
  int nodes = 4;
  int ranks_per_node = 0; // 0: the machine's
  int domains_per_node = 0;
  std::vector<std::uint64_t> bytes = {8,    64,    512,
                                      4096, 32768, 262144}; // of each block, of the vector, or of its elements
  int root = 0;
  std::string grid;        // as above, of a neighborhood collective
  std::string matrix;      // whose product with a vector is communicated for
  std::string send_counts; // file for that
  std::string progress = "rank";
  int helpers_per_node = 0; // 0: one for each domain
  double computation_us = 0;
  double test_every_us = 0;
  double late_us = 0;
  std::uint64_t seed = 1;
  bool phases = false;
  bool no_default = false;
  int jobs = 1;
  std::string plot;
  std::string svg; // of one simulation, as `trace`
  std::string trace;
  std::string observed = "0-7"; // ranks
};
int simulate(const SimulateOptions& options);

struct TuneOptions {
  std::vector<std::string> collectives = {"alltoall", "allreduce", "bcast", "allgather"};
  std::string machine = "cluster";                                      // as above
  std::vector<int> nodes = {2, 4, 8};                                   // unless it is the job's that measures
  int ranks_per_node = 0;                                               // likewise; 0: the machine's
  std::vector<std::uint64_t> bytes = {8, 64, 512, 4096, 32768, 262144}; // as of schedule
  bool helpers = false; // one helper per domain, with a core of its own, carries out what its ranks start
  int limit = 100;      // simulations for each point
  bool dry_run = false;
  bool measure = false;
  int best = 4; // that are measured
  int repetitions = 30;
  std::string output; // empty: standard output
};
int tune(const TuneOptions& options);

struct CalibrateOptions {
  std::string output; // empty: standard output
  int ranks_per_node = 0;
};
int calibrate(const CalibrateOptions& options);

struct TraceOptions {
  std::vector<std::string> files;
  std::string otf2; // folder to make
};
int trace(const TraceOptions& options);

struct DoctorOptions {
  bool json = false;
};
int doctor(const DoctorOptions& options);

} // namespace stoker::cli
