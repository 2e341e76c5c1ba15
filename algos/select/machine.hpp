// SPDX-License-Identifier: BSD-3-Clause
// What a machine's messages, memory and network cost: plain data, which the simulator and the cost model share. The
// messages are LogGOPS (Hoefler, Schneider, Lumsdaine: "LogGOPSim", 2010), with parameters of their own for each
// distance. All times are in seconds, all sizes in bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace stoker::algos {

// How far apart two ranks are.
enum class Distance : std::uint8_t {
  domain,   // two ranks of a NUMA domain
  socket,   // two domains of a socket
  node,     // two sockets of a node
  switched, // two nodes at one switch
  network,  // two nodes at different switches
};
inline constexpr std::size_t distance_count = 5;
[[nodiscard]] constexpr std::string_view name_of(Distance distance) {
  constexpr std::array<std::string_view, distance_count> names = {"domain", "socket", "node", "switch", "network"};
  return names[static_cast<std::size_t>(distance)];
}
[[nodiscard]] constexpr bool leaves_node(Distance distance) { return distance >= Distance::switched; }

// One message of m bytes, alone on the machine, arrives after
// send_overhead + latency + m * (gap_per_byte + 2 * overhead_per_byte) + receive_overhead.
struct MessageCost {
  double latency = 0;           // L: on the way
  double send_overhead = 0;     // o: of the sender's processor, each message
  double receive_overhead = 0;  // o: of the receiver's processor
  double overhead_per_byte = 0; // O: of either processor, which the network does not relieve of all copying
  double gap = 0;               // g: least time between the beginnings of two messages of one rank
  double gap_per_byte = 0;      // G: within a node, the time that the receiver's processor copies
};

// What one message occupies something for that several ranks share.
struct PortCost {
  double seconds = 0;
  double seconds_per_byte = 0;
  [[nodiscard]] double of(std::uint64_t bytes) const {
    return seconds + (static_cast<double>(bytes) * seconds_per_byte);
  }
};

struct Network {
  enum class Kind : std::uint8_t {
    crossbar,  // only the nodes' ports are shared
    fat_tree,  // two levels: switches with nodes_per_switch nodes, whose links upwards are `taper` times too few
    dragonfly, // each switch stands for a group; any two groups have one link, as wide as `taper` allows
  };
  Kind kind = Kind::crossbar;
  int nodes_per_switch = 1 << 30;
  // fat_tree: a switch's ports over its links upwards. dragonfly: a group's ports over its links to all other groups.
  double taper = 1;
};

// A helper is a thread with a core of its own, or on a core that it shares with its carrier's computation.
struct HelperCost {
  double submit = 0;  // Start: a rank's push into its ring
  double notice = 0;  // from a rank's push to the helper's look at it, and back from its completion to the rank's look
  double poll = 0;    // the helper's look at what is under way, once for each step that it carries out
  double wake_up = 0; // of a sleeping thread: what it takes from the core that it comes to
  double nap = 0;     // the time between two looks of a helper that shares its core with a computation
};

// A disturbance of every core: `duration` in each `period`, at a random phase. None where the duration is 0.
struct Noise {
  double period = 1;
  double duration = 0;
};

struct Machine {
  std::string name{};
  std::string source{}; // where the figures come from

  // The usual job on a node; users may ask for others.
  int ranks_per_node = 1;
  int domains_per_node = 1;
  int sockets_per_node = 1;

  std::array<MessageCost, distance_count> message{}; // by Distance
  std::uint64_t eager_bytes = 0;  // a longer message between nodes waits until its receiver has answered
  bool remote_reads = false;      // then the network fetches a long message, without the sender's processor
  double match_per_posted = 0;    // each posted receive that an arriving message is compared with: half of those posted
  double unexpected_per_byte = 0; // copying a message that came before its receive was posted
  double post = 0;                // posting a receive

  double copy = 0;             // each copy or reduction
  double copy_per_byte = 0;    // by one core
  double combine_per_byte = 0; // each byte of the result of a reduction, by one core
  double piece = 0;            // each further piece of data that are not contiguous
  double memory_per_byte = 0;  // each byte copied or combined, of the memory that the ranks of a domain share

  int ports = 1; // of a node to the network; rank i of a node uses port i mod ports
  PortCost port; // a port in each direction
  Network network{};
  HelperCost helper{};
  Noise noise{};

  [[nodiscard]] const MessageCost& at(Distance distance) const { return message[static_cast<std::size_t>(distance)]; }
  [[nodiscard]] MessageCost& at(Distance distance) { return message[static_cast<std::size_t>(distance)]; }
};

// A cluster of today in round figures. The default choice is made with these where nothing was measured.
[[nodiscard]] const Machine& typical_cluster();
// A device whose kernel carries the programs of all ranks out: a message is a flag, and a copy by blocks of the device.
[[nodiscard]] const Machine& typical_device();

} // namespace stoker::algos
