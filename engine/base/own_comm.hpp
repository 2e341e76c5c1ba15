// SPDX-License-Identifier: BSD-3-Clause
// Communicators of the engine's own.
#pragma once

#include "engine/base/error.hpp"
#include "engine/base/owned_handle.hpp"

#include <mpi.h>

#include <optional>
#include <span>

namespace stoker::engine {

struct CommKind {
  using Handle = MPI_Comm;
  static MPI_Comm null() { return MPI_COMM_NULL; }
  static void free(MPI_Comm* comm);
};

// How many communicators this process has taken from the MPI library for the engine, which has few thousands.
[[nodiscard]] int comms_taken();

// The largest tag of messages on a communicator of the engine's own.
[[nodiscard]] int largest_tag(MPI_Comm own);

// A communicator of the engine's own; errors are returned. Freeing is collective.
class OwnedComm : public OwnedHandle<CommKind> {
public:
  OwnedComm() = default;
  explicit OwnedComm(MPI_Comm comm);
  [[nodiscard]] MPI_Comm release(); // not counted any more
  // The ranks of `comm` in their order, with its topology. Unlike in a duplicate, there are no attributes and no hints:
  // the application's copy functions are never called for a communicator of the engine's. Collective, blocking.
  // Throws Error(mpi) on all ranks if any has none left. The error handler of `comm` is not told, because it is another
  // one meanwhile: `comm` is an own one, or one that no other thread of the application's uses yet.
  [[nodiscard]] static OwnedComm like(MPI_Comm comm);
  // The same for any communicator of the application's, whose error handler stays. `own` has all of its ranks. Several
  // are made for less by CommsTogether.
  [[nodiscard]] static OwnedComm like(MPI_Comm comm, MPI_Comm own);
  // The part of `comm`, an own one, with the same color. Collective. Throws as like() does.
  [[nodiscard]] static OwnedComm part_of(MPI_Comm comm, int color);
};

// Communicators of the engine's own that are made together for one of the application's: its ranks agree at the end
// whether all are there. They are made from `own`, which has all ranks of `comm`. The constructor without a tag, like()
// and agree() are collective over comm. agree() is called last, and what was made is used after it only.
class CommsTogether {
public:
  // Local. Threads may make communicators from the same one at once, and MPI tells these calls apart by their tags. The
  // tag is the least of those that the ranks propose. Callers that agree on something else anyway find the least there,
  // and give it to the constructor.
  [[nodiscard]] static int proposed_tag(MPI_Comm comm, MPI_Comm own);

  // Throws Error(mpi).
  CommsTogether(MPI_Comm comm, MPI_Comm own, std::optional<int> tag = std::nullopt);
  CommsTogether(const CommsTogether&) = delete;
  CommsTogether& operator=(const CommsTogether&) = delete;
  ~CommsTogether();

  // Ranks and topology are those that OwnedComm::like() has. Null where it failed here, which is noted. Where comm
  // has a topology, its ranks agree on a plain communicator first: throws what agree() does.
  [[nodiscard]] OwnedComm like();
  // Some ranks of comm, this one among them, in their order. Collective over these. Null where it failed here, which is
  // noted.
  [[nodiscard]] OwnedComm part(std::span<const int> ranks);
  // Local. An error of this rank's, which agree() throws, too.
  void note(const std::optional<Error>& failure) { failure_ = failure_ ? failure_ : failure; }
  // Throws on all ranks if any lacks one or has noted an error: see engine::agree(). Those that have what others lack
  // free it, which MPI libraries do without waiting for the others.
  void agree();

private:
  // `make(&made)`: the MPI library's calls.
  template <class Make>
  [[nodiscard]] OwnedComm noted(Make&& make);
  void make_from(MPI_Group ranks, MPI_Comm* made) const;

  MPI_Comm comm_;
  MPI_Comm own_;
  int tag_;
  MPI_Group group_ = MPI_GROUP_NULL;
  int topology_ = MPI_UNDEFINED;
  std::optional<Error> failure_; // the first
};

} // namespace stoker::engine
