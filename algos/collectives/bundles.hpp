// SPDX-License-Identifier: BSD-3-Clause
// Blocks on their way through other ranks, in the messages of an aggregating all-to-all.
#pragma once

#include "algos/collectives/ends.hpp"
#include "algos/collectives/exchange.hpp"
#include "algos/schedule/builder.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stoker::algos {

using Ranks = std::span<const int>;

// Blocks from each of `sources` to each of `targets`.
struct Parcel {
  Ranks sources;
  Ranks targets;
};

// Parcels that lie one behind the other in scratch, each ordered by source and then by target, with the steps after
// which they are there. Without such steps they are this rank's own blocks, in its buffer.
struct Bundle {
  std::vector<Parcel> parcels;
  std::uint64_t place = 0;
  std::vector<StepId> ready;
};

// What one rank does with bundles.
class Bundles {
public:
  Bundles(const Exchange& exchange, Builder& builder, Ends& ends)
      : exchange_(exchange), builder_(builder), ends_(ends) {}

  // Appends each block of a bundle to the part that bucket(target) points to, if any.
  template <class Bucket>
  void deal(const Bundle& bundle, Bucket bucket) {
    std::uint64_t place = bundle.place;
    for (const Parcel& parcel : bundle.parcels) {
      for (const int source : parcel.sources) {
        for (const int target : parcel.targets) {
          const std::uint64_t size = exchange_.sizes(source, target);
          Part* const part = size > 0 && source != target ? bucket(target) : nullptr;
          if (part != nullptr && !bundle.ready.empty()) {
            part->add({Buffer::scratch, place, size});
            part->add_after(bundle.ready);
          } else if (part != nullptr) {
            ends_.add_outgoing(target, *part);
          }
          place += size;
        }
      }
    }
  }

  // Finds the places where a bundle's blocks arrive. Blocks that end here leave the bundle; the others get room in
  // scratch.
  [[nodiscard]] Part prepare(Bundle& bundle);
  // The places of the blocks from the parcels' sources in this rank's receive buffer.
  [[nodiscard]] Part ends_of(std::span<const Parcel> parcels);
  // The length of a message: nothing that a rank has for itself is in it.
  [[nodiscard]] std::uint64_t bytes(const Parcel& parcel) const;

private:
  const Exchange& exchange_;
  Builder& builder_;
  Ends& ends_;
};

} // namespace stoker::algos
