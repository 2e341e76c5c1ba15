// SPDX-License-Identifier: BSD-3-Clause
// The ranks form a binomial tree, and exchange words of an integer with their parents and children only:
//   1. up    "all ranks below me are here", or the number of one that is not. A rank waits for this from its children,
//            for a limited time.
//   2. down  "do you all wait?", once everybody is here; else "no".
//   3. up    "yes", or "no" from a rank that has given up. A rank gives up when it waits too long for 2: its parent
//            lacks the library, or is late.
//   4. down  the decision, made by rank 0.
// A time limit ends only 1 and 2. A rank that has not given up by 3 waits for the decision, as long as that takes: all
// ranks have said that they have the library. So no rank goes on by itself while another might decide otherwise
// (tests/models/presence.pml).
//
// All receives are posted at the beginning, and stay until MPI ends. What a late rank says meets one of these, and never
// a receive of the application's. Nothing is sent to a child that has not spoken: it may lack the library.
#include "api/pmpi/presence.hpp"

#include "api/pmpi/library.hpp"
#include "api/pmpi/load_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace stoker::pmpi {
namespace {

using std::chrono::seconds;

constexpr int all_here = -1; // else the number of a missing rank
enum Answer : int { no, yes };

// The two words from another rank.
struct Neighbour {
  int rank = MPI_PROC_NULL;
  std::array<int, 2> words{};
  std::array<MPI_Request, 2> receives{MPI_REQUEST_NULL, MPI_REQUEST_NULL};

  [[nodiscard]] bool has_said(std::size_t which) {
    int flag = 0;
    real().MPI_Test(&receives[which], &flag, MPI_STATUS_IGNORE);
    return flag != 0;
  }
};

class Tree {
public:
  Tree(MPI_Comm comm, seconds limit);
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree();
  [[nodiscard]] bool decide();

private:
  void listen(Neighbour& neighbour);
  void say(const Neighbour& neighbour, std::size_t which, int word);
  void tell_children(Answer answer);
  [[nodiscard]] std::vector<int> missing(); // in each branch one, after all have been waited for
  [[nodiscard]] bool everybody_waits();
  void complain(const std::vector<int>& missing) const;

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 0;
  int tag_ = 32767; // the highest one, which the application is not likely to use
  seconds limit_;
  Neighbour parent_; // none of rank 0
  std::vector<Neighbour> children_;
  std::array<int, 2> sent_{}; // to the parent, which may never take them
};

// Polls with pauses, so that ranks that are late get the core. No limit: for ever.
template <class Done>
[[nodiscard]] bool wait_for(Done&& done, std::optional<seconds> limit = std::nullopt) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    if (done()) {
      return true;
    }
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (limit && waited > *limit) {
      return false;
    }
    if (waited > std::chrono::milliseconds(5)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

std::string list_of(const std::vector<int>& ranks) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), most); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  return ranks.size() > most ? fmt::format("{} and {} more", text, ranks.size() - most) : text;
}

Tree::Tree(MPI_Comm comm, seconds limit) : comm_(comm), limit_(limit) {
  PMPI_Comm_rank(comm, &rank_);
  PMPI_Comm_size(comm, &size_);
  int* bound = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(comm, MPI_TAG_UB, static_cast<void*>(&bound), &found);
  tag_ = found != 0 ? *bound : tag_;
  for (int bit = 1; bit < size_ && (rank_ & bit) == 0; bit *= 2) {
    if ((rank_ | bit) < size_) {
      children_.push_back({.rank = rank_ | bit});
    }
  }
  parent_.rank = rank_ == 0 ? MPI_PROC_NULL : rank_ & (rank_ - 1);
  listen(parent_);
  std::ranges::for_each(children_, [this](Neighbour& child) { listen(child); });
}

// Neighbours that have said all have no receive left.
Tree::~Tree() {
  const auto end = [](Neighbour& neighbour) {
    for (MPI_Request& receive : neighbour.receives) {
      if (receive != MPI_REQUEST_NULL) {
        real().MPI_Cancel(&receive);
        real().MPI_Wait(&receive, MPI_STATUS_IGNORE);
      }
    }
  };
  end(parent_);
  std::ranges::for_each(children_, end);
}

void Tree::listen(Neighbour& neighbour) {
  for (std::size_t i = 0; i < neighbour.words.size(); ++i) {
    real().MPI_Irecv(&neighbour.words[i], 1, MPI_INT, neighbour.rank, tag_, comm_, &neighbour.receives[i]);
  }
}

void Tree::say(const Neighbour& neighbour, std::size_t which, int word) {
  MPI_Request request = MPI_REQUEST_NULL;
  sent_[which] = word;
  real().MPI_Isend(&sent_[which], 1, MPI_INT, neighbour.rank, tag_, comm_, &request);
  real().MPI_Request_free(&request);
}

// They have spoken, so their receives are posted.
void Tree::tell_children(Answer answer) {
  const int word = answer;
  for (Neighbour& child : children_) {
    if (child.has_said(0) && child.words[0] == all_here) { // others know
      PMPI_Send(&word, 1, MPI_INT, child.rank, tag_, comm_);
    }
  }
}

// Each level waits a second longer than the one below it, which so gets to say who is missing there.
std::vector<int> Tree::missing() {
  const auto all_said = [this] {
    std::ptrdiff_t said = 0;
    for (Neighbour& child : children_) { // each has to be looked at, or it never completes
      said += child.has_said(0) ? 1 : 0;
    }
    return said == std::ssize(children_);
  };
  (void)wait_for(all_said, limit_ + seconds(std::ssize(children_) - 1));
  std::vector<int> ranks;
  for (Neighbour& child : children_) {
    if (!child.has_said(0)) {
      ranks.push_back(child.rank);
    } else if (child.words[0] != all_here) {
      ranks.push_back(child.words[0]);
    }
  }
  return ranks;
}

bool Tree::everybody_waits() {
  bool all = true;
  for (Neighbour& child : children_) {
    all = wait_for([&] { return child.has_said(1); }) && child.words[1] == yes && all;
  }
  return all;
}

void Tree::complain(const std::vector<int>& missing) const {
  fmt::print(
      stderr,
      "stoker: {} is not loaded on rank{} {} of {}, or late (more than {} s); all ranks go on with the MPI library "
      "alone\n",
      own_file(), missing.size() == 1 ? "" : "s", list_of(missing), size_, limit_.count());
}

bool Tree::decide() {
  const std::vector<int> missing = this->missing();
  const bool is_root = rank_ == 0;
  if (is_root && !missing.empty()) {
    complain(missing);
  }
  if (!is_root) {
    say(parent_, 0, missing.empty() ? all_here : missing.front());
  }
  if (!missing.empty()) {
    tell_children(no);
    return false;
  }
  if (!is_root) {
    const seconds of_rank_0 = limit_ + seconds(std::bit_width(static_cast<unsigned>(size_ - 1)));
    if (!wait_for([this] { return parent_.has_said(0); }, 2 * of_rank_0)) {
      if (parent_.rank == 0) {
        fmt::print(stderr,
                   "stoker: rank 0 of {} does not answer rank {}: one of them was late, or {} is not loaded on rank 0; "
                   "rank {} "
                   "goes on with the MPI library alone, as all do\n",
                   size_, rank_, own_file(), rank_);
      }
      say(parent_, 1, no);
      parent_.words[0] = no;
    }
    if (parent_.words[0] == no) {
      tell_children(no);
      return false;
    }
  }
  tell_children(yes);
  const bool all_wait = everybody_waits();
  Answer decision = all_wait ? yes : no;
  if (!is_root) {
    say(parent_, 1, decision);
    (void)wait_for([this] { return parent_.has_said(1); });
    decision = static_cast<Answer>(parent_.words[1]);
  }
  tell_children(decision);
  return decision == yes;
}

std::unique_ptr<Tree>& left_over() {
  static auto& tree = *new std::unique_ptr<Tree>; // never destroyed: MPI may have ended by then
  return tree;
}

} // namespace

bool all_have_it(MPI_Comm comm, int seconds) {
  auto tree = std::make_unique<Tree>(comm, std::chrono::seconds(seconds));
  const bool all = tree->decide();
  if (!all) {
    left_over() = std::move(tree);
  }
  return all;
}

void forget_missing_ranks() { left_over().reset(); }

} // namespace stoker::pmpi
