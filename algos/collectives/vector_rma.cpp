// SPDX-License-Identifier: BSD-3-Clause
// allgather, bcast and reduce_scatter in which ranks write to where others need the data: the fences and locks of
// Namugwanya, "Analyzing Persistent Alltoallv RMA Implementations for High-Performance MPI Communication", 2026, around
// the patterns that the other algorithms have.
#include "algos/collectives/vector_algorithms.hpp"

#include "algos/collectives/multi_radix.hpp"
#include "algos/collectives/puts.hpp"
#include "algos/collectives/vector_programs.hpp"
#include "algos/schedule/append.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

namespace stoker::algos {

namespace {

// ---- allgather ----

// Every rank writes its block to all others.
Program allgather(const DistributedVector& vector, Opening opening, PutOrder order) {
  if (vector.put_offsets.empty() && vector.layout.ranks() > 1) {
    throw std::logic_error("where this rank's block lies in the receive buffers of others is not known here");
  }
  const auto me = static_cast<std::size_t>(vector.rank);
  const std::uint64_t bytes = vector.sizes[me];
  Builder builder(vector.rank, vector.layout.ranks(), vector.in_place ? 0 : bytes, reach(vector));
  Puts puts(builder, opening);
  const Slice home{Buffer::recv, vector.offsets[me], bytes};
  const Slice own = vector.in_place ? home : Slice{Buffer::send, 0, bytes};
  const std::vector<int> peers = put_targets(vector.layout, vector.rank, order);
  std::vector<StepId> recvs;
  for (const int peer : peers) {
    const auto block = static_cast<std::size_t>(peer);
    append(recvs, puts.receive(peer, {Buffer::recv, vector.offsets[block], vector.sizes[block]}));
  }
  puts.open();
  for (const int peer : peers) {
    puts.put(peer, own, {Buffer::recv, vector.put_offsets[static_cast<std::size_t>(peer)], bytes});
  }
  if (!vector.in_place && bytes > 0) {
    builder.copy(home, own);
  }
  puts.landed(recvs);
  return std::move(builder).finish();
}

// ---- bcast ----

// The frame of a bcast by puts: the root has the vector in its send buffer, the others get it into their recv buffers.
struct PutBroadcast {
  PutBroadcast(const DistributedVector& vector, Opening opening)
      : at_root(vector.rank == vector.root), bytes(vector.sizes.front()),
        builder(vector.rank, vector.layout.ranks(), at_root ? bytes : 0, at_root ? 0 : bytes), puts(builder, opening) {}

  // Part of the vector: here, and at a rank that is not the root.
  [[nodiscard]] Slice here(std::uint64_t begin, std::uint64_t end) const {
    return {at_root ? Buffer::send : Buffer::recv, begin, end - begin};
  }
  [[nodiscard]] static Slice there(std::uint64_t begin, std::uint64_t end) {
    return {Buffer::recv, begin, end - begin};
  }

  bool at_root;
  std::uint64_t bytes;
  Builder builder;
  Puts puts;
};

// Down a tree. All recvs start at once; each level ends with a fence, after which the next one passes the vector on.
Program bcast(const DistributedVector& vector, const Tuning& tuning, Opening opening) {
  PutBroadcast frame(vector, opening);
  const std::vector<TreeLevel> levels =
      broadcast_levels(all_ranks(vector), static_cast<std::size_t>(vector.root), gathering(tuning.factors));
  std::vector<std::vector<StepId>> recvs;
  for (const TreeLevel& level : levels) {
    recvs.push_back(level.source ? frame.puts.receive(*level.source, frame.here(0, frame.bytes))
                                 : std::vector<StepId>());
  }
  frame.puts.open();
  for (std::size_t level = 0; level < levels.size(); ++level) {
    for (const int target : levels[level].targets) {
      frame.puts.put(target, frame.here(0, frame.bytes), PutBroadcast::there(0, frame.bytes));
    }
    frame.puts.landed(recvs[level]);
  }
  return std::move(frame.builder).finish();
}

// ---- reduce_scatter ----

// Operands arrive in batches, each in a slot in scratch, and are combined once they are there. The receiver's block
// comes from rank after rank behind it, round all ranks. Two sums keep the operands in order: that of the ranks from
// the receiver on, and that of the ranks before it.
class PutReduction {
public:
  PutReduction(const DistributedVector& vector, const Tuning& tuning, Opening opening)
      : vector_(vector), ranks_(vector.layout.ranks()), cuts_(block_cuts(vector)), own_(size_of(vector.rank)),
        batch_(std::min(tuning.batch, std::max(1, ranks_ - 1))),
        builder_(vector.rank, ranks_, vector.in_place ? 0 : cuts_.back(), vector.in_place ? cuts_.back() : own_),
        puts_(builder_, opening), from_here_{block(vector.rank), {}} {
    builder_.reduces(vector.element_bytes);
    builder_.scratch(static_cast<std::uint64_t>(batch_) * stride(own_)); // the slots, from 0 on
    home_ = vector.in_place ? room() : Slice{Buffer::recv, 0, own_};
  }

  Program operator()() && {
    for (int first = 1; first < ranks_; first += batch_) {
      round(first, std::min(first + batch_, ranks_));
    }
    if (own_ > 0) {
      finish();
    }
    return std::move(builder_).finish();
  }

private:
  struct Sum {
    Slice place;
    std::vector<StepId> after;
  };

  [[nodiscard]] std::uint64_t size_of(int rank) const { return vector_.sizes[static_cast<std::size_t>(rank)]; }
  // This rank's operand for another rank's block.
  [[nodiscard]] Slice block(int owner) const {
    return {vector_.in_place ? Buffer::recv : Buffer::send, cuts_[static_cast<std::size_t>(owner)], size_of(owner)};
  }
  [[nodiscard]] Slice room() { return {Buffer::scratch, builder_.scratch(own_), own_}; }
  [[nodiscard]] static std::uint64_t stride(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; } // a cache line
  // Where the operand of the rank `distance` behind the owner arrives there.
  [[nodiscard]] Slice slot(int owner, int distance) const {
    const std::uint64_t bytes = size_of(owner);
    return {Buffer::scratch, static_cast<std::uint64_t>((distance - 1) % batch_) * stride(bytes), bytes};
  }

  // The operands of the ranks from `first` to before `end` behind each receiver.
  void round(int first, int end) {
    std::vector<StepId> recvs;
    for (int distance = first; distance < end; ++distance) {
      append(recvs, puts_.receive((vector_.rank + distance) % ranks_, slot(vector_.rank, distance), used_));
    }
    puts_.open(used_);
    for (int distance = first; distance < end; ++distance) {
      const int owner = (vector_.rank + ranks_ - distance) % ranks_;
      puts_.put(owner, block(owner), slot(owner, distance));
    }
    const StepId landed = puts_.landed(recvs);
    used_.clear();
    for (int distance = first; distance < end && own_ > 0; ++distance) {
      const Slice operand = slot(vector_.rank, distance);
      if (vector_.rank + distance < ranks_) {
        add(from_here_, home_, operand, landed);
      } else if (before_) {
        add(*before_, before_->place, operand, landed);
      } else {
        const Slice place = room();
        before_ = {place, {builder_.copy(place, operand, {&landed, 1})}};
        append(used_, before_->after);
      }
    }
    last_fence_ = {landed};
  }

  void add(Sum& sum, Slice place, Slice operand, StepId landed) {
    std::vector<StepId> after = sum.after;
    after.push_back(landed);
    const StepId step = builder_.reduce({&place, 1}, {&sum.place, 1}, {&operand, 1}, after);
    sum = {place, {step}};
    used_.push_back(step);
  }

  void finish() {
    Sum result = from_here_;
    if (before_) {
      append(result.after, before_->after);
      const StepId step = builder_.reduce({&home_, 1}, {&before_->place, 1}, {&from_here_.place, 1}, result.after);
      result = {home_, {step}};
    }
    const Slice target{Buffer::recv, 0, own_};
    if (result.place != target) { // in place there were operands in its way until they had gone
      append(result.after, last_fence_);
      builder_.copy(target, result.place, result.after);
    }
  }

  const DistributedVector& vector_;
  int ranks_;
  std::vector<std::uint64_t> cuts_;
  std::uint64_t own_;
  int batch_;
  Builder builder_;
  Puts puts_;
  Slice home_;
  Sum from_here_;
  std::optional<Sum> before_;
  std::vector<StepId> used_; // the steps that read the slots of the last round
  std::vector<StepId> last_fence_;
};

} // namespace

Program allgather_rma_fence(const DistributedVector& vector, const Tuning& /*tuning*/) {
  return allgather(vector, Opening::fence, PutOrder::ranks);
}
Program allgather_rma_lock(const DistributedVector& vector, const Tuning& /*tuning*/) {
  return allgather(vector, Opening::lock, PutOrder::ranks);
}
Program allgather_rma_fence_hierarchy(const DistributedVector& vector, const Tuning& /*tuning*/) {
  return allgather(vector, Opening::fence, PutOrder::remote_first);
}

Program bcast_rma_fence(const DistributedVector& vector, const Tuning& tuning) {
  return bcast(vector, tuning, Opening::fence);
}
Program bcast_rma_lock(const DistributedVector& vector, const Tuning& tuning) {
  return bcast(vector, tuning, Opening::lock);
}

// The root writes a part to each other rank, which writes it to all the rest of them.
Program bcast_rma_scatter_allgather(const DistributedVector& vector, const Tuning& tuning) {
  PutBroadcast frame(vector, Opening::fence);
  const int parts = std::max(1, vector.layout.ranks() - 1);
  const std::vector<std::uint64_t> cuts =
      cut(frame.bytes, static_cast<std::size_t>(parts), vector.element_bytes, partition(tuning));
  const auto begin = [&](int rank) { return cuts[static_cast<std::size_t>(rank < vector.root ? rank : rank - 1)]; };
  const auto end = [&](int rank) { return cuts[static_cast<std::size_t>(rank < vector.root ? rank : rank - 1) + 1]; };
  const std::vector<int> peers = put_targets(vector.layout, vector.rank, PutOrder::ranks);
  std::vector<StepId> scattered;
  std::vector<StepId> gathered;
  if (!frame.at_root) {
    scattered = frame.puts.receive(vector.root, frame.here(begin(vector.rank), end(vector.rank)));
    for (const int peer : peers) {
      if (peer != vector.root) {
        append(gathered, frame.puts.receive(peer, frame.here(begin(peer), end(peer))));
      }
    }
  }
  frame.puts.open();
  if (frame.at_root) {
    for (const int peer : peers) {
      frame.puts.put(peer, frame.here(begin(peer), end(peer)), PutBroadcast::there(begin(peer), end(peer)));
    }
  }
  frame.puts.landed(scattered);
  if (!frame.at_root) {
    const std::uint64_t from = begin(vector.rank);
    const std::uint64_t to = end(vector.rank);
    for (const int peer : peers) {
      if (peer != vector.root) {
        frame.puts.put(peer, frame.here(from, to), PutBroadcast::there(from, to));
      }
    }
  }
  frame.puts.landed(gathered);
  return std::move(frame.builder).finish();
}

Program reduce_scatter_rma_fence(const DistributedVector& vector, const Tuning& tuning) {
  return PutReduction(vector, tuning, Opening::fence)();
}
Program reduce_scatter_rma_lock(const DistributedVector& vector, const Tuning& tuning) {
  return PutReduction(vector, tuning, Opening::lock)();
}

} // namespace stoker::algos
