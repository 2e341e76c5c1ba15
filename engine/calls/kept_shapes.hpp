// SPDX-License-Identifier: BSD-3-Clause
// The shapes of the calls on one communicator, and the rule for which of them are kept.
//
// All ranks must decide alike which call uses which request, since an initialisation is collective and using a request
// again is not. So everything here depends only on keys, which are equal on all ranks, and on the order of calls, which
// MPI requires to be.
#pragma once

#include "engine/calls/shape.hpp"

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>

namespace stoker::engine {

// What one rank sees of a small call: enough to find its shape again.
struct SmallCall {
  algos::Collective collective = algos::Collective::barrier;
  int root = 0;
  MPI_Op op = MPI_OP_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL; // of reductions, and then one of MPI's own
  std::uint64_t bytes = 0;
  bool in_place = false;
  Executor executor = Executor::inline_;
  bool operator==(const SmallCall&) const = default;
};

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
  // Small calls have places of their own, which those have that come first.
  static constexpr std::size_t most_small = 16;

  // For the next call. Null: there is no place for it. A shape that is new is completed first; what that throws is
  // thrown on, and there is no shape then.
  [[nodiscard]] Shape* of_next_call(const ShapeKey& key, const RouteTrials& trials,
                                    const std::function<void(Shape&)>& complete);
  // What the next call needs, a small one. `none_waits`: no call before it is waiting to be started.
  enum class Needs : std::uint8_t {
    nothing,  // It passes: the MPI library carries it out, and nothing need be known of it. It is counted.
    no_place, // Likewise, because its shape has no place. It is not counted.
    a_look    // of_next_call()
  };
  [[nodiscard]] Needs of_next_small_call(const SmallCall& call, bool none_waits);
  // Such calls are of this shape; null: which has no place.
  void note_small(const SmallCall& call, Shape* shape);

  // All, also those that have lost their places and have calls under way.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto* list : {&kept_, &leaving_, &small_}) {
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
  struct KnownSmallCall {
    bool known = false;
    SmallCall call;
    Shape* shape = nullptr; // in small_; null: it has no place
  };
  [[nodiscard]] KnownSmallCall& known_small(const SmallCall& call);
  using List = std::list<std::unique_ptr<Shape>>;

  [[nodiscard]] Shape* of_small_call(const ShapeKey& key, const RouteTrials& trials,
                                     const std::function<void(Shape&)>& complete);
  [[nodiscard]] bool comes_often(const ShapeKey& key);

  List kept_; // the one called last first
  List leaving_;
  List small_;
  std::array<KnownSmallCall, 32> known_small_; // those that were noted last, by a hash
  std::list<Candidate> candidates_;            // the one called last first; at most `most`
  std::size_t counted_ = 0;                    // of kept_
  std::uint64_t calls_ = 0;
};

} // namespace stoker::engine
