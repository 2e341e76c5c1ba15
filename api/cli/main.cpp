// SPDX-License-Identifier: BSD-3-Clause
// The program `stoker`: runs a program with the drop-in library (run), says what that could gain (advise), shows what
// there is (info), what to reserve and how to launch (plan), what algorithms send (schedule) and how long they take
// (predict, simulate), which are the fastest (tune), what messages cost (calibrate), and what works here (doctor); makes
// traces readable for other tools (trace).
#include "algos/collectives/registry.hpp"
#include "algos/libraries/library_rules.hpp"
#include "api/cli/commands.hpp"
#include "api/cli/describe.hpp"
#include "engine/settings/settings.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::cli {
namespace {

// "KEY=VALUE", as often as wanted.
void add_settings(CLI::App& command, SettingArguments& settings) {
  command
      .add_option_function<std::vector<std::string>>(
          "--set",
          [&settings](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const auto split = text.find('=');
              if (split == std::string::npos) {
                throw CLI::ValidationError("--set", "expected KEY=VALUE, got \"" + text + "\"");
              }
              settings.emplace_back(text.substr(0, split), text.substr(split + 1));
            }
          },
          "a setting, as if passed by the application")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

// "radix", "allreduce", "allreduce cyclic-shift".
void take_words(const std::vector<std::string>& words, ScheduleOptions& options) {
  if (!words.empty() && (words.size() == 2 || algos::find_collective(words.front()))) {
    options.collective = words.front();
    options.algorithm = words.size() == 2 ? words.back() : "";
  } else if (!words.empty()) {
    options.algorithm = words.front();
  }
}

using Command = std::function<int()>;

void add_info(CLI::App& app, Command& run) {
  const auto options = std::make_shared<InfoOptions>();
  CLI::App* command = app.add_subcommand(
      "info", "Topology, helper threads, access paths, algorithms and effective settings; alone or under mpiexec");
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->add_flag("--settings-markdown", options->settings_markdown, "only the reference page of the settings");
  command->add_flag("--mpi-libraries-markdown", options->mpi_libraries_markdown, "only the page about MPI libraries");
  add_settings(*command, options->settings);
  command->callback([&run, options] { run = [options] { return info(*options); }; });
}

// Options of `stoker run` that set a variable for the program.
struct RunSetting {
  const char* option;
  const char* variable;
  std::string (*value_of)(const std::string&); // null: an option without argument, which sets 1
  const char* argument;
  const char* help;
};
constexpr std::array run_settings{
    RunSetting{"--blocking", "STOKER_PMPI_BLOCKING", nullptr, "", "the engine carries out blocking collectives, too"},
    RunSetting{"--p2p", "STOKER_PMPI_P2P", nullptr, "", "long messages with requests make progress in the background"},
    RunSetting{"--summary", "STOKER_PMPI_SUMMARY", summary_place, "FILE",
               "write what became of each call to this file at the end, as JSON if its name ends in .json; -: to "
               "standard error"},
};

// What subcommands that become a program have in common. `words`: what stands behind "--".
void add_program(CLI::App& command, Command& run, const std::shared_ptr<RunOptions>& options,
                 const std::vector<std::string>& words) {
  command
      .add_option("--drop-in", options->drop_in,
                  "the drop-in library to take, if there is none for the program's MPI library where stoker looks")
      ->type_name("FILE");
  CLI::Option* const dry_run = command.add_flag("--dry-run", options->dry_run, "only print what would be set, and why");
  command
      .add_flag("--exports", options->exports,
                "only print what would be set, in each process: lines export NAME=VALUE, as Slurm's TaskProlog has to")
      ->excludes(dry_run);
  command.allow_extras();
  command.callback([&run, options, words, &command] {
    const std::vector<std::string> unknown = command.remaining();
    if (!unknown.empty() && unknown.front().starts_with('-')) {
      throw CLI::ExtrasError(unknown);
    }
    if (words.empty() || !unknown.empty()) {
      throw CLI::ValidationError(
          options->name,
          fmt::format("expected -- and a program after the options: stoker {} -- ./program", options->name));
    }
    options->command = words;
    run = [options] { return cli::run(*options); };
  });
}

void add_run(CLI::App& app, Command& run, const std::vector<std::string>& words) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand(
      "run", "Runs a program with the drop-in library: mpiexec -n 4 stoker run [OPTIONS] -- PROGRAM [ARGUMENT...]");
  for (const RunSetting& setting : run_settings) {
    const auto set = [options, &setting](const std::string& value) {
      options->settings.emplace_back(setting.variable, value);
    };
    if (setting.value_of == nullptr) {
      command->add_flag_callback(
          setting.option, [set] { set("1"); }, setting.help);
    } else {
      command
          ->add_option_function<std::string>(
              setting.option, [set, &setting](const std::string& text) { set(setting.value_of(text)); }, setting.help)
          ->type_name(setting.argument);
    }
  }
  command->add_flag("--mapped", options->mapped,
                    "long allocations (malloc, MPI_Alloc_mem) give memory that all ranks of a node share, for faster "
                    "exchanges");
  add_program(*command, run, options, words);
}

void add_advise(CLI::App& app, Command& run, const std::vector<std::string>& words) {
  const auto options = std::make_shared<RunOptions>();
  options->name = "advise";
  options->settings = {{"STOKER_PMPI_ADVISE", "1"}, {"STOKER_PMPI_SUMMARY", "1"}};
  CLI::App* command = app.add_subcommand(
      "advise", "Runs a program as it is, and says at the end what its collectives and messages cost, what of that\n"
                "could be hidden, and what stoker run would do: mpiexec -n 4 stoker advise -- PROGRAM [ARGUMENT...]");
  command
      ->add_option_function<std::string>(
          "--summary",
          [options](const std::string& file) {
            options->settings.emplace_back("STOKER_PMPI_SUMMARY", summary_place(file));
          },
          "write it to this file, as JSON if its name ends in .json; -, the default: to standard error")
      ->type_name("FILE");
  command
      ->add_option_function<int>(
          "--depth",
          [options](int frames) { options->settings.emplace_back("STOKER_PMPI_DEPTH", std::to_string(frames)); },
          "frames of the program that tell its calls apart; 1, the default: the place of the call alone")
      ->type_name("N")
      ->check(CLI::Range(1, engine::Settings::most_pmpi_depth));
  add_program(*command, run, options, words);
}

void add_plan(CLI::App& app, Command& run) {
  const auto options = std::make_shared<PlanOptions>();
  CLI::App* command =
      app.add_subcommand("plan", "Which cores to reserve for ranks and helpers, and the lines that launch it so");
  command->add_option("--nodes", options->nodes, "nodes of the job")->check(CLI::PositiveNumber)->capture_default_str();
  command->add_option("--ppn", options->ranks_per_node, "ranks per node")->check(CLI::PositiveNumber)->required();
  command->add_option("--helpers-per-numa", options->helpers_per_numa, "helper threads per NUMA domain")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--machine", options->machine,
                      "hwloc synthetic description or XML file of a node; default: this one");
  command->add_option("--launcher", options->launcher, "only this launcher's line")
      ->check(CLI::IsMember({"hydra", "openmpi", "slurm"}));
  command->add_option("--program", options->program, "what to launch")->capture_default_str();
  command->add_flag("--oversubscribe", options->oversubscribe, "accept more ranks than cores");
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->callback([&run, options] { run = [options] { return plan(*options); }; });
}

void add_schedule(CLI::App& app, Command& run) {
  const auto options = std::make_shared<ScheduleOptions>();
  CLI::App* command =
      app.add_subcommand("schedule", "What an algorithm sends: counted by distance, printed, drawn, verified");
  const auto words = std::make_shared<std::vector<std::string>>();
  command
      ->add_option(
          "algorithm", *words,
          "name with parameters, as in radix:r=4 (stoker info), of alltoall; or a collective, as in allreduce, and "
          "the name of an algorithm for it")
      ->expected(0, 2);
  command->add_option("--factors", options->factors, "of the algorithm for such a collective, as in \"-4 -2 2 4\"");
  command->add_option("--root", options->root, "of a collective that has one")->check(CLI::NonNegativeNumber);
  command->add_option("--grid", options->grid,
                      "as in 8x4: neighbor_alltoall on a periodic grid of so many ranks, instead of alltoall");
  command->add_option("--ranks", options->ranks, "all of whose programs are compiled")
      ->check(CLI::Range(1, 8192))
      ->capture_default_str();
  command->add_option("--ppn", options->ranks_per_node, "ranks per node")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--domains", options->domains_per_node, "NUMA domains per node")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--bytes", options->bytes, "of the block for each pair; of the vector, or of each rank's block")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  command->add_flag("--in-place", options->in_place);
  command->add_option("--svg", options->svg, "draw who sends to whom, round by round, into this file");
  command->add_option("--model", options->model, "also simulate its time on the machine of this file");
  command->add_flag("--verify", options->verify, "follow every byte through the schedule");
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->add_option("--rank", options->rank, "print this rank's program instead")
      ->check(CLI::NonNegativeNumber)
      ->excludes("--json", "--svg", "--model", "--verify");
  command->add_flag("--programs", options->all_programs, "print the call and the programs of all ranks instead")
      ->excludes("--json", "--svg", "--model", "--verify", "--rank");
  command
      ->add_option("--check", options->check,
                   "verify the call and the programs in this file, in the place of an algorithm's; as printed by "
                   "--programs or written by hand")
      ->excludes("algorithm", "--factors", "--root", "--grid", "--ranks", "--bytes", "--in-place");
  command
      ->add_option("--run", options->run,
                   "under mpiexec: let the engine carry out what is in such a file, and check the result")
      ->excludes("algorithm", "--factors", "--root", "--grid", "--ranks", "--bytes", "--in-place", "--ppn", "--domains",
                 "--json", "--svg", "--model", "--verify", "--rank", "--programs", "--check");
  command->callback([&run, options, words] {
    take_words(*words, *options);
    run = [options] { return schedule(*options); };
  });
}

void add_predict(CLI::App& app, Command& run) {
  const auto options = std::make_shared<PredictOptions>();
  CLI::App* command =
      app.add_subcommand("predict", "How long alltoall algorithms are expected to take, and which is taken by default");
  command
      ->add_option("algorithms", options->algorithms, "names with parameters; default: what the default is chosen from")
      ->expected(0, -1);
  command->add_option("--ranks", options->ranks)->check(CLI::Range(1, 1 << 20))->capture_default_str();
  command->add_option("--ppn", options->ranks_per_node, "ranks per node")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--domains", options->domains_per_node, "NUMA domains per node")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--bytes", options->bytes, "of the block for each pair")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  command->add_option("--model", options->model, "machine file, as from stoker calibrate; default: a typical cluster");
  command->add_flag("--helpers", options->helpers,
                    "one helper per domain does what its ranks would do side by side, as with executor=engine");
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->callback([&run, options] { run = [options] { return predict(*options); }; });
}

// What is simulated, and on what.
void add_subject(CLI::App& command, SimulateOptions& options) {
  command.add_option("collective", options.collective)->capture_default_str();
  command
      .add_option("algorithms", options.algorithms,
                  "names with parameters (stoker info); all: those of the collective, as without names and --library")
      ->expected(0, -1);
  command.add_option("--machine", options.machine, "a file, or the name of one of docs/machines")
      ->capture_default_str();
  command.add_option("--nodes", options.nodes)->check(CLI::PositiveNumber)->capture_default_str();
  command.add_option("--ppn", options.ranks_per_node, "ranks per node; default: the machine's")
      ->check(CLI::PositiveNumber);
  command.add_option("--domains", options.domains_per_node, "domains of a node that have ranks; default: all")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--bytes", options.bytes,
                  "of the block for each pair or neighbor; of the vector, or of each rank's block; of an element of "
                  "--matrix's vector")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  command.add_option("--root", options.root, "of a collective that has one")->check(CLI::NonNegativeNumber);
  CLI::Option* grid = command.add_option(
      "--grid", options.grid, "as in 8x4: the neighbors of a neighborhood collective, on a periodic grid of all ranks");
  command
      .add_option("--matrix", options.matrix,
                  "Matrix Market file: alltoallv or neighbor_alltoallv of the elements that its product with a vector "
                  "needs, rows dealt to ranks in blocks")
      ->check(CLI::ExistingFile)
      ->excludes(grid);
  command
      .add_option("--send-counts", options.send_counts,
                  "write who sends how many elements to whom for --matrix into this file, as JSON")
      ->needs("--matrix");
  command.add_option("--library", options.libraries, "what the rules of this MPI library choose")
      ->delimiter(',')
      ->check(CLI::IsMember(std::vector<std::string>(algos::library_names.begin(), algos::library_names.end())));
}

void add_scenario(CLI::App& command, SimulateOptions& options) {
  command.add_option("--progress", options.progress, "who carries out the steps")
      ->check(CLI::IsMember({"rank", "helper", "shared-helper"}))
      ->capture_default_str();
  command.add_option("--helpers", options.helpers_per_node, "per node; default: one for each domain")
      ->check(CLI::PositiveNumber);
  command.add_option("--computation", options.computation_us, "microseconds of each rank between Start and Wait")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--test-every", options.test_every_us, "microseconds of computation between two calls of Test")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--late", options.late_us, "microseconds by which ranks come late, in the mean")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--seed", options.seed, "of lateness and noise")->capture_default_str();
}

void add_simulate(CLI::App& app, Command& run) {
  const auto options = std::make_shared<SimulateOptions>();
  CLI::App* command = app.add_subcommand(
      "simulate", "How long algorithms take on a machine that a file describes, at any number of ranks");
  add_subject(*command, *options);
  add_scenario(*command, *options);
  command
      ->add_option("--jobs", options->jobs,
                   "simulations at a time; with twice as many or more, each gets threads that make its programs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--phases", options->phases, "also before, between and after messages between nodes");
  command->add_flag("--no-default", options->no_default,
                    "do not work out what init takes by default, which takes long at thousands of ranks");
  command->add_option("--plot", options->plot, "draw times over sizes into this file");
  command->add_option("--svg", options->svg, "draw what ranks and helpers do when into this file");
  command->add_option("--trace", options->trace, "the same as Chrome trace JSON");
  command->add_option("--observe", options->observed, "ranks for --svg and --trace, as in 0-3,8")
      ->capture_default_str();
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->callback([&run, options] { run = [options] { return simulate(*options); }; });
}

void add_tune(CLI::App& app, Command& run) {
  const auto options = std::make_shared<TuneOptions>();
  CLI::App* command = app.add_subcommand(
      "tune", "Searches for the fastest algorithms by simulation, and writes a file for the setting tuning; under\n"
              "mpiexec with --measure: times the best of them on the job's ranks, too");
  command->add_option("--machine", options->machine, "a file, or the name of one of docs/machines")
      ->capture_default_str();
  command->add_option("--collective", options->collectives, "those to tune")->delimiter(',')->capture_default_str();
  CLI::Option* nodes = command->add_option("--nodes", options->nodes, "numbers of nodes")
                           ->delimiter(',')
                           ->check(CLI::Range(1, 1 << 16))
                           ->capture_default_str();
  CLI::Option* ranks = command->add_option("--ppn", options->ranks_per_node, "ranks per node; default: the machine's")
                           ->check(CLI::Range(1, 1 << 12));
  command->add_option("--bytes", options->bytes, "of each block, or of the vector")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  command->add_flag("--helpers", options->helpers, "simulate one helper per domain, with a core of its own");
  command->add_option("--limit", options->limit, "simulations for each collective, number of nodes, and size")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--dry-run", options->dry_run, "only print where the search would begin");
  command->add_flag("--measure", options->measure, "let the ranks of this job time the best")->excludes(nodes, ranks);
  command->add_option("--best", options->best, "so many of the best are measured")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--repetitions", options->repetitions, "of each, in turns; their median counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--output", options->output, "file to write; default: standard output");
  command->callback([&run, options] { run = [options] { return tune(*options); }; });
}

void add_calibrate(CLI::App& app, Command& run) {
  const auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command = app.add_subcommand(
      "calibrate",
      "Measures what messages cost here, and writes a machine file, as for the setting cost_model; under mpiexec, as "
      "the job will run");
  command->add_option("--output", options->output, "file to write; default: standard output");
  command
      ->add_option("--ranks-per-node", options->ranks_per_node,
                   "pretend that every so many ranks form a node; 0: the real nodes")
      ->check(CLI::NonNegativeNumber);
  command->callback([&run, options] { run = [options] { return calibrate(*options); }; });
}

void add_trace(CLI::App& app, Command& run) {
  const auto options = std::make_shared<TraceOptions>();
  CLI::App* command = app.add_subcommand(
      "trace", "Makes an archive in the format OTF2, for Vampir and the like, of traces that the setting trace or\n"
               "stoker simulate --trace has written");
  command->add_option("file", options->files, "Chrome trace JSON; several files go into one archive")
      ->type_name("FILE")
      ->expected(1, -1)
      ->required();
  command->add_option("--otf2", options->otf2, "folder to make, for the archive")->type_name("FOLDER")->required();
  command->callback([&run, options] { run = [options] { return trace(*options); }; });
}

void add_doctor(CLI::App& app, Command& run) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = app.add_subcommand(
      "doctor", "What works here, what will be slow, and the remedy; alone for this host, under mpiexec for a job.\n"
                "Exit code 1 when something fails.");
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->callback([&run, options] { run = [options] { return doctor(*options); }; });
}

} // namespace
} // namespace stoker::cli

using namespace stoker::cli;

int main(int argc, char** argv) {
  // The words after "--" are another program's.
  char** const end = argv + argc;
  const bool runs = argc > 1 && (std::string_view(argv[1]) == "run" || std::string_view(argv[1]) == "advise");
  char** const own_end = runs ? std::find(argv, end, std::string_view("--")) : end;
  const std::vector<std::string> words(std::min(own_end + 1, end), end);
  CLI::App app("stoker: an asynchronous progress engine for MPI collectives", "stoker");
  app.set_version_flag("--version", "stoker " + version());
  app.add_flag_callback("--describe", [&app] { throw CLI::CallForVersion(describe(app), 0); })
      ->group("")           // hidden
      ->trigger_on_parse(); // before CLI11 asks for a command
  app.require_subcommand(1);
  Command run; // of the subcommand that was parsed
  add_run(app, run, words);
  add_advise(app, run, words);
  add_info(app, run);
  add_plan(app, run);
  add_schedule(app, run);
  add_predict(app, run);
  add_simulate(app, run);
  add_tune(app, run);
  add_calibrate(app, run);
  add_trace(app, run);
  add_doctor(app, run);
  try {
    CLI11_PARSE(app, static_cast<int>(own_end - argv), argv);
    return run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "stoker: {}\n", error.what());
    return 1;
  }
}
