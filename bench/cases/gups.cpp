// SPDX-License-Identifier: BSD-3-Clause
// gups: RandomAccess of HPC Challenge. Words of a distributed table, chosen at random, are replaced by their exclusive
// or with a random number. There are four updates a word in all, and a rank has at most 1024 under way at a time. All
// updates are replayed to verify the table; at most one percent may be lost. Atomic updates lose none. Updates by a get
// and a put are lost when they meet: one of them is under way at a time, or up to 64, of different words.
#include "bench/lib/benchmark.hpp"
#include "bench/lib/one_sided.hpp"
#include "bench/lib/random_stream.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace stoker::bench {

namespace {

// The table's words in blocks: rank r has those from r * per_rank on.
struct Table {
  std::uint64_t words;
  std::uint64_t per_rank;

  Table(int log2_words, int ranks)
      : words(std::uint64_t{1} << static_cast<unsigned>(log2_words)),
        per_rank((words + static_cast<std::uint64_t>(ranks) - 1) / static_cast<std::uint64_t>(ranks)) {}
  [[nodiscard]] std::uint64_t word_of(std::uint64_t random) const { return random & (words - 1); }
  [[nodiscard]] int owner(std::uint64_t word) const { return static_cast<int>(word / per_rank); }
  [[nodiscard]] std::size_t offset(std::uint64_t word) const { return word % per_rank * sizeof(std::uint64_t); }
  [[nodiscard]] std::uint64_t first_of(int rank) const {
    return std::min(words, static_cast<std::uint64_t>(rank) * per_rank);
  }
};

class Gups final : public Benchmark {
public:
  [[nodiscard]] std::string name() const override { return "gups"; }
  [[nodiscard]] std::string description() const override {
    return "RandomAccess on global memory, by atomics, many of them in a call, and get and put, against MPI's windows";
  }

  void add_options(CLI::App& app) override {
    app.add_option("--log2-words", log2_words_, "the table has 2^n words of 8 bytes")
        ->check(CLI::Range(1, 40))
        ->capture_default_str();
    app.add_option("--updates-per-word", updates_per_word_, "the rules ask for 4")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--updates", kinds_, "how a word is updated")
        ->delimiter(',')
        ->check(CLI::IsMember({"atomic", "many", "put-get", "put-get-pipelined"}))
        ->capture_default_str();
    app.add_flag("--openshmem", openshmem_, openshmem_help);
  }

  void run(Session& session) override {
    const Table table(log2_words_, session.ranks());
    Engine engine = session.make_engine("engine");
    session.describe(engine);
    HelperSwitch helpers(&engine);
    const OneSidedWays ways(session, engine, table.per_rank * sizeof(std::uint64_t), {.openshmem = openshmem_});
    session.report().note(
        fmt::format("table of {} words of 8 bytes, {} updates a word", table.words, updates_per_word_));
    session.report().table({"updates", "table_words", "executor", "iterations", "median_us", "mad_us", "gups", "ratio",
                            "wrong_words", "verified"});
    for (const std::string& kind : kinds_) {
      compare(session, helpers, ways, table, kind);
    }
  }

private:
  [[nodiscard]] std::uint64_t all_updates(const Table& table) const {
    return table.words * static_cast<std::uint64_t>(updates_per_word_);
  }
  // Which of them a rank makes: [first, first of the next).
  [[nodiscard]] std::uint64_t first_update(const Table& table, int rank, int ranks) const {
    return all_updates(table) / static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(rank) +
           std::min(static_cast<std::uint64_t>(rank), all_updates(table) % static_cast<std::uint64_t>(ranks));
  }

  // Visits the random numbers of this rank's updates.
  template <class Update>
  void for_own_updates(const Session& session, const Table& table, Update&& update) const {
    const std::uint64_t begin = first_update(table, session.rank(), session.ranks());
    const std::uint64_t end = first_update(table, session.rank() + 1, session.ranks());
    std::uint64_t random = random_at(begin);
    for (std::uint64_t i = begin; i < end; ++i) {
      random = next_random(random);
      update(random);
    }
  }

  // Accumulates stay under way until as many have been started as the rules allow; then every target is flushed that has
  // got any.
  void update_atomically(const Session& session, const Table& table, OneSided& way) const {
    std::array<std::uint64_t, look_ahead> values{}; // in use until completed
    std::size_t under_way = 0;
    const auto complete = [&] {
      for (int target = 0; target < session.ranks(); ++target) {
        way.complete(target);
      }
      under_way = 0;
    };
    for_own_updates(session, table, [&](std::uint64_t random) {
      const std::uint64_t word = table.word_of(random);
      values[under_way] = random;
      way.start_xor(table.owner(word), table.offset(word), values[under_way]);
      if (++under_way == look_ahead) {
        complete();
      }
    });
    complete();
  }

  // As many as the rules allow in one call, where there is such a call; MPI has none.
  void update_many(const Session& session, const Table& table, OneSided& way) const {
    std::vector<OneSided::Update> updates;
    updates.reserve(look_ahead);
    for_own_updates(session, table, [&](std::uint64_t random) {
      const std::uint64_t word = table.word_of(random);
      updates.push_back({table.owner(word), table.offset(word), random});
      if (updates.size() == look_ahead) {
        way.xor_many(updates);
        updates.clear();
      }
    });
    way.xor_many(updates);
  }

  void update_by_put_and_get(const Session& session, const Table& table, OneSided& way) const {
    for_own_updates(session, table, [&](std::uint64_t random) {
      const std::uint64_t word = table.word_of(random);
      std::uint64_t value = 0;
      way.get(table.owner(word), table.offset(word), &value, sizeof value);
      value ^= random;
      way.put(table.owner(word), table.offset(word), &value, sizeof value);
    });
  }

  // Gets of different words, then their puts.
  void update_in_batches(const Session& session, const Table& table, OneSided& way) const {
    struct Pair {
      std::uint64_t word;
      std::uint64_t random;
      std::uint64_t value;
    };
    std::vector<Pair> batch;
    batch.reserve(pairs_at_a_time); // transfers keep pointers into it
    const auto complete = [&] {
      for (const Pair& pair : batch) {
        way.complete(table.owner(pair.word));
      }
    };
    const auto update = [&] {
      for (Pair& pair : batch) {
        way.start_get(table.owner(pair.word), table.offset(pair.word), &pair.value, sizeof pair.value);
      }
      complete();
      for (Pair& pair : batch) {
        pair.value ^= pair.random;
        way.start_put(table.owner(pair.word), table.offset(pair.word), &pair.value, sizeof pair.value);
      }
      complete();
      batch.clear();
    };
    for_own_updates(session, table, [&](std::uint64_t random) {
      const std::uint64_t word = table.word_of(random);
      if (batch.size() == pairs_at_a_time || std::ranges::find(batch, word, &Pair::word) != batch.end()) {
        update();
      }
      batch.push_back({word, random, 0});
    });
    update();
  }

  // Word i is i.
  static void reset(const Session& session, const Table& table, OneSided& way) {
    std::uint64_t word = table.first_of(session.rank());
    const std::uint64_t end = table.first_of(session.rank() + 1);
    for (std::byte* place = way.memory(); word < end; ++word, place += sizeof word) {
      std::memcpy(place, &word, sizeof word);
    }
    way.synchronise();
  }

  // The number of this rank's words that differ from the result of all ranks' updates, which `expected` has.
  static std::uint64_t wrong_words(OneSided& way, const std::vector<std::uint64_t>& expected) {
    std::uint64_t wrong = 0;
    way.synchronise();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      std::uint64_t found = 0;
      std::memcpy(&found, way.memory() + (i * sizeof found), sizeof found);
      wrong += found != expected[i] ? 1 : 0;
    }
    return wrong;
  }

  [[nodiscard]] std::vector<std::uint64_t> replay(const Session& session, const Table& table) const {
    const std::uint64_t first = table.first_of(session.rank());
    std::vector<std::uint64_t> expected(table.first_of(session.rank() + 1) - first);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] = first + i;
    }
    std::uint64_t random = random_at(0);
    for (std::uint64_t i = 0; i < all_updates(table); ++i) {
      random = next_random(random);
      const std::uint64_t word = table.word_of(random);
      if (word >= first && word - first < expected.size()) {
        expected[word - first] ^= random;
      }
    }
    return expected;
  }

  void compare(Session& session, HelperSwitch& helpers, const OneSidedWays& ways, const Table& table,
               const std::string& kind) const {
    const std::vector<std::uint64_t> expected = replay(session, table);
    const auto update = [&](OneSided& way) {
      if (kind == "put-get") {
        update_by_put_and_get(session, table, way);
      } else if (kind == "put-get-pipelined") {
        update_in_batches(session, table, way);
      } else if (kind == "many") {
        update_many(session, table, way);
      } else {
        update_atomically(session, table, way);
      }
    };
    std::vector<std::uint64_t> most_wrong(ways.all().size(), 0); // on this rank, of any run
    std::vector<Variant> variants;
    for (std::size_t i = 0; i < ways.all().size(); ++i) {
      OneSided* const way = ways.all()[i].get();
      variants.push_back(in_turn(
          session.comm(), helpers, way, [&, way] { update(*way); }, [&, way] { reset(session, table, *way); },
          [&, way, i] { most_wrong[i] = std::max(most_wrong[i], wrong_words(*way, expected)); }));
    }
    const auto times = measure(session.comm(), variants, 1, session.budget());
    MPI_Allreduce(MPI_IN_PLACE, most_wrong.data(), static_cast<int>(most_wrong.size()), MPI_UINT64_T, MPI_SUM,
                  session.comm());
    for (std::size_t i = 0; i < variants.size(); ++i) {
      report(session, table, kind, *ways.all()[i], times[i], *ways.all().front(), times.front(), most_wrong[i]);
    }
  }

  void report(Session& session, const Table& table, const std::string& kind, const OneSided& way, const Summary& time,
              const OneSided& first, const Summary& first_time, std::uint64_t wrong) const {
    constexpr double most_percent = 1;
    const double percent = 100 * static_cast<double>(wrong) / static_cast<double>(table.words);
    const bool atomic = !kind.starts_with("put-get");
    if (atomic && wrong != 0 && !way.is_mpi()) { // on all ranks
      throw std::runtime_error(
          fmt::format("gups: {} of {} words are wrong with {} updates by {}", wrong, table.words, kind, way.name()));
    }
    Row row;
    row.benchmark = name();
    row.executor = way.name();
    row.time = time;
    if (first.is_mpi()) {
      row.baseline_us = first_time.median;
      row.baseline = first.name();
      row.ratio = time.median / first_time.median;
    }
    row.more["updates"] = kind;
    row.more["table_words"] = table.words;
    row.more["updates_made"] = all_updates(table);
    row.more["gups"] = static_cast<double>(all_updates(table)) / (time.median * 1e3);
    row.more["wrong_words"] = wrong;
    row.more["wrong_percent"] = percent;
    row.more["verified"] = atomic ? wrong == 0 : percent <= most_percent;
    session.report().add(row);
  }

  static constexpr std::size_t look_ahead = 1024;
  static constexpr std::size_t pairs_at_a_time = 64;
  int log2_words_ = 18;
  int updates_per_word_ = 4;
  bool openshmem_ = false;
  std::vector<std::string> kinds_ = {"atomic", "many", "put-get", "put-get-pipelined"};
};

} // namespace

std::unique_ptr<Benchmark> make_gups() { return std::make_unique<Gups>(); }

} // namespace stoker::bench
