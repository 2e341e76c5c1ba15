// SPDX-License-Identifier: BSD-3-Clause
// The program `stoker`: shows what there is (info), what to reserve and how to launch (plan), what algorithms send
// (schedule) and how long they take (predict), what messages cost (calibrate), and what works here (doctor).
#include "algos/collectives/registry.hpp"
#include "api/cli/commands.hpp"

#include <stoker/stoker.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
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
  add_settings(*command, options->settings);
  command->callback([&run, options] { run = [options] { return info(*options); }; });
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
  command->add_option("--model", options->model, "also predict its time, with what stoker calibrate has measured");
  command->add_flag("--verify", options->verify, "follow every byte through the schedule");
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->add_option("--rank", options->rank, "print this rank's program instead")
      ->check(CLI::NonNegativeNumber)
      ->excludes("--json", "--svg", "--model", "--verify");
  command->callback([&run, options, words] {
    take_words(*words, *options);
    run = [options] { return schedule(*options); };
  });
}

void add_predict(CLI::App& app, Command& run) {
  const auto options = std::make_shared<PredictOptions>();
  CLI::App* command = app.add_subcommand(
      "predict", "How long alltoall algorithms take by the cost model, at least, and which is taken by default");
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
  command->add_option("--model", options->model, "what stoker calibrate has measured; default: a typical cluster");
  command->add_flag("--helpers", options->helpers,
                    "one helper per domain does what its ranks would do side by side, as with executor=engine");
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->callback([&run, options] { run = [options] { return predict(*options); }; });
}

void add_calibrate(CLI::App& app, Command& run) {
  const auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command = app.add_subcommand(
      "calibrate",
      "Measures what messages cost here, for the setting cost_model and stoker predict; under mpiexec, as the job "
      "will run");
  command->add_option("--output", options->output, "file to write; default: standard output");
  command
      ->add_option("--ranks-per-node", options->ranks_per_node,
                   "pretend that every so many ranks form a node; 0: the real nodes")
      ->check(CLI::NonNegativeNumber);
  command->callback([&run, options] { run = [options] { return calibrate(*options); }; });
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
  CLI::App app("stoker: an asynchronous progress engine for MPI collectives", "stoker");
  app.set_version_flag(
      "--version", fmt::format("stoker {}.{}.{}", STOKER_VERSION_MAJOR, STOKER_VERSION_MINOR, STOKER_VERSION_PATCH));
  app.require_subcommand(1);
  Command run; // of the subcommand that was parsed
  add_info(app, run);
  add_plan(app, run);
  add_schedule(app, run);
  add_predict(app, run);
  add_calibrate(app, run);
  add_doctor(app, run);
  CLI11_PARSE(app, argc, argv);
  try {
    return run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "stoker: {}\n", error.what());
    return 1;
  }
}
