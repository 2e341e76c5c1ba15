// SPDX-License-Identifier: BSD-3-Clause
// The shapes of the calls on one communicator, and the rule for which of them are kept.
//
// All ranks must decide alike which call uses which request, since an initialisation is collective and using a request
// again is not. So everything here depends only on keys, which are equal on all ranks, and on the order of calls, which
// MPI requires to be.
#pragma once

#include "engine/calls/shape.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>

namespace stoker::engine {

// Used with the mutex of the calls.
class KeptShapes {
public:
  // So many shapes are kept, besides those of exchanges block by block, of which there is one for each collective. A
  // new one takes the place of the one whose latest call is longest ago, if that is `calls_to_go` calls ago and the new
  // one has been asked for `calls_to_come` times. So a program that comes to another phase gets the requests for it,
  // and a program with more kinds of calls than places does not initialise requests all the time.
  static constexpr std::size_t most = 64;
  static constexpr std::uint64_t calls_to_go = 1000;
  static constexpr std::uint64_t calls_to_come = 3;

  // For the next call. Null: there is no place for it. A shape that is new is completed first; what that throws is
  // thrown on, and there is no shape then.
  [[nodiscard]] Shape* of_next_call(const ShapeKey& key, bool trials, const std::function<void(Shape&)>& complete);

  // All, also those that have lost their places and have calls under way.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto* list : {&kept_, &leaving_}) {
      for (const std::unique_ptr<Shape>& shape : *list) {
        visit(*shape);
      }
    }
  }
  // Discards those without a place whose calls are over.
  void sweep();
  // Discards the shape of the latest call, which nothing has come of on any rank.
  void forget_latest();

private:
  struct Candidate {
    ShapeKey key;
    std::uint64_t calls = 0;
  };
  [[nodiscard]] bool comes_often(const ShapeKey& key);

  std::list<std::unique_ptr<Shape>> kept_; // the one called last first
  std::list<std::unique_ptr<Shape>> leaving_;
  std::list<Candidate> candidates_; // the one called last first; at most `most`
  std::size_t counted_ = 0;         // of kept_
  std::uint64_t calls_ = 0;
};

} // namespace stoker::engine
