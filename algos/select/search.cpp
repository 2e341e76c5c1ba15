// SPDX-License-Identifier: BSD-3-Clause
#include "algos/select/search.hpp"

#include <algorithm>

namespace stoker::algos {

namespace {

class Search {
public:
  Search(const SearchProblem& problem, std::size_t limit, const SecondsOf& seconds_of)
      : problem_(problem), limit_(limit), seconds_of_(seconds_of) {}

  void try_all(const std::vector<Choice>& choices) {
    for (const Choice& choice : choices) {
      const auto known = std::ranges::find_if(points_, [&](const Point& p) { return p.found.choice == choice; });
      if (known == points_.end() && points_.size() < limit_) {
        points_.push_back({{choice, seconds_of_(choice)}});
      }
    }
    std::ranges::stable_sort(points_, {}, [](const Point& p) { return p.found.seconds; });
  }

  // Goes on from the best of the first few whose neighbors have not been tried. False: there is none.
  bool go_on() {
    constexpr std::size_t few = 8;
    const auto last = points_.begin() + static_cast<std::ptrdiff_t>(std::min(few, points_.size()));
    const auto next = std::find_if(points_.begin(), last, [](const Point& p) { return !p.left; });
    if (next == last || points_.size() >= limit_) {
      return false;
    }
    next->left = true;
    try_all(neighbors_of(next->found.choice, problem_));
    return true;
  }

  [[nodiscard]] std::vector<Found> result() const {
    std::vector<Found> all;
    for (const Point& point : points_) {
      all.push_back(point.found);
    }
    return all;
  }

private:
  struct Point {
    Found found;
    bool left = false; // its neighbors have been tried
  };
  const SearchProblem& problem_;
  std::size_t limit_;
  const SecondsOf& seconds_of_;
  std::vector<Point> points_; // the fastest first
};

} // namespace

std::vector<Found> search(const SearchProblem& problem, std::size_t limit, const SecondsOf& seconds_of) {
  Search search(problem, limit, seconds_of);
  search.try_all(starting_points(problem));
  while (search.go_on()) {
  }
  return search.result();
}

} // namespace stoker::algos
