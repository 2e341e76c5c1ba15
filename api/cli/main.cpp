// SPDX-License-Identifier: BSD-3-Clause
// `stoker`: what there is (info), what to reserve and how to launch (plan), what
// algorithms send (schedule) and messages cost (calibrate), what works here (doctor).
#include "algos/collectives/registry.hpp"
#include "api/cli/commands.hpp"

#include <stoker/stoker.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <exception>

namespace {

// "KEY=VALUE", as often as wanted.
void add_settings(CLI::App& command, stoker::cli::SettingArguments& settings) {
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
void take_words(const std::vector<std::string>& words, stoker::cli::ScheduleOptions& options) {
  if (!words.empty() && (words.size() == 2 || stoker::algos::find_collective(words.front()))) {
    options.collective = words.front();
    options.algorithm = words.size() == 2 ? words.back() : "";
  } else if (!words.empty()) {
    options.algorithm = words.front();
  }
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app("stoker: an asynchronous progress engine for MPI collectives", "stoker");
  app.set_version_flag(
      "--version", fmt::format("stoker {}.{}.{}", STOKER_VERSION_MAJOR, STOKER_VERSION_MINOR, STOKER_VERSION_PATCH));
  app.require_subcommand(1);

  stoker::cli::InfoOptions info;
  CLI::App* info_command = app.add_subcommand(
      "info", "Topology, helper threads, access paths, algorithms and effective settings; alone or under mpiexec");
  info_command->add_flag("--json", info.json, "one JSON object instead of text");
  info_command->add_flag("--settings-markdown", info.settings_markdown, "only the reference page of the settings");
  add_settings(*info_command, info.settings);

  stoker::cli::PlanOptions plan;
  CLI::App* plan_command =
      app.add_subcommand("plan", "Which cores to reserve for ranks and helpers, and the lines that launch it so");
  plan_command->add_option("--nodes", plan.nodes, "nodes of the job")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  plan_command->add_option("--ppn", plan.ranks_per_node, "ranks per node")->check(CLI::PositiveNumber)->required();
  plan_command->add_option("--helpers-per-numa", plan.helpers_per_numa, "helper threads per NUMA domain")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  plan_command->add_option("--machine", plan.machine,
                           "hwloc synthetic description or XML file of a node; default: this one");
  plan_command->add_option("--launcher", plan.launcher, "only this launcher's line")
      ->check(CLI::IsMember({"hydra", "openmpi", "slurm"}));
  plan_command->add_option("--program", plan.program, "what to launch")->capture_default_str();
  plan_command->add_flag("--oversubscribe", plan.oversubscribe, "accept more ranks than cores");
  plan_command->add_flag("--json", plan.json, "one JSON object instead of text");

  stoker::cli::ScheduleOptions schedule;
  CLI::App* schedule_command =
      app.add_subcommand("schedule", "What an algorithm sends: counted by distance, printed, drawn, verified");
  std::vector<std::string> schedule_words;
  schedule_command
      ->add_option(
          "algorithm", schedule_words,
          "name with parameters, as in radix:r=4 (stoker info), of alltoall; or a collective, as in allreduce, and "
          "the name of an algorithm for it")
      ->expected(0, 2);
  schedule_command->add_option("--factors", schedule.factors,
                               "of the algorithm for such a collective, as in \"-4 -2 2 4\"");
  schedule_command->add_option("--root", schedule.root, "of a collective that has one")->check(CLI::NonNegativeNumber);
  schedule_command->add_option("--grid", schedule.grid,
                               "as in 8x4: neighbor_alltoall on a periodic grid of so many ranks, instead of alltoall");
  schedule_command->add_option("--ranks", schedule.ranks, "all of whose programs are compiled")
      ->check(CLI::Range(1, 8192))
      ->capture_default_str();
  schedule_command->add_option("--ppn", schedule.ranks_per_node, "ranks per node")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  schedule_command->add_option("--domains", schedule.domains_per_node, "NUMA domains per node")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  schedule_command
      ->add_option("--bytes", schedule.bytes, "of the block for each pair; of the vector, or of each rank's block")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  schedule_command->add_flag("--in-place", schedule.in_place);
  schedule_command->add_option("--svg", schedule.svg, "draw who sends to whom, round by round, into this file");
  schedule_command->add_option("--model", schedule.model,
                               "also predict its time, with what stoker calibrate has measured");
  schedule_command->add_flag("--verify", schedule.verify, "follow every byte through the schedule");
  schedule_command->add_flag("--json", schedule.json, "one JSON object instead of text");
  schedule_command->add_option("--rank", schedule.rank, "print this rank's program instead")
      ->check(CLI::NonNegativeNumber)
      ->excludes("--json", "--svg", "--model", "--verify");

  stoker::cli::PredictOptions predict;
  CLI::App* predict_command = app.add_subcommand(
      "predict", "How long alltoall algorithms take by the cost model, at least, and which is taken by default");
  predict_command
      ->add_option("algorithms", predict.algorithms, "names with parameters; default: what the default is chosen from")
      ->expected(0, -1);
  predict_command->add_option("--ranks", predict.ranks)->check(CLI::Range(1, 1 << 20))->capture_default_str();
  predict_command->add_option("--ppn", predict.ranks_per_node, "ranks per node")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  predict_command->add_option("--domains", predict.domains_per_node, "NUMA domains per node")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  predict_command->add_option("--bytes", predict.bytes, "of the block for each pair")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  predict_command->add_option("--model", predict.model,
                              "what stoker calibrate has measured; default: a typical cluster");
  predict_command->add_flag("--helpers", predict.helpers,
                            "one helper per domain does what its ranks would do side by side, as with executor=engine");
  predict_command->add_flag("--json", predict.json, "one JSON object instead of text");

  stoker::cli::CalibrateOptions calibrate;
  CLI::App* calibrate_command = app.add_subcommand(
      "calibrate",
      "Measures what messages cost here, for the setting cost_model and stoker predict; under mpiexec, as the job "
      "will run");
  calibrate_command->add_option("--output", calibrate.output, "file to write; default: standard output");
  calibrate_command
      ->add_option("--ranks-per-node", calibrate.ranks_per_node,
                   "pretend that every so many ranks form a node; 0: the real nodes")
      ->check(CLI::NonNegativeNumber);

  stoker::cli::DoctorOptions doctor;
  CLI::App* doctor_command = app.add_subcommand(
      "doctor", "What works here, what will be slow, and the remedy; alone for this host, under mpiexec for a job.\n"
                "Exit code 1 when something fails.");
  doctor_command->add_flag("--json", doctor.json, "one JSON object instead of text");

  CLI11_PARSE(app, argc, argv);
  try {
    if (info_command->parsed()) {
      return stoker::cli::info(info);
    }
    if (plan_command->parsed()) {
      return stoker::cli::plan(plan);
    }
    if (predict_command->parsed()) {
      return stoker::cli::predict(predict);
    }
    if (calibrate_command->parsed()) {
      return stoker::cli::calibrate(calibrate);
    }
    if (schedule_command->parsed()) {
      take_words(schedule_words, schedule);
      return stoker::cli::schedule(schedule);
    }
    return stoker::cli::doctor(doctor);
  } catch (const std::exception& error) {
    fmt::print(stderr, "stoker: {}\n", error.what());
    return 1;
  }
}
