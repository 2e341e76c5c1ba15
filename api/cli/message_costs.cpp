// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/message_costs.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>

namespace stoker::cli {
namespace {

constexpr int repetitions = 7;
constexpr int rounds = 20; // of short messages in each
constexpr int usual_tag = 0;
constexpr int other_tag = 1;

double since(double begin) { return MPI_Wtime() - begin; }

double shortest(const std::function<double()>& seconds) {
  double best = std::numeric_limits<double>::infinity();
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    MPI_Barrier(MPI_COMM_WORLD);
    best = std::min(best, seconds());
  }
  return best;
}

double told_by(int rank, double seconds) {
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, rank, MPI_COMM_WORLD);
  return seconds;
}

double shortest_told_by(int rank, const std::function<double()>& seconds) { return told_by(rank, shortest(seconds)); }

void send(int peer, int tag = usual_tag, std::size_t bytes = small_bytes, const char* buffer = nullptr) {
  const std::array<char, small_bytes> small{};
  MPI_Send(buffer == nullptr ? small.data() : buffer, static_cast<int>(bytes), MPI_BYTE, peer, tag, MPI_COMM_WORLD);
}

void receive(int peer, int tag = usual_tag) {
  std::array<char, small_bytes> small{};
  MPI_Recv(small.data(), small_bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// What it takes to look at the clock.
double clock_seconds() {
  return shortest([] {
    constexpr int looks = 1000;
    const double begin = MPI_Wtime();
    for (int i = 1; i < looks; ++i) {
      (void)MPI_Wtime();
    }
    return since(begin) / looks;
  });
}

// Seconds for one message from a to b and back, halved.
double ping_pong(int rank, const RankPair& pair, std::size_t bytes) {
  const int a = pair.first;
  const int b = pair.second;
  std::vector<char> buffer(bytes);
  const int count = static_cast<int>(bytes);
  const int times = bytes == small_bytes ? rounds : 2;
  return shortest_told_by(a, [&] {
    const double begin = MPI_Wtime();
    for (int i = 0; i < times && (rank == a || rank == b); ++i) {
      const int peer = rank == a ? b : a;
      if (rank == a) {
        send(peer, usual_tag, bytes, buffer.data());
      }
      MPI_Recv(buffer.data(), count, MPI_BYTE, peer, usual_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == b) {
        send(peer, usual_tag, bytes, buffer.data());
      }
    }
    return since(begin) / (2 * times);
  });
}

// The receiver answers each message, so that none waits behind another.
double send_seconds(int rank, const RankPair& pair, double clock) {
  const int a = pair.first;
  const int b = pair.second;
  return shortest_told_by(a, [&] {
    double inside = 0;
    for (int i = 0; i < rounds; ++i) {
      if (rank == a) {
        const double begin = MPI_Wtime();
        send(b);
        inside += since(begin) - clock;
        receive(b);
      } else if (rank == b) {
        receive(a);
        send(a);
      }
    }
    return inside / rounds;
  });
}

// The receiver asks for a message, looks away for longer than it takes to come, and then waits for it.
double receive_seconds(int rank, const RankPair& pair, double clock, double one_way) {
  const int a = pair.first;
  const int b = pair.second;
  constexpr double longest = 200e-6;
  const double away = std::min(longest, 20e-6 + (10 * one_way));
  return shortest_told_by(b, [&] {
    double inside = 0;
    for (int i = 0; i < rounds; ++i) {
      if (rank == a) {
        receive(b);
        send(b);
      } else if (rank == b) {
        std::array<char, small_bytes> small{};
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(small.data(), small_bytes, MPI_BYTE, a, usual_tag, MPI_COMM_WORLD, &request);
        send(a);
        for (const double begin = MPI_Wtime(); since(begin) < away;) {
        }
        const double begin = MPI_Wtime();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        inside += since(begin) - clock;
      }
    }
    return inside / rounds;
  });
}

// Until the answer to the last of so many messages is there, which the receiver has posted receives for.
double stream_seconds(int rank, const RankPair& pair, std::size_t messages) {
  const int a = pair.first;
  const int b = pair.second;
  std::vector<std::array<char, small_bytes>> buffers(messages);
  std::vector<MPI_Request> requests(messages, MPI_REQUEST_NULL);
  return shortest_told_by(a, [&] {
    double seconds = 0;
    if (rank == a) {
      receive(b); // all is posted
      const double begin = MPI_Wtime();
      for (std::size_t i = 0; i < messages; ++i) {
        send(b);
      }
      receive(b);
      seconds = since(begin);
    } else if (rank == b) {
      for (std::size_t i = 0; i < messages; ++i) {
        MPI_Irecv(buffers[i].data(), small_bytes, MPI_BYTE, a, usual_tag, MPI_COMM_WORLD, &requests[i]);
      }
      send(a);
      MPI_Waitall(static_cast<int>(messages), requests.data(), MPI_STATUSES_IGNORE);
      send(a);
    }
    return seconds;
  });
}

// One-way time of a message which the receiver compares with so many posted receives. `post`: gets the shortest time
// that posting one of these took.
double seconds_behind_posted(int rank, const RankPair& pair, std::size_t posted, double& post) {
  const int a = pair.first;
  const int b = pair.second;
  std::vector<std::array<char, small_bytes>> buffers(posted);
  std::vector<MPI_Request> requests(posted, MPI_REQUEST_NULL);
  double shortest_post = std::numeric_limits<double>::infinity();
  const double seconds = shortest_told_by(a, [&] {
    double all = 0;
    if (rank == b) {
      const double begin = MPI_Wtime();
      for (std::size_t i = 0; i < posted; ++i) {
        MPI_Irecv(buffers[i].data(), small_bytes, MPI_BYTE, a, other_tag, MPI_COMM_WORLD, &requests[i]);
      }
      shortest_post = std::min(shortest_post, since(begin) / static_cast<double>(std::max<std::size_t>(1, posted)));
      send(a);
      for (int i = 0; i < rounds; ++i) {
        receive(a);
        send(a);
      }
      MPI_Waitall(static_cast<int>(posted), requests.data(), MPI_STATUSES_IGNORE);
    } else if (rank == a) {
      receive(b);
      const double begin = MPI_Wtime();
      for (int i = 0; i < rounds; ++i) {
        send(b);
        receive(b);
      }
      all = since(begin);
      for (std::size_t i = 0; i < posted; ++i) {
        send(b, other_tag);
      }
    }
    return all / (2 * rounds);
  });
  post = told_by(b, shortest_post);
  return seconds;
}

// The time in MPI_Recv for the last of some messages that have all come, before the others are received.
double seconds_behind_unexpected(int rank, const RankPair& pair, std::size_t unexpected, double clock) {
  const int a = pair.first;
  const int b = pair.second;
  return shortest_told_by(b, [&] {
    double inside = 0;
    if (rank == a) {
      for (std::size_t i = 0; i < unexpected; ++i) {
        send(b, other_tag);
      }
      send(b);
      receive(b);
    } else if (rank == b) {
      MPI_Probe(a, usual_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      const double begin = MPI_Wtime();
      receive(a);
      inside = since(begin) - clock;
      for (std::size_t i = 0; i < unexpected; ++i) {
        receive(a, other_tag);
      }
      send(a);
    }
    return inside;
  });
}

} // namespace

algos::PortCost line(double small_seconds, double large_seconds) {
  const double per_byte = (large_seconds - small_seconds) / static_cast<double>(large_bytes - small_bytes);
  return {small_seconds, std::max(0.0, per_byte)};
}

MessageTimes message_times(int rank, const RankPair& pair) {
  constexpr std::size_t many = 64;
  const double clock = clock_seconds();
  MessageTimes times;
  times.one_way = line(ping_pong(rank, pair, small_bytes), ping_pong(rank, pair, large_bytes));
  times.send_overhead = send_seconds(rank, pair, clock);
  times.receive_overhead = receive_seconds(rank, pair, clock, times.one_way.seconds);
  times.stream = (stream_seconds(rank, pair, many + 1) - stream_seconds(rank, pair, 1)) / many;
  return times;
}

MatchingTimes matching_times(int rank, const RankPair& pair) {
  constexpr std::size_t many = 512;
  const double clock = clock_seconds();
  MatchingTimes times;
  double post_none = 0;
  const double alone = seconds_behind_posted(rank, pair, 0, post_none);
  times.posted = (seconds_behind_posted(rank, pair, many, times.post) - alone) / many;
  times.unexpected =
      (seconds_behind_unexpected(rank, pair, many, clock) - seconds_behind_unexpected(rank, pair, 0, clock)) / many;
  return times;
}

double all_at_once(int rank, const std::vector<RankPair>& pairs, std::size_t bytes) {
  std::vector<char> buffer(bytes);
  return shortest([&] {
    const double begin = MPI_Wtime();
    for (const auto& [from, to] : pairs) {
      if (rank == from) {
        send(to, usual_tag, bytes, buffer.data());
      } else if (rank == to) {
        MPI_Recv(buffer.data(), static_cast<int>(bytes), MPI_BYTE, from, usual_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
    double seconds = since(begin);
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
  });
}

algos::PortCost copy_cost(int rank) {
  const auto seconds = [rank](std::size_t bytes) {
    std::vector<char> from(bytes, 1);
    std::vector<char> to(bytes);
    const int times = bytes == small_bytes ? 1000 : 4;
    return shortest_told_by(0, [&] {
      if (rank != 0) { // all at once they would share the memory's bandwidth
        return 0.0;
      }
      const double begin = MPI_Wtime();
      for (int i = 0; i < times; ++i) {
        std::memcpy(to.data(), from.data(), bytes);
        asm volatile("" : : "r"(to.data()) : "memory"); // the copy is wanted
      }
      return since(begin) / times;
    });
  };
  return line(seconds(small_bytes), seconds(large_bytes));
}

} // namespace stoker::cli
