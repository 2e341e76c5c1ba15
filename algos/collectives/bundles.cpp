// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/bundles.hpp"

#include <utility>

namespace stoker::algos {

Part Bundles::prepare(Bundle& bundle) {
  std::vector<Parcel> transit;
  std::uint64_t size = 0;
  const auto ends_here = [&](const Parcel& parcel) {
    return parcel.targets.size() == 1 && parcel.targets.front() == exchange_.rank;
  };
  for (const Parcel& parcel : bundle.parcels) {
    size += ends_here(parcel) ? 0 : bytes(parcel);
  }
  bundle.place = size > 0 ? builder_.scratch(size) : 0;
  std::uint64_t place = bundle.place;
  Part part;
  for (const Parcel& parcel : bundle.parcels) {
    if (ends_here(parcel)) {
      part.add(ends_of({&parcel, 1}));
    } else {
      const std::uint64_t length = bytes(parcel);
      part.add(Slice{Buffer::scratch, place, length});
      place += length;
      transit.push_back(parcel);
    }
  }
  bundle.parcels = std::move(transit);
  return part;
}

Part Bundles::ends_of(std::span<const Parcel> parcels) {
  Part part;
  for (const Parcel& parcel : parcels) {
    for (const int source : parcel.sources) {
      if (source != exchange_.rank) {
        ends_.add_incoming(source, part);
      }
    }
  }
  return part;
}

std::uint64_t Bundles::bytes(const Parcel& parcel) const {
  if (const auto size = exchange_.sizes.uniform_size()) {
    return *size * parcel.sources.size() * parcel.targets.size();
  }
  std::uint64_t sum = 0;
  for (const int source : parcel.sources) {
    for (const int target : parcel.targets) {
      sum += exchange_.sizes(source, target);
    }
  }
  return sum;
}

} // namespace stoker::algos
