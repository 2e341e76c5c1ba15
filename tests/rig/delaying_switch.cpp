// SPDX-License-Identifier: BSD-3-Clause
// An Ethernet switch that delivers every frame a fixed time after it was sent, for the emulated cluster
// (scripts/cluster up --delay). Kernels without netem cannot do that themselves.
//
//   delaying_switch MICROSECONDS INTERFACE...
//
// It makes the interfaces, TAP devices, in the network namespace that it is started in, and prints "ready". They may be
// moved to other namespaces and stay its own. It ends when it is killed, and the interfaces with it. It sleeps until a
// frame comes or is due.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <map>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

namespace {

using Address = std::array<unsigned char, 6>;
constexpr std::size_t header_bytes = 2 * sizeof(Address);

struct Frame {
  std::int64_t due_ns;
  std::size_t from; // port
  std::vector<unsigned char> bytes;
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "delaying_switch: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_sec * 1'000'000'000) + now.tv_nsec;
}

int make_tap(const char* name) {
  const int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (tap < 0) {
    fail("/dev/net/tun");
  }
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  std::snprintf(static_cast<char*>(request.ifr_name), sizeof request.ifr_name, "%s", name);
  if (ioctl(tap, TUNSETIFF, &request) != 0) {
    fail(name);
  }
  return tap;
}

class Switch {
public:
  Switch(std::int64_t delay_ns, char** names, std::size_t count) : delay_ns_(delay_ns) {
    for (std::size_t port = 0; port < count; ++port) {
      ports_.push_back({.fd = make_tap(names[port]), .events = POLLIN, .revents = 0});
    }
  }

  [[noreturn]] void run() {
    for (;;) {
      deliver();
      timespec rest{};
      if (!under_way_.empty()) {
        const std::int64_t left = std::max<std::int64_t>(under_way_.front().due_ns - now_ns(), 0);
        rest = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
      }
      if (ppoll(ports_.data(), ports_.size(), under_way_.empty() ? nullptr : &rest, nullptr) < 0 && errno != EINTR) {
        fail("ppoll");
      }
      for (std::size_t port = 0; port < ports_.size(); ++port) {
        if ((ports_[port].revents & POLLIN) != 0) {
          take_from(port);
        }
      }
    }
  }

private:
  // A bounded number of frames, so that those under way do not have to wait for a host that sends many.
  void take_from(std::size_t port) {
    constexpr int most = 16;
    for (int i = 0; i < most; ++i) {
      const ssize_t length = read(ports_[port].fd, buffer_.data(), buffer_.size());
      if (length < static_cast<ssize_t>(header_bytes)) {
        return;
      }
      under_way_.push_back({now_ns() + delay_ns_, port, {buffer_.begin(), buffer_.begin() + length}});
    }
  }

  // Those that are due; all have the same delay, so that their order is that of their times. A frame for which the
  // receiver has no room is lost, as in a real switch.
  void deliver() {
    while (!under_way_.empty() && under_way_.front().due_ns <= now_ns()) {
      const Frame& frame = under_way_.front();
      const Address to = address_at(frame, 0);
      place_[address_at(frame, sizeof(Address))] = frame.from;
      const auto known = place_.find(to);
      for (std::size_t port = 0; port < ports_.size(); ++port) {
        if (port != frame.from && (known == place_.end() || known->second == port)) {
          (void)!write(ports_[port].fd, frame.bytes.data(), frame.bytes.size());
        }
      }
      under_way_.pop_front();
    }
  }

  static Address address_at(const Frame& frame, std::size_t offset) {
    Address address{};
    std::copy_n(frame.bytes.begin() + static_cast<std::ptrdiff_t>(offset), address.size(), address.begin());
    return address;
  }

  std::int64_t delay_ns_;
  std::vector<pollfd> ports_;
  std::map<Address, std::size_t> place_; // of hosts, as learned from what they send; others are asked for everywhere
  std::deque<Frame> under_way_;
  std::vector<unsigned char> buffer_ = std::vector<unsigned char>(std::size_t{1} << 16);
};

} // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: delaying_switch MICROSECONDS INTERFACE INTERFACE...\n");
    return 2;
  }
  // Sleeps end on time, and before whoever computes. Neither is a condition: delays are longer without.
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  const sched_param first{.sched_priority = 1};
  (void)sched_setscheduler(0, SCHED_FIFO, &first);
  Switch network(std::atoll(argv[1]) * 1000, argv + 2, static_cast<std::size_t>(argc - 2));
  std::puts("ready");
  std::fflush(stdout);
  network.run();
}
