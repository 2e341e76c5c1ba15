// SPDX-License-Identifier: BSD-3-Clause
#include "topology/reservation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace stoker::topology {

namespace {

std::string text_of(const Reservation& reservation) {
  switch (reservation.mode) {
  case ReserveMode::automatic:
    return "reserve=auto";
  case ReserveMode::none:
    return "reserve=none";
  case ReserveMode::smt:
    return "reserve=smt";
  case ReserveMode::list:
    return "reserve=list:" + reservation.cores.to_string();
  case ReserveMode::per_numa:
    return fmt::format("reserve=per-numa:{}", reservation.count);
  }
  return "";
}

std::string text_of(const std::vector<int>& ranks) {
  constexpr std::size_t shown = 8; // a line must stay a line on nodes of hundreds of ranks
  const std::span<const int> head(ranks.data(), std::min(ranks.size(), shown));
  return fmt::format("rank{} {}{}", ranks.size() == 1 ? "" : "s", fmt::join(head, ", "),
                     ranks.size() > shown ? fmt::format(" and {} more", ranks.size() - shown) : "");
}

// The reservation of one node while it is being made.
class Planner {
public:
  Planner(const Machine& machine, std::span<const NodeRank> ranks, std::span<const NodeDomain> domains,
          const Reservation& reservation)
      : machine_(machine), ranks_(ranks), domains_(domains), reservation_(reservation), places_(domains.size()) {
    for (const NodeRank& rank : ranks) {
      occupied_ |= rank.binding;
    }
  }

  std::vector<HelperPlace> run() {
    switch (reservation_.mode) {
    case ReserveMode::automatic:
      take_nearest(free_cpus());
      break;
    case ReserveMode::none:
      break;
    case ReserveMode::smt:
      take_siblings();
      break;
    case ReserveMode::list:
      take_listed();
      break;
    case ReserveMode::per_numa:
      take_per_numa();
      break;
    }
    std::vector<HelperPlace> result;
    for (std::size_t d = 0; d < domains_.size(); ++d) {
      result.push_back(places_[d] ? *places_[d] : shared_place(d));
    }
    return result;
  }

private:
  // ---- what is there

  const CpuSet& allowed(std::size_t domain) const {
    const int carrier = domains_[domain].ranks.front();
    const auto found = std::find_if(ranks_.begin(), ranks_.end(), [&](const NodeRank& r) { return r.rank == carrier; });
    if (found == ranks_.end()) {
      throw std::invalid_argument(
          fmt::format("reserve: domain {} lists rank {}, which is not on this node", domain, carrier));
    }
    return found->allowed;
  }

  // One CPU of each core that no rank may run on.
  CpuSet free_cpus() const {
    CpuSet free;
    for (const Core& core : machine_.cores()) {
      const CpuSet usable = core.cpus & allowed_by_any();
      if (!usable.empty() && !core.cpus.intersects(occupied_)) {
        free |= CpuSet(usable.first());
      }
    }
    return free;
  }

  CpuSet allowed_by_any() const {
    CpuSet any;
    for (const NodeRank& rank : ranks_) {
      any |= rank.allowed;
    }
    return any;
  }

  std::vector<int> ranks_on(const CpuSet& cpus) const {
    std::vector<int> found;
    for (const NodeRank& rank : ranks_) {
      if (rank.binding.intersects(cpus)) {
        found.push_back(rank.rank);
      }
    }
    return found;
  }

  std::vector<int> unbound_ranks() const {
    std::vector<int> found;
    for (const NodeRank& rank : ranks_) {
      if (!rank.bound) {
        found.push_back(rank.rank);
      }
    }
    return found;
  }

  // 0 in the same NUMA domain, 1 in the same package, 2 elsewhere.
  int distance(std::size_t domain, OsIndex cpu) const {
    const Core* core = machine_.core_of(cpu);
    const NumaDomain& home = machine_.numa_domain(domains_[domain].numa);
    return core->numa == home.index ? 0 : core->package == home.package ? 1 : 2;
  }

  // ---- taking

  // Gives `cpu` to the domain's helper, unless it is taken or the carrier's process may not run there.
  void take(std::size_t domain, OsIndex cpu) {
    if (taken_.contains(cpu) || !allowed(domain).contains(cpu)) {
      return;
    }
    taken_ |= CpuSet(cpu);
    HelperPlace place;
    place.cpus = CpuSet(cpu);
    place.core = cpu;
    place.shared_with = ranks_on(place.cpus);
    place.reserved = place.shared_with.empty();
    const std::vector<int> neighbours = ranks_on(machine_.core_of(cpu)->cpus);
    const std::string company = !place.reserved      ? "shared with " + text_of(place.shared_with)
                                : neighbours.empty() ? "free of ranks"
                                                     : "SMT sibling of " + text_of(neighbours);
    static constexpr std::string_view where[] = {"", ", in another NUMA domain", ", in another package"};
    place.explanation = fmt::format("CPU {}, {}{}", cpu.value, company, where[distance(domain, cpu)]);
    places_[domain] = place;
  }

  // Every domain gets the nearest of `candidates`; a domain's own ones go to others only when it has no use for them.
  void take_nearest(const CpuSet& candidates) {
    const std::vector<OsIndex> cpus = candidates.members();
    for (int reach = 0; reach <= 2; ++reach) {
      for (std::size_t d = 0; d < domains_.size(); ++d) {
        for (std::size_t c = 0; c < cpus.size() && !places_[d]; ++c) {
          if (distance(d, cpus[c]) <= reach) {
            take(d, cpus[c]);
          }
        }
      }
    }
  }

  void take_listed() {
    CpuSet usable = reservation_.cores & machine_.cpus();
    if (!machine_.cpus().contains(reservation_.cores)) {
      demand_failed(fmt::format("CPU {} does not exist; this machine has {}",
                                (reservation_.cores - machine_.cpus()).to_string(), machine_.cpus().to_string()));
    }
    if (!allowed_by_any().contains(usable)) {
      demand_failed(fmt::format("CPU {} is outside this job's allocation, which is {}",
                                (usable - allowed_by_any()).to_string(), allowed_by_any().to_string()));
    }
    if (usable.intersects(occupied_)) {
      const CpuSet busy = usable & occupied_;
      demand_failed(fmt::format("{} may run on CPU {}", text_of(ranks_on(busy)), busy.to_string()));
    }
    if (usable.size() < static_cast<int>(domains_.size())) {
      demand_failed(fmt::format("{} helpers on this node need {} CPUs, but {} is listed", domains_.size(),
                                domains_.size(), usable.size()));
    }
    take_nearest(usable - occupied_);
    take_nearest(usable); // only with best effort are there others
    for (std::size_t d = 0; d < domains_.size(); ++d) {
      if (!places_[d]) {
        demand_failed(fmt::format("no listed CPU is left where {} may run a thread: {}",
                                  text_of({domains_[d].ranks.front()}), allowed(d).to_string()));
      }
    }
  }

  void take_per_numa() {
    std::map<LogicalIndex, std::vector<std::size_t>> helpers;
    for (std::size_t d = 0; d < domains_.size(); ++d) {
      helpers[domains_[d].numa].push_back(d);
    }
    for (const auto& [numa, members] : helpers) {
      const CpuSet free = free_cpus() & machine_.numa_domain(numa).cpus;
      if (static_cast<int>(members.size()) > reservation_.count) {
        demand_failed(fmt::format("NUMA domain {} has {} helpers: ask for per-numa:{}, or lower threads_per_domain",
                                  numa.value, members.size(), members.size()));
      }
      if (free.size() < reservation_.count) {
        demand_failed(fmt::format(
            "NUMA domain {} (CPUs {}) has {} free of ranks", numa.value, machine_.numa_domain(numa).cpus.to_string(),
            free.empty() ? "no core" : fmt::format("only {} core{}", free.size(), free.size() == 1 ? "" : "s")));
      }
      for (std::size_t i = 0; i < members.size() && static_cast<int>(i) < reservation_.count; ++i) { // one each
        const std::size_t d = members[i];
        for (const OsIndex cpu : free.members()) {
          if (!places_[d]) {
            take(d, cpu);
          }
        }
        if (!places_[d] && !free.empty()) {
          demand_failed(fmt::format("no free core of NUMA domain {} is left where {} may run a thread: {}", numa.value,
                                    text_of({domains_[d].ranks.front()}), allowed(d).to_string()));
        }
      }
    }
  }

  void take_siblings() {
    if (!machine_.has_smt()) {
      demand_failed("this machine has one hardware thread per core, so no core has a sibling to spare");
      return;
    }
    for (std::size_t d = 0; d < domains_.size(); ++d) {
      for (const int rank : domains_[d].ranks) {
        take_sibling_of(rank, d);
      }
      if (!places_[d]) {
        demand_failed(
            fmt::format("no core of {} has a hardware thread that is free of ranks; bind each rank to one hardware "
                        "thread (mpiexec -bind-to hwthread:1 -map-by core, mpirun --bind-to hwthread, "
                        "srun --cpu-bind=threads)",
                        text_of(domains_[d].ranks)));
      }
    }
  }

  void take_sibling_of(int rank, std::size_t domain) {
    const auto self = std::find_if(ranks_.begin(), ranks_.end(), [&](const NodeRank& r) { return r.rank == rank; });
    for (const Core& core : machine_.cores()) {
      if (core.cpus.intersects(self->binding)) {
        for (const OsIndex cpu : (core.cpus - occupied_).members()) {
          if (!places_[domain]) {
            take(domain, cpu);
          }
        }
      }
    }
  }

  // ---- when there is nothing to take

  HelperPlace shared_place(std::size_t domain) const {
    HelperPlace place;
    place.cpus = machine_.numa_domain(domains_[domain].numa).cpus & allowed(domain);
    if (place.cpus.empty()) {
      place.cpus = allowed(domain);
    }
    if (place.cpus.size() == 1) {
      place.core = place.cpus.first();
    }
    place.shared_with = ranks_on(place.cpus);
    place.reserved = place.shared_with.empty();
    place.explanation =
        fmt::format("CPUs {}, {}: {}", place.cpus.to_string(),
                    place.reserved ? "free of ranks" : "shared with " + text_of(place.shared_with), why_shared());
    return place;
  }

  std::string why_shared() const {
    if (reservation_.mode == ReserveMode::none) {
      return "reserve=none";
    }
    if (!refusal_.empty()) {
      return fmt::format("{} was not possible ({})", text_of(reservation_), refusal_);
    }
    if (!unbound_ranks().empty()) {
      return "the ranks are not bound, so no core is known to be free";
    }
    return "no core is left that is free of ranks";
  }

  // With best effort the reason is kept for the explanation; otherwise the request ends here.
  void demand_failed(const std::string& reason) {
    if (!reservation_.best_effort) {
      throw TopologyError(fmt::format("{} cannot be had: {}. {}", text_of(reservation_), reason, remedy()));
    }
    if (refusal_.empty()) {
      refusal_ = reason;
    }
  }

  std::string remedy() const {
    static constexpr std::string_view otherwise = "reserve=auto or best_effort=1 shares instead of failing";
    const std::vector<int> unbound = unbound_ranks();
    if (!unbound.empty()) {
      return fmt::format(
          "Not bound to cores: {}; 'stoker plan' prints launch lines that bind ranks and leave cores to helpers "
          "(mpiexec -bind-to user:..., mpirun --bind-to cpu-list:ordered, srun --cpu-bind=map_cpu:...); {}",
          text_of(unbound), otherwise);
    }
    const CpuSet free = free_cpus();
    if (free.empty()) {
      return fmt::format("No core is free of ranks: start fewer ranks per node ('stoker plan' prints launch lines); {}",
                         otherwise);
    }
    return fmt::format("Free of ranks: CPU {}; {}", free.to_string(), otherwise);
  }

  const Machine& machine_;
  std::span<const NodeRank> ranks_;
  std::span<const NodeDomain> domains_;
  const Reservation& reservation_;
  CpuSet occupied_; // some rank may run here
  CpuSet taken_;    // given to a helper
  std::vector<std::optional<HelperPlace>> places_;
  std::string refusal_;
};

} // namespace

Reservation Reservation::parse(std::string_view text, bool best_effort) {
  const auto refuse = [&](const std::string& reason) {
    throw TopologyError(
        fmt::format("reserve is '{}'{}: expected auto, none, smt, list:CPUS (such as list:2,3 or list:2-5) or "
                    "per-numa:N (such as per-numa:1)",
                    text, reason));
  };
  Reservation result;
  result.best_effort = best_effort;
  constexpr std::string_view list = "list:";
  constexpr std::string_view per_numa = "per-numa:";
  if (text == "auto") {
    result.mode = ReserveMode::automatic;
  } else if (text == "none") {
    result.mode = ReserveMode::none;
  } else if (text == "smt") {
    result.mode = ReserveMode::smt;
  } else if (text.starts_with(list)) {
    result.mode = ReserveMode::list;
    try {
      result.cores = CpuSet::parse(text.substr(list.size()));
    } catch (const TopologyError& error) {
      refuse(fmt::format(" ({})", error.what()));
    }
    if (result.cores.empty()) {
      refuse(" (no CPU is listed)");
    }
  } else if (text.starts_with(per_numa)) {
    result.mode = ReserveMode::per_numa;
    const std::string_view number = text.substr(per_numa.size());
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), result.count);
    if (error != std::errc() || end != number.data() + number.size() || result.count < 1) {
      refuse(" (N must be a whole number of at least 1)");
    }
  } else {
    refuse("");
  }
  return result;
}

std::vector<HelperPlace> reserve(const Machine& machine, std::span<const NodeRank> ranks,
                                 std::span<const NodeDomain> domains, const Reservation& reservation) {
  return Planner(machine, ranks, domains, reservation).run();
}

} // namespace stoker::topology
