// SPDX-License-Identifier: BSD-3-Clause
// `stoker doctor`: runs the checks of every host and of the job, and prints each finding with its remedy. It also runs
// alone, for the host that it is started on.
#include "api/cli/commands.hpp"
#include "api/cli/host_checks.hpp"
#include "api/cli/job_checks.hpp"
#include "api/cli/mpi_session.hpp"
#include "engine/base/mpi_identity.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>

namespace stoker::cli {
namespace {

using nlohmann::ordered_json;

// Findings that hold for the named hosts.
struct Section {
  std::vector<std::string> hosts;
  Findings findings;
};

ordered_json to_json(const Findings& findings) {
  ordered_json list = ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"check", finding.check},
                    {"verdict", name_of(finding.verdict)},
                    {"found", finding.found},
                    {"remedy", finding.remedy}});
  }
  return list;
}

Findings findings_from(const ordered_json& list) {
  Findings findings;
  for (const auto& entry : list) {
    const auto name = std::ranges::find(verdict_names, entry.at("verdict").get<std::string>());
    findings.push_back(
        {entry.at("check"), static_cast<Verdict>(name - verdict_names.begin()), entry.at("found"), entry.at("remedy")});
  }
  return findings;
}

bool same_verdicts(const Findings& a, const Findings& b) {
  return std::ranges::equal(
      a, b, [](const Finding& x, const Finding& y) { return x.check == y.check && x.verdict == y.verdict; });
}

// Collective. One section for all hosts where the same was found, on rank 0.
std::vector<Section> gather_hosts(const Findings& mine) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::vector<Section> sections;
  for (const std::string& text : gather(ordered_json({{"host", host.data()}, {"findings", to_json(mine)}}).dump())) {
    const auto json = ordered_json::parse(text);
    const std::string name = json.at("host");
    const Findings findings = findings_from(json.at("findings"));
    auto section =
        std::ranges::find_if(sections, [&](const Section& s) { return same_verdicts(s.findings, findings); });
    if (section == sections.end()) {
      section = sections.insert(sections.end(), {{}, findings});
    }
    if (std::ranges::find(section->hosts, name) == section->hosts.end()) {
      section->hosts.push_back(name);
    }
  }
  return sections;
}

void print(const std::string& title, const Findings& findings) {
  fmt::print("{}\n", title);
  for (const Finding& finding : findings) {
    fmt::print("  {:<6} {:<22} {}\n", name_of(finding.verdict), finding.check, finding.found);
    if (!finding.remedy.empty()) {
      fmt::print("  {:<6} {:<22} -> {}\n", "", "", finding.remedy);
    }
  }
}

// Collective. The exit code.
int examine(const MpiSession& session, const Findings& host, bool as_json) {
  const std::vector<Section> hosts = gather_hosts(host);
  Findings job = check_job(session);
  std::ranges::move(check_engine(session), std::back_inserter(job));

  int failures = 0;
  if (session.rank() == 0) {
    const auto fails = [](const Findings& findings) {
      return std::ranges::count(findings, Verdict::fails, &Finding::verdict);
    };
    failures = static_cast<int>(fails(job));
    for (const Section& section : hosts) {
      failures += static_cast<int>(fails(section.findings));
    }
    if (as_json) {
      ordered_json json{{"mpi", engine::mpi_identity().text}, {"ranks", session.size()}, {"failures", failures}};
      json["hosts"] = ordered_json::array();
      for (const Section& section : hosts) {
        json["hosts"].push_back({{"names", section.hosts}, {"findings", to_json(section.findings)}});
      }
      json["job"] = to_json(job);
      fmt::print("{}\n", json.dump(2));
    } else {
      for (const Section& section : hosts) {
        print(fmt::format("host {}", fmt::join(section.hosts, ", ")), section.findings);
      }
      print(fmt::format("job of {} rank{}, {}", session.size(), session.size() == 1 ? "" : "s",
                        engine::mpi_identity().text),
            job);
      fmt::print("{}\n", failures == 0 ? "nothing fails" : fmt::format("{} checks fail", failures));
    }
  }
  return broadcast(failures) == 0 ? 0 : 1;
}

} // namespace

int doctor(const DoctorOptions& options) {
  const Findings host = check_host(); // forks, so before MPI_Init
  return with_mpi([&](const MpiSession& session) { return examine(session, host, options.json); });
}

} // namespace stoker::cli
