// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

namespace stoker::engine {

// A collective call that is carried out by the engine or by the MPI library. Used by one thread at a time. May only be
// destroyed once it is finished.
class CallUnderWay {
public:
  CallUnderWay() = default;
  CallUnderWay(const CallUnderWay&) = delete;
  CallUnderWay& operator=(const CallUnderWay&) = delete;
  virtual ~CallUnderWay() = default;
  // Local: one attempt with this thread's own means. True: complete, and finish() has only to be called. MPI's own
  // progress is the caller's business while this is false.
  [[nodiscard]] virtual bool done() = 0;
  // Returns once done() would be true; drives the MPI library meanwhile.
  virtual void wait() = 0;
  // Now and then while a thread asks done() for long: logs a call that stalls, and ends one that has lost a process.
  virtual void look_around(std::uint64_t waited_ns) = 0;
  // Ends a call that is done; called once. The results are then where the caller wants them. Throws Error.
  virtual void finish() = 0;

  // Once it is finished.
  struct Report {
    bool by_mpi = false;   // the MPI library's own call
    bool on_trial = false; // to compare the two
    double exchange_seconds = 0;
    double exposed_seconds = 0; // spent inside start, done, wait and finish
    std::uint64_t bytes = 0;    // of all blocks; of those that this rank sends where it knows no others
    // Its storage lives as long as the call. "mpi": the MPI library's; "none": there was nothing to do.
    std::string_view algorithm = "none";
  };
  [[nodiscard]] virtual Report report() const = 0;
};

} // namespace stoker::engine
