// SPDX-License-Identifier: BSD-3-Clause
#include "bench/smpi/platform.hpp"

#include <algorithm>
#include <climits>
#include <fmt/format.h>
#include <stdexcept>

namespace stoker::bench {

using algos::Distance;
using algos::Machine;
using algos::Network;

namespace {

constexpr double free_bandwidth = 1e15; // bytes a second, of what is not a bottleneck

class Platform {
public:
  Platform(std::ostream& out, const Machine& machine, const algos::Places& places)
      : out_(out), machine_(machine), places_(places) {}

  void write() {
    out_ << "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<platform version=\"4.1\">\n<zone id=\"machine\" routing=\"Floyd\">\n";
    for (std::uint32_t first = 0; first < places_.ranks();) {
      std::uint32_t end = first;
      while (end < places_.ranks() && places_.node(end) == places_.node(first)) {
        ++end;
      }
      node(first, end);
      first = end;
    }
    network();
    out_ << "</zone>\n</platform>\n";
  }

private:
  // A link that only takes time, and its name. Whatever has a link in common is solved as one system, so there are
  // many.
  std::string latency(const std::string& id, double seconds) {
    out_ << fmt::format("<link id=\"{}\" bandwidth=\"{}Bps\" latency=\"{}s\" sharing_policy=\"FATPIPE\"/>\n", id,
                        free_bandwidth, seconds);
    return id;
  }
  // A link that messages share.
  std::string shared(const std::string& id, double seconds_per_byte) {
    if (seconds_per_byte <= 0) {
      return latency(id, 0);
    }
    out_ << fmt::format("<link id=\"{}\" bandwidth=\"{}Bps\" latency=\"0s\"/>\n", id, 1 / seconds_per_byte);
    return id;
  }
  void route(std::string_view from, std::string_view to, std::initializer_list<std::string_view> links) {
    out_ << fmt::format("<route src=\"{}\" dst=\"{}\" symmetrical=\"NO\">", from, to);
    for (const std::string_view link : links) {
      out_ << fmt::format("<link_ctn id=\"{}\"/>", link);
    }
    out_ << "</route>\n";
  }
  // Between two zones, each of which has a router named after it.
  void zone_route(const std::string& from, const std::string& to, std::initializer_list<std::string_view> links) {
    out_ << fmt::format("<zoneRoute src=\"{0}\" dst=\"{1}\" gw_src=\"{0}-router\" gw_dst=\"{1}-router\" "
                        "symmetrical=\"NO\">",
                        from, to);
    for (const std::string_view link : links) {
      out_ << fmt::format("<link_ctn id=\"{}\"/>", link);
    }
    out_ << "</zoneRoute>\n";
  }
  static std::string way(Distance distance, std::uint32_t rank) {
    return fmt::format("{}-{}", name_of(distance), rank);
  }
  static std::string host(std::uint32_t rank) { return fmt::format("{}{}", host_prefix, rank); }

  // The ranks from first up to end.
  void node(std::uint32_t first, std::uint32_t end) {
    const std::string name = fmt::format("node-{}", places_.node(first));
    out_ << fmt::format("<zone id=\"{}\" routing=\"Full\">\n", name);
    for (std::uint32_t rank = first; rank < end; ++rank) {
      out_ << fmt::format("<host id=\"{}\" speed=\"1Gf\"/>\n", host(rank));
    }
    out_ << fmt::format("<router id=\"{}-router\"/>\n", name);
    std::vector<std::string> streams;
    for (std::uint32_t rank = first; rank < end; ++rank) {
      streams.push_back(shared(fmt::format("stream-{}", rank), machine_.at(Distance::switched).gap_per_byte));
      for (const Distance distance : {Distance::domain, Distance::socket, Distance::node}) {
        latency(way(distance, rank), machine_.at(distance).latency);
      }
    }
    std::vector<std::string> out;
    std::vector<std::string> in;
    const auto ports = static_cast<std::uint32_t>(std::max(1, machine_.ports));
    for (std::uint32_t port = 0; port < ports; ++port) {
      const std::uint32_t number = (places_.node(first) * ports) + port;
      out.push_back(shared(fmt::format("port-{}-out", number), machine_.port.seconds_per_byte));
      in.push_back(shared(fmt::format("port-{}-in", number), machine_.port.seconds_per_byte));
    }
    for (std::uint32_t rank = first; rank < end; ++rank) {
      for (std::uint32_t peer = first; peer < end; ++peer) {
        if (peer != rank) {
          route(host(rank), host(peer), {way(places_.distance(rank, peer), rank)});
        }
      }
      const std::uint32_t port = places_.port(rank) % ports;
      route(host(rank), name + "-router", {streams[rank - first], out[port]});
      route(name + "-router", host(rank), {in[port]});
    }
    out_ << "</zone>\n";
  }

  // The nodes' switches, and what is between these: one switch for all, or a link for each pair.
  void network() {
    const std::uint32_t switches = places_.switches();
    const bool pairs = machine_.network.kind == Network::Kind::dragonfly && switches > 1;
    const auto name = [](std::uint32_t number) { return fmt::format("switch-{}", number); };
    for (std::uint32_t s = 0; s < switches; ++s) {
      router_zone(name(s));
    }
    if (!pairs && switches > 1) {
      router_zone("core");
    }
    const double per_byte = per_byte_between_switches(switches);
    const double further = machine_.at(Distance::network).latency - machine_.at(Distance::switched).latency;
    struct Way {
      std::string from, to, link, latency;
    };
    std::vector<Way> ways;
    const auto add = [&](const std::string& from, const std::string& to, double seconds_per_byte, double seconds) {
      const std::string id = from + "-to-" + to;
      ways.push_back({from, to, shared(id, seconds_per_byte), latency(id + "-latency", seconds)});
    };
    for (std::uint32_t rank = 0; rank < places_.ranks(); ++rank) {
      if (rank == 0 || places_.node(rank) != places_.node(rank - 1)) {
        const std::string node = fmt::format("node-{}", places_.node(rank));
        add(node, name(places_.switch_of(rank)), 0, machine_.at(Distance::switched).latency);
        add(name(places_.switch_of(rank)), node, 0, 0);
      }
    }
    for (std::uint32_t s = 0; switches > 1 && s < switches; ++s) {
      for (std::uint32_t other = 0; pairs && other < switches; ++other) {
        if (other != s) {
          add(name(s), name(other), per_byte, further);
        }
      }
      if (!pairs) {
        add(name(s), "core", per_byte, further);
        add("core", name(s), per_byte, 0);
      }
    }
    for (const Way& way : ways) {
      zone_route(way.from, way.to, {way.link, way.latency});
    }
  }
  void router_zone(const std::string& name) {
    out_ << fmt::format("<zone id=\"{0}\" routing=\"Full\"><router id=\"{0}-router\"/></zone>\n", name);
  }
  [[nodiscard]] double per_byte_between_switches(std::uint32_t switches) const {
    const Network& network = machine_.network;
    const double ports = static_cast<double>(network.nodes_per_switch) * std::max(1, machine_.ports);
    switch (network.kind) {
    case Network::Kind::crossbar:
      return 0;
    case Network::Kind::fat_tree:
      return machine_.port.seconds_per_byte * network.taper / ports;
    case Network::Kind::dragonfly:
      return machine_.port.seconds_per_byte * network.taper * (switches - 1) / ports;
    }
    return 0;
  }

  std::ostream& out_;
  const Machine& machine_;
  const algos::Places& places_;
};

} // namespace

void write_platform(std::ostream& out, const Machine& machine, const algos::Places& places) {
  const algos::MessageCost& near = machine.at(Distance::switched);
  const algos::MessageCost& far = machine.at(Distance::network);
  if (far.latency < near.latency || far.gap_per_byte != near.gap_per_byte) {
    throw std::invalid_argument("messages between switches: a platform needs a latency of at least that within a "
                                "switch, and the same gap_per_byte");
  }
  Platform(out, machine, places).write();
}

std::vector<std::string> smpirun_options(const Machine& machine) {
  const std::uint64_t buffered = std::min<std::uint64_t>(machine.eager_bytes + 1, INT_MAX);
  return {
      "-no-privatize",
      "--cfg=smpi/simulate-computation:no",
      "--cfg=smpi/wtime:0",
      "--cfg=smpi/test:0",
      fmt::format("--cfg=smpi/async-small-thresh:{}", buffered),
      fmt::format("--cfg=smpi/send-is-detached-thresh:{}", buffered),
      // Links share their bandwidth evenly, carry nothing but messages, and are as fast as they say.
      "--cfg=network/model:SMPI",
      "--cfg=network/weight-S:0",
      "--cfg=network/crosstraffic:0",
      "--cfg=network/TCP-gamma:1e15",
      "--cfg=smpi/bw-factor:0:1",
      "--cfg=smpi/lat-factor:0:1",
      "--cfg=surf/precision:1e-12",
      "--log=root.thresh:warning",
  };
}

} // namespace stoker::bench
