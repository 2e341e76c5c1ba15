// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/written_programs.hpp"

#include "api/cli/mpi_session.hpp"
#include "engine/base/agreement.hpp"
#include "engine/core/engine.hpp"
#include "engine/requests/given_program.hpp"
#include "engine/settings/tuning_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

namespace stoker::cli {
namespace {

using algos::Token;
using Bytes = std::vector<std::byte>;

constexpr int epochs = 3;

// An input's byte, another one in every epoch.
std::byte byte_of(Token token, int epoch) {
  std::uint64_t mixed = (std::uint64_t{token} * epochs + static_cast<std::uint64_t>(epoch)) * 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ (mixed >> 29U)) * 0xbf58476d1ce4e5b9U;
  return static_cast<std::byte>(mixed >> 56U);
}

// What a buffer holds before an epoch. What the call leaves undefined is not to be read.
Bytes before(const std::vector<Token>& tokens, int epoch) {
  constexpr auto poison = std::byte{0xa5};
  Bytes bytes(tokens.size(), poison);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (tokens[i] != algos::undefined) {
      bytes[i] = byte_of(tokens[i], epoch);
    }
  }
  return bytes;
}

// What recv must hold afterwards. Undefined bytes stay as they are. A combined element is the sum of its inputs, whose
// bytes have consecutive tokens.
template <class Element>
Bytes after(const algos::Contents& contents, const algos::Terms& terms, int epoch) {
  Bytes bytes = before(contents.recv, epoch);
  const std::vector<Token>& result = contents.result;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (!algos::is_combined(result[i])) {
      bytes[i] = result[i] == algos::undefined ? bytes[i] : byte_of(result[i], epoch);
      continue;
    }
    Element sum = 0;
    for (const Token input : terms.inputs(result[i])) {
      std::array<std::byte, sizeof(Element)> operand{};
      for (std::size_t k = 0; k < operand.size(); ++k) {
        operand[k] = byte_of(input + static_cast<Token>(k), epoch);
      }
      Element value = 0;
      std::memcpy(&value, operand.data(), sizeof value);
      sum = static_cast<Element>(sum + value);
    }
    std::memcpy(&bytes[i], &sum, sizeof sum);
    i += sizeof sum - 1;
  }
  return bytes;
}

algos::WrittenCall parsed(const std::string& text, const std::string& path) {
  try {
    return algos::parse_call(text);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(path + ": " + error.what());
  }
}

void refuse(const std::string& defect) {
  if (!defect.empty()) {
    throw std::runtime_error("the schedule is wrong: " + defect);
  }
}

// In one order of execution: enough to know that it comes to an end with the right result.
void verify_once(const algos::WrittenCall& written) {
  algos::Terms terms;
  const std::vector<algos::Contents> expected = written.call.contents(static_cast<int>(written.programs.size()), terms);
  const algos::Execution execution;
  refuse(verify(written.programs, expected, {&execution, 1}, 1, terms));
}

// All ranks have the same text. Throws on all if it is wrong.
algos::WrittenCall shared_call(const MpiSession& session, const std::string& path) {
  std::string text;
  engine::agree(MPI_COMM_WORLD,
                session.rank() == 0 ? engine::attempt([&] { text = engine::text_of_file(path); }) : std::nullopt);
  text = engine::text_of_rank_0(MPI_COMM_WORLD, std::move(text));
  algos::WrittenCall written = parsed(text, path);
  const auto ranks = static_cast<int>(written.programs.size());
  if (ranks != session.size()) {
    throw std::invalid_argument(fmt::format("{} has programs for {} ranks, but the job has {}; expected mpiexec -n {}",
                                            path, ranks, session.size(), ranks));
  }
  if (algos::combines(written.call.collective) && written.call.element_bytes != 1 && written.call.element_bytes != 8) {
    throw std::invalid_argument(
        fmt::format("{}: elements of {} B; expected 1 or 8 B, which are combined as unsigned numbers", path,
                    written.call.element_bytes));
  }
  engine::agree(MPI_COMM_WORLD, session.rank() == 0 ? engine::attempt([&] { verify_once(written); }) : std::nullopt);
  return written;
}

// The first byte of `got` that is not as expected, in words.
std::string difference(const Bytes& got, const Bytes& expected, int epoch) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] != expected[i]) {
      return fmt::format("epoch {}: byte {} of recv is {:#04x}, expected {:#04x}", epoch, i,
                         std::to_integer<int>(got[i]), std::to_integer<int>(expected[i]));
    }
  }
  return "";
}

// Collective. Returns what is wrong at this rank.
std::string run_epochs(const std::shared_ptr<engine::Engine>& engine, const algos::WrittenCall& written, int rank,
                       std::string& executor) {
  const auto& [call, programs] = written;
  algos::Terms terms;
  const algos::Contents contents =
      call.contents(static_cast<int>(programs.size()), terms)[static_cast<std::size_t>(rank)];
  const bool combines = algos::combines(call.collective);
  Bytes send(contents.send.size());
  Bytes recv(contents.recv.size());
  const auto request = init_program(engine, MPI_COMM_WORLD,
                                    {.collective = call.collective,
                                     .program = programs[static_cast<std::size_t>(rank)],
                                     .send = send.data(),
                                     .recv = recv.data(),
                                     .op = combines ? MPI_SUM : MPI_OP_NULL,
                                     .element = call.element_bytes == 8 ? MPI_UINT64_T : MPI_UINT8_T});
  executor = name_of(request->plan().executor);
  std::string wrong;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::ranges::copy(before(contents.send, epoch), send.begin());
    std::ranges::copy(before(contents.recv, epoch), recv.begin());
    request->start();
    request->wait();
    const Bytes expected = call.element_bytes == 8 ? after<std::uint64_t>(contents, terms, epoch)
                                                   : after<std::uint8_t>(contents, terms, epoch);
    if (wrong.empty()) {
      wrong = difference(recv, expected, epoch);
    }
  }
  return wrong;
}

int run(const MpiSession& session, const std::string& path) {
  std::optional<algos::WrittenCall> written;
  if (const auto failure = engine::attempt([&] { written = shared_call(session, path); })) { // on all ranks
    if (session.rank() == 0) {
      fmt::print(stderr, "stoker: {}\n", failure->what());
    }
    return 1;
  }
  const auto engine = std::make_shared<engine::Engine>(MPI_COMM_WORLD, std::span<const engine::SettingText>());
  std::string executor;
  const std::string wrong = run_epochs(engine, *written, session.rank(), executor);
  const int nodes = engine->layout().nodes();
  engine->destroy();
  if (!wrong.empty()) {
    fmt::print(stderr, "stoker: {}: rank {}, {}\n", path, session.rank(), wrong);
  }
  const bool right = engine::on_all(MPI_COMM_WORLD, wrong.empty());
  if (right && session.rank() == 0) {
    fmt::print("{}: {}, {} ranks on {} nodes, executor {}: every byte is right, {} times\n", path,
               to_text(written->call), session.size(), nodes, executor, epochs);
  }
  return right ? 0 : 1;
}

} // namespace

algos::WrittenCall read_call(const std::string& path) { return parsed(engine::text_of_file(path), path); }

void verify_call(const algos::WholeCall& call, std::span<const algos::Program> programs) {
  algos::Terms terms;
  const std::vector<algos::Contents> expected = call.contents(static_cast<int>(programs.size()), terms);
  refuse(verify(programs, expected, terms));
}

int run_call(const std::string& path) {
  return with_mpi([&](const MpiSession& session) { return run(session, path); });
}

} // namespace stoker::cli
