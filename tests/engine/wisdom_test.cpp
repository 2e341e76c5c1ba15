// SPDX-License-Identifier: BSD-3-Clause
// Wisdom: what is kept is found again; files that are damaged in any place, cut, of another format or for another key
// are refused with a reason, and replaced; programs come back as they were.
#include "engine/wisdom/wisdom.hpp"

#include "algos/collectives/alltoall_flat.hpp"
#include "algos/collectives/exchange.hpp"
#include "algos/select/choice.hpp"
#include "engine/wisdom/program_bytes.hpp"
#include "engine/wisdom/recall.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace stoker::engine {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return bytes_of(text.str());
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

// The error that `call` throws; empty if it throws none.
template <class Call>
std::string refusal_of(Call call) {
  try {
    (void)call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// A program with all kinds of numbers in it: an alltoall of rank 1 of 4 on two nodes.
algos::Program some_program(std::uint64_t bytes = 24) {
  const topology::Layout layout = topology::Layout::uniform(4, 2);
  const auto sizes = algos::BlockSizes::uniform(4, bytes);
  const auto offsets = algos::equal_offsets(4, bytes);
  const algos::Exchange exchange{
      .layout = layout, .rank = 1, .sizes = sizes, .send_offsets = offsets, .recv_offsets = offsets};
  const auto choice = algos::resolve(algos::parse_choice(algos::Collective::alltoall, "node-aware"), layout);
  return algos::compile(choice, exchange);
}

class WisdomTest : public ::testing::Test {
protected:
  WisdomTest() {
    std::string name = std::filesystem::temp_directory_path() / "stoker-wisdom-XXXXXX";
    folder_ = mkdtemp(name.data());
    start_anew();
  }
  ~WisdomTest() override { std::filesystem::remove_all(folder_); }

  // As another job would.
  void start_anew() {
    said_.str("");
    auto log = std::make_shared<spdlog::logger>("stoker", std::make_shared<spdlog::sinks::ostream_sink_mt>(said_));
    log->set_pattern("%l: %v");
    log->set_level(spdlog::level::warn);
    wisdom_.emplace((folder_ / "deeper" / "still").string(), log);
  }
  [[nodiscard]] Wisdom& wisdom() { return *wisdom_; }
  [[nodiscard]] std::string said() const { return said_.str(); }
  [[nodiscard]] std::optional<Bytes> find(const WisdomKey& key) {
    return wisdom_->find(key, [](std::span<const std::byte> content) { return Bytes(content.begin(), content.end()); });
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> list;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      if (!entry.is_directory()) {
        list.push_back(entry.path());
      }
    }
    return list;
  }

private:
  std::filesystem::path folder_;
  std::ostringstream said_;
  std::optional<Wisdom> wisdom_;
};

TEST_F(WisdomTest, WhatIsKeptIsFound) {
  const WisdomKey key = WisdomKey("test").add("number", std::uint64_t{7});
  EXPECT_EQ(find(key), std::nullopt);
  for (const std::string_view content : {"", "a", "12345678", "something longer than a word"}) {
    wisdom().keep(key, bytes_of(content));
    EXPECT_EQ(find(key), bytes_of(content));
    start_anew();
    EXPECT_EQ(find(key), bytes_of(content));
  }
  EXPECT_EQ(files(), std::vector<std::string>{wisdom().path_of(key)}) << "something was left behind";
  EXPECT_EQ(said(), "");
}

TEST_F(WisdomTest, EveryPartOfAKeyCounts) {
  const std::vector<std::uint64_t> list = {1, 2, 3};
  const std::vector<std::uint64_t> other = {1, 3, 2};
  const std::vector<std::uint64_t> longer = {1, 2, 3, 0};
  const std::vector<WisdomKey> keys = {WisdomKey("a"),
                                       WisdomKey("b"),
                                       WisdomKey("a").add("x", std::uint64_t{1}),
                                       WisdomKey("a").add("x", std::uint64_t{2}),
                                       WisdomKey("a").add("y", std::uint64_t{1}),
                                       WisdomKey("a").add("x", list),
                                       WisdomKey("a").add("x", other),
                                       WisdomKey("a").add("x", longer)};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    wisdom().keep(keys[i], bytes_of(std::to_string(i)));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(find(keys[i]), bytes_of(std::to_string(i)));
  }
}

TEST_F(WisdomTest, AFileDamagedAnywhereIsRefused) {
  const WisdomKey key("test");
  const Bytes good = wisdom_file(key, to_bytes(some_program()));
  ASSERT_EQ(refusal_of([&] { return content_of(good, key); }), "");
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      Bytes bad = good;
      bad[at] ^= static_cast<std::byte>(flip);
      EXPECT_NE(refusal_of([&] { return content_of(bad, key); }), "") << "byte " << at;
    }
  }
}

TEST_F(WisdomTest, RefusalsSayWhy) {
  const WisdomKey key("test");
  const Bytes good = wisdom_file(key, bytes_of("content"));
  const auto refusal = [&](std::size_t at) {
    Bytes bad = good;
    bad[at] ^= std::byte{0x40};
    return refusal_of([&] { return content_of(bad, key); });
  };
  EXPECT_EQ(refusal(0), "it is no wisdom of stoker's");
  EXPECT_EQ(refusal(9), "it was written in another byte order");
  EXPECT_EQ(refusal(12), "its format is 65; expected 1");
  EXPECT_NE(refusal(16).find("bytes; expected"), std::string::npos) << refusal(16);
  for (const std::size_t at : {std::size_t{24}, std::size_t{39}, std::size_t{40}, good.size() - 1}) {
    EXPECT_EQ(refusal(at), "it is damaged: its checksum does not match") << at;
  }
  EXPECT_EQ(refusal_of([&] { return content_of(good, WisdomKey("other")); }),
            "it holds something else under this name");
}

TEST_F(WisdomTest, AFileOfAnyOtherLengthIsRefused) {
  const WisdomKey key("test");
  Bytes file = wisdom_file(key, bytes_of("some content"));
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_NE(refusal_of([&] { return content_of(std::span(file).first(length), key); }), "") << length;
  }
  file.push_back(std::byte{0});
  EXPECT_NE(refusal_of([&] { return content_of(file, key); }), "");
}

TEST_F(WisdomTest, WhatIsRefusedIsToldOnceAsAWarningAndReplaced) {
  const WisdomKey key("test");
  wisdom().keep(key, bytes_of("right"));
  const std::string path = wisdom().path_of(key);
  Bytes file = read_file(path);
  file.back() ^= std::byte{1};
  write_file(path, file);
  EXPECT_EQ(find(key), std::nullopt);
  EXPECT_NE(said().find("warning: wisdom: " + path), std::string::npos) << said();
  EXPECT_NE(said().find("checksum"), std::string::npos) << said();
  const std::size_t length = said().size();
  EXPECT_EQ(find(key), std::nullopt);
  EXPECT_EQ(said().size(), length) << said();
  wisdom().keep(key, bytes_of("right"));
  EXPECT_EQ(find(key), bytes_of("right"));
}

TEST_F(WisdomTest, AFileThatIsNotOneIsRefused) {
  const WisdomKey key("test");
  const std::string path = wisdom().path_of(key);
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(find(key), std::nullopt); // and does not wait for a writer
  EXPECT_NE(said().find("no regular file"), std::string::npos) << said();
  wisdom().keep(key, bytes_of("right"));
  EXPECT_EQ(find(key), bytes_of("right"));
}

TEST_F(WisdomTest, AFolderThatCannotBeMadeIsNoError) {
  write_file((std::filesystem::path(wisdom().path_of(WisdomKey("x"))).parent_path().parent_path()).string(),
             bytes_of("a file stands where the folder should be"));
  wisdom().keep(WisdomKey("test"), bytes_of("content"));
  EXPECT_NE(said().find("warning: wisdom: "), std::string::npos) << said();
  EXPECT_EQ(find(WisdomKey("test")), std::nullopt);
}

// Ranks of several jobs keep the same at the same time: a reader sees one of them, whole.
TEST_F(WisdomTest, WritersDoNotDisturbReaders) {
  const WisdomKey key("test");
  const Bytes content = to_bytes(some_program(100));
  wisdom().keep(key, content);
  std::thread writer([&] {
    for (int i = 0; i < 200; ++i) {
      wisdom().keep(key, content);
    }
  });
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    found += find(key) == content ? 1 : 0;
  }
  writer.join();
  EXPECT_EQ(found, 200);
  EXPECT_EQ(files().size(), 1U);
  EXPECT_EQ(said(), "");
}

TEST_F(WisdomTest, ProgramsComeBackAsTheyWere) {
  const algos::Program program = some_program();
  ASSERT_GT(program.steps.size(), 3U);
  const algos::Program back = program_from(to_bytes(program));
  EXPECT_EQ(to_bytes(back), to_bytes(program));
  EXPECT_EQ(back.rank, program.rank);
  EXPECT_EQ(back.ranks, program.ranks);
  EXPECT_EQ(back.send_bytes, program.send_bytes);
  EXPECT_EQ(back.recv_bytes, program.recv_bytes);
  EXPECT_EQ(back.scratch_bytes, program.scratch_bytes);
  EXPECT_EQ(back.element_bytes, program.element_bytes);
  EXPECT_EQ(back.slices, program.slices);
  EXPECT_EQ(back.successors, program.successors);
  ASSERT_EQ(back.steps.size(), program.steps.size());
  for (std::size_t i = 0; i < back.steps.size(); ++i) {
    EXPECT_EQ(back.steps[i].kind, program.steps[i].kind);
    EXPECT_EQ(back.steps[i].peer, program.steps[i].peer);
    EXPECT_EQ(back.steps[i].bytes, program.steps[i].bytes);
    EXPECT_EQ(back.steps[i].predecessors, program.steps[i].predecessors);
    EXPECT_EQ(back.steps[i].target.begin, program.steps[i].target.begin);
  }
}

// With a right checksum, too.
TEST_F(WisdomTest, BytesThatAreNoProgramAreRefused) {
  const algos::Program program = some_program();
  const Bytes good = to_bytes(program);
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_NE(refusal_of([&] { return program_from(std::span(good).first(length)); }), "") << length;
  }
  Bytes longer = good;
  longer.push_back(std::byte{0});
  EXPECT_NE(refusal_of([&] { return program_from(longer); }), "");

  const auto refusal = [](algos::Program changed) {
    return refusal_of([&] { return program_from(to_bytes(changed)); });
  };
  const auto step = [&](auto change) {
    algos::Program changed = program;
    change(changed.steps.front());
    return refusal(changed);
  };
  EXPECT_NE(step([](auto& s) { s.kind = static_cast<algos::StepKind>(77); }), "");
  EXPECT_NE(step([](auto& s) { s.message = static_cast<algos::Operand>(77); }), "");
  EXPECT_NE(step([](auto& s) { s.peer = 4; }), "");
  EXPECT_NE(step([](auto& s) { s.bytes += 1; }), "");
  EXPECT_NE(step([](auto& s) { s.predecessors += 1; }), "");
  EXPECT_NE(step([](auto& s) { s.source.begin = 1U << 31U; }), "");
  algos::Program changed = program;
  changed.slices.front().offset = std::uint64_t{1} << 60U;
  EXPECT_NE(refusal(changed), "");
  changed = program;
  changed.slices.front().buffer = static_cast<algos::Buffer>(9);
  EXPECT_NE(refusal(changed), "");
}

TEST_F(WisdomTest, ProgramsAreCompiledOnceOnly) {
  const algos::Program program = some_program();
  const auto key = [] { return WisdomKey("program"); };
  const BufferSizes buffers{program.send_bytes, program.recv_bytes};
  int compiled = 0;
  const auto compile = [&]() -> const algos::Program& {
    ++compiled;
    return program;
  };
  EXPECT_FALSE(compile_or_recall(wisdom(), key, buffers, compile).from_wisdom);
  start_anew();
  const CompiledProgram again = compile_or_recall(wisdom(), key, buffers, compile);
  EXPECT_TRUE(again.from_wisdom);
  EXPECT_EQ(to_bytes(again.program), to_bytes(program));
  EXPECT_EQ(compiled, 1);

  // One that does not fit, whatever the reason, is compiled again.
  EXPECT_FALSE(compile_or_recall(wisdom(), key, {buffers.send - 1, buffers.recv}, compile).from_wisdom);
  EXPECT_NE(said().find("for buffers of"), std::string::npos) << said();
  EXPECT_EQ(compiled, 2);
}

TEST_F(WisdomTest, WithoutAFolderNothingIsKept) {
  std::ostringstream said;
  auto log = std::make_shared<spdlog::logger>("stoker", std::make_shared<spdlog::sinks::ostream_sink_mt>(said));
  Wisdom none("", log);
  EXPECT_FALSE(none.enabled());
  none.keep(WisdomKey("test"), bytes_of("content"));
  EXPECT_EQ(none.find(WisdomKey("test"), [](std::span<const std::byte> content) { return content.size(); }),
            std::nullopt);
  EXPECT_EQ(said.str(), "");
}

} // namespace
} // namespace stoker::engine
