// SPDX-License-Identifier: BSD-3-Clause
#include "engine/wisdom/recall.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/byte_stream.hpp"
#include "engine/settings/machine_file.hpp"
#include "engine/wisdom/program_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace stoker::engine {
namespace {

void add_layout(WisdomKey& key, const topology::Layout& layout) {
  std::vector<std::uint64_t> places;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    const topology::Place& place = layout.place(rank);
    for (const int number : {place.node, place.domain}) {
      places.push_back(static_cast<std::uint64_t>(number));
    }
  }
  key.add("places", places);
}

// The parts of the key that all ranks share.
void add_problem(WisdomKey& key, const algos::DistributedVector& call) {
  add_layout(key, call.layout);
  key.add("root", static_cast<std::uint64_t>(call.root));
  key.add("element bytes", call.element_bytes);
  key.add("sizes", call.sizes);
  key.add("in place", call.in_place ? 1 : 0);
  key.add("commutative", call.commutative ? 1 : 0);
}

// Checks that a program from a file fits the buffers of this call, which the file does not know.
algos::Program fitting_program(std::span<const std::byte> content, const BufferSizes& buffers) {
  algos::Program program = program_from(content);
  if (program.send_bytes > buffers.send || program.recv_bytes > buffers.recv) {
    throw std::invalid_argument(fmt::format("its program is for buffers of {} and {} bytes; expected {} and {} at most",
                                            program.send_bytes, program.recv_bytes, buffers.send, buffers.recv));
  }
  return program;
}

int index_of(std::span<const algos::Choice> candidates, std::string_view text) {
  const auto found =
      std::ranges::find_if(candidates, [&](const algos::Choice& choice) { return algos::to_text(choice) == text; });
  if (found == candidates.end()) {
    throw std::invalid_argument(fmt::format("it chooses {}, which is not among the candidates", text));
  }
  return static_cast<int>(found - candidates.begin());
}

} // namespace

WisdomKey program_key(const algos::Choice& choice, const algos::DistributedVector& call) {
  WisdomKey key("program");
  key.add("collective", algos::name_of(choice.algorithm->collective));
  key.add("algorithm", algos::to_text(choice));
  key.add("rank", static_cast<std::uint64_t>(call.rank));
  add_problem(key, call);
  key.add("offsets", call.offsets);
  if (choice.algorithm->puts_into) {
    key.add("put offsets", call.put_offsets);
  }
  return key;
}

WisdomKey choice_key(const algos::TypicalCall& call, algos::Driver driver, const algos::Machine& machine,
                     std::span<const algos::Choice> candidates, std::uint64_t starts) {
  WisdomKey key("choice");
  key.add("collective", algos::name_of(call.collective));
  key.add("driver", driver == algos::Driver::helper ? "helper" : "rank");
  key.add("starts", starts);
  add_layout(key, call.layout);
  key.add("root", static_cast<std::uint64_t>(call.root));
  key.add("element bytes", call.element_bytes);
  key.add("bytes", call.bytes);
  key.add("commutative", call.commutative ? 1 : 0);
  key.add("machine", machine_text(machine));
  for (const algos::Choice& choice : candidates) {
    key.add("candidate", algos::to_text(choice));
  }
  return key;
}

CompiledProgram compile_or_recall(Wisdom& wisdom, const std::function<WisdomKey()>& key, const BufferSizes& buffers,
                                  const std::function<algos::Program()>& compile) {
  if (!wisdom.enabled()) {
    return {compile()};
  }
  const WisdomKey name = key();
  auto known = wisdom.find(name, [&](std::span<const std::byte> content) { return fitting_program(content, buffers); });
  if (known) {
    return {std::move(*known), true};
  }
  CompiledProgram compiled{compile()};
  wisdom.keep(name, to_bytes(compiled.program));
  return compiled;
}

algos::Choice choose_or_recall(Wisdom& wisdom, MPI_Comm comm, const std::function<WisdomKey()>& key,
                               std::span<const algos::Choice> candidates,
                               const std::function<algos::Choice()>& choose) {
  if (!wisdom.enabled() || candidates.size() == 1) {
    return choose();
  }
  const int rank = rank_in(comm);
  int known = -1;
  if (rank == 0) {
    known =
        wisdom
            .find(key(),
                  [&](std::span<const std::byte> content) { return index_of(candidates, ByteReader(content).text()); })
            .value_or(-1);
  }
  check_mpi(PMPI_Bcast(&known, 1, MPI_INT, 0, comm), "MPI_Bcast");
  if (known >= 0) {
    return candidates[static_cast<std::size_t>(known)];
  }
  algos::Choice chosen = choose();
  if (rank == 0) {
    ByteWriter writer;
    writer.text(algos::to_text(chosen));
    wisdom.keep(key(), writer.take());
  }
  return chosen;
}

} // namespace stoker::engine
